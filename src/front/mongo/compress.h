/* Compressed messages: the three libraries that clients of this protocol know, by their numbers and names. */
#ifndef FRONT_MONGO_COMPRESS_H
#define FRONT_MONGO_COMPRESS_H

#include "base/base.h"

enum compressor {
    COMPRESSOR_NOOP = 0,
    COMPRESSOR_SNAPPY = 1,
    COMPRESSOR_ZLIB = 2,
    COMPRESSOR_ZSTD = 3,
    COMPRESSOR_COUNT,
    COMPRESSOR_NONE = COMPRESSOR_COUNT, /* the message is plain */
};

/* COMPRESSOR_NONE if there is none of that name. */
enum compressor compressor_by_name(bytes name);
const char *compressor_name(enum compressor compressor);

/* `plain_len` is what the sender says the result has; anything else is INVALID. */
MUST_USE status compressor_expand(struct arena *arena, enum compressor compressor, bytes packed,
                                  size_t plain_len, bytes *out);
MUST_USE status compressor_pack(struct arena *arena, enum compressor compressor, bytes plain,
                                bytes *out);

#endif

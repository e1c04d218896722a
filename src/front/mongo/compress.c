/* Compress: the compressors of the wire protocol.
 *
 * A message says how long it is when it is expanded; room for exactly that is taken, and a result of
 * another length is refused, so that a few bytes cannot fill the memory.
 *
 * Keeps: never writes past what was announced. Pure apart from the arena; callable from every thread. */
#include "front/mongo/compress.h"

#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

static const char *const names[COMPRESSOR_COUNT] = { "noop", "snappy", "zlib", "zstd" };

enum compressor compressor_by_name(bytes name)
{
    for (unsigned i = COMPRESSOR_SNAPPY; i < COMPRESSOR_COUNT; i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return (enum compressor)i;
    }
    return COMPRESSOR_NONE;
}

const char *compressor_name(enum compressor compressor)
{
    ASSERT(compressor < COMPRESSOR_COUNT);
    return names[compressor];
}

static bool expand(enum compressor compressor, bytes packed, uint8_t *out, size_t len)
{
    size_t snappy_len = len;
    uLongf zlib_len = len;

    switch (compressor) {
    case COMPRESSOR_NOOP:
        if (packed.len == len && len > 0)
            memcpy(out, packed.data, len);
        return packed.len == len;
    case COMPRESSOR_SNAPPY:
        return snappy_uncompressed_length((const char *)packed.data, packed.len, &snappy_len) ==
                   SNAPPY_OK &&
               snappy_len == len &&
               snappy_uncompress((const char *)packed.data, packed.len, (char *)out, &snappy_len) ==
                   SNAPPY_OK &&
               snappy_len == len;
    case COMPRESSOR_ZLIB:
        return uncompress(out, &zlib_len, packed.data, packed.len) == Z_OK && zlib_len == len;
    case COMPRESSOR_ZSTD:
        return ZSTD_decompress(out, len, packed.data, packed.len) == len;
    case COMPRESSOR_COUNT:
        break;
    }
    return false;
}

status compressor_expand(struct arena *arena, enum compressor compressor, bytes packed,
                         size_t plain_len, bytes *out)
{
    void *room;

    *out = BYTES_NONE;
    if (compressor >= COMPRESSOR_COUNT)
        return status_fail(arena, INVALID, "there is no compressor of the number %d",
                           (int)compressor);
    TRY(arena_take(arena, plain_len + 1, &room));
    if (!expand(compressor, packed, room, plain_len))
        return status_fail(arena, INVALID, "%zu bytes of %s do not expand to %zu bytes", packed.len,
                           names[compressor], plain_len);
    *out = bytes_of(room, plain_len);
    return STATUS_OK;
}

static size_t room_for(enum compressor compressor, size_t len)
{
    switch (compressor) {
    case COMPRESSOR_SNAPPY:
        return snappy_max_compressed_length(len);
    case COMPRESSOR_ZLIB:
        return compressBound(len);
    case COMPRESSOR_ZSTD:
        return ZSTD_compressBound(len);
    case COMPRESSOR_NOOP:
    case COMPRESSOR_COUNT:
        break;
    }
    return len;
}

/* The length of the result, 0 if it failed. */
static size_t pack(enum compressor compressor, bytes plain, uint8_t *out, size_t room)
{
    size_t snappy_len = room;
    uLongf zlib_len = room;
    size_t zstd_len;

    switch (compressor) {
    case COMPRESSOR_SNAPPY:
        return snappy_compress((const char *)plain.data, plain.len, (char *)out, &snappy_len) ==
                       SNAPPY_OK
                   ? snappy_len
                   : 0;
    case COMPRESSOR_ZLIB:
        return compress(out, &zlib_len, plain.data, plain.len) == Z_OK ? zlib_len : 0;
    case COMPRESSOR_ZSTD:
        zstd_len = ZSTD_compress(out, room, plain.data, plain.len, ZSTD_CLEVEL_DEFAULT);
        return ZSTD_isError(zstd_len) ? 0 : zstd_len;
    case COMPRESSOR_NOOP:
        memcpy(out, plain.data, plain.len);
        return plain.len;
    case COMPRESSOR_COUNT:
        break;
    }
    return 0;
}

status compressor_pack(struct arena *arena, enum compressor compressor, bytes plain, bytes *out)
{
    size_t room = room_for(compressor, plain.len);
    void *packed;

    *out = BYTES_NONE;
    ASSERT(compressor < COMPRESSOR_COUNT);
    TRY(arena_take(arena, room + 1, &packed));
    size_t len = pack(compressor, plain, packed, room);
    if (len == 0)
        return status_fail(arena, INVALID, "%s failed on %zu bytes", names[compressor], plain.len);
    *out = bytes_of(packed, len);
    return STATUS_OK;
}

/* Copies of files with a checksum, and the list of checksums that lies beside them. */
#ifndef SERVER_COPY_H
#define SERVER_COPY_H

#include "base/base.h"
#include "server/progress.h"

enum { COPY_CHECKSUM_BYTES = 65 }; /* SHA-256 in hexadecimal, and its end */

struct copy_order {
    const char *from;
    const char *to;            /* must not exist; NULL: only the checksum is wanted */
    struct progress *progress; /* NULL: nobody looks */
};
/* Copies, syncs, and gives the copy the times of the original. On failure there is no copy. NOT_FOUND, IO_ERROR
 * with the path. */
MUST_USE status copy_file(struct arena *arena, const struct copy_order *order,
                          char checksum_out[COPY_CHECKSUM_BYTES]);

/* A list as sha256sum writes and checks it: one line for each file, checksum, two spaces, name. */
extern const char copy_list_name[];
struct copy_line {
    bytes checksum; /* without an end */
    bytes name;
};
/* Beside the files of `directory`, with a last line that seals the others. IO_ERROR. */
MUST_USE status copy_write_list(struct arena *arena, const char *directory, bytes lines);
/* Its lines without the seal; in the arena. CORRUPT, with the path, if the seal does not fit; NOT_FOUND, IO_ERROR. */
MUST_USE status copy_read_list(struct arena *arena, const char *directory, bytes *lines_out);
/* The same from its bytes; the message has no path. */
MUST_USE status copy_open_list(struct arena *arena, bytes content, bytes *lines_out);
/* Takes the first line off `rest`; false at the end. CORRUPT if it is none, with its text. */
MUST_USE status copy_take_line(struct arena *arena, bytes *rest, struct copy_line *out,
                               bool *has_line_out);

#endif

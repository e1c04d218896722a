/* Copy: files with a checksum.
 *
 *   list = { checksum "  " name "\n" } seal      checksum = 64 hexadecimal digits of SHA-256
 *   seal = "# " count " files; checksum of the lines above: " checksum "\n"
 *
 * The seal is a comment for sha256sum. Without it a list that has lost a line would be a good one.
 *
 * The checksum is taken of what is read, so a copy is compared with it when it is read the next time.
 *
 * Threads: any; no state. */
#include "server/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/file.h"

enum { PIECE_BYTES = 1 << 20, SUM_CHARS = COPY_CHECKSUM_BYTES - 1, SUM_BYTES = SUM_CHARS / 2 };

const char copy_list_name[] = "SHA256SUMS";

static bool write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, data, len);
        if (done < 0 && errno != EINTR)
            return false;
        data += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static status copy_content(struct arena *arena, const struct copy_order *order, int from, int to,
                           EVP_MD_CTX *sum)
{
    arena_position mark = arena_mark(arena);
    uint8_t *piece;
    ssize_t len;

    TRY(ARENA_NEW(arena, PIECE_BYTES, &piece));
    while ((len = read(from, piece, PIECE_BYTES)) > 0) {
        if (!EVP_DigestUpdate(sum, piece, (size_t)len))
            return status_of(OUT_OF_MEMORY, "no memory for a checksum");
        if (to >= 0 && !write_all(to, piece, (size_t)len))
            return file_failure(arena, order->to, errno);
        if (order->progress)
            progress_add(order->progress, (uint64_t)len);
    }
    if (len < 0)
        return file_failure(arena, order->from, errno);
    arena_release(arena, mark);
    return STATUS_OK;
}

static status settle(struct arena *arena, const struct copy_order *order, int from, int to)
{
    struct stat info;

    if (fstat(from, &info) != 0)
        return file_failure(arena, order->from, errno);
    const struct timespec times[] = { info.st_atim, info.st_mtim };
    if (futimens(to, times) != 0 || fsync(to) != 0)
        return file_failure(arena, order->to, errno);
    return STATUS_OK;
}

static void write_hexadecimal(const uint8_t digest[SUM_BYTES], char out[COPY_CHECKSUM_BYTES])
{
    for (unsigned i = 0; i < SUM_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static status finish_sum(EVP_MD_CTX *sum, char out[COPY_CHECKSUM_BYTES])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (!EVP_DigestFinal_ex(sum, digest, &len) || len != SUM_BYTES)
        return status_of(OUT_OF_MEMORY, "no memory for a checksum");
    write_hexadecimal(digest, out);
    return STATUS_OK;
}

status copy_file(struct arena *arena, const struct copy_order *order,
                 char checksum_out[COPY_CHECKSUM_BYTES])
{
    EVP_MD_CTX *sum = EVP_MD_CTX_new();
    int from = open(order->from, O_RDONLY | O_CLOEXEC), to = -1;
    status s = status_of(OUT_OF_MEMORY, "no memory for a checksum");

    checksum_out[0] = '\0';
    if (from < 0) {
        s = file_failure(arena, order->from, errno);
        goto done;
    }
    if (!sum || !EVP_DigestInit_ex(sum, EVP_sha256(), NULL))
        goto done;
    if (!order->to) {
        TRY_GOTO(copy_content(arena, order, from, to, sum), done);
        s = finish_sum(sum, checksum_out);
        goto done;
    }
    to = open(order->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0) {
        s = file_failure(arena, order->to, errno);
        goto done;
    }
    TRY_GOTO(copy_content(arena, order, from, to, sum), done);
    TRY_GOTO(settle(arena, order, from, to), done);
    s = finish_sum(sum, checksum_out);
done:
    if (to >= 0) {
        close(to);
        if (s.code != OK)
            unlink(order->to);
    }
    if (from >= 0)
        close(from);
    EVP_MD_CTX_free(sum);
    return s;
}

static bool is_hexadecimal(bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!memchr("0123456789abcdef", text.data[i], 16))
            return false;
    }
    return true;
}

status copy_take_line(struct arena *arena, bytes *rest, struct copy_line *out, bool *has_line_out)
{
    const uint8_t *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    bytes line = bytes_of(rest->data, len);

    *out = (struct copy_line){ 0 };
    *has_line_out = rest->len > 0;
    if (rest->len == 0)
        return STATUS_OK;
    *rest = bytes_from(*rest, len + (end != NULL));
    if (end && len > SUM_CHARS + 2 && is_hexadecimal(bytes_of(line.data, SUM_CHARS)) &&
        memcmp(line.data + SUM_CHARS, "  ", 2) == 0 && !memchr(line.data, '/', len)) {
        out->checksum = bytes_of(line.data, SUM_CHARS);
        out->name = bytes_from(line, SUM_CHARS + 2);
        return STATUS_OK;
    }
    return status_fail(arena, CORRUPT, "\"%.*s\" is not a line of %s; the list is damaged",
                       (int)(len < 120 ? len : 120), (const char *)line.data, copy_list_name);
}

/* ---- the seal ---------------------------------------------------------------------------------------- */

static status append_seal(struct buffer *out, bytes lines)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char sum[COPY_CHECKSUM_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < lines.len; i++)
        count += lines.data[i] == '\n';
    if (!EVP_Digest(lines.data, lines.len, digest, NULL, EVP_sha256(), NULL))
        return status_of(OUT_OF_MEMORY, "no memory for a checksum");
    write_hexadecimal(digest, sum);
    buffer_append_format(out, "# %zu files; checksum of the lines above: %s\n", count, sum);
    return STATUS_OK;
}

status copy_write_list(struct arena *arena, const char *directory, bytes lines)
{
    const char *path = arena_format(arena, "%s/%s", directory, copy_list_name);
    struct buffer list = buffer_in(arena);
    bytes content;

    if (!path)
        return arena_exhausted(arena);
    buffer_append(&list, lines);
    TRY(append_seal(&list, lines));
    TRY(buffer_finish(&list, &content));
    return file_write(arena, path, content, 0600);
}

status copy_open_list(struct arena *arena, bytes content, bytes *lines_out)
{
    const uint8_t *end = content.len > 1 ? memrchr(content.data, '\n', content.len - 1) : NULL;
    size_t len = end ? (size_t)(end - content.data) + 1 : 0;
    struct buffer buffer = buffer_in(arena);
    bytes seal;

    *lines_out = bytes_of(content.data, len);
    TRY(append_seal(&buffer, *lines_out));
    TRY(buffer_finish(&buffer, &seal));
    if (bytes_equal(seal, bytes_from(content, len)))
        return STATUS_OK;
    *lines_out = BYTES_NONE;
    return status_of(CORRUPT, "its last line is not the checksum of the lines above it");
}

status copy_read_list(struct arena *arena, const char *directory, bytes *lines_out)
{
    const char *path = arena_format(arena, "%s/%s", directory, copy_list_name);
    bytes content;

    *lines_out = BYTES_NONE;
    if (!path)
        return arena_exhausted(arena);
    TRY(file_read(arena, path, LIMIT_BACKUP_LIST_BYTES, &content));
    status s = copy_open_list(arena, content, lines_out);
    return s.code != CORRUPT ? s
                             : status_fail(arena, CORRUPT, "%s is damaged: %s", path, s.message);
}

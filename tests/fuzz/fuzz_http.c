/* Fuzz: the HTTP reader. The first byte is the size of the pieces in which the rest arrives. However it is
 * cut, the reader must make progress, keep its limits, and give the same requests as in one piece; where
 * two things are wrong at once, either may be the reason it names. */
#include <stdlib.h>

#include "front/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

/* A path is split at its first question mark and otherwise left alone. */
static void check_target(const struct http_request *request)
{
    bytes target = request->target, path = request->path, query = request->query;

    need(target.len > 0);
    if (target.data[0] != '/')
        return;
    need(path.data == target.data && path.len <= target.len);
    need(memchr(path.data, '?', path.len) == NULL);
    need(path.len == target.len ? query.len == 0 : path.len + 1 + query.len == target.len);
}

/* All of a request, so that none is read differently where it lies in one piece. */
static uint64_t fold(const struct http_request *request, uint64_t digest)
{
    digest = bytes_hash(request->body, digest * 31 + request->header_count);
    digest = bytes_hash(request->method, bytes_hash(request->target, digest));
    for (size_t i = 0; i < request->header_count; i++)
        digest = bytes_hash(request->headers[i].name,
                            bytes_hash(request->headers[i].value, digest));
    return digest * 31 + request->is_keep_alive;
}

/* All complete requests, folded together. */
static uint64_t read_all(bytes input, size_t piece_len)
{
    struct arena *arena = arena_open(16 * 1024 * 1024);
    struct http_reader *reader = http_reader_open();
    uint64_t digest = 0;
    bool is_refused = false;

    need(arena && reader);
    http_reader_begin(reader, arena);
    while (input.len > 0 && !is_refused) {
        bytes piece = bytes_of(input.data, piece_len < input.len ? piece_len : input.len);
        size_t consumed = 0;
        enum http_progress progress = http_reader_feed(reader, piece, &consumed);
        need(consumed <= piece.len);
        need(consumed > 0 || progress != HTTP_NEEDS_MORE);
        if (progress == HTTP_COMPLETE) {
            const struct http_request *request = http_reader_request(reader);
            digest = fold(request, digest);
            check_target(request);
            arena_reset(arena);
            http_reader_begin(reader, arena);
        }
        is_refused = progress == HTTP_REFUSED;
        if (is_refused)
            digest = digest * 31 + (http_reader_refusal(reader).status >= 400);
        input = bytes_from(input, consumed);
    }
    http_reader_close(reader);
    arena_close(arena);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bytes input = bytes_of(data + 1, size - 1);
    need(read_all(input, input.len) == read_all(input, 1 + data[0] % 64));
    return 0;
}

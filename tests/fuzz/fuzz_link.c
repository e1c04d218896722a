/* Fuzz: the target of a request. A target that is taken apart has valid parts within its bounds; each part,
 * encoded again, reads back as itself; finding a route never fails in another way than by not finding one. */
#include <stdlib.h>

#include "front/cosmos/link.h"
#include "front/cosmos/route.h"
#include "value/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static void need_same_when_encoded(struct arena *arena, bytes part)
{
    struct buffer target = buffer_in(arena);
    struct link again;
    bytes text;

    buffer_append_text(&target, "/");
    link_append_encoded(&target, part);
    need(buffer_finish(&target, &text).code == OK);
    need(link_parse(arena, text, &again).code == OK);
    need(again.count == 1 && bytes_equal(again.parts[0], part));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(16 * 1024 * 1024);
    struct http_request request = { .method = BYTES_LITERAL("GET") };
    const struct route *route;
    struct link link;

    need(arena != NULL);
    if (link_parse(arena, bytes_of(data, size), &link).code == OK) {
        need(link.count <= LINK_PARTS_MAX);
        for (size_t i = 0; i < link.count; i++) {
            need(link.parts[i].len > 0 && text_is_utf8(link.parts[i]));
            need_same_when_encoded(arena, link.parts[i]);
        }
        enum route_match match = route_find(&request, &link, &route);
        need((match == ROUTE_FOUND) == (route != NULL));
    }
    arena_close(arena);
    return 0;
}

/* Fuzz: the definition of a container, with its paths and policies. One that is accepted reads back as itself,
 * also as a replace of itself, and is one that the engine can take. */
#include <stdlib.h>

#include "front/cosmos/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static void need_paths(struct arena *arena, const bytes *paths, size_t count)
{
    const struct path *path;

    for (size_t i = 0; i < count; i++)
        need(path_parse(arena, paths[i], &path).code == OK);
}

static void need_patterns(struct arena *arena, const bytes *patterns, size_t count)
{
    struct buffer prefix = buffer_in(arena);

    for (size_t i = 0; i < count; i++)
        scan_append_path_prefix(&prefix, patterns[i]);
    need(!prefix.is_failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct call call = { .arena = arena };
    struct container_definition first, again;
    int32_t ttl;
    bytes body;

    need(arena != NULL);
    if (json_read(arena, bytes_of(data, size), &body).code == OK &&
        container_definition_read(&call, body, BYTES_NONE, &first).code == OK) {
        need(document_check(arena, first.document).code == OK);
        need_paths(arena, first.partition_paths, first.partition_path_count);
        for (size_t i = 0; i < first.unique_key_count; i++)
            need_paths(arena, first.unique_keys[i].paths, first.unique_keys[i].count);
        need_patterns(arena, first.policy.included, first.policy.included_count);
        need_patterns(arena, first.policy.excluded, first.policy.excluded_count);
        need(container_definition_read(&call, first.document, BYTES_NONE, &again).code == OK);
        need(bytes_equal(first.document, again.document));
        need(container_definition_read(&call, first.document, first.document, &again).code == OK);
        need(bytes_equal(first.document, again.document));
        if (container_default_ttl(&call, body, &ttl).code == OK)
            need(ttl == TTL_OFF || ttl == TTL_NEVER || ttl > 0);
    }
    arena_close(arena);
    return 0;
}

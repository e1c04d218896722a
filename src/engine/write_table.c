/* Write, table: a small table from keys to pointers, in the arena of a write.
 *
 * Chains in buckets, as many as were expected to be needed; when more come than that, the buckets are doubled and
 * the chains cut in two. Nothing is ever taken out.
 *
 * Keeps: of equal keys the one that came last is found first. Threads: those of the write. */
#include "engine/write.h"

status table_open(struct arena *arena, size_t expected, struct table *out)
{
    out->arena = arena;
    out->bucket_count = 16;
    while (out->bucket_count < expected * 2)
        out->bucket_count *= 2;
    return ARENA_NEW(arena, out->bucket_count, &out->buckets);
}

void *table_find(const struct table *table, uint64_t hash, bytes key)
{
    struct table_node *node = table->buckets[hash & (table->bucket_count - 1)];

    while (node && (node->hash != hash || !bytes_equal(node->key, key)))
        node = node->next;
    return node ? node->item : NULL;
}

static status table_grow(struct table *table)
{
    struct table_node **old = table->buckets, *next;
    size_t old_count = table->bucket_count;

    TRY(ARENA_NEW(table->arena, 2 * old_count, &table->buckets));
    table->bucket_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        struct table_node *turned = NULL;
        for (struct table_node *node = old[i]; node; node = next) { /* the newest stays in front */
            next = node->next;
            node->next = turned;
            turned = node;
        }
        for (struct table_node *node = turned; node; node = next) {
            struct table_node **bucket = &table->buckets[node->hash & (table->bucket_count - 1)];
            next = node->next;
            node->next = *bucket;
            *bucket = node;
        }
    }
    return STATUS_OK;
}

status table_put(struct table *table, uint64_t hash, bytes key, void *item)
{
    struct table_node *node;

    if (table->count >= table->bucket_count)
        TRY(table_grow(table));
    TRY(ARENA_NEW(table->arena, 1, &node));
    struct table_node **bucket = &table->buckets[hash & (table->bucket_count - 1)];
    *node = (struct table_node){ .next = *bucket, .hash = hash, .key = key, .item = item };
    *bucket = node;
    table->count++;
    return STATUS_OK;
}

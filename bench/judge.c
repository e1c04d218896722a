/* Bench: how many instructions of a point read are spent in the judge.
 *
 * `judge load DIR` makes a database, `judge read DIR COLLECTION` reads random documents, all of them in
 * the block cache. The second is run by bench/judge.sh under callgrind, which collects only inside
 * document_read and says how many of those instructions lie in expiry_judge. Instruction counts can
 * be repeated, times cannot. Collections: `plain` has a default ttl, `dated` has four TTL indexes
 * besides. */
#include "bench/rocks.h"

#include "engine/row.h"

enum { DOCUMENTS = 50000, PER_COMMIT = 1000, READS = 5000 };
enum { CACHE_BYTES = 256 << 20 };

static void add_date_rules(struct bench *b)
{
    static const char *const names[] = { "a", "b", "c", "d" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct index_field field = { .path = bytes_of_text(names[i]) };
        struct index_definition definition = { .name = bytes_of_text(names[i]),
                                               .expire_after_s = 3600,
                                               .field_count = 1,
                                               .fields = &field };
        BENCH_OK(index_create(b->engine, b->arena, BYTES_LITERAL("bench"), BYTES_LITERAL("dated"),
                              &definition));
    }
    BENCH_OK(engine_build_indexes(b->engine));
}

static void load(const char *path)
{
    struct bench b;

    bench_open(&b, path, CACHE_BYTES, false);
    bench_collection(&b, "plain", 3600);
    bench_collection(&b, "dated", 3600);
    add_date_rules(&b);
    for (uint64_t at = 0; at < DOCUMENTS; at += PER_COMMIT) {
        bench_insert(&b, "plain", at, PER_COMMIT);
        bench_insert(&b, "dated", at, PER_COMMIT);
    }
    bench_storage_settle(b.storage);
    bench_close(&b);
}

static void read_one(struct bench *b, const char *name, uint64_t n)
{
    struct request request;
    struct document document;
    struct document_key key;
    struct bench_id id;

    arena_reset(b->arena);
    BENCH_OK(request_begin(b->engine, b->arena, &request));
    const struct collection *collection = bench_find(&request, name);
    BENCH_OK(document_key_make(b->arena, collection, BYTES_NONE, bench_id_value(&id, n), &key));
    BENCH_OK(document_read(&request, collection, key, &document));
    document_release(&request, &document);
    request_end(&request);
}

/* Every block into the cache, by another way than document_read. */
static void warm(struct bench *b, const char *name)
{
    struct request request;
    struct storage_scan *scan;
    bytes key, value;

    arena_reset(b->arena);
    BENCH_OK(request_begin(b->engine, b->arena, &request));
    const partition_id partition = row_partition(bench_find(&request, name)->id);
    for (enum storage_space space = SPACE_ROWS; space <= SPACE_BODIES; space++) {
        const struct row_address where = { .partition = partition, .space = space };
        BENCH_OK(storage_scan_open(b->storage, NULL, where, &(struct storage_range){ 0 }, &scan));
        while (storage_scan_next(scan, &key, &value))
            ;
        BENCH_OK(storage_scan_status(scan));
        storage_scan_close(scan);
    }
    request_end(&request);
}

static void read_many(const char *path, const char *name, long count)
{
    struct bench b;
    struct random random = random_seeded(1);

    bench_open(&b, path, CACHE_BYTES, false);
    warm(&b, name);
    for (long i = 0; i < count; i++)
        read_one(&b, name, random_below(&random, DOCUMENTS));
    bench_close(&b);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "load") == 0)
        load(argv[2]);
    else if (argc == 4 && strcmp(argv[1], "read") == 0)
        read_many(argv[2], argv[3], READS);
    else
        return 2;
    return 0;
}

/* What the measurements beside PostgreSQL share: the documents, how PostgreSQL gets them, and where both keep their
 * files. */
#ifndef BENCH_SQL_DOCUMENTS_H
#define BENCH_SQL_DOCUMENTS_H

#include <fcntl.h>
#include <ftw.h>

#include "bench/request.h"
#include "bench/rocks.h"
#include "bench/sql_postgres.h"

enum { ITEM_BYTES = 500, GROUP = 10 };

/* ---- documents --------------------------------------------------------------------------------------- */

/* A permutation of 0 .. count-1 for each `which`: the steps are primes that do not divide round numbers. */
static inline uint64_t shuffled(uint64_t n, uint64_t count, int which)
{
    static const uint64_t steps[] = { 761838257, 533000389, 982451653 };

    return (n * steps[which] + 12345) % count;
}

static inline uint64_t user_of(uint64_t n, uint64_t count)
{
    return shuffled(n, count, 0) / GROUP;
}

static inline uint64_t number_of(uint64_t n, uint64_t count)
{
    return shuffled(n, count, 1);
}

static inline uint64_t plain_of(uint64_t n, uint64_t count)
{
    return shuffled(n, count, 2) / GROUP;
}

/* Exactly ITEM_BYTES, without a character that COPY would take for its own. */
static inline void put_item(struct text *text, uint64_t n, uint64_t count)
{
    const size_t start = text->len;
    uint8_t hex[BENCH_ID_LEN];

    bench_hex(hex, bench_mix(n));
    put(text,
        "{\"id\":\"%.16s\",\"pk\":\"p%03u\",\"user\":\"user-%07" PRIu64 "\",\"n\":%" PRIu64
        ",\"plain\":\"plain-%07" PRIu64 "\",\"when\":\"2026-03-%02uT%02u:00:00Z\","
        "\"flags\":[true,%s,null],\"place\":{\"lat\":%u.5,\"lon\":%u.25},\"text\":\"",
        (const char *)hex, (unsigned)(n % 1000), user_of(n, count), number_of(n, count),
        plain_of(n, count), (unsigned)(n % 28 + 1), (unsigned)(n % 24), n % 2 ? "true" : "false",
        (unsigned)(n % 90), (unsigned)(n % 180));
    for (uint64_t i = 1; text->len - start + 2 < ITEM_BYTES; i++) {
        const size_t left = ITEM_BYTES - 2 - (text->len - start);
        char words[32];
        bench_hex(hex, bench_mix(n * 31 + i));
        snprintf(words, sizeof(words), "%.8s temperature ", (const char *)hex);
        put(text, "%.*s", (int)left, words);
    }
    put(text, "\"}");
    BENCH_CLAIM(text->len - start == ITEM_BYTES);
}

/* ---- PostgreSQL -------------------------------------------------------------------------------------- */

static inline void load_postgres(struct postgres *p, const char *table, uint64_t count)
{
    char line[ITEM_BYTES + 64], sql[512];

    snprintf(sql, sizeof(sql), "CREATE TABLE %s (id text PRIMARY KEY, doc jsonb NOT NULL)", table);
    postgres_ask(p, sql);
    postgres_copy_begin(p, table);
    for (uint64_t n = 0; n < count; n++) {
        struct text text = text_in(line, sizeof(line));
        uint8_t hex[BENCH_ID_LEN];
        bench_hex(hex, bench_mix(n));
        put(&text, "%.16s\t", (const char *)hex);
        put_item(&text, n, count);
        put(&text, "\n");
        postgres_copy(p, line, text.len);
    }
    postgres_copy_end(p);
    snprintf(sql, sizeof(sql),
             "CREATE INDEX ON %s ((doc->>'user')); CREATE INDEX ON %s (((doc->>'n')::bigint))",
             table, table);
    postgres_ask(p, sql);
    snprintf(sql, sizeof(sql), "VACUUM ANALYZE %s", table);
    postgres_ask(p, sql);
}

/* ---- the cache of the system ------------------------------------------------------------------------- */

static inline int take_in(const char *path, const struct stat *about, int type, struct FTW *where)
{
    static char room[1 << 20];
    const int file = type == FTW_F ? open(path, O_RDONLY) : -1;

    (void)about;
    (void)where;
    while (file >= 0 && read(file, room, sizeof(room)) > 0)
        ;
    if (file >= 0)
        close(file);
    return 0;
}

static inline int leave_out(const char *path, const struct stat *about, int type, struct FTW *where)
{
    const int file = type == FTW_F ? open(path, O_RDONLY) : -1;

    (void)about;
    (void)where;
    if (file >= 0) {
        fsync(file); /* what is not on disk yet would stay */
        BENCH_CLAIM(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
        close(file);
    }
    return 0;
}

/* Every file of both sides is in the cache, or (COLD=1) none. */
static inline void prepare_files(const char *top)
{
    enum { DIRECTORIES_OPEN = 16 };

    BENCH_CLAIM(nftw(top, getenv("COLD") ? leave_out : take_in, DIRECTORIES_OPEN, FTW_PHYS) == 0);
}

/* KEPT=directory: documents are loaded into it once, and are there for the next run. */
static inline bool find_directory(char top[PATH_MAX])
{
    const char *kept = getenv("KEPT");

    if (!kept)
        bench_temp_dir(top);
    else
        snprintf(top, PATH_MAX, "%s", kept);
    return kept && mkdir(top, 0711) != 0;
}

/* Compactions that the load has left behind are over when the questions begin. */
static inline void settle(const char *path)
{
    struct log log = log_to(STDERR_FILENO, LOG_ERROR);
    struct metrics metrics = { 0 };
    struct arena *arena = arena_open(BENCH_ARENA_BYTES);
    struct storage_options options = { .path = path, .log = &log, .metrics = &metrics };
    struct storage *storage;

    BENCH_OK(storage_open_rocksdb(&options, arena, &storage));
    bench_storage_settle(storage);
    storage_close(storage);
    arena_close(arena);
}

#endif

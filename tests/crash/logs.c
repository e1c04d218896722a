/* Logs: a process that fills large logs, which begin as old ones, is killed at any instant, again and again, on one data
 * directory; after each kill exactly the commits that were acknowledged must be there, and perhaps the one that was under way.
 *
 *     crash-logs [rounds]        (or ROUNDS=n; SEED=n replays a choice of instants)
 *     LD_PRELOAD=power.so crash-logs [rounds]
 *
 * tests/crash/kill9.c asks for more, but its logs never get so large that the next ones would begin as they did
 * (src/storage/rocksdb_spare.c). What could go wrong there is that something of an old log is read from a new one: then older rows are back.
 *
 * With the library of tests/preload/power.c the machine loses its power at each kill, two of three times right behind a move
 * between the logs and the spares, because there everything depends on what was synced before; and three of four times the disk is one where
 * the sync of a new file makes its name durable, too, and RocksDB leaves names to that.
 *
 * What a commit writes follows from its number, so the number of the last one that is there says what must be there. It is a row
 * itself. The writer says over a pipe which commit was acknowledged; the parent kills it after some of them. The verifier says
 * which was the last it has found, and is killed, too, so that one crash comes before the log of another was written to files.
 *
 * A round takes as long as two of kill9.c, so there are half as many as it is told. The last line is `N passed, N failed`; a round
 * is a test. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/rocksdb_backend.h"
#include "tests/check.h"
#include "tests/support/crash.h"

enum {
    ROUNDS = 20,
    KEYS = 600,
    VALUE_BYTES = 16000,
    /* So many commits fill four logs or so; and where the end comes by itself, there are spares before these are done. */
    COMMITS_MOST = 180,
    COMMITS_TO_THE_END = 450,
    STEPS_MOST = 120,
    /* Of logs a little longer than they must be to become spares. */
    BUFFER_BYTES = 10 << 20,
    MOVES_MOST = 2,
    CALLS_MOST = 10,
    ARENA_BYTES = 1 << 20,
};

static const struct row_address last_commit = { .partition = 7, .space = SPACE_BODIES };

/* The state behind a commit. */
struct ledger {
    uint64_t commit;
    struct row_state {
        uint64_t commit; /* that wrote it; 0: it is not there */
        size_t len;
    } rows[KEYS];
};

/* What the writer tells. */
struct report {
    uint64_t commit;
    uint64_t spares_begun;
};

/* ---- what a commit writes ---------------------------------------------------------------------------------- */

struct step {
    size_t key;
    struct row_state row;
};

/* Gives how many there are. */
static size_t steps_of(uint64_t commit, struct step out[STEPS_MOST])
{
    struct random random = random_seeded(commit);
    const size_t count = random_chance(&random, 40) ? 1 + random_below(&random, 4)
                                                    : 1 + random_below(&random, STEPS_MOST);
    /* Logs that only wait for one kind of rows are removed sooner. */
    const bool are_both_spaces_written = commit / COMMITS_MOST % 4 == 3;

    for (size_t i = 0; i < count; i++) {
        const size_t key = random_below(&random, KEYS);
        out[i].key = are_both_spaces_written ? key : key / 2 * 2;
        out[i].row.len = 8 + random_below(&random, VALUE_BYTES - 8);
        out[i].row.commit = random_chance(&random, 15) ? 0 : commit;
    }
    return count;
}

static struct row_address place_of(size_t key)
{
    return (struct row_address){ .partition = 7, .space = key % 2 ? SPACE_ROWS : SPACE_BODIES };
}

static bytes key_text(size_t key, char out[16])
{
    return bytes_of(out, (size_t)snprintf(out, 16, "k%06zu", key));
}

/* The number of the commit, and then what differs from key to key. */
static bytes value_of(size_t key, struct row_state row, uint8_t out[VALUE_BYTES])
{
    memset(out, (int)(row.commit * 31 + key) & 0xFF, row.len);
    memcpy(out, &row.commit, sizeof(row.commit));
    return bytes_of(out, row.len);
}

static void ledger_advance(struct ledger *ledger, uint64_t to)
{
    struct step steps[STEPS_MOST];

    while (ledger->commit < to) {
        const size_t count = steps_of(++ledger->commit, steps);
        for (size_t i = 0; i < count; i++)
            ledger->rows[steps[i].key] = steps[i].row;
    }
}

/* ---- the writer --------------------------------------------------------------------------------------------- */

struct place {
    struct log log;
    struct metrics metrics;
    struct arena *arena;
    struct storage *storage;
};

static void place_open(struct place *place, const char *path, bool is_read_only)
{
    const struct storage_options options = {
        .path = path, .log = &place->log, .metrics = &place->metrics, .is_read_only = is_read_only
    };

    place->log = log_to(STDERR_FILENO, LOG_SILENT);
    place->arena = arena_open(ARENA_BYTES);
    CHECK_OK(storage_open_rocksdb(&options, place->arena, &place->storage));
}

static void make_logs_short(struct rocksdb_storage *rocks)
{
    const char *const name = "write_buffer_size";
    char size[16];
    const char *const value = size;
    char *error = NULL;

    snprintf(size, sizeof(size), "%d", BUFFER_BYTES);
    for (int space = SPACE_ROWS; space < SPACE_COUNT; space++) {
        rocksdb_set_options_cf(rocks->db, rocks->spaces[space], 1, &name, &value, &error);
        CHECK_THAT(error == NULL, "%s", error);
    }
}

/* Until the parent kills this process, or is gone itself. */
_Noreturn static void wait_for_the_end(int pipe_end)
{
    struct pollfd reader = { .fd = pipe_end };

    (void)poll(&reader, 1, -1);
    _exit(3);
}

static void tell(int pipe_end, const void *what, size_t size)
{
    if (write(pipe_end, what, size) != (ssize_t)size)
        _exit(3); /* the parent is gone */
}

/* It may have been put before: see storage.h. */
static void put_again(struct place *place, struct storage_batch *batch, struct row_address where,
                      bytes key, bytes value)
{
    if (where.space == SPACE_BODIES)
        storage_delete(place->storage, batch, where, key);
    storage_put(place->storage, batch, where, key, value);
}

static void write_commit(struct place *place, struct storage_batch *batch, uint64_t commit)
{
    struct step steps[STEPS_MOST];
    const size_t count = steps_of(commit, steps);
    uint8_t value[VALUE_BYTES];
    char key[16];
    size_t conflict;

    for (size_t i = 0; i < count; i++) {
        const size_t at = steps[i].key;
        if (steps[i].row.commit == 0)
            storage_delete(place->storage, batch, place_of(at), key_text(at, key));
        else
            put_again(place, batch, place_of(at), key_text(at, key),
                      value_of(at, steps[i].row, value));
    }
    put_again(place, batch, last_commit, BYTES_LITERAL("last"), bytes_of(&commit, sizeof(commit)));
    CHECK_OK(storage_commit(place->storage, batch, NULL, 0, place->arena, &conflict));
    storage_batch_clear(place->storage, batch);
}

/* By itself, so that it need not be killed by the parent. */
static bool ends_behind_a_move(uint64_t seed)
{
    return crash_has_power() && seed % 3 != 0;
}

_Noreturn static void run_writer(const char *path, uint64_t commit, int pipe_end, uint64_t seed)
{
    struct random random = random_seeded(seed);
    static struct place place;

    place_open(&place, path, false);
    struct rocksdb_storage *rocks = rocksdb_of(place.storage);
    make_logs_short(rocks);
    if (ends_behind_a_move(seed)) {
        const unsigned moves = 1 + (unsigned)random_below(&random, MOVES_MOST);
        /* Few more often than many, because the first are about the file itself. */
        const uint64_t calls = random_below(&random, 1 + random_below(&random, CALLS_MOST));
        crash_end_behind(moves, (unsigned)calls);
    }
    struct storage_batch *batch = storage_batch_open(place.storage);
    for (int i = 0; i < COMMITS_TO_THE_END; i++) {
        write_commit(&place, batch, ++commit);
        const struct report report = { .commit = commit, .spares_begun = rocks->spares.begun };
        tell(pipe_end, &report, sizeof(report));
    }
    wait_for_the_end(pipe_end);
}

/* ---- the verifier ------------------------------------------------------------------------------------------- */

static uint64_t last_commit_of(struct storage *storage)
{
    struct storage_value value;
    uint64_t commit = 0;

    if (storage_get(storage, NULL, last_commit, BYTES_LITERAL("last"), &value).code != OK)
        return 0;
    CHECK_EQ(value.value.len, sizeof(commit), "");
    memcpy(&commit, value.value.data, sizeof(commit));
    storage_value_release(storage, &value);
    return commit;
}

static void verify_row(struct storage *storage, const struct ledger *ledger, size_t key)
{
    const struct row_state want = ledger->rows[key];
    uint8_t text[VALUE_BYTES];
    struct storage_value value;
    char name[16];
    uint64_t found = 0;
    const status s = storage_get(storage, NULL, place_of(key), key_text(key, name), &value);

    if (s.code != OK) {
        CHECK_CODE(s, NOT_FOUND);
        CHECK_THAT(want.commit == 0,
                   "row %zu of commit %" PRIu64 " is lost, the last one is %" PRIu64, key,
                   want.commit, ledger->commit);
        return;
    }
    memcpy(&found, value.value.data, sizeof(found));
    CHECK_THAT(found == want.commit,
               "row %zu of commit %" PRIu64 " is back, it was last written by %" PRIu64
               " (0: deleted), the last one is %" PRIu64,
               key, found, want.commit, ledger->commit);
    CHECK_BYTES(value.value, value_of(key, want, text), "");
    storage_value_release(storage, &value);
}

/* The last commit is the one that the ledger has, or the next. */
static void verify_state(struct storage *storage, struct ledger *ledger)
{
    const uint64_t commit = last_commit_of(storage);

    CHECK_THAT(commit == ledger->commit || commit == ledger->commit + 1,
               "the last commit is %" PRIu64 ", acknowledged was %" PRIu64, commit, ledger->commit);
    ledger_advance(ledger, commit);
    for (size_t key = 0; key < KEYS; key++)
        verify_row(storage, ledger, key);
}

_Noreturn static void run_verifier(const char *path, struct ledger *ledger, int pipe_end,
                                   uint64_t seed)
{
    static struct place place;

    if (seed % 5 == 0) {
        place_open(&place, path, true);
        verify_state(place.storage, ledger);
        storage_close(place.storage);
    }
    place_open(&place, path, false);
    verify_state(place.storage, ledger);
    if (seed % 4 == 0)
        storage_close(place.storage);
    tell(pipe_end, &ledger->commit, sizeof(ledger->commit));
    wait_for_the_end(pipe_end);
}

/* ---- rounds ------------------------------------------------------------------------------------------------- */

/* Reads until this commit was acknowledged, or to the end. */
static void listen(int pipe_end, uint64_t upto, struct report *last)
{
    while (last->commit < upto && read(pipe_end, last, sizeof(*last)) == (ssize_t)sizeof(*last))
        continue;
}

static bool write_and_kill(const struct crash *crash, struct ledger *ledger, uint64_t seed,
                           uint64_t *spares_begun)
{
    struct random random = random_seeded(seed ^ 0x9E3779B97F4A7C15);
    struct report last = { .commit = ledger->commit };
    int pipe_end;

    crash_sync_names_with_files(seed % 4 != 0);
    const pid_t child = crash_fork(&pipe_end);
    if (child == 0)
        run_writer(crash->path, ledger->commit, pipe_end, seed);
    const uint64_t commits = ends_behind_a_move(seed) ? COMMITS_TO_THE_END
                                                      : random_below(&random, COMMITS_MOST);
    listen(pipe_end, ledger->commit + commits, &last);
    crash_kill(child);
    listen(pipe_end, UINT64_MAX, &last);
    close(pipe_end);
    ledger_advance(ledger, last.commit);
    *spares_begun += last.spares_begun;
    return crash_was_killed(crash, child, seed);
}

static bool verify_and_kill(const struct crash *crash, struct ledger *ledger, uint64_t seed)
{
    uint64_t commit = 0;
    int pipe_end;

    const pid_t child = crash_fork(&pipe_end);
    if (child == 0)
        run_verifier(crash->path, ledger, pipe_end, seed);
    const bool is_told = read(pipe_end, &commit, sizeof(commit)) == (ssize_t)sizeof(commit);
    crash_kill(child);
    close(pipe_end);
    ledger_advance(ledger, commit);
    return crash_was_killed(crash, child, seed) && is_told;
}

int main(int argc, char **argv)
{
    static struct ledger ledger;
    struct crash crash = { .name = "logs" };
    uint64_t passed = 0, lost = 0, spares_begun = 0;
    bool is_sound = true;

    crash_begin(&crash, argc, argv, ROUNDS);
    const uint64_t rounds = (crash.rounds + 1) / 2;
    for (uint64_t i = 0; i < rounds && is_sound; i++) {
        const uint64_t seed = crash.first_seed + i;
        is_sound = write_and_kill(&crash, &ledger, seed, &spares_begun);
        lost += crash_cut_power(seed);
        is_sound = is_sound && verify_and_kill(&crash, &ledger, seed);
        lost += crash_cut_power(seed ^ UINT64_C(0x9E3779B97F4A7C15));
        passed += is_sound;
    }
    printf("%" PRIu64 " kills, %" PRIu64 " commits, %" PRIu64
           " logs that began as old ones, %" PRIu64 " files that lost what was not synced\n",
           2 * passed, ledger.commit, spares_begun, lost);
    return crash_end(&crash, passed, is_sound);
}

/* kill -9: a process that writes with several threads is killed at any instant, again and again, on one
 * data directory; after each kill every acknowledged write must be there, nobody dead may be back, and
 * every invariant must hold.
 *
 *     crash-kill9 [rounds]        (or ROUNDS=n; SEED=n replays a choice of instants)
 *     LD_PRELOAD=power.so crash-kill9 [rounds]
 *
 * With the library of tests/preload/power.c the machine loses its power at each kill, and with it whatever was not
 * synced.
 *
 * Three processes. The writer says over a pipe what it intends and what was acknowledged. The parent
 * keeps the ledger, kills the writer after a number of acknowledgements, and never opens the database
 * itself. The verifier is forked with the ledger, opens the database, compares, and tells what it found.
 *
 * The last line is `N passed, N failed`; a round is a test. */
#include "tests/support/crash.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 20,
    WRITERS = 4,
    COLLECTIONS = 2,
    IDS = 64,
    ACKS_MOST = 900,
    NEVER = -1,
    INHERIT = 0,
    STEADY_TTL_S = 30,
    STEADY_DATE_TTL_S = 20,
};
/* The policy of the first never changes, so deaths can be foretold; that of the second always does. */
enum { STEADY, SHIFTING };
static const char *const names[COLLECTIONS] = { "steady", "shifting" };

/* ---- what travels through the pipe ------------------------------------------------------------------------- */

enum report_kind { INTENT, DONE, GONE, TIME };

struct report {
    enum report_kind kind;
    int collection;
    int id;
    uint32_t version;
    bool is_delete;
    int own_ttl;     /* seconds, NEVER or INHERIT */
    int64_t date_ms; /* 0: none */
    int64_t at_ms;   /* server time: of the intent, of the write, or what it becomes */
};

/* What the parent knows of one document. */
struct entry {
    bool is_known;
    struct report acked; /* last acknowledged */
    bool has_intent;
    struct report intended; /* later than acked, if has_intent */
    uint32_t gone_upto;     /* versions up to this one were seen gone */
};

struct ledger {
    struct entry entries[COLLECTIONS][IDS];
    int64_t now_ms;
};

/* What the verifier found: version 0 is nothing. */
struct finding {
    int collection;
    int id;
    uint32_t version;
    int64_t at_ms;
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When a document written at `written_ms` with this content dies in the steady collection. */
static int64_t steady_deadline(const struct report *report, int64_t written_ms)
{
    int64_t deadline = INT64_MAX;
    const int seconds = report->own_ttl == INHERIT ? STEADY_TTL_S : report->own_ttl;
    if (seconds != NEVER)
        deadline = (written_ms / 1000 + seconds) * 1000;
    if (report->date_ms != 0)
        deadline = earlier(deadline, report->date_ms + STEADY_DATE_TTL_S * 1000);
    return deadline;
}

/* May this version be gone at `now` without anybody having deleted it? */
static bool may_have_died(const struct report *report, int64_t now_ms)
{
    if (report->collection == SHIFTING)
        return report->own_ttl != NEVER || report->date_ms != 0;
    return steady_deadline(report, report->at_ms) <= now_ms;
}

/* ---- the writer --------------------------------------------------------------------------------------------- */

struct writer {
    struct world w;
    const struct ledger *ledger;
    int pipe;
    uint64_t seed;
    _Atomic uint64_t acks;
};

struct worker {
    struct writer *writer;
    int number;
    struct random random;
    uint32_t versions[COLLECTIONS][IDS];
};

static void tell(struct writer *writer, const struct report *report)
{
    const ssize_t written = write(writer->pipe, report, sizeof(*report));
    if (written != (ssize_t)sizeof(*report))
        _exit(3); /* the parent is gone */
}

static const char *document_text(const struct report *report, char *out, size_t room)
{
    int used = snprintf(out, room, "{'_id':%d,'v':%u,'x':%u,'u':%d,'pad':'%*s'", report->id,
                        report->version, report->version % 5, report->id,
                        (int)(report->version % 300), "");
    if (report->own_ttl != INHERIT)
        used += snprintf(out + used, room - (size_t)used, ",'ttl':%d", report->own_ttl);
    if (report->date_ms != 0)
        used += snprintf(out + used, room - (size_t)used, ",'at':@%" PRId64,
                         report->date_ms - WORLD_START);
    snprintf(out + used, room - (size_t)used, "}");
    return out;
}

static uint32_t version_of(bytes document)
{
    struct value value;
    int64_t version = 0;
    CHECK(document_find(document, "v", &value));
    CHECK(value_as_int64(value, &version));
    return (uint32_t)version;
}

static struct report random_report(struct worker *worker)
{
    struct random *random = &worker->random;
    const int id = (int)random_below(random, IDS / WRITERS) * WRITERS + worker->number;
    struct report report = {
        .collection = (int)random_below(random, COLLECTIONS),
        .id = id,
        .is_delete = random_chance(random, 15),
        .own_ttl = INHERIT,
        .at_ms = clock_now(worker->writer->w.clock),
    };
    /* Every third document lives until it is deleted: it must never be missing. */
    if (id % 3 == 0)
        report.own_ttl = NEVER;
    else if (random_chance(random, 50))
        report.own_ttl = 1 + (int)random_below(random, 40);
    if (id % 3 != 0 && random_chance(random, 30))
        report.date_ms = report.at_ms - 5000 + (int64_t)random_below(random, 30000);
    return report;
}

static void write_once(struct worker *worker)
{
    struct writer *writer = worker->writer;
    struct report report = random_report(worker);
    char text[1024];
    report.version = ++worker->versions[report.collection][report.id];
    report.kind = INTENT;
    tell(writer, &report);

    struct request request = world_begin(&writer->w);
    struct write_op op = world_op(&request, names[report.collection],
                                  report.is_delete ? WRITE_DELETE : WRITE_UPSERT, "%s",
                                  document_text(&report, text, sizeof(text)));
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    if (!(report.is_delete && s.code == NOT_FOUND))
        CHECK_OK(s);
    if (s.code == OK)
        report.at_ms = op.written_at_s * 1000;
    world_end(&request);
    report.kind = DONE;
    tell(writer, &report);
    atomic_fetch_add(&writer->acks, 1);
}

/* Only this thread writes the document: it is the last version or, once gone, gone for ever. */
static void read_once(struct worker *worker)
{
    struct writer *writer = worker->writer;
    struct report report = random_report(worker);
    struct document document;
    report.kind = GONE;
    report.version = worker->versions[report.collection][report.id];
    struct request request = world_begin(&writer->w);
    const struct collection *c = world_find(&request, names[report.collection]);
    const status s = document_read(&request, c, world_id_key(&request, c, report.id), &document);
    if (s.code == OK) {
        CHECK_EQ(version_of(document.bson), report.version, "document %d", report.id);
        document_release(&request, &document);
    } else {
        CHECK_CODE(s, NOT_FOUND);
    }
    world_end(&request);
    if (s.code == NOT_FOUND)
        tell(writer, &report);
}

static void *run_worker(void *owner)
{
    struct worker *worker = owner;
    for (;;) {
        if (random_chance(&worker->random, 75))
            write_once(worker);
        else
            read_once(worker);
    }
    return NULL;
}

/* ---- the janitor: time, policies, indexes, purges --------------------------------------------------------- */

static void move_time(struct writer *writer, struct random *random)
{
    struct report report = { .kind = TIME };
    const int64_t by_ms = (int64_t)random_below(random, 4000);
    report.at_ms = atomic_load(&writer->w.time.wall) + by_ms;
    tell(writer, &report); /* before it is so: the parent's time is never behind */
    world_pass(&writer->w, by_ms);
}

/* BUSY and TOO_LARGE are refusals until the purger has cleaned up; any other failure is one. */
static void expect_change(status s)
{
    if (s.code != BUSY && s.code != TOO_LARGE && s.code != EXISTS && s.code != NOT_FOUND)
        CHECK_OK(s);
}

static void change_policy(struct writer *writer, struct random *random)
{
    const int32_t ttls[] = { TTL_OFF, TTL_NEVER, 1, 10, 60, 100000 };
    struct world *w = &writer->w;
    switch (random_below(random, 6)) {
    case 0:
    case 1:
        expect_change(world_set_ttl(w, "shifting", ttls[random_below(random, ARRAY_COUNT(ttls))]));
        return;
    case 2:
        expect_change(world_set_expiry(w, "shifting", "at", (int32_t)random_below(random, 60)));
        return;
    case 3:
        expect_change(world_index(w, "shifting", "more: -x v"));
        return;
    case 4:
        expect_change(world_index_drop(w, "shifting", "more"));
        return;
    default:
        expect_change(random_chance(random, 50) ? world_index(w, "shifting", "at: at ttl=15")
                                                : world_index_drop(w, "shifting", "at"));
        return;
    }
}

static void tidy_up(struct writer *writer, struct random *random)
{
    struct purge_result result;
    const arena_position mark = arena_mark(writer->w.arena);
    move_time(writer, random);
    change_policy(writer, random);
    if (random_chance(random, 50))
        CHECK_OK(engine_purge(writer->w.engine, &result));
    if (!writer->w.is_threaded && random_chance(random, 50))
        CHECK_OK(engine_build_indexes(writer->w.engine));
    arena_release(writer->w.arena, mark);
}

static void open_collections(struct world *w)
{
    const status s = database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE);
    if (s.code != EXISTS)
        CHECK_OK(s);
    const struct {
        const char *name;
        int32_t ttl;
        const char *indexes;
    } wanted[] = {
        {"steady",    STEADY_TTL_S, "x: x; u: u unique; at: at ttl=20; late: x lazy"},
        { "shifting", 60,           "x: x; u: u unique; late: x lazy"               }
    };
    EACH_ROW(wanted, want) {
        const status made = world_try_collection(w, want->name, want->ttl, want->indexes);
        if (made.code != EXISTS)
            CHECK_OK(made);
    }
}

_Noreturn static void run_writer(const char *path, const struct ledger *ledger, int pipe_end,
                                 uint64_t seed)
{
    static struct writer writer;
    static struct worker workers[WRITERS];
    struct random random = random_seeded(seed);
    writer.ledger = ledger;
    writer.pipe = pipe_end;
    world_prepare_at(&writer.w, path);
    writer.w.is_threaded = seed % 2;
    writer.w.mark_worth_bytes = seed / 2 % 2;
    writer.w.are_syncs_beside = seed / 4 % 2;
    atomic_store(&writer.w.time.wall, ledger->now_ms);
    CHECK_OK(world_start(&writer.w));
    open_collections(&writer.w);
    for (int i = 0; i < WRITERS; i++) {
        pthread_t thread;
        workers[i] = (struct worker){ .writer = &writer,
                                      .number = i,
                                      .random = random_seeded(seed * 100 + (uint64_t)i) };
        for (int c = 0; c < COLLECTIONS; c++)
            for (int id = 0; id < IDS; id++)
                workers[i].versions[c][id] = ledger->entries[c][id].acked.version;
        CHECK_EQ(pthread_create(&thread, NULL, run_worker, &workers[i]), 0, "");
    }
    for (uint64_t next = 5;; next += 5 + random_below(&random, 20)) {
        while (atomic_load(&writer.acks) < next)
            sched_yield();
        tidy_up(&writer, &random);
    }
}

/* ---- the parent's ledger ------------------------------------------------------------------------------------- */

static void take_report(struct ledger *ledger, const struct report *report)
{
    struct entry *entry = &ledger->entries[report->collection][report->id];
    switch (report->kind) {
    case TIME:
        ledger->now_ms = report->at_ms > ledger->now_ms ? report->at_ms : ledger->now_ms;
        return;
    case INTENT:
        entry->has_intent = true;
        entry->intended = *report;
        return;
    case DONE:
        entry->is_known = true;
        entry->has_intent = false;
        entry->acked = *report;
        return;
    case GONE:
        entry->gone_upto = report->version;
        return;
    }
}

/* Reads until `acks` were heard, or to the end; returns how many were. */
static uint64_t listen(struct ledger *ledger, int pipe_end, uint64_t acks)
{
    struct report report;
    uint64_t heard = 0;
    while (heard < acks && read(pipe_end, &report, sizeof(report)) == (ssize_t)sizeof(report)) {
        take_report(ledger, &report);
        heard += report.kind == DONE;
    }
    return heard;
}

/* ---- the verifier ------------------------------------------------------------------------------------------- */

/* Says what is wrong with finding this version (0: none) at this time, or NULL. */
static const char *what_is_wrong(const struct entry *entry, uint32_t version, int64_t now_ms)
{
    const struct report *acked = &entry->acked;
    const struct report *intended = &entry->intended;
    const bool is_intended = entry->has_intent && version == intended->version;
    if (version == 0) {
        if (!entry->is_known || acked->is_delete || may_have_died(acked, now_ms))
            return NULL;
        if (entry->has_intent && (intended->is_delete || may_have_died(intended, now_ms)))
            return NULL;
        return "an acknowledged write is lost";
    }
    if (version <= entry->gone_upto)
        return "a document that was gone is back";
    if (is_intended)
        return intended->is_delete ? "a delete has left a document" : NULL;
    if (!entry->is_known || version != acked->version)
        return version < acked->version ? "an older version is back" : "nobody wrote this version";
    if (acked->is_delete)
        return "a deleted document is back";
    if (acked->collection == STEADY && steady_deadline(acked, acked->at_ms) <= now_ms)
        return "a dead document is seen";
    return NULL;
}

static void verify_document(struct request *request, const struct ledger *ledger, int collection,
                            int id, int pipe_end)
{
    const struct entry *entry = &ledger->entries[collection][id];
    struct finding finding = { .collection = collection, .id = id };
    const struct collection *c = world_find(request, names[collection]);
    struct document document;
    const status s = document_read(request, c, world_id_key(request, c, id), &document);
    if (s.code == OK) {
        finding.version = version_of(document.bson);
        finding.at_ms = document.written_at_s * 1000;
        document_release(request, &document);
    } else {
        CHECK_CODE(s, NOT_FOUND);
    }
    const char *wrong = what_is_wrong(entry, finding.version, request->now);
    CHECK_THAT(
        wrong == NULL,
        "%s: %s document %d: found version %u, acknowledged %u%s, intended %u, gone up to %u",
        wrong, names[collection], id, finding.version, entry->acked.version,
        entry->acked.is_delete ? " (a delete)" : "",
        entry->has_intent ? entry->intended.version : 0, entry->gone_upto);
    if (write(pipe_end, &finding, sizeof(finding)) != (ssize_t)sizeof(finding))
        _exit(3);
}

/* Every way of asking gives the same documents. */
static void verify_scans(struct request *request, const char *name)
{
    const struct collection *c = world_find(request, name);
    struct collection_figures figures;
    const char *by_key = world_scan_in(request, name, "key");
    size_t count = by_key[0] != '\0';
    for (const char *at = by_key; *at != '\0'; at++)
        count += *at == ' ';
    CHECK_OK(collection_figures(request, c, &figures));
    CHECK_EQ(figures.documents, count, "figures of %s", name);
    CHECK_STRING(world_scan_in(request, name, "u"), by_key);
}

_Noreturn static void run_verifier(const char *path, const struct ledger *ledger, int pipe_end)
{
    struct world w;
    world_prepare_at(&w, path);
    atomic_store(&w.time.wall, ledger->now_ms);
    CHECK_OK(world_start(&w));
    open_collections(&w);
    world_check(&w);
    for (int is_purged = 0; is_purged < 2; is_purged++) {
        struct request request = world_begin(&w);
        for (int c = 0; c < COLLECTIONS; c++) {
            for (int id = 0; id < IDS; id++)
                verify_document(&request, ledger, c, id, pipe_end);
            verify_scans(&request, names[c]);
        }
        world_end(&request);
        if (!is_purged)
            world_purge(&w);
    }
    CHECK_OK(engine_build_indexes(w.engine));
    for (int c = 0; c < COLLECTIONS; c++)
        CHECK_STRING(world_scan(&w, names[c], "late"), world_scan(&w, names[c], "x"));
    world_check(&w);
    world_stop(&w);
    world_forget(&w);
    _exit(0);
}

/* From here on the ledger says what is there, acknowledged or not. */
static void take_finding(struct ledger *ledger, const struct finding *finding)
{
    struct entry *entry = &ledger->entries[finding->collection][finding->id];
    const uint32_t last = entry->has_intent ? entry->intended.version : entry->acked.version;
    const bool was_intended = entry->has_intent && finding->version == entry->intended.version;
    if (finding->version == 0) {
        entry->gone_upto = last;
        entry->acked.is_delete = true;
    } else if (was_intended) {
        entry->acked = entry->intended;
        entry->acked.at_ms = finding->at_ms;
        entry->is_known = true;
    }
    entry->acked.version = last;
    if (finding->version != 0 && !was_intended && entry->has_intent)
        entry->acked.version = finding->version;
    entry->has_intent = false;
}

/* ---- rounds ------------------------------------------------------------------------------------------------- */

static bool write_and_kill(const struct crash *crash, struct ledger *ledger, uint64_t seed,
                           uint64_t *acks_out)
{
    struct random random = random_seeded(seed ^ 0x9E3779B97F4A7C15);
    const uint64_t acks = random_chance(&random, 10) ? random_below(&random, 3)
                                                     : random_below(&random, ACKS_MOST);
    int pipe_end;
    const pid_t child = crash_fork(&pipe_end);
    if (child == 0)
        run_writer(crash->path, ledger, pipe_end, seed);
    listen(ledger, pipe_end, acks);
    crash_kill(child);
    *acks_out = acks + listen(ledger, pipe_end, UINT64_MAX);
    close(pipe_end);
    return crash_was_killed(crash, child, seed);
}

static bool verify(const struct crash *crash, struct ledger *ledger, uint64_t seed)
{
    struct ledger seen = *ledger;
    struct finding finding;
    int pipe_end;
    int ending = 0;
    const pid_t child = crash_fork(&pipe_end);
    if (child == 0)
        run_verifier(crash->path, &seen, pipe_end);
    /* The second telling, after the purge, changes nothing. */
    for (int i = 0; read(pipe_end, &finding, sizeof(finding)) == (ssize_t)sizeof(finding); i++)
        if (i < COLLECTIONS * IDS)
            take_finding(ledger, &finding);
    close(pipe_end);
    waitpid(child, &ending, 0);
    if (WIFEXITED(ending) && WEXITSTATUS(ending) == 0)
        return true;
    fprintf(stderr,
            "FAIL after kill -9 (verifier's status %d), replay with SEED=%" PRIu64
            ", data kept in %s\n",
            ending, seed, crash->path);
    return false;
}

int main(int argc, char **argv)
{
    static struct ledger ledger = { .now_ms = WORLD_START };
    struct crash crash = { .name = "kill9" };
    uint64_t passed = 0;
    uint64_t acks_sum = 0;
    uint64_t lost_sum = 0;
    bool is_sound = true;

    crash_begin(&crash, argc, argv, ROUNDS);
    for (uint64_t i = 0; i < crash.rounds && is_sound; i++) {
        const uint64_t seed = crash.first_seed + i;
        uint64_t acks = 0;
        is_sound = write_and_kill(&crash, &ledger, seed, &acks);
        lost_sum += crash_cut_power(seed);
        is_sound = is_sound && verify(&crash, &ledger, seed);
        passed += is_sound;
        acks_sum += acks;
    }
    printf("%" PRIu64 " kills, %" PRIu64 " acknowledged writes, %" PRIu64
           " files that lost what was not synced\n",
           passed, acks_sum, lost_sum);
    return crash_end(&crash, passed, is_sound);
}

/* Model run: see the header.
 *
 * Keeps: model_settle runs before every operation and after every change, so the model's living are
 * exactly those whose time is not over, and whoever was due once is never put back.
 * Threads: the test's thread. */
#include "tests/support/model_run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- life --------------------------------------------------------------------------------------------- */

static void tell_history(void *data)
{
    const struct model *m = data;
    const size_t shown = m->history_count < MODEL_HISTORY ? m->history_count : MODEL_HISTORY;

    fprintf(stderr,
            "seed %" PRIu64 ", %s, step %zu, server time start + %" PRId64
            " ms; the last operations were:\n",
            m->seed, backing_name(m->w.backing), m->step, m->now - WORLD_START);
    for (size_t i = m->history_count - shown; i < m->history_count; i++)
        fprintf(stderr, "    %s\n", m->history[i % MODEL_HISTORY]);
}

void model_note(struct model *m, const char *format, ...)
{
    char *line = m->history[m->history_count++ % MODEL_HISTORY];
    const int used = snprintf(line, MODEL_HISTORY_BYTES, "%zu: ", m->step);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, MODEL_HISTORY_BYTES - (size_t)used, format, args);
    va_end(args);
    if (getenv("TRACE") != NULL)
        fprintf(stderr, "%s\n", line);
}

static void open_world(struct world *w, enum backing backing, const char *path, uint64_t seed)
{
    char own[PATH_MAX];
    snprintf(own, sizeof(own), "%s/%" PRIu64, path, seed);
    if (backing == ON_ROCKSDB)
        world_prepare_at(w, own);
    else
        world_prepare(w, backing);
    w->mark_worth_bytes = seed % 2; /* half of them leave dead bodies where they are */
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
}

void model_open(struct model *m, enum backing backing, const char *path, uint64_t seed)
{
    static const char *const names[MODEL_COLLECTIONS] = { "first", "second", "third" };

    *m = (struct model){
        .random = random_seeded(seed),
        .seed = seed,
        .now = WORLD_START,
        .do_dates_act = true,
    };
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++)
        m->collections[i].name = names[i];
    m->collections[MODEL_COLLECTIONS - 1].is_parted = true;
    m->deaths = memory_take_zeroed(MODEL_DEATHS_MAX, sizeof(m->deaths[0]));
    m->cursor.memory = arena_open(1 << 20);
    CHECK(m->deaths != NULL);
    CHECK(m->cursor.memory != NULL);
    check_tell(tell_history, m);
    open_world(&m->w, backing, path, seed);
}

void model_close(struct model *m)
{
    if (m->old.is_open)
        world_end(&m->old.request);
    world_close(&m->w);
    check_tell(NULL, NULL);
    arena_close(m->cursor.memory);
    memory_give(m->deaths);
}

size_t model_below(struct model *m, size_t bound)
{
    return (size_t)random_below(&m->random, bound);
}

int64_t model_between(struct model *m, int64_t low, int64_t high)
{
    return low + (int64_t)random_below(&m->random, (uint64_t)(high - low + 1));
}

/* ---- keeping in step ------------------------------------------------------------------------------------ */

static void leave_cursor(struct model *m, size_t collection, int id)
{
    if (m->cursor.is_open && m->cursor.collection == collection)
        m->cursor.is_steady[id] = false;
}

static void bury(struct model *m, size_t collection, int id)
{
    struct naive_document *document = &m->collections[collection].documents[id];

    if (collection == 0) {
        CHECK(m->death_count < MODEL_DEATHS_MAX);
        m->deaths[m->death_count++] = (struct model_death){ .id = id, .seq = document->seq };
    }
    document->is_there = false;
    leave_cursor(m, collection, id);
}

static void bury_the_due(struct model *m, size_t collection)
{
    struct naive_collection *c = &m->collections[collection];

    for (int id = 0; id < NAIVE_IDS; id++)
        if (c->documents[id].is_there &&
            naive_deadline(c, &c->documents[id], m->do_dates_act) <= m->now)
            bury(m, collection, id);
}

void model_settle(struct model *m)
{
    const time_ms wall = atomic_load(&m->w.time.wall);

    m->now = wall > m->now ? wall : m->now;
    CHECK_EQ(clock_now(m->w.clock), m->now, "server time");
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++)
        if (m->collections[i].is_there)
            bury_the_due(m, i);
}

void model_settle_restart(struct model *m)
{
    const time_ms wall = atomic_load(&m->w.time.wall);
    const time_ms now = clock_now(m->w.clock);
    const time_ms latest = wall > m->now + LIMIT_CLOCK_MARK_AHEAD_MS
                               ? wall
                               : m->now + LIMIT_CLOCK_MARK_AHEAD_MS;

    CHECK_THAT(now >= m->now, "time ran back by %" PRId64 " ms", m->now - now);
    CHECK_THAT(now <= latest, "time ran ahead by %" PRId64 " ms", now - latest);
    m->now = now;
    model_settle(m);
}

void model_touch(struct model *m, size_t collection, int id)
{
    m->old.is_touched[collection][id] = true;
    if (m->cursor.index != NAIVE_INDEXES || !m->collections[collection].documents[id].is_there)
        leave_cursor(m, collection, id);
}

void model_forget(struct model *m, size_t collection)
{
    for (int id = 0; id < NAIVE_IDS; id++) {
        m->collections[collection].documents[id].is_there = false;
        m->old.is_touched[collection][id] = true;
    }
    if (m->cursor.collection == collection)
        m->cursor.is_open = false;
    if (collection == 0)
        m->death_count = 0;
}

static void hear_death(void *context, const struct death *death)
{
    struct model *m = context;
    const int id = world_id_of(death->document);

    for (size_t i = 0; i < m->death_count; i++) {
        struct model_death *known = &m->deaths[i];
        if (known->id != id || known->seq != death->stamp->seq)
            continue;
        CHECK_THAT(!known->is_heard || known->may_repeat || m->is_faulty,
                   "the death of %d (write %" PRIu64 ") is told twice", id, known->seq);
        known->may_repeat = false;
        known->is_heard = true;
        return;
    }
    CHECK_THAT(false, "told of a death that was none: document %d, write %" PRIu64, id,
               death->stamp->seq);
}

void model_read_deaths(struct model *m)
{
    if (!m->collections[0].is_there)
        return;
    struct request request = world_begin(&m->w);
    const uint32_t id = world_find(&request, m->collections[0].name)->id;
    world_end(&request);
    CHECK_OK(engine_read_deaths(m->w.engine, id, hear_death, m));
}

/* ---- comparing ------------------------------------------------------------------------------------------ */

void model_compare_document(struct model *m, const struct naive_document *want,
                            const struct document *got)
{
    char text[2048];
    const arena_position mark = arena_mark(m->w.arena);
    naive_text(&want->body, text, sizeof(text));
    CHECK_BYTES(got->bson, world_document(m->w.arena, text), text);
    CHECK_EQ(got->seq, want->seq, "document %d", want->body.id);
    CHECK_EQ(got->birth_seq, want->birth_seq, "document %d", want->body.id);
    CHECK_EQ(got->written_at_s, want->written_at_s, "document %d", want->body.id);
    CHECK_EQ(got->own_ttl, want->body.own_ttl, "document %d", want->body.id);
    arena_release(m->w.arena, mark);
}

struct document_key model_key(struct request *request, const struct collection *found,
                              const struct naive_collection *c, int id)
{
    char text[64];
    if (!c->is_parted)
        return world_id_key(request, found, id);
    snprintf(text, sizeof(text), "{'_id':%d,'p':%d}", id, naive_partition(id));
    return world_key(request, found, text);
}

void model_compare_points(struct model *m, size_t collection)
{
    const struct naive_collection *c = &m->collections[collection];
    if (!c->is_there)
        return;
    struct request request = world_begin(&m->w);
    const struct collection *found = world_find(&request, c->name);
    CHECK_EQ(request.now, m->now, "the request's now");
    for (int id = 0; id < NAIVE_IDS; id++) {
        struct document document;
        const status s = document_read(&request, found, model_key(&request, found, c, id),
                                       &document);
        CHECK_THAT(s.code == OK || s.code == NOT_FOUND, "%s: %s", status_code_name(s.code),
                   s.message);
        CHECK_EQ(s.code == OK, c->documents[id].is_there, "%s: document %d by its key", c->name,
                 id);
        if (s.code != OK)
            continue;
        model_compare_document(m, &c->documents[id], &document);
        document_release(&request, &document);
    }
    world_end(&request);
}

static void compare_row(struct model *m, struct request *request, struct scan *scan,
                        const struct scan_row *row, const struct naive_collection *c, int want)
{
    struct document document;
    const status s = scan_document(scan, &document);
    CHECK_THAT(s.code == OK,
               "%s: the document of a row (write %" PRIu64 ", expected id %d): %s: %s", c->name,
               row->seq, want, status_code_name(s.code), s.message);
    const int id = world_id_of(document.bson);
    CHECK_THAT(id >= 0 && id < NAIVE_IDS && c->documents[id].is_there,
               "%s shows document %d, which does not live", c->name, id);
    if (want >= 0)
        CHECK_EQ(id, want, "%s: next row", c->name);
    CHECK_EQ(row->seq, c->documents[id].seq, "%s: row of document %d", c->name, id);
    model_compare_document(m, &c->documents[id], &document);
    document_release(request, &document);
}

/* A lazy index may leave rows out while it lags behind; then the place of the next one it gives. */
static size_t skip_to(const int *want, size_t count, size_t at, bool is_reverse, int id)
{
    while (at < count && want[is_reverse ? count - 1 - at : at] != id)
        at++;
    return at;
}

static int id_of_row(struct request *request, struct scan *scan)
{
    struct document document;
    CHECK_OK(scan_document(scan, &document));
    const int id = world_id_of(document.bson);
    document_release(request, &document);
    return id;
}

void model_compare_scan(struct model *m, size_t collection, enum naive_index index, bool is_reverse)
{
    const struct naive_collection *c = &m->collections[collection];
    int want[NAIVE_ROWS_MAX];
    struct scan_spec spec = { .is_reverse = is_reverse };
    struct scan *scan;
    struct scan_row row;
    size_t given = 0;

    if (!c->is_there || !naive_index_has_rows(index) ||
        (index != NAIVE_INDEXES && !c->indexes[index].is_ready))
        return;
    const size_t count = naive_rows(c, index, want);
    struct request request = world_begin(&m->w);
    const struct collection *found = world_find(&request, c->name);
    if (index != NAIVE_INDEXES)
        spec.index = collection_index(found, bytes_of_text(naive_index_name(index)));
    const bool may_lag = spec.index != NULL && index_progress_per_mille(spec.index) < 1000;
    CHECK_OK(scan_open(&request, found, &spec, &scan));
    while (scan_next(scan, &row)) {
        if (may_lag)
            given = skip_to(want, count, given, is_reverse, id_of_row(&request, scan));
        const size_t at = is_reverse ? count - 1 - given : given;
        CHECK_THAT(given < count, "%s by %s gives more than %zu rows", c->name,
                   index == NAIVE_INDEXES ? "key" : naive_index_name(index), count);
        compare_row(m, &request, scan, &row, c, want[at]);
        given++;
    }
    CHECK_OK(scan_status(scan));
    CHECK_THAT(given == count || may_lag, "%s: %zu rows of %zu by %s", c->name, given, count,
               index == NAIVE_INDEXES ? "key" : naive_index_name(index));
    scan_close(scan);
    world_end(&request);
}

void model_compare_slots(struct model *m, size_t collection)
{
    const struct naive_collection *c = &m->collections[collection];
    struct scan *scan;
    struct scan_row row;
    size_t given = 0;

    if (!c->is_there)
        return;
    struct request request = world_begin(&m->w);
    CHECK_OK(scan_open_slots(&request, world_find(&request, c->name), &scan));
    while (scan_next(scan, &row)) {
        compare_row(m, &request, scan, &row, c, -1);
        given++;
    }
    CHECK_OK(scan_status(scan));
    CHECK_EQ(given, naive_count(c), "%s: documents by slot", c->name);
    scan_close(scan);
    world_end(&request);
}

void model_compare_figures(struct model *m, size_t collection)
{
    const struct naive_collection *c = &m->collections[collection];
    if (!c->is_there)
        return;
    const struct collection_figures figures = world_figures(&m->w, c->name);
    CHECK_EQ(figures.documents, naive_count(c), "%s: living documents", c->name);
    CHECK_EQ(figures.bytes, naive_bytes(c), "%s: living bytes", c->name);
}

void model_compare_forecast(struct model *m, size_t collection)
{
    enum { STEPS = 16 };
    const struct naive_collection *c = &m->collections[collection];
    const int64_t step_ms = model_between(m, 1, 20) * 1000;
    const time_ms from = m->now / 1000 * 1000 + 1000 * model_between(m, 0, 5);
    uint64_t counts[STEPS];

    if (!c->is_there)
        return;
    struct request request = world_begin(&m->w);
    CHECK_OK(
        collection_forecast(&request, world_find(&request, c->name), from, step_ms, STEPS, counts));
    world_end(&request);
    for (int i = 0; i < STEPS; i++) {
        uint64_t want = 0;
        for (int id = 0; id < NAIVE_IDS; id++) {
            const int64_t deadline = c->documents[id].is_there
                                         ? naive_deadline(c, &c->documents[id], m->do_dates_act)
                                         : INT64_MAX;
            want += deadline >= from + i * step_ms && deadline < from + (i + 1) * step_ms;
        }
        CHECK_EQ(counts[i], want, "%s: deaths from now + %" PRId64 " ms on, within %" PRId64 " ms",
                 c->name, from + i * step_ms - m->now, step_ms);
    }
}

void model_compare_old(struct model *m)
{
    struct model_old *old = &m->old;
    if (!old->is_open)
        return;
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++) {
        const struct naive_collection *c = &old->seen[i];
        if (!c->is_there || !m->collections[i].is_there)
            continue;
        const struct collection *found = world_find(&old->request, c->name);
        for (int id = 0; id < NAIVE_IDS; id++) {
            struct document document;
            if (old->is_touched[i][id])
                continue;
            const status s = document_read(&old->request, found,
                                           model_key(&old->request, found, c, id), &document);
            CHECK_EQ(s.code, c->documents[id].is_there ? OK : NOT_FOUND,
                     "%s: document %d in the request begun at start + %" PRId64 ": %s", c->name, id,
                     old->request.now - WORLD_START, s.message);
            if (s.code != OK)
                continue;
            model_compare_document(m, &c->documents[id], &document);
            document_release(&old->request, &document);
        }
    }
}

void model_compare_deaths(struct model *m)
{
    if (!m->collections[0].is_there)
        return;
    for (size_t i = 0; i < m->death_count; i++)
        CHECK_THAT(m->deaths[i].is_heard, "the death of %d (write %" PRIu64 ") was not told",
                   m->deaths[i].id, m->deaths[i].seq);
    m->death_count = 0;
}

void model_compare_all(struct model *m)
{
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++) {
        model_compare_points(m, i);
        for (enum naive_index index = NAIVE_X; index <= NAIVE_INDEXES; index++)
            model_compare_scan(m, i, index, m->step % 2);
        model_compare_slots(m, i);
        model_compare_figures(m, i);
    }
    model_compare_old(m);
    world_check(&m->w);
}

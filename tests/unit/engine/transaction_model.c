/* Random transactions, several open at a time, beside a naive model that says what each step must answer: what
 * is seen inside and outside, who conflicts with whom, and what is there after each commit. Time passes and
 * documents die meanwhile. */
#include "tests/support/world.h"

#include <stdio.h>

enum { KEYS = 8, OPEN_MAX = 3, DEFAULT_TTL_S = 6, STEPS = 120 };

/* A document as the model keeps it; version 0: none. */
struct cell {
    int version;
    int64_t written_at_s;
    int ttl_s; /* 0: the collection's */
};

struct player {
    struct transaction *t;
    int64_t now_ms;          /* offset */
    struct cell seen[KEYS];  /* at its instant, then with its own writes */
    struct cell base[KEYS];  /* at its instant */
    bool is_announced[KEYS]; /* it has the intent */
    bool is_changed[KEYS];   /* by a write that succeeded */
    bool depends[KEYS];      /* on the version at its instant being alive at the commit */
};

struct game {
    struct world w;
    struct random random;
    struct cell cells[KEYS];
    struct player players[OPEN_MAX];
    int versions;
};

static bool is_alive(const struct cell *cell, int64_t now_ms)
{
    int64_t ttl = cell->ttl_s ? cell->ttl_s : DEFAULT_TTL_S;

    return cell->version != 0 && (cell->written_at_s + ttl) * 1000 > now_ms;
}

static int chance(struct game *g, int count)
{
    return (int)random_below(&g->random, (uint64_t)count);
}

static int64_t second_now(struct game *g)
{
    return world_now(&g->w) / 1000;
}

/* ---- looking ---------------------------------------------------------------------------------------- */

static void check_cells(struct game *g, const struct cell *cells, int64_t now_ms, const char *who)
{
    for (int key = 0; key < KEYS; key++) {
        struct found found = world_read(&g->w, "c", "{'_id':%d}", key);
        struct value n;
        int64_t version = 0;
        CHECK_THAT(found.is_there == is_alive(&cells[key], now_ms), "%s, key %d: %s", who, key,
                   found.is_there ? "is there" : "is not there");
        if (!found.is_there)
            continue;
        CHECK(document_find(found.bson, "n", &n) && value_as_int64(n, &version));
        CHECK_EQ(version, cells[key].version, "%s, key %d", who, key);
    }
    char want[64] = "";
    for (int key = 0; key < KEYS; key++) {
        if (is_alive(&cells[key], now_ms))
            snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%d", want[0] ? " " : "",
                     key);
    }
    CHECK_STRING(world_scan(&g->w, "c", "key"), want);
    CHECK_STRING(world_scan(&g->w, "c", "by_id"), want);
}

static void check_player(struct game *g, struct player *p)
{
    g->w.inside = p->t;
    check_cells(g, p->seen, p->now_ms, "inside");
    g->w.inside = NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

static void begin(struct game *g, struct player *p)
{
    *p = (struct player){ .now_ms = world_now(&g->w) };
    memcpy(p->seen, g->cells, sizeof(p->seen));
    memcpy(p->base, g->cells, sizeof(p->base));
    CHECK_OK(transaction_begin(g->w.engine, 1000000, &p->t));
}

static void end(struct player *p)
{
    transaction_close(p->t);
    *p = (struct player){ 0 };
}

static bool is_announced_by_other(const struct game *g, const struct player *p, int key)
{
    for (int i = 0; i < OPEN_MAX; i++) {
        if (&g->players[i] != p && g->players[i].is_announced[key])
            return true;
    }
    return false;
}

/* Would the first write of the key conflict? */
static bool is_overtaken(struct game *g, const struct player *p, int key)
{
    const struct cell *base = &p->base[key], *current = &g->cells[key];

    if (is_alive(base, p->now_ms))
        return current->version != base->version || !is_alive(current, world_now(&g->w));
    return current->version != 0 && current->version != base->version;
}

static status_code expect(enum write_kind kind, bool is_there)
{
    if (kind == WRITE_INSERT)
        return is_there ? EXISTS : OK;
    return kind == WRITE_UPSERT || is_there ? OK : NOT_FOUND;
}

static struct written write_key(struct game *g, enum write_kind kind, int key, int ttl_s)
{
    if (ttl_s)
        return world_write_if(&g->w, "c", kind, 0, "{'_id':%d,'n':%d,'ttl':%d}", key, g->versions,
                              ttl_s);
    return world_write_if(&g->w, "c", kind, 0, "{'_id':%d,'n':%d}", key, g->versions);
}

static void write_inside(struct game *g, struct player *p)
{
    int key = chance(g, KEYS), ttl_s = chance(g, 3) ? 0 : 1 + chance(g, 9);
    enum write_kind kind = (enum write_kind)chance(g, 4);
    bool is_there = is_alive(&p->seen[key], p->now_ms);
    bool is_conflict = is_announced_by_other(g, p, key) ||
                       (!p->is_announced[key] && is_overtaken(g, p, key));
    status_code want = is_conflict ? CONFLICT : expect(kind, is_there);

    g->versions++;
    g->w.inside = p->t;
    struct written got = write_key(g, kind, key, ttl_s);
    g->w.inside = NULL;
    CHECK_EQ(got.code, want, "key %d kind %d: %s", key, (int)kind, got.message);
    if (is_conflict) {
        end(p);
        return;
    }
    p->is_announced[key] = true;
    if (want != OK)
        return;
    if (!p->is_changed[key])
        p->depends[key] = is_alive(&p->base[key], p->now_ms);
    p->is_changed[key] = true;
    p->seen[key] = (struct cell){ 0 };
    if (kind != WRITE_DELETE)
        p->seen[key] = (struct cell){ .version = g->versions,
                                      .written_at_s = p->now_ms / 1000,
                                      .ttl_s = ttl_s };
}

static void commit(struct game *g, struct player *p)
{
    bool is_conflict = false;
    uint64_t seq;

    for (int key = 0; key < KEYS; key++)
        is_conflict |= p->depends[key] && !is_alive(&p->base[key], world_now(&g->w));
    status s = transaction_commit(p->t, g->w.arena, NULL, &seq);
    CHECK_EQ(s.code, is_conflict ? CONFLICT : OK, "%s", s.message ? s.message : "");
    for (int key = 0; key < KEYS && !is_conflict; key++) {
        if (!p->is_changed[key])
            continue;
        g->cells[key] = p->seen[key];
        g->cells[key].written_at_s = second_now(g);
    }
    end(p);
}

/* One that nobody has announced: it would wait. */
static void write_outside(struct game *g)
{
    int key = chance(g, KEYS), ttl_s = chance(g, 3) ? 0 : 1 + chance(g, 9);
    enum write_kind kind = (enum write_kind)chance(g, 4);

    if (is_announced_by_other(g, NULL, key))
        return;
    g->versions++;
    status_code want = expect(kind, is_alive(&g->cells[key], world_now(&g->w)));
    CHECK_WRITTEN(write_key(g, kind, key, ttl_s), want);
    if (want != OK)
        return;
    g->cells[key] = (struct cell){ .version = kind == WRITE_DELETE ? 0 : g->versions,
                                   .written_at_s = second_now(g),
                                   .ttl_s = ttl_s };
}

static void step(struct game *g)
{
    struct player *p = &g->players[chance(g, OPEN_MAX)];
    int what = chance(g, 20);

    if (what < 2)
        world_pass(&g->w, 1 + chance(g, 1500));
    else if (what < 3)
        world_purge(&g->w);
    else if (what < 8)
        write_outside(g);
    else if (!p->t)
        begin(g, p);
    else if (what < 15)
        write_inside(g, p);
    else if (what < 17)
        commit(g, p);
    else if (what < 18)
        end(p);
    else
        check_player(g, p);
}

static void play(enum backing backing, uint64_t seed, size_t steps)
{
    struct game game = { .random = random_seeded(seed) };
    struct game *g = &game;

    world_open(&g->w, backing);
    world_collection(&g->w, "c", DEFAULT_TTL_S, "by_id: _id");
    for (size_t i = 0; i < steps; i++) {
        step(g);
        if (i % 16 == 0)
            check_cells(g, g->cells, world_now(&g->w), "outside");
    }
    for (int i = 0; i < OPEN_MAX; i++) {
        if (g->players[i].t)
            check_player(g, &g->players[i]);
        end(&g->players[i]);
    }
    world_crash(&g->w);
    check_cells(g, g->cells, world_now(&g->w), "after a crash");
    world_close(&g->w);
}

TEST(transaction, random_ones_on_memory_answer_as_the_model_does)
{
    EACH_SEED(seed, 60) {
        play(ON_MEMORY, seed, STEPS);
    }
}

TEST(transaction, random_ones_on_rocksdb_answer_as_the_model_does)
{
    EACH_SEED(seed, 3) {
        play(ON_ROCKSDB, seed, STEPS);
    }
}

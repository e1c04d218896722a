/* Things that happen between two calls of the storage: a write between the range delete and the file drop
 * of a purge, a document moved between the look at its index row and the look at its body. The storage of
 * the world is hooked, so that each happens at that very moment. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "storage/backend.h"
#include "tests/support/world.h"

struct hooked_storage {
    struct storage_backend backend; /* first: found again through the storage */
    const struct storage_backend *inner;
    struct world *w;
    enum storage_space space; /* in which the call has to be */
    bool is_armed;
    /* a write that somebody begins */
    struct request request;
    struct write_op op;
    bool is_written, was_written_too_early;
    /* a purge on another thread */
    pthread_t thread;
    _Atomic bool has_moved;
};

static struct hooked_storage *hooked_of(struct storage *storage)
{
    return (struct hooked_storage *)(uintptr_t)storage->backend;
}

static void hook(struct hooked_storage *hooked, struct world *w, enum storage_space space)
{
    *hooked = (struct hooked_storage){ .backend = *w->storage->backend,
                                       .inner = w->storage->backend,
                                       .w = w,
                                       .space = space,
                                       .is_armed = true };
    w->storage->backend = &hooked->backend;
}

static void unhook(struct hooked_storage *hooked)
{
    CHECK(!hooked->is_armed);
    hooked->w->storage->backend = hooked->inner;
}

/* ---- a write next to a file drop ------------------------------------------------------------------ */

static void note_written(void *context, status outcome)
{
    struct hooked_storage *hooked = context;

    CHECK_OK(outcome);
    hooked->is_written = true;
}

/* Somebody writes when the range has been deleted, and what is in memory goes into files, as it may do at
 * any time. Then the files of the range are dropped, whatever is in them. */
static status drop_behind_a_write(struct storage *storage, struct row_address where, bytes start,
                                  bytes end)
{
    struct hooked_storage *hooked = hooked_of(storage);

    if (hooked->is_armed && where.space == hooked->space) {
        hooked->is_armed = false;
        hooked->request = world_begin(hooked->w);
        hooked->op = world_op(&hooked->request, "c", WRITE_INSERT, "{'_id':100,'x':100}");
        CHECK_OK(document_write_begin(&hooked->request, &hooked->op, 1, WRITE_ALL_OR_NOTHING,
                                      note_written, hooked));
        hooked->was_written_too_early = hooked->is_written;
        CHECK_OK(hooked->inner->sweep(storage, where.partition, BYTES_NONE, BYTES_NONE));
    }
    return hooked->inner->drop_range(storage, where, start, end);
}

TEST(storage_windows, nothing_is_written_between_a_range_delete_and_its_file_drop)
{
    const enum storage_space spaces[] = { SPACE_BODIES, SPACE_ROWS };

    EACH_ROW(spaces, space) {
        struct hooked_storage hooked;
        struct world w;
        world_open(&w, ON_ROCKSDB);
        world_collection(&w, "c", 10, "x: x");
        for (int id = 1; id <= 50; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", id, id), OK);
        world_at(&w, 20000);
        hook(&hooked, &w, *space);
        hooked.backend.drop_range = drop_behind_a_write;
        world_purge(&w);
        unhook(&hooked);
        CHECK(hooked.is_written);
        world_end(&hooked.request);
        CHECK_EQ(hooked.was_written_too_early, false, "space %d", *space);
        CHECK_LIVING(&w, "c", "100");
        world_crash(&w);
        CHECK_LIVING(&w, "c", "100");
        world_close(&w);
    }
}

/* ---- a holder of a unique key that is being moved ------------------------------------------------- */

static void *purge_meanwhile(void *owner)
{
    struct hooked_storage *hooked = owner;
    struct purge_result result;

    CHECK_OK(engine_purge(hooked->w->engine, &result));
    return NULL;
}

/* The first look at a body in the lane of the default waits until the reaper has moved that body. */
static status get_behind_a_move(struct storage *storage, struct storage_view *view,
                                struct row_address where, bytes key, struct storage_value *out)
{
    struct hooked_storage *hooked = hooked_of(storage);

    if (hooked->is_armed && where.space == hooked->space &&
        key.data[0] == (0x80 | LANE_INHERITING)) {
        hooked->is_armed = false;
        CHECK_EQ(pthread_create(&hooked->thread, NULL, purge_meanwhile, hooked), 0, "");
        while (!atomic_load(&hooked->has_moved))
            sched_yield();
    }
    return hooked->inner->get(storage, view, where, key, out);
}

static status commit_and_tell(struct storage *storage, struct storage_batch *batch,
                              struct arena *arena)
{
    struct hooked_storage *hooked = hooked_of(storage);
    status s = hooked->inner->commit(storage, batch, arena);

    if (!hooked->is_armed)
        atomic_store(&hooked->has_moved, true);
    return s;
}

static void move_at_the_first_look(struct hooked_storage *hooked, struct world *w)
{
    hook(hooked, w, SPACE_BODIES);
    hooked->backend.get = get_behind_a_move;
    hooked->backend.commit = commit_and_tell;
}

TEST(storage_windows, a_holder_that_is_being_moved_still_holds_its_unique_key)
{
    EACH_BACKING(backing)
    {
        struct hooked_storage hooked;
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':7,'at':@0}"), OK);
        world_index_built(&w, "c", "at: at ttl=1000");
        move_at_the_first_look(&hooked, &w);
        const struct written second = world_insert(&w, "c", "{'_id':2,'u':7}");
        pthread_join(hooked.thread, NULL);
        unhook(&hooked);
        CHECK_WRITTEN(second, DUPLICATE_KEY);
        CHECK_LIVING(&w, "c", "1");
        world_close(&w);
    }
}

/* So large that a build, and a walk of the reaper, take it alone. */
static void insert_large(struct world *w, const char *text)
{
    enum { PADDING = 9 * 1024 * 1024, FIELD = 1 + 4 + 4 + 1 };
    struct request request = world_begin(w);
    struct write_op op = world_op(&request, "c", WRITE_INSERT, "%s", text);
    const uint32_t len = (uint32_t)op.document.len + FIELD + PADDING, text_len = PADDING + 1;
    void *raw;

    CHECK_OK(arena_take(request.arena, len, &raw));
    uint8_t *at = (uint8_t *)raw + op.document.len - 1; /* over the end mark */
    memset(raw, 'p', len);
    memcpy(raw, op.document.data, op.document.len);
    memcpy(raw, &len, 4);
    memcpy(at, "\x02pad", 5);
    memcpy(at + 5, &text_len, 4);
    ((uint8_t *)raw)[len - 2] = ((uint8_t *)raw)[len - 1] = 0;
    op.document = bytes_of(raw, len);
    CHECK_OK(document_check(request.arena, op.document));
    CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
    world_end(&request);
}

TEST(storage_windows, a_build_finds_a_holder_that_is_being_moved)
{
    struct hooked_storage hooked;
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 1000, "at: at");
    insert_large(&w, "{'_id':1,'u':7,'ttl':-1}");
    CHECK_OK(world_index(&w, "c", "u: u unique"));
    insert_large(&w,
                 "{'_id':2,'u':7,'at':@0}"); /* the index hears of it, but not yet of the first */
    CHECK_OK(world_set_expiry(&w, "c", "at", 500));
    move_at_the_first_look(&hooked, &w);
    CHECK_OK(engine_build_indexes(w.engine));
    pthread_join(hooked.thread, NULL);
    unhook(&hooked);
    struct request request = world_begin(&w);
    const struct index *u = collection_index(world_find(&request, "c"), BYTES_LITERAL("u"));
    CHECK_EQ(u->state, INDEX_FAILED, "two documents have the same key");
    world_end(&request);
    world_close(&w);
}

/* ---- a change between the picture and the instant of a transaction --------------------------------- */

static status view_behind_a_drop(struct storage *storage, struct storage_view **out)
{
    struct hooked_storage *hooked = hooked_of(storage);

    if (hooked->is_armed) {
        hooked->is_armed = false;
        CHECK_OK(world_index_drop(hooked->w, "c", "x"));
    }
    return hooked->inner->view_open(storage, out);
}

TEST(storage_windows, a_transaction_knows_no_index_that_was_dropped_while_it_began)
{
    struct hooked_storage hooked;
    struct transaction *t;
    struct request inside;
    struct world w;

    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "x: x");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
    hook(&hooked, &w, SPACE_ROWS);
    hooked.backend.view_open = view_behind_a_drop;
    CHECK_OK(transaction_begin(w.engine, 60000, &t));
    unhook(&hooked);
    CHECK_OK(transaction_enter(t, w.arena, &inside));
    const struct collection *c = world_find(&inside, "c");
    CHECK_EQ(c->index_count, 0, "its rows are gone");
    CHECK_STRING(world_scan_in(&inside, "c", "key"), "1");
    request_end(&inside);
    transaction_close(t);
    world_close(&w);
}

/* ---- a reader in the middle of a change ------------------------------------------------------------ */

struct reader_by_name {
    struct engine *engine;
    struct arena *arena;
    _Atomic bool has_begun;
    status found;
    uint32_t id;
};

static void *find_by_name(void *context)
{
    struct reader_by_name *reader = context;
    const struct collection *c = NULL;
    struct request request;

    CHECK_OK(request_begin(reader->engine, reader->arena, &request));
    atomic_store(&reader->has_begun, true);
    reader->found = catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("to"), &c);
    reader->id = c ? c->id : 0;
    request_end(&request);
    return NULL;
}

struct hooked_reader {
    struct hooked_storage hooked;
    struct reader_by_name reader;
};

static status commit_with_a_reader(struct storage *storage, struct storage_batch *batch,
                                   struct arena *arena)
{
    struct hooked_reader *both = (struct hooked_reader *)hooked_of(storage);
    struct hooked_storage *hooked = &both->hooked;

    if (hooked->is_armed) {
        hooked->is_armed = false;
        world_pass(hooked->w, 1000);
        CHECK(pthread_create(&hooked->thread, NULL, find_by_name, &both->reader) == 0);
        while (!atomic_load(&both->reader.has_begun))
            sched_yield();
    }
    return hooked->inner->commit(storage, batch, arena);
}

TEST(storage_windows, a_name_is_there_all_the_time_while_another_collection_takes_it)
{
    struct hooked_reader both = { .reader = { .found = { .code = OK } } };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "from", TTL_OFF, "");
    world_collection(&w, "to", TTL_OFF, "");
    hook(&both.hooked, &w, SPACE_ROWS);
    both.hooked.backend.commit = commit_with_a_reader;
    both.reader.engine = w.engine;
    both.reader.arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    CHECK_OK(collection_rename_over(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("from"),
                                    BYTES_LITERAL("db"), BYTES_LITERAL("to")));
    CHECK(pthread_join(both.hooked.thread, NULL) == 0);
    unhook(&both.hooked);
    CHECK_OK(both.reader.found);
    struct request request = world_begin(&w);
    CHECK_EQ(both.reader.id, world_find(&request, "to")->id, "");
    world_end(&request);
    arena_close(both.reader.arena);
    world_close(&w);
}

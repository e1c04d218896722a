/* Notes: there if the operation is there, and only then; gone some time later. */
#include <inttypes.h>

#include "tests/support/world.h"

static const bytes KEY = BYTES_LITERAL("a\0key");

static struct write_note note_of(uint32_t part, const char *value)
{
    return (struct write_note){ .key = KEY, .part = part, .value = bytes_of_text(value) };
}

/* "part=value part=value ..." in the order in which they come. */
static const char *notes_of(struct world *w, bytes key)
{
    struct request request = world_begin(w);
    struct buffer text = buffer_in(w->arena);
    struct note *notes;
    size_t count;

    CHECK_OK(note_find(&request, world_find(&request, "c"), key, &notes, &count));
    for (size_t i = 0; i < count; i++)
        buffer_append_format(&text, "%s%" PRIu32 "=%.*s", i ? " " : "", notes[i].part,
                             (int)notes[i].value.len, (const char *)notes[i].value.data);
    buffer_append_byte(&text, 0);
    world_end(&request);
    return (const char *)text.data;
}

static status_code insert_noted(struct world *w, int id, const struct write_note *note)
{
    struct request request = world_begin(w);
    struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':%d}", id);

    op.note = note;
    status s = document_write(&request, &op, 1, WRITE_EACH);
    world_end(&request);
    return s.code == OK ? op.outcome.code : s.code;
}

TEST(note, is_there_with_the_document_after_a_crash)
{
    EACH_BACKING(backing)
    {
        struct write_note note = note_of(7, "done");
        struct world w;

        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_EQ(insert_noted(&w, 1, &note), OK, "");
        world_crash(&w);
        CHECK_LIVING(&w, "c", "1");
        CHECK_STRING(notes_of(&w, KEY), "7=done");
        CHECK_STRING(notes_of(&w, BYTES_LITERAL("a")), "");
        world_close(&w);
    }
}

TEST(note, of_an_operation_that_fails_is_not_kept)
{
    const enum write_mode modes[] = { WRITE_EACH, WRITE_ALL_OR_NOTHING };
    const char *const want[] = { "0=zero 2=two", "" };

    for (size_t m = 0; m < ARRAY_COUNT(modes); m++) {
        struct write_note notes[] = { note_of(0, "zero"), note_of(1, "one"), note_of(2, "two") };
        struct world w;

        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        struct request request = world_begin(&w);
        struct write_op ops[3];
        for (int i = 0; i < 3; i++) {
            ops[i] = world_op(&request, "c", WRITE_INSERT, "{'_id':%d}", i);
            ops[i].note = &notes[i];
        }
        status s = document_write(&request, ops, 3, modes[m]);
        CHECK_EQ(s.code, modes[m] == WRITE_EACH ? OK : EXISTS, "");
        CHECK_EQ(ops[1].outcome.code, EXISTS, "");
        world_end(&request);
        CHECK_STRING(notes_of(&w, KEY), want[m]);
        world_close(&w);
    }
}

TEST(note, of_a_delete_stays_when_the_collection_is_empty_and_purged)
{
    struct write_note note = note_of(0, "deleted");
    struct world w;

    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    struct request request = world_begin(&w);
    struct write_op op = world_op(&request, "c", WRITE_DELETE, "{'_id':1}");
    op.note = &note;
    CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
    world_end(&request);
    world_purge(&w);
    world_crash(&w);
    world_purge(&w);
    CHECK_STRING(notes_of(&w, KEY), "0=deleted");
    world_close(&w);
}

TEST(note, of_the_same_part_takes_the_place_of_the_older_one)
{
    struct write_note first = note_of(0, "first"), second = note_of(0, "second");
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_EQ(insert_noted(&w, 1, &first), OK, "");
    CHECK_EQ(insert_noted(&w, 2, &second), OK, "");
    CHECK_STRING(notes_of(&w, KEY), "0=second");
    world_pass(&w, 20 * 60 * 1000);
    CHECK_EQ(insert_noted(&w, 3, &first), OK, "");
    CHECK_STRING(notes_of(&w, KEY), "0=second 0=first");
    world_close(&w);
}

TEST(note, is_kept_for_its_time_and_then_leaves_by_purging)
{
    EACH_BACKING(backing)
    {
        struct write_note old = note_of(0, "old"), later = note_of(1, "later");
        struct world w;

        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_EQ(insert_noted(&w, 1, &old), OK, "");
        world_pass(&w, LIMIT_NOTE_MS - 1);
        world_purge(&w);
        CHECK_STRING(notes_of(&w, KEY), "0=old");
        CHECK_EQ(insert_noted(&w, 2, &later), OK, "");
        world_crash(&w);
        world_pass(&w, LIMIT_NOTE_MS - 1);
        world_purge(&w);
        CHECK_STRING(notes_of(&w, KEY), "1=later");
        world_pass(&w, LIMIT_NOTE_MS);
        world_purge(&w);
        CHECK_STRING(notes_of(&w, KEY), "");
        CHECK_EQ(insert_noted(&w, 3, &old), OK, "");
        CHECK_STRING(notes_of(&w, KEY), "0=old");
        CHECK_LIVING(&w, "c", "1 2 3");
        world_close(&w);
    }
}

TEST(note, and_document_are_both_there_or_both_not_whatever_call_fails)
{
    bool is_untouched = false;

    for (uint64_t nth = 1; !is_untouched; nth++) {
        struct write_note note = note_of(0, "done");
        struct world w;

        CHECK_THAT(nth < 1000, "no telling comes through");
        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_OFF, "x: x");
        storage_faulty_arm(w.storage, nth);
        const bool is_done = insert_noted(&w, 1, &note) == OK;
        is_untouched = storage_faulty_calls(w.storage) < nth;
        storage_faulty_heal(w.storage);
        world_crash(&w);
        const bool is_there = world_has(&w, "c", 1);
        CHECK_THAT(!is_done || is_there, "call %" PRIu64, nth);
        CHECK_STRING(notes_of(&w, KEY), is_there ? "0=done" : "");
        world_close(&w);
    }
}

/* ---- keeping ---------------------------------------------------------------------------------------- */

struct keeper {
    char wanted; /* first byte of the values that are needed */
    size_t asked;
};

static bool is_wanted(void *context, bytes key, bytes value)
{
    struct keeper *keeper = context;

    CHECK_BYTES(key, KEY, "");
    keeper->asked++;
    return value.data[0] == (uint8_t)keeper->wanted;
}

TEST(note, that_somebody_needs_is_kept_and_the_others_go)
{
    EACH_BACKING(backing)
    {
        struct write_note notes[] = { note_of(0, "a"), note_of(1, "b"), note_of(2, "a") };
        struct keeper keeper = { .wanted = 'a' };
        struct world w;

        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        engine_keep_notes(w.engine, is_wanted, &keeper);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(insert_noted(&w, i, &notes[i]), OK, "");
        for (int i = 0; i < 5; i++) {
            world_pass(&w, 2 * LIMIT_NOTE_MS);
            world_purge(&w);
            CHECK_STRING(notes_of(&w, KEY), "0=a 2=a");
        }
        CHECK_EQ(keeper.asked, 3 + 4 * 2, "each one once in its life");
        keeper.wanted = 'n';
        world_pass(&w, 2 * LIMIT_NOTE_MS);
        world_purge(&w);
        CHECK_STRING(notes_of(&w, KEY), "");
        world_close(&w);
    }
}

TEST(note, that_is_kept_never_takes_the_place_of_a_younger_one)
{
    struct write_note old = note_of(0, "a old"), young = note_of(0, "a young");
    struct keeper keeper = { .wanted = 'a' };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_EQ(insert_noted(&w, 1, &old), OK, "");
    world_pass(&w, 2 * LIMIT_NOTE_MS);
    CHECK_EQ(insert_noted(&w, 2, &young), OK, "");
    engine_keep_notes(w.engine, is_wanted, &keeper);
    world_purge(&w);
    CHECK_STRING(notes_of(&w, KEY), "0=a young");
    world_close(&w);
}

TEST(note, is_kept_however_many_there_are)
{
    enum { COUNT = 2500, BYTES = 4000 };
    struct keeper keeper = { .wanted = 'a' };
    char value[BYTES + 1];
    struct world w;

    memset(value, 'a', BYTES);
    value[BYTES] = 0;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int i = 0; i < COUNT; i++) {
        struct write_note note = note_of((uint32_t)i, i % 2 ? value : "b");
        CHECK_EQ(insert_noted(&w, i, &note), OK, "");
    }
    engine_keep_notes(w.engine, is_wanted, &keeper);
    world_pass(&w, 2 * LIMIT_NOTE_MS);
    world_purge(&w);
    CHECK_EQ(keeper.asked, COUNT, "");
    struct request request = world_begin(&w);
    struct note *notes;
    size_t count;
    CHECK_OK(note_find(&request, world_find(&request, "c"), KEY, &notes, &count));
    CHECK_EQ(count, COUNT / 2, "");
    CHECK_EQ(notes[COUNT / 2 - 1].value.len, BYTES, "");
    world_end(&request);
    world_close(&w);
}

TEST(note, stays_when_whoever_was_asked_has_left)
{
    struct write_note note = note_of(0, "a");
    struct keeper keeper = { .wanted = 'n' };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    engine_keep_notes(w.engine, is_wanted, &keeper);
    CHECK_EQ(insert_noted(&w, 1, &note), OK, "");
    engine_keep_notes(w.engine, NULL, NULL);
    world_pass(&w, 2 * LIMIT_NOTE_MS);
    world_purge(&w);
    CHECK_STRING(notes_of(&w, KEY), "0=a");
    CHECK_EQ(keeper.asked, 0, "");
    engine_keep_notes(w.engine, is_wanted, &keeper);
    world_purge(&w);
    CHECK_STRING(notes_of(&w, KEY), "");
    world_close(&w);
}

static void leave_at_a_death(void *context, const struct death *death)
{
    (void)death;
    engine_keep_notes(context, NULL, NULL);
}

/* Else a server would stop only after the pass. */
TEST(note, can_lose_its_keeper_in_the_middle_of_a_pass)
{
    struct write_note note = note_of(0, "a");
    struct keeper keeper = { .wanted = 'n' };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    engine_keep_notes(w.engine, is_wanted, &keeper);
    CHECK_EQ(insert_noted(&w, 1, &note), OK, "");
    struct request request = world_begin(&w);
    const uint32_t id = world_find(&request, "c")->id;
    world_end(&request);
    CHECK_OK(engine_read_deaths(w.engine, id, leave_at_a_death, w.engine));
    world_pass(&w, 2 * LIMIT_NOTE_MS);
    CHECK_EQ(world_purge(&w).documents, 1, "");
    CHECK_STRING(notes_of(&w, KEY), "0=a");
    world_close(&w);
}

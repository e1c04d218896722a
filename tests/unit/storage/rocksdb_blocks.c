/* Tests of blocks that are kept unpacked, alone and behind gets: who comes back finds them, and nobody finds what is old. */
#include "storage/rocksdb_blocks.h"

#include <stdio.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

/* ---- alone ------------------------------------------------------------------------------------------ */

static bool has(struct raw_blocks *blocks, struct raw_block_id id, const char *content)
{
    struct raw_block *block = raw_blocks_find(blocks, id);
    const bool is_there = block != NULL;

    if (block)
        CHECK_TEXT(block->content, content);
    raw_block_let_go(block);
    return is_there;
}

/* Leaves a block with this content. */
static void leave(struct raw_blocks *blocks, struct raw_block_id id, const char *stored)
{
    struct raw_packed *packed = raw_packed_take(blocks, id, strlen(stored));

    CHECK(packed != NULL);
    CHECK_EQ(packed->len, 0, "");
    memcpy(packed->data, stored, strlen(stored));
    packed->len = strlen(stored);
    raw_packed_leave(blocks, packed);
}

/* Is it what was left? It is gone then. */
static bool takes(struct raw_blocks *blocks, struct raw_block_id id, const char *stored)
{
    struct raw_packed *packed = raw_packed_take(blocks, id, strlen(stored));
    const bool is_there = packed && packed->len > 0;

    CHECK(packed != NULL);
    if (is_there)
        CHECK_TEXT(bytes_of(packed->data, packed->len), stored);
    packed->len = 0;
    raw_packed_leave(blocks, packed);
    return is_there;
}

TEST(blocks, one_that_comes_for_the_second_time_is_kept)
{
    struct raw_blocks *blocks = raw_blocks_open(8);
    const struct raw_block_id id = { 3, 4096 }, of_other_file = { 4, 4096 }, behind = { 3, 8192 };

    raw_blocks_offer(blocks, id, BYTES_LITERAL("rows"));
    CHECK(!has(blocks, id, "rows"));
    raw_blocks_offer(blocks, id, BYTES_LITERAL("rows"));
    CHECK(has(blocks, id, "rows"));
    CHECK(!has(blocks, of_other_file, "") && !has(blocks, behind, ""));
    raw_blocks_close(blocks);
}

TEST(blocks, one_that_is_held_stays_when_another_takes_its_place)
{
    struct raw_blocks *blocks = raw_blocks_open(1);
    const struct raw_block_id id = { 3, 0 }, other = { 5, 0 };

    for (int i = 0; i < 2; i++)
        raw_blocks_offer(blocks, id, BYTES_LITERAL("rows"));
    struct raw_block *held = raw_blocks_find(blocks, id);
    CHECK(held != NULL);
    for (int i = 0; i < 2; i++)
        raw_blocks_offer(blocks, other, BYTES_LITERAL("others"));
    CHECK(!has(blocks, id, "") && has(blocks, other, "others"));
    CHECK_TEXT(held->content, "rows");
    raw_blocks_close(blocks);
    CHECK_TEXT(held->content, "rows");
    raw_block_let_go(held);
}

TEST(blocks, what_is_left_packed_is_taken_once_and_by_its_own_name)
{
    struct raw_blocks *blocks = raw_blocks_open(1);
    const struct raw_block_id id = { 3, 0 }, of_other_file = { 4, 0 }, behind = { 3, 8 };

    leave(blocks, id, "packed");
    CHECK(!takes(blocks, of_other_file, "") && !takes(blocks, behind, ""));
    CHECK(takes(blocks, id, "packed"));
    CHECK(!takes(blocks, id, "packed"));
    leave(blocks, id, "longer than before");
    leave(blocks, of_other_file, "other");
    CHECK(takes(blocks, id, "longer than before"));
    CHECK(takes(blocks, of_other_file, "other"));
    raw_blocks_close(blocks);
}

TEST(blocks, of_those_that_are_left_packed_the_last_few_are_there)
{
    enum { LEFT = 100, THERE = 16 };
    struct raw_blocks *blocks = raw_blocks_open(1);

    for (unsigned i = 0; i < LEFT; i++)
        leave(blocks, (struct raw_block_id){ i, 0 }, "packed");
    CHECK(!takes(blocks, (struct raw_block_id){ 0, 0 }, ""));
    for (unsigned i = LEFT - THERE; i < LEFT; i++)
        CHECK(takes(blocks, (struct raw_block_id){ i, 0 }, "packed"));
    raw_blocks_close(blocks);
}

TEST(blocks, large_ones_are_not_kept)
{
    enum { LARGE = 20000 };
    struct raw_blocks *blocks = raw_blocks_open(1);
    const struct raw_block_id id = { 3, 0 };
    uint8_t *room;

    struct raw_block *block = raw_block_new(id, LARGE, &room);
    CHECK(block != NULL);
    memset(room, 7, LARGE);
    CHECK(raw_packed_take(blocks, id, LARGE) == NULL);
    raw_blocks_keep(blocks, block);
    raw_block_let_go(block);
    CHECK(!has(blocks, id, ""));
    raw_blocks_close(blocks);
}

TEST(blocks, memory_to_unpack_into_is_taken_again_if_it_is_large_enough)
{
    enum { USUAL = 4096, LARGER = 10000, LARGE = 60000, MANY = 40 };
    struct raw_blocks *blocks = raw_blocks_open(1);
    struct raw_room *rooms[MANY];

    struct raw_room *first = raw_room_take(blocks, USUAL);
    CHECK(first != NULL);
    raw_room_leave(first);
    CHECK(raw_room_take(blocks, USUAL) == first);
    struct raw_room *second = raw_room_take(blocks, USUAL);
    CHECK(second != NULL && second != first);
    raw_room_leave(first);
    first = raw_room_take(blocks, LARGER);
    CHECK(first != NULL);
    memset(first->data, 1, LARGER);
    raw_room_leave(first);
    raw_room_leave(second);
    raw_room_leave(NULL);
    /* More than are kept, and larger ones than are kept. */
    for (unsigned i = 0; i < MANY; i++) {
        rooms[i] = raw_room_take(blocks, i % 2 ? USUAL : LARGE);
        CHECK(rooms[i] != NULL);
        memset(rooms[i]->data, (int)i, i % 2 ? USUAL : LARGE);
    }
    for (unsigned i = 0; i < MANY; i++)
        CHECK_EQ(rooms[i]->data[USUAL - 1], i, "");
    for (unsigned i = 0; i < MANY; i++)
        raw_room_leave(rooms[i]);
    raw_blocks_close(blocks);
}

/* ---- behind gets ------------------------------------------------------------------------------------ */

enum { KEYS = 200 };

/* Of one length, so that blocks of different files begin at the same offsets. */
static void put_all(struct fixture *f, char letter)
{
    char key[16], value[301];

    memset(value, letter, sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (unsigned n = 0; n < KEYS; n++) {
        snprintf(key, sizeof(key), "k%05u", n);
        value[0] = (char)('a' + n % 26);
        fixture_put(f, fixture_at(SPACE_BODIES), key, value);
    }
    fixture_commit(f);
}

/* Do the files tell the key by themselves? Then it has the value that the view shows. */
static bool finds(struct fixture *f, struct storage_view *view, unsigned n, char letter)
{
    struct storage_value got;
    struct full_key full;
    char key[16];

    snprintf(key, sizeof(key), "k%05u", n);
    full_key_make(&full, 7, bytes_of_text(key));
    const bool is_found = raw_get(rocksdb_of(f->storage), (struct raw_view *)view,
                                  full_key_bytes(&full), &got);
    full_key_release(&full);
    if (!is_found)
        return false;
    CHECK_EQ(got.value.len, 300, "");
    CHECK_EQ(got.value.data[0], 'a' + n % 26, "key %u", n);
    CHECK_EQ(got.value.data[299], letter, "key %u", n);
    CHECK(raw_value_release(&got));
    return true;
}

/* How many of all keys are found so. */
static unsigned read_all(struct fixture *f, struct storage_view *view, char letter)
{
    unsigned found = 0;

    for (unsigned n = 0; n < KEYS; n++)
        found += finds(f, view, n, letter);
    return found;
}

/* Reads everything several times, so that all of it is kept. */
static struct storage_view *view_of_kept(struct fixture *f, char letter)
{
    struct storage_view *view;

    for (int i = 0; i < 3; i++) {
        CHECK_OK(storage_view_open(f->storage, &view));
        read_all(f, view, letter);
        storage_view_close(f->storage, view);
    }
    CHECK_OK(storage_view_open(f->storage, &view));
    CHECK_EQ(read_all(f, view, letter), KEYS, "");
    return view;
}

static size_t kept(struct fixture *f, struct storage_view *view)
{
    struct raw_files *list = atomic_load(&((struct raw_view *)view)->files[SPACE_BODIES]);
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct sorted *sorted = atomic_load(&list->files[i].sorted);
        for (uint32_t b = 0; sorted && b < sorted->index.count; b++) {
            const struct raw_block_id id = { sorted->number, sorted->blocks[b].offset };
            struct raw_block *block = raw_blocks_find(rocksdb_of(f->storage)->body_blocks, id);
            count += block != NULL;
            raw_block_let_go(block);
        }
    }
    return count;
}

/* One file, all of which is kept. */
static struct storage_view *open_with_kept(struct fixture *f)
{
    fixture_open(f, FIXTURE_ROCKSDB);
    put_all(f, 'A');
    fixture_flush(f, SPACE_BODIES);
    return view_of_kept(f, 'A');
}

TEST(storage, rocksdb_blocks_of_documents_that_are_read_again_are_kept)
{
    struct fixture f;
    struct storage_view *view = open_with_kept(&f);

    CHECK(kept(&f, view) >= 10);
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

TEST(storage, rocksdb_blocks_that_are_kept_show_each_view_what_it_has_seen)
{
    static const char letters[] = "ABCD";
    struct storage_view *views[sizeof(letters) - 1];
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (size_t i = 0; i < ARRAY_COUNT(views); i++) {
        put_all(&f, letters[i]);
        fixture_flush(&f, SPACE_BODIES);
        if (i % 2)
            fixture_compact(&f, SPACE_BODIES);
        views[i] = view_of_kept(&f, letters[i]);
        for (size_t k = 0; k < i; k++)
            read_all(&f, views[k], letters[k]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(views); i++) {
        read_all(&f, views[i], letters[i]);
        storage_view_close(f.storage, views[i]);
    }
    fixture_close(&f);
}

TEST(storage, rocksdb_blocks_that_are_kept_hide_no_write_and_no_deletion)
{
    struct fixture f;
    struct storage_view *view = open_with_kept(&f), *later;
    char key[16];

    for (unsigned n = 0; n < KEYS; n += 2) {
        snprintf(key, sizeof(key), "k%05u", n);
        fixture_delete(&f, fixture_at(SPACE_BODIES), key);
    }
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "k00150", "k00300");
    fixture_commit(&f);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(storage_view_open(f.storage, &later));
        for (unsigned n = 0; n < KEYS; n++)
            CHECK_THAT(!finds(&f, later, n, 'A') || (n % 2 && n < 150), "%u is shown", n);
        storage_view_close(f.storage, later);
        if (i == 0)
            fixture_flush(&f, SPACE_BODIES);
        if (i == 1)
            fixture_compact(&f, SPACE_BODIES);
    }
    read_all(&f, view, 'A');
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

/* Files that are dropped leave, and a new one has other rows where they were. */
TEST(storage, rocksdb_blocks_that_are_kept_are_not_asked_when_their_file_was_dropped)
{
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_all(&f, 'A');
    fixture_flush(&f, SPACE_BODIES);
    fixture_compact(&f, SPACE_BODIES);
    view = view_of_kept(&f, 'A');
    storage_view_close(f.storage, view);
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "k", "l");
    fixture_commit(&f);
    fixture_flush(&f, SPACE_BODIES);
    fixture_compact(&f, SPACE_BODIES);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(read_all(&f, view, 'A'), 0, "");
    storage_view_close(f.storage, view);
    put_all(&f, 'B');
    fixture_flush(&f, SPACE_BODIES);
    view = view_of_kept(&f, 'B');
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

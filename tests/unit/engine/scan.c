/* Scans: by key, by index, by slot; bounds, directions, pages that resume while documents change. */
#include "tests/support/world.h"

#include <stdio.h>

/* One page of at most `most` rows behind `after`, which moves on; ids are appended to `text`. */
struct pager {
    const char *collection;
    const char *way; /* "key" or an index, - for backwards */
    bytes after;     /* in the world's arena */
    struct buffer text;
};

static struct pager pager(struct world *w, const char *collection, const char *way)
{
    return (struct pager){ .collection = collection, .way = way, .text = buffer_in(w->arena) };
}

static bool next_page(struct world *w, struct pager *pager, int most)
{
    struct request request = world_begin(w);
    const struct collection *c = world_find(&request, pager->collection);
    const char *way = pager->way + (pager->way[0] == '-');
    struct scan_spec spec = { .is_reverse = pager->way[0] == '-', .after = pager->after };
    struct scan *scan;
    struct scan_row row;
    int given = 0;
    if (strcmp(way, "key") != 0)
        spec.index = collection_index(c, bytes_of_text(way));
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    while (given < most && scan_next(scan, &row)) {
        struct document document;
        CHECK_OK(scan_document(scan, &document));
        buffer_append_format(&pager->text, "%s%d", pager->text.len > 0 ? " " : "",
                             world_id_of(document.bson));
        document_release(&request, &document);
        given++;
    }
    CHECK_OK(scan_status(scan));
    if (given > 0)
        CHECK_OK(arena_copy(w->arena, scan_position(scan), &pager->after));
    scan_close(scan);
    world_end(&request);
    return given == most;
}

static const char *seen(struct pager *pager)
{
    buffer_append_byte(&pager->text, 0);
    pager->text.len--;
    return (const char *)pager->text.data;
}

static void insert_range(struct world *w, int from, int upto)
{
    for (int i = from; i < upto; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'x':%d,'t':[%d,100]}", i, i / 2, i), OK);
}

TEST(scan, pages_of_every_size_give_what_one_scan_gives)
{
    EACH_BACKING(backing)
    {
        struct world w;
        const char *ways[] = { "key", "-key", "x", "-x", "t", "-t" };
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x; t: t");
        insert_range(&w, 0, 23);
        EACH_ROW(ways, way) {
            const char *whole = world_scan(&w, "c", *way);
            for (int size = 1; size <= 50; size += 1 + size / 3) {
                struct pager p = pager(&w, "c", *way);
                while (next_page(&w, &p, size))
                    ;
                CHECK_STRING(seen(&p), whole);
            }
        }
        world_close(&w);
    }
}

TEST(scan, an_empty_collection_and_an_empty_range_end_at_once)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    CHECK_SCAN(&w, "c", "key", "");
    CHECK_SCAN(&w, "c", "-x", "");
    CHECK_SCAN(&w, "c", "slots", "");
    world_close(&w);
}

TEST(scan, a_position_survives_the_death_of_its_document_and_of_its_neighbours)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_NEVER, "x: x");
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, 10 - i,
                                           i >= 2 && i <= 6 ? 5 : 500),
                              OK);
            struct pager by_key = pager(&w, "c", "key");
            struct pager by_x = pager(&w, "c", "x");
            struct pager back = pager(&w, "c", "-key");
            next_page(&w, &by_key, 4);
            next_page(&w, &by_x, 5);
            next_page(&w, &back, 4);
            world_at(&w, 5000);
            if (is_purged)
                world_purge(&w);
            while (next_page(&w, &by_key, 2))
                ;
            while (next_page(&w, &by_x, 2))
                ;
            while (next_page(&w, &back, 2))
                ;
            CHECK_STRING(seen(&by_key), "0 1 2 3 7 8 9");
            CHECK_STRING(seen(&by_x), "9 8 7 6 5 1 0");
            CHECK_STRING(seen(&back), "9 8 7 6 1 0");
            world_close(&w);
        }
    }
}

TEST(scan, documents_rewritten_between_pages_are_neither_repeated_nor_skipped)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 1000, "x: x");
        insert_range(&w, 0, 20);
        struct pager by_key = pager(&w, "c", "key");
        struct pager by_x = pager(&w, "c", "x");
        for (int page = 0; page < 7; page++) {
            next_page(&w, &by_key, 3);
            next_page(&w, &by_x, 3);
            world_pass(&w, 1000);
            /* Written again, with the same value in the index: they move to other slots. */
            for (int i = page; i < 20; i += 3)
                CHECK_WRITTEN(world_replace(&w, "c", "{'_id':%d,'x':%d,'page':%d}", i, i / 2, page),
                              OK);
            world_purge(&w);
        }
        CHECK_STRING(seen(&by_key), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
        CHECK_STRING(seen(&by_x), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
        world_close(&w);
    }
}

TEST(scan, a_document_deleted_and_created_again_behind_the_position_is_not_given_twice)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    insert_range(&w, 0, 6);
    struct pager p = pager(&w, "c", "key");
    next_page(&w, &p, 3);
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':9}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':30,'x':9}"), OK);
    while (next_page(&w, &p, 3))
        ;
    CHECK_STRING(seen(&p), "0 1 2 3 4 5 30");
    world_close(&w);
}

/* ---- bounds ------------------------------------------------------------------------------------------- */

static bytes encoded(struct request *request, const char *json)
{
    char text[128];
    struct value value;
    bytes out = BYTES_NONE;
    struct buffer buffer = buffer_in(request->arena);
    if (json == NULL)
        return out;
    snprintf(text, sizeof(text), "{'v':%s}", json);
    CHECK(document_find(world_document(request->arena, text), "v", &value));
    key_append_value(&buffer, value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&buffer, &out));
    return out;
}

static const char *between(struct world *w, const char *way, const char *start, const char *end,
                           bool is_end_inclusive)
{
    struct request request = world_begin(w);
    const struct collection *c = world_find(&request, "c");
    struct scan_spec spec = {
        .start = encoded(&request, start),
        .end = encoded(&request, end),
        .is_end_inclusive = is_end_inclusive,
        .is_reverse = way[0] == '-',
    };
    way += way[0] == '-';
    if (strcmp(way, "key") != 0)
        spec.index = collection_index(c, bytes_of_text(way));
    return world_scan_spec(w, &request, c, &spec, false);
}

TEST(scan, bounds_are_kept_in_both_directions)
{
    const struct {
        const char *way, *start, *end;
        bool is_end_inclusive;
        const char *want;
    } rows[] = {
        {"key",   NULL,  NULL, false, "0 1 2 3 4 5 6 7"},
        { "key",  "3",   NULL, false, "3 4 5 6 7"      },
        { "key",  NULL,  "3",  false, "0 1 2"          },
        { "key",  NULL,  "3",  true,  "0 1 2 3"        },
        { "key",  "2",   "5",  false, "2 3 4"          },
        { "key",  "2",   "5",  true,  "2 3 4 5"        },
        { "key",  "5",   "2",  false, ""               },
        { "-key", "2",   "5",  false, "4 3 2"          },
        { "-key", "2",   "5",  true,  "5 4 3 2"        },
        { "-key", NULL,  "3",  true,  "3 2 1 0"        },
        { "-key", "6",   NULL, false, "7 6"            },
        { "key",  "3",   "3",  true,  "3"              },
        { "key",  "3",   "3",  false, ""               },
        { "x",    "1",   "2",  false, "2 3"            },
        { "x",    "1",   "2",  true,  "2 3 4 5"        },
        { "-x",   "1",   "2",  true,  "5 4 3 2"        },
        { "-x",   "1",   "2",  false, "3 2"            },
        { "x",    "1",   "1",  true,  "2 3"            },
        { "x",    "9",   NULL, false, ""               },
        { "x",    "'a'", NULL, false, ""               },
    };
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x; y: y");
        insert_range(&w, 0, 8);
        EACH_ROW(rows, r) {
            const char *got = between(&w, r->way, r->start, r->end, r->is_end_inclusive);
            CHECK_THAT(strcmp(got, r->want) == 0, "%s from %s to %s%s: \"%s\", want \"%s\"", r->way,
                       r->start ? r->start : "-", r->end ? r->end : "-",
                       r->is_end_inclusive ? " included" : "", got, r->want);
        }
        world_close(&w);
    }
}

TEST(scan, the_first_field_of_a_compound_index_bounds_all_behind_it)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "ab: a -b");
    for (int i = 0; i < 9; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'a':%d,'b':%d}", i, i / 3, i % 3), OK);
    CHECK_STRING(between(&w, "ab", "1", "1", true), "5 4 3");
    CHECK_STRING(between(&w, "-ab", "1", "1", true), "3 4 5");
    CHECK_STRING(between(&w, "ab", "1", NULL, false), "5 4 3 8 7 6");
    world_close(&w);
}

TEST(scan, the_partition_key_bounds_an_index_per_partition_key)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, "c", TTL_OFF, "x: x parted", "p");
    for (int i = 0; i < 9; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'p':%d,'x':%d}", i, i / 3, 9 - i), OK);
    CHECK_STRING(between(&w, "x", "1", "1", true), "5 4 3");
    CHECK_STRING(between(&w, "-x", "1", "1", true), "3 4 5");
    CHECK_SCAN(&w, "c", "x", "2 1 0 5 4 3 8 7 6");
    world_close(&w);
}

TEST(scan, a_row_by_key_or_slot_says_when_its_life_began)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    const uint64_t birth = world_insert(&w, "c", "{'_id':1}").seq;
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'v':2}"), OK);
    struct request request = world_begin(&w);
    const struct collection *c = world_find(&request, "c");
    for (int is_by_slot = 0; is_by_slot < 2; is_by_slot++) {
        const struct scan_spec all = { 0 };
        struct scan *scan;
        struct scan_row row;
        CHECK_OK(is_by_slot ? scan_open_slots(&request, c, &scan)
                            : scan_open(&request, c, &all, &scan));
        CHECK(scan_next(scan, &row));
        CHECK_EQ(row.birth_seq, birth, "by slot %d", is_by_slot);
        CHECK(row.seq > birth);
        scan_close(scan);
    }
    world_end(&request);
    world_close(&w);
}

TEST(scan, one_request_sees_one_instant)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        if (!(storage_capabilities(w.storage) & STORAGE_HAS_SNAPSHOTS)) {
            world_close(&w);
            continue;
        }
        world_collection(&w, "c", TTL_OFF, "x: x");
        insert_range(&w, 0, 4);
        struct request request = world_begin(&w);
        CHECK_STRING(world_scan_in(&request, "c", "key"), "0 1 2 3");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':9,'x':-5}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':0}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'x':-9}"), OK);
        CHECK_STRING(world_scan_in(&request, "c", "key"), "0 1 2 3");
        CHECK_STRING(world_scan_in(&request, "c", "x"), "0 1 2 3");
        CHECK_STRING(world_scan_in(&request, "c", "slots"), "0 1 2 3");
        world_end(&request);
        CHECK_SCAN(&w, "c", "key", "1 2 3 9");
        CHECK_SCAN(&w, "c", "x", "3 9 1 2");
        world_close(&w);
    }
}

TEST(scan, slots_give_every_living_document_of_every_lane_once)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "a: a ttl=10; b: b ttl=10");
            for (int i = 0; i < 25; i++) {
                const char *kinds[] = { "", ",'ttl':-1", ",'ttl':%d", ",'a':@%d", ",'b':@%d" };
                char extra[64];
                snprintf(extra, sizeof(extra), kinds[i % 5], i % 5 == 2 ? 5 + i : -i * 300);
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d%s}", i, extra), OK);
            }
            world_at(&w, 6000);
            if (is_purged)
                world_purge(&w);
            /* Own ttl 5 + i: all later than 6 s; dates -300 i + 10 s: 14 (b) and later are dead. */
            CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 15 16 17 20 21 22");
            world_close(&w);
        }
    }
}

TEST(scan, the_dead_are_skipped_without_reading_their_bodies)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "x: x");
    insert_range(&w, 0, 100);
    world_at(&w, 10000);
    storage_faulty_arm(w.storage, 0);
    CHECK_SCAN(&w, "c", "key", "");
    CHECK_SCAN(&w, "c", "x", "");
    CHECK_SCAN(&w, "c", "slots", "");
    const uint64_t calls = storage_faulty_calls(w.storage);
    /* Opening views and scans and stepping over rows, but not one get per dead document and scan. */
    CHECK_THAT(calls < 100 * 3, "%llu storage calls", (unsigned long long)calls);
    world_close(&w);
}

/* ---- stretches ----------------------------------------------------------------------------------------- */

/* Appends the ids of the rows that a scan gives, at most so many. */
static void take_ids(struct request *request, struct scan *scan, struct buffer *text, int most)
{
    struct scan_row row;
    struct document document;

    for (int i = 0; i < most && scan_next(scan, &row); i++) {
        CHECK_OK(scan_document(scan, &document));
        buffer_append_format(text, " %d", world_id_of(document.bson));
        document_release(request, &document);
    }
    CHECK_OK(scan_status(scan));
}

/* Rows with from <= x < upto. */
static struct scan_spec stretch(struct request *request, const struct index *index, int from,
                                int upto, bool is_reverse)
{
    struct buffer start = buffer_in(request->arena), end = buffer_in(request->arena);
    struct scan_spec spec = { .index = index, .is_reverse = is_reverse };
    struct value value;

    CHECK_OK(value_of_int64(request->arena, from, &value));
    key_append_value(&start, value, KEY_ASCENDING);
    CHECK_OK(value_of_int64(request->arena, upto, &value));
    key_append_value(&end, value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&start, &spec.start));
    CHECK_OK(buffer_finish(&end, &spec.end));
    return spec;
}

TEST(scan, moving_through_stretches_gives_what_a_scan_of_each_gives)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i / 2 * 3), OK);
    EACH_SEED(seed, 200) {
        struct random random = random_seeded(seed);
        struct request request = world_begin(&w);
        const struct collection *c = world_find(&request, "c");
        const struct index *index = collection_index(c, BYTES_LITERAL("x"));
        const bool is_reverse = random_below(&random, 2) == 1;
        struct scan_spec all = { .index = index, .is_reverse = is_reverse };
        struct buffer moved = buffer_in(request.arena), alone = buffer_in(request.arena);
        bytes through_one, through_each;
        struct scan *one, *each;
        CHECK_OK(scan_open(&request, c, &all, &one));
        int from = is_reverse ? 60 : -5;
        for (int i = 0; i < 12; i++) {
            /* Mostly onwards, with and without a gap, sometimes back; mostly to the end of the stretch. */
            const int step = (int)random_below(&random, 7);
            if (random_below(&random, 5) == 0)
                from = (int)random_below(&random, 60);
            const int most = random_below(&random, 3) ? 100 : (int)random_below(&random, 4);
            struct scan_spec spec = is_reverse ? stretch(&request, index, from - step, from, true)
                                               : stretch(&request, index, from, from + step, false);
            CHECK_OK(scan_move(one, &spec));
            take_ids(&request, one, &moved, most);
            CHECK_OK(scan_open(&request, c, &spec, &each));
            take_ids(&request, each, &alone, most);
            scan_close(each);
            from += (is_reverse ? -1 : 1) * (step + (int)random_below(&random, 3));
        }
        CHECK_OK(buffer_finish(&moved, &through_one));
        CHECK_OK(buffer_finish(&alone, &through_each));
        CHECK_BYTES(through_one, through_each, "");
        scan_close(one);
        world_end(&request);
    }
    world_close(&w);
}

/* All ids of a scan, whose documents are lent or not. */
static const char *ids_of(struct world *w, const struct scan_spec *spec)
{
    struct request request = world_begin(w);

    return world_scan_spec(w, &request, world_find(&request, "c"), spec, true);
}

TEST(scan, documents_that_are_lent_are_those_that_would_be_read_one_by_one)
{
    enum { DOCUMENTS = 700 };
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "x: x");
        struct random random = random_seeded(check_seed());
        /* Neither by key nor by the index do they come as they lie, and some die in between or moved. */
        for (int i = 0; i < DOCUMENTS; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d%s}", i * 37 % DOCUMENTS,
                                       (int)random_below(&random, 50), i % 5 ? "" : ",'ttl':10"),
                          OK);
        for (int i = 0; i < DOCUMENTS; i += 7)
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':%d,'x':%d}", i, i % 50), OK);
        world_pass(&w, 10000);
        for (int i = 0; i < 4; i++) {
            struct request request = world_begin(&w);
            const struct collection *c = world_find(&request, "c");
            struct scan_spec spec = { .index = i % 2 ? collection_index(c, BYTES_LITERAL("x"))
                                                     : NULL,
                                      .is_reverse = i / 2 };
            const char *plain = ids_of(&w, &spec);
            spec.lends = true;
            CHECK_STRING(ids_of(&w, &spec), plain);
            CHECK(strlen(plain) > DOCUMENTS * 3);
            world_end(&request);
        }
        world_close(&w);
    }
}

/* Scans: by key, by index, by slot; bounds, directions, pages that resume while documents change. */
#include "tests/support/engine_fixture.h"

#include <stdio.h>

/* One page of at most `most` rows behind `after`, which moves on; ids are appended to `text`. */
struct pager {
    const char *collection;
    const char *way; /* "key" or an index, - for backwards */
    bytes after;     /* in the fixture's arena */
    struct buffer text;
};

static struct pager pager(struct fixture *f, const char *collection, const char *way)
{
    return (struct pager){ .collection = collection, .way = way, .text = buffer_in(f->arena) };
}

static bool next_page(struct fixture *f, struct pager *pager, int most)
{
    struct request request = fixture_begin(f);
    const struct collection *c = fixture_find(&request, pager->collection);
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
                             fixture_id_of(document.bson));
        document_release(&request, &document);
        given++;
    }
    CHECK_OK(scan_status(scan));
    if (given > 0)
        CHECK_OK(arena_copy(f->arena, scan_position(scan), &pager->after));
    scan_close(scan);
    fixture_end(&request);
    return given == most;
}

static const char *seen(struct pager *pager)
{
    buffer_append_byte(&pager->text, 0);
    pager->text.len--;
    return (const char *)pager->text.data;
}

static void insert_range(struct fixture *f, int from, int upto)
{
    for (int i = from; i < upto; i++)
        CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':%d,'x':%d,'t':[%d,100]}", i, i / 2, i), OK);
}

TEST(scan, pages_of_every_size_give_what_one_scan_gives)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        const char *ways[] = { "key", "-key", "x", "-x", "t", "-t" };
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x; t: t");
        insert_range(&f, 0, 23);
        EACH_ROW(ways, way) {
            const char *whole = fixture_scan(&f, "c", *way);
            for (int size = 1; size <= 50; size += 1 + size / 3) {
                struct pager p = pager(&f, "c", *way);
                while (next_page(&f, &p, size))
                    ;
                CHECK_STRING(seen(&p), whole);
            }
        }
        fixture_close(&f);
    }
}

TEST(scan, an_empty_collection_and_an_empty_range_end_at_once)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "x: x");
    CHECK_SCAN(&f, "c", "key", "");
    CHECK_SCAN(&f, "c", "-x", "");
    CHECK_SCAN(&f, "c", "slots", "");
    fixture_close(&f);
}

TEST(scan, a_position_survives_the_death_of_its_document_and_of_its_neighbours)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", TTL_NEVER, "x: x");
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, 10 - i,
                                             i >= 2 && i <= 6 ? 5 : 500),
                              OK);
            struct pager by_key = pager(&f, "c", "key");
            struct pager by_x = pager(&f, "c", "x");
            struct pager back = pager(&f, "c", "-key");
            next_page(&f, &by_key, 4);
            next_page(&f, &by_x, 5);
            next_page(&f, &back, 4);
            fixture_at(&f, 5000);
            if (is_purged)
                fixture_purge(&f);
            while (next_page(&f, &by_key, 2))
                ;
            while (next_page(&f, &by_x, 2))
                ;
            while (next_page(&f, &back, 2))
                ;
            CHECK_STRING(seen(&by_key), "0 1 2 3 7 8 9");
            CHECK_STRING(seen(&by_x), "9 8 7 6 5 1 0");
            CHECK_STRING(seen(&back), "9 8 7 6 1 0");
            fixture_close(&f);
        }
    }
}

TEST(scan, documents_rewritten_between_pages_are_neither_repeated_nor_skipped)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 1000, "x: x");
        insert_range(&f, 0, 20);
        struct pager by_key = pager(&f, "c", "key");
        struct pager by_x = pager(&f, "c", "x");
        for (int page = 0; page < 7; page++) {
            next_page(&f, &by_key, 3);
            next_page(&f, &by_x, 3);
            fixture_pass(&f, 1000);
            /* Written again, with the same value in the index: they move to other slots. */
            for (int i = page; i < 20; i += 3)
                CHECK_WRITTEN(
                    fixture_replace(&f, "c", "{'_id':%d,'x':%d,'page':%d}", i, i / 2, page), OK);
            fixture_purge(&f);
        }
        CHECK_STRING(seen(&by_key), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
        CHECK_STRING(seen(&by_x), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
        fixture_close(&f);
    }
}

TEST(scan, a_document_deleted_and_created_again_behind_the_position_is_not_given_twice)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "x: x");
    insert_range(&f, 0, 6);
    struct pager p = pager(&f, "c", "key");
    next_page(&f, &p, 3);
    CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':2}"), OK);
    CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'x':9}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':30,'x':9}"), OK);
    while (next_page(&f, &p, 3))
        ;
    CHECK_STRING(seen(&p), "0 1 2 3 4 5 30");
    fixture_close(&f);
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
    CHECK(document_find(fixture_document(request->arena, text), "v", &value));
    key_append_value(&buffer, value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&buffer, &out));
    return out;
}

static const char *between(struct fixture *f, const char *way, const char *start, const char *end,
                           bool is_end_inclusive)
{
    struct request request = fixture_begin(f);
    const struct collection *c = fixture_find(&request, "c");
    struct buffer text = buffer_in(f->arena);
    struct scan_spec spec = {
        .start = encoded(&request, start),
        .end = encoded(&request, end),
        .is_end_inclusive = is_end_inclusive,
        .is_reverse = way[0] == '-',
    };
    struct scan *scan;
    struct scan_row row;
    way += way[0] == '-';
    if (strcmp(way, "key") != 0)
        spec.index = collection_index(c, bytes_of_text(way));
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    while (scan_next(scan, &row)) {
        struct document document;
        CHECK_OK(scan_document(scan, &document));
        buffer_append_format(&text, "%s%d", text.len > 0 ? " " : "", fixture_id_of(document.bson));
        document_release(&request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    fixture_end(&request);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
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
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x; y: y");
        insert_range(&f, 0, 8);
        EACH_ROW(rows, r) {
            const char *got = between(&f, r->way, r->start, r->end, r->is_end_inclusive);
            CHECK_THAT(strcmp(got, r->want) == 0, "%s from %s to %s%s: \"%s\", want \"%s\"", r->way,
                       r->start ? r->start : "-", r->end ? r->end : "-",
                       r->is_end_inclusive ? " included" : "", got, r->want);
        }
        fixture_close(&f);
    }
}

TEST(scan, the_first_field_of_a_compound_index_bounds_all_behind_it)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "ab: a -b");
    for (int i = 0; i < 9; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'a':%d,'b':%d}", i, i / 3, i % 3), OK);
    CHECK_STRING(between(&f, "ab", "1", "1", true), "5 4 3");
    CHECK_STRING(between(&f, "-ab", "1", "1", true), "3 4 5");
    CHECK_STRING(between(&f, "ab", "1", NULL, false), "5 4 3 8 7 6");
    fixture_close(&f);
}

TEST(scan, one_request_sees_one_instant)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        if (!(storage_capabilities(f.storage) & STORAGE_HAS_SNAPSHOTS)) {
            fixture_close(&f);
            continue;
        }
        fixture_collection(&f, "c", TTL_OFF, "x: x");
        insert_range(&f, 0, 4);
        struct request request = fixture_begin(&f);
        CHECK_STRING(fixture_scan_in(&request, "c", "key"), "0 1 2 3");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':9,'x':-5}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':0}"), OK);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':3,'x':-9}"), OK);
        CHECK_STRING(fixture_scan_in(&request, "c", "key"), "0 1 2 3");
        CHECK_STRING(fixture_scan_in(&request, "c", "x"), "0 1 2 3");
        CHECK_STRING(fixture_scan_in(&request, "c", "slots"), "0 1 2 3");
        fixture_end(&request);
        CHECK_SCAN(&f, "c", "key", "1 2 3 9");
        CHECK_SCAN(&f, "c", "x", "3 9 1 2");
        fixture_close(&f);
    }
}

TEST(scan, slots_give_every_living_document_of_every_lane_once)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10, "a: a ttl=10; b: b ttl=10");
            for (int i = 0; i < 25; i++) {
                const char *kinds[] = { "", ",'ttl':-1", ",'ttl':%d", ",'a':@%d", ",'b':@%d" };
                char extra[64];
                snprintf(extra, sizeof(extra), kinds[i % 5], i % 5 == 2 ? 5 + i : -i * 300);
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d%s}", i, extra), OK);
            }
            fixture_at(&f, 6000);
            if (is_purged)
                fixture_purge(&f);
            /* Own ttl 5 + i: all later than 6 s; dates -300 i + 10 s: 14 (b) and later are dead. */
            CHECK_LIVING(&f, "c", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 15 16 17 20 21 22");
            fixture_close(&f);
        }
    }
}

TEST(scan, the_dead_are_skipped_without_reading_their_bodies)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "x: x");
    insert_range(&f, 0, 100);
    fixture_at(&f, 10000);
    storage_faulty_arm(f.storage, 0);
    CHECK_SCAN(&f, "c", "key", "");
    CHECK_SCAN(&f, "c", "x", "");
    CHECK_SCAN(&f, "c", "slots", "");
    const uint64_t calls = storage_faulty_calls(f.storage);
    /* Opening views and scans and stepping over rows, but not one get per dead document and scan. */
    CHECK_THAT(calls < 100 * 3, "%llu storage calls", (unsigned long long)calls);
    fixture_close(&f);
}

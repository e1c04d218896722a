/* Requests that began before an index was dropped, and look for documents afterwards. */
#include "front/mongo/filter.h"
#include "query/find.h"
#include "tests/support/world.h"

enum { ROWS = 20 };

struct dropped {
    struct world world;
    struct request request;
    struct find_request wanted;
};

/* A request that has looked at the catalog, and then the index `x` over `a` is dropped. */
static void open_dropped(struct dropped *d, enum backing backing)
{
    struct fault fault = { 0 };

    memset(d, 0, sizeof(*d));
    world_open(&d->world, backing);
    world_collection(&d->world, "c", TTL_OFF, "x: a missing=null; y: b missing=null");
    for (int i = 0; i < ROWS; i++)
        CHECK_WRITTEN(world_insert(&d->world, "c", "{'_id':%d,'a':%d,'b':%d}", i, i, i % 2), OK);
    d->request = world_begin(&d->world);
    d->wanted = (struct find_request){ .request = &d->request,
                                       .collection = world_find(&d->request, "c") };
    CHECK_OK(filter_parse(d->world.arena, world_document(d->world.arena, "{'a':{'$gte':5}}"), NULL,
                          &d->wanted.match, &fault));
    CHECK_OK(world_index_drop(&d->world, "c", "x"));
}

static void close_dropped(struct dropped *d)
{
    world_end(&d->request);
    world_close(&d->world);
}

TEST(mongo_find, an_index_that_was_dropped_meanwhile_is_not_used)
{
    EACH_BACKING(backing)
    {
        struct dropped d;
        struct find *find;
        struct find_row row;
        uint64_t count, found = 0;
        bool has_row = true;

        open_dropped(&d, backing);
        CHECK_OK(find_open(&d.wanted, &find));
        while (has_row) {
            CHECK_OK(find_next(find, &row, &has_row));
            found += has_row;
        }
        CHECK_EQ(found, ROWS - 5, "");
        CHECK(find_explain(find)->access != FIND_ACCESS_INDEX);
        find_close(find);
        CHECK_OK(find_count(&d.wanted, &count, NULL));
        CHECK_EQ(count, ROWS - 5, "");
        close_dropped(&d);
    }
}

TEST(mongo_find, a_hint_at_an_index_that_was_dropped_meanwhile_is_refused)
{
    struct dropped d;
    struct find *find;

    open_dropped(&d, ON_MEMORY);
    d.wanted.by = FIND_BY_INDEX;
    d.wanted.hint = &d.wanted.collection->indexes[0];
    CHECK_EQ(find_open(&d.wanted, &find).code, INVALID, "");
    d.wanted.hint = &d.wanted.collection->indexes[1];
    CHECK_OK(find_open(&d.wanted, &find));
    find_close(find);
    close_dropped(&d);
}

TEST(mongo_find, nobody_scans_an_index_that_was_dropped_meanwhile)
{
    struct dropped d;
    struct scan *scan;

    open_dropped(&d, ON_MEMORY);
    const struct index *indexes = d.wanted.collection->indexes;
    CHECK_EQ(scan_open(&d.request, d.wanted.collection, &(struct scan_spec){ .index = &indexes[0] },
                       &scan)
                 .code,
             CONFLICT, "");
    CHECK_OK(scan_open(&d.request, d.wanted.collection, &(struct scan_spec){ .index = &indexes[1] },
                       &scan));
    scan_close(scan);
    close_dropped(&d);
}

/* Who looked before the drop goes on with what there was. */
TEST(mongo_find, an_index_that_is_dropped_later_is_used_to_the_end)
{
    EACH_BACKING(backing)
    {
        struct dropped d;
        struct find *find;
        struct find_row row;
        uint64_t found = 0;
        bool has_row = true;

        open_dropped(&d, backing);
        world_end(&d.request);
        d.request = world_begin(&d.world);
        d.wanted.collection = world_find(&d.request, "c");
        struct fault fault = { 0 };
        CHECK_OK(filter_parse(d.world.arena, world_document(d.world.arena, "{'b':1}"), NULL,
                              &d.wanted.match, &fault));
        CHECK_OK(find_open(&d.wanted, &find));
        CHECK_EQ(find_explain(find)->access, FIND_ACCESS_INDEX, "");
        CHECK_OK(world_index_drop(&d.world, "c", "y"));
        while (has_row) {
            CHECK_OK(find_next(find, &row, &has_row));
            found += has_row;
        }
        CHECK_EQ(found, ROWS / 2, "");
        find_close(find);
        close_dropped(&d);
    }
}

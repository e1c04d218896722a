/* Scans that know how many documents will be asked for: they get some in advance, and nobody can tell. */
#include "tests/support/world.h"

enum { DOCUMENTS = 120 };

/* Some have died and some were written again, so that neither keys nor the index follow the order of writing. */
static void fill(struct world *w, enum backing backing)
{
    world_open(w, backing);
    world_collection(w, "c", 100, "x: x");
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'x':%d%s}", i * 37 % DOCUMENTS, i % 11,
                                   i % 5 ? "" : ",'ttl':10"),
                      OK);
    for (int i = 0; i < DOCUMENTS; i += 7)
        CHECK_WRITTEN(world_replace(w, "c", "{'_id':%d,'x':%d}", i, i % 11), OK);
    world_pass(w, 10000);
}

/* The ids of all rows of which the document is asked for: every `step`-th one. */
static const char *ids_of(struct world *w, struct scan_spec spec, const char *index, int step,
                          size_t wanted)
{
    struct request request = world_begin(w);
    const struct collection *c = world_find(&request, "c");
    struct buffer text = buffer_in(w->arena);
    struct document document;
    struct scan_row row;
    struct scan *scan;

    spec.index = index ? collection_index(c, bytes_of_text(index)) : NULL;
    spec.wanted = wanted;
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    for (int i = 0; scan_next(scan, &row); i++) {
        if (i % step)
            continue;
        CHECK_OK(scan_document(scan, &document));
        CHECK_EQ(document.seq, row.seq, "");
        buffer_append_format(&text, "%d ", world_id_of(document.bson));
        document_release(&request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    world_end(&request);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(scan, documents_that_are_wanted_are_those_that_would_be_read_one_by_one)
{
    static const size_t wanted[] = { 1, 2, 3, 9, 10, 11, 40, 1000 };

    EACH_BACKING(backing)
    {
        struct world w;
        fill(&w, backing);
        for (int i = 0; i < 4; i++) {
            const struct scan_spec spec = { .is_reverse = i / 2 };
            const char *index = i % 2 ? "x" : NULL;
            for (int step = 1; step <= 3; step++) {
                const char *plain = ids_of(&w, spec, index, step, 0);
                CHECK(strlen(plain) > DOCUMENTS / 2);
                struct scan_spec other = spec;
                other.may_know = true;
                EACH_ROW(wanted, n) {
                    CHECK_STRING(ids_of(&w, spec, index, step, *n), plain);
                    CHECK_STRING(ids_of(&w, other, index, step, *n), plain);
                }
            }
        }
        world_close(&w);
    }
}

/* Reads so many documents of the scan, and returns the id of the last one. */
static int read_some(struct request *request, struct scan *scan, int count)
{
    struct document document;
    struct scan_row row;
    int id = -1;

    for (int i = 0; i < count; i++) {
        CHECK(scan_next(scan, &row));
        CHECK_OK(scan_document(scan, &document));
        id = world_id_of(document.bson);
        document_release(request, &document);
    }
    return id;
}

TEST(scan, one_that_jumps_or_moves_gives_nothing_that_it_had_in_advance)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "x: x");
        for (int i = 0; i < DOCUMENTS; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
        struct request request = world_begin(&w);
        const struct collection *c = world_find(&request, "c");
        struct scan_spec spec = { .wanted = 1000 };
        struct scan *scan;
        bytes place;
        CHECK_OK(scan_open(&request, c, &spec, &scan));
        CHECK_EQ(read_some(&request, scan, 2), 1, "");
        CHECK_OK(arena_copy(w.arena, scan_position(scan), &place));
        CHECK_EQ(read_some(&request, scan, 3), 4, "");
        CHECK_OK(scan_seek(scan, place));
        CHECK_EQ(read_some(&request, scan, 5), 5, "");
        spec.start = place;
        CHECK_OK(scan_move(scan, &spec));
        CHECK_EQ(read_some(&request, scan, DOCUMENTS - 1), DOCUMENTS - 1, "");
        struct scan_row row;
        CHECK(!scan_next(scan, &row));
        CHECK_OK(scan_move(scan, &spec));
        CHECK_EQ(read_some(&request, scan, 1), 1, "");
        scan_close(scan);
        world_end(&request);
        world_close(&w);
    }
}

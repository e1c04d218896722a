/* World answers: what an engine says about a collection, asked in every way there is.
 *
 * The ways must agree: a document that lives is found by its key, by every index that holds it, by slot,
 * and is in the figures; a dead one by none.
 * Threads: the test's thread, or the one that began the request. */
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_BYTES = 4096, VIOLATIONS_SHOWN = 5 };

/* ---- scans ------------------------------------------------------------------------------------------- */

static struct scan *open_scan(struct request *request, const struct collection *collection,
                              const char *way)
{
    struct scan_spec spec = { .is_reverse = way[0] == '-' };
    struct scan *scan = NULL;

    way += way[0] == '-';
    if (strcmp(way, "slots") == 0) {
        CHECK_OK(scan_open_slots(request, collection, &scan));
        return scan;
    }
    if (strcmp(way, "key") != 0) {
        spec.index = collection_index(collection, bytes_of_text(way));
        CHECK_THAT(spec.index != NULL, "there is no index %s", way);
    }
    CHECK_OK(scan_open(request, collection, &spec, &scan));
    return scan;
}

/* The id of the row the scan stands on. Its document must be there, be the row's and not be older. */
static int id_of_row(struct request *request, struct scan *scan, const struct scan_row *row)
{
    struct document document;
    CHECK_OK(scan_document(scan, &document));
    const int id = world_id_of(document.bson);
    CHECK_BYTES(document.key.id, row->key.id, "the row's key is its document's");
    CHECK_BYTES(document.key.partition, row->key.partition, "the row's key is its document's");
    CHECK_EQ(document.seq, row->seq, "version of document %d", id);
    CHECK_EQ(document.written_at_s, row->written_at_s, "document %d", id);
    document_release(request, &document);
    return id;
}

const char *world_scan_in(struct request *request, const char *collection, const char *way)
{
    struct scan *scan = open_scan(request, world_find(request, collection), way);
    struct buffer text = buffer_in(request->arena);
    struct scan_row row;
    while (scan_next(scan, &row))
        buffer_append_format(&text, "%s%d", text.len > 0 ? " " : "",
                             id_of_row(request, scan, &row));
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    buffer_append_byte(&text, 0);
    CHECK(!text.is_failed);
    return (const char *)text.data;
}

const char *world_scan(struct world *w, const char *collection, const char *way)
{
    struct request request = world_begin(w);
    const char *text = arena_format(w->arena, "%s", world_scan_in(&request, collection, way));
    CHECK(text != NULL);
    world_end(&request);
    return text;
}

const char *world_scan_spec(struct world *w, struct request *request,
                            const struct collection *collection, const struct scan_spec *spec,
                            bool has_births)
{
    struct buffer text = buffer_in(w->arena);
    struct document document;
    struct scan_row row;
    struct scan *scan;

    CHECK_OK(scan_open(request, collection, spec, &scan));
    while (scan_next(scan, &row)) {
        CHECK_OK(scan_document(scan, &document));
        CHECK_EQ(document.seq, row.seq, "");
        buffer_append_format(&text, "%s%d", text.len > 0 ? " " : "", world_id_of(document.bson));
        if (has_births)
            buffer_append_format(&text, "@%llu", (unsigned long long)document.birth_seq);
        document_release(request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    world_end(request);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

/* ---- who lives --------------------------------------------------------------------------------------- */

struct id_set {
    bool has[WORLD_IDS];
    size_t count;
};

static struct id_set parse_ids(const char *text)
{
    struct id_set set = { .count = 0 };

    while (*text != '\0') {
        char *end;
        const long id = strtol(text, &end, 10);
        CHECK_THAT(end != text && id >= 0 && id < WORLD_IDS, "not a list of ids: %s", text);
        set.count += !set.has[id];
        set.has[id] = true;
        text = end + strspn(end, " ");
    }
    return set;
}

static const char *show_ids(const struct id_set *set, char out[SHOWN_BYTES])
{
    size_t used = 0;

    out[0] = '\0';
    for (int id = 0; id < WORLD_IDS; id++)
        if (set->has[id])
            used += (size_t)snprintf(out + used, SHOWN_BYTES - used, "%s%d", used > 0 ? " " : "",
                                     id);
    return out;
}

struct asked {
    const char *file;
    int line;
    const char *collection;
    const struct id_set *want;
};

static void compare_ids(const struct asked *asked, const char *way, const struct id_set *got,
                        bool may_be_fewer)
{
    char shown[2][SHOWN_BYTES];
    for (int id = 0; id < WORLD_IDS; id++) {
        const bool is_same = got->has[id] == asked->want->has[id];
        if (is_same || (may_be_fewer && !got->has[id]))
            continue;
        check_fail(asked->file, asked->line, asked->collection,
                   "%s by %s: living are \"%s\", want \"%s\"",
                   got->has[id] ? "a dead document is seen" : "a living document is missed", way,
                   show_ids(got, shown[0]), show_ids(asked->want, shown[1]));
    }
}

static void ask_scan(struct request *request, const struct asked *asked, const char *way,
                     bool may_be_fewer)
{
    const struct id_set got = parse_ids(world_scan_in(request, asked->collection, way));
    compare_ids(asked, way, &got, may_be_fewer);
}

static void ask_indexes(struct request *request, const struct asked *asked)
{
    const struct collection *collection = world_find(request, asked->collection);

    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        const struct index_definition *definition = &index->definition;
        char name[LIMIT_NAME_BYTES + 2];
        if (index->state != INDEX_READY)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)definition->name.len,
                 (const char *)definition->name.data);
        ask_scan(request, asked, name,
                 definition->is_sparse || definition->is_partial ||
                     definition->kind == INDEX_PATHS || index_progress_per_mille(index) < 1000);
    }
}

static void ask_points(struct request *request, const struct asked *asked)
{
    const struct collection *collection = world_find(request, asked->collection);
    struct id_set got = { .count = 0 };

    /* A partitioned collection's keys cannot be made from the id alone; its scans must do. */
    if (collection->definition.partition_path_count > 0)
        return;
    for (int id = 0; id < WORLD_IDS; id++) {
        struct document document;
        const status s = document_read(request, collection, world_id_key(request, collection, id),
                                       &document);
        if (s.code == NOT_FOUND)
            continue;
        CHECK_OK(s);
        got.has[id] = true;
        document_release(request, &document);
    }
    compare_ids(asked, "point reads", &got, false);
}

static void ask_figures(struct request *request, const struct asked *asked)
{
    struct collection_figures figures;
    char shown[SHOWN_BYTES];
    CHECK_OK(collection_figures(request, world_find(request, asked->collection), &figures));
    if (figures.documents != asked->want->count)
        check_fail(asked->file, asked->line, asked->collection,
                   "the figures count %llu documents, %zu live (%s)",
                   (unsigned long long)figures.documents, asked->want->count,
                   show_ids(asked->want, shown));
}

void world_check_living(const char *file, int line, struct world *w, const char *collection,
                        const char *ids)
{
    const struct id_set want = parse_ids(ids);
    const struct asked asked = { file, line, collection, &want };
    struct request request = world_begin(w);
    ask_points(&request, &asked);
    ask_scan(&request, &asked, "key", false);
    ask_scan(&request, &asked, "-key", false);
    ask_scan(&request, &asked, "slots", false);
    ask_indexes(&request, &asked);
    ask_figures(&request, &asked);
    world_end(&request);
}

/* ---- figures, purger, check --------------------------------------------------------------------------- */

struct collection_figures world_figures(struct world *w, const char *collection)
{
    struct request request = world_begin(w);
    struct collection_figures figures;
    CHECK_OK(collection_figures(&request, world_find(&request, collection), &figures));
    world_end(&request);
    return figures;
}

struct purge_result world_purge(struct world *w)
{
    struct purge_result result;
    CHECK_OK(engine_purge(w->engine, &result));
    return result;
}

struct violations {
    struct buffer text;
    size_t count;
};

static void note_violation(void *context, const char *violation)
{
    struct violations *violations = context;
    if (violations->count++ < VIOLATIONS_SHOWN)
        buffer_append_format(&violations->text, "\n    %s", violation);
}

void world_check(struct world *w)
{
    const arena_position mark = arena_mark(w->arena);
    struct violations violations = { .text = buffer_in(w->arena) };
    struct check_summary summary;
    CHECK_OK(engine_check(w->engine, note_violation, &violations, &summary));
    CHECK_EQ(summary.violations, violations.count, "every violation is reported");
    if (violations.count > 0)
        check_fail(__FILE__, __LINE__, "engine_check", "%zu violations on %s:%.*s",
                   violations.count, backing_name(w->backing), (int)violations.text.len,
                   (const char *)violations.text.data);
    arena_release(w->arena, mark);
}

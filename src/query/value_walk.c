/* Value walk: from value to value of an index.
 *
 * The entries of an index lie in the order of their values, so those of one value lie side by side. When a document has
 * shown the value, the walk goes on behind them: it steps over a few, and jumps if there are more.
 *
 * Keeps: a value that some living document has comes with a living document that has it. Dead entries are stepped over
 * by the scan like everywhere.
 * Threads: belongs to its request. Start reading at value_walk_next(). */
#include "query/value_walk.h"

enum {
    STEPS_MAX = 4,     /* entries that are stepped over rather than to jump */
    ROWS_SURE = 64,    /* before it is judged whether it pays */
    JUMPS_SELDOM = 4,  /* it does if there is a jump for so many documents */
    BEHIND_ALL = 0xFF, /* no encoded value has this byte */
};

struct value_walk {
    struct value_walk_request wanted;
    struct scan *scan;
    struct scan_row row;
    struct document document;
    bool has_document, is_passing;
    struct buffer value; /* of the row that was given */
    uint64_t keys, documents, jumps;
};

bool value_walk_fits(const struct index *index, const struct collation *by, bytes path)
{
    const struct index_definition *definition = &index->definition;

    return definition->kind == INDEX_FIELDS && !definition->is_partial && !definition->is_lazy &&
           !definition->is_per_partition && !definition->is_ranked && definition->field_count > 0 &&
           definition->collation == by && definition->fields[0].part == PART_VALUE &&
           bytes_equal(definition->fields[0].path, path);
}

status value_walk_open(const struct value_walk_request *wanted, struct value_walk **out)
{
    const struct scan_spec spec = { .index = wanted->index };
    struct value_walk *walk;

    *out = NULL;
    TRY(ARENA_NEW(wanted->request->arena, 1, &walk));
    walk->wanted = *wanted;
    walk->value = buffer_in(wanted->request->arena);
    TRY(scan_open(wanted->request, wanted->collection, &spec, &walk->scan));
    *out = walk;
    return STATUS_OK;
}

static void let_go(struct value_walk *walk)
{
    if (walk->has_document)
        document_release(walk->wanted.request, &walk->document);
    walk->has_document = false;
}

void value_walk_close(struct value_walk *walk)
{
    if (!walk)
        return;
    let_go(walk);
    scan_close(walk->scan);
}

static bool step(struct value_walk *walk)
{
    bool has_row = scan_next(walk->scan, &walk->row);

    walk->keys += has_row;
    return has_row;
}

/* Behind all entries of the value. */
static status jump(struct value_walk *walk)
{
    const size_t len = walk->value.len;

    buffer_append_byte(&walk->value, BEHIND_ALL);
    if (walk->value.is_failed)
        return arena_exhausted(walk->wanted.request->arena);
    walk->jumps++;
    status s = scan_seek(walk->scan, bytes_of(walk->value.data, walk->value.len));
    walk->value.len = len;
    return s;
}

/* The next entry that is wanted. */
static status move_on(struct value_walk *walk, bool *has_out)
{
    const bytes value = bytes_of(walk->value.data, walk->value.len);
    unsigned steps = 0;

    *has_out = step(walk);
    while (walk->is_passing && *has_out && bytes_starts_with(walk->row.index_key, value)) {
        if (++steps == STEPS_MAX)
            TRY(jump(walk));
        *has_out = step(walk);
    }
    walk->is_passing = false;
    return *has_out ? STATUS_OK : scan_status(walk->scan);
}

status value_walk_next(struct value_walk *walk, struct arena *scratch, bytes *document_out,
                       bytes *key_out, bool *has_out)
{
    const struct find_view *view = walk->wanted.view;
    const enum key_order order = walk->wanted.index->definition.fields[0].order;

    let_go(walk);
    TRY(move_on(walk, has_out));
    if (!*has_out)
        return STATUS_OK;
    const bytes entry = walk->row.index_key;
    walk->value.len = 0;
    buffer_append(&walk->value, bytes_of(entry.data, key_value_length(entry, order)));
    if (walk->value.is_failed)
        return arena_exhausted(walk->wanted.request->arena);
    TRY(scan_document(walk->scan, &walk->document));
    walk->has_document = true;
    walk->documents++;
    *key_out = bytes_of(walk->value.data, walk->value.len);
    *document_out = walk->document.bson;
    return view && view->show ? view->show(view->context, scratch, &walk->document, document_out)
                              : STATUS_OK;
}

void value_walk_pass(struct value_walk *walk)
{
    walk->is_passing = true;
}

bool value_walk_pays(const struct value_walk *walk)
{
    return walk->documents < ROWS_SURE || walk->jumps * JUMPS_SELDOM >= walk->documents;
}

struct find_explain value_walk_explain(const struct value_walk *walk)
{
    return (struct find_explain){ .access = FIND_ACCESS_INDEX,
                                  .index = walk->wanted.index,
                                  .range_count = 1,
                                  .rows = walk->keys,
                                  .documents = walk->documents,
                                  .matched = walk->documents };
}

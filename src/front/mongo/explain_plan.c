/* Explain plan: the way to documents as a tree of stages, in the words that tools know.
 *
 *   UPDATE | DELETE | COUNT -> LIMIT -> PROJECTION_* -> SKIP -> SORT -> FETCH -> IXSCAN | DISTINCT_SCAN
 *                                                                      COLLSCAN | IDHACK | CLUSTERED_IXSCAN | EOF
 *                                                            FETCH -> OR -> IXSCAN, IXSCAN ...
 *                                                            TEXT_MATCH -> FETCH -> IXSCAN
 *                                              GEO_NEAR_2DSPHERE -> FETCH -> IXSCAN
 *
 * Each stage is a document inside of the one above it. Stages that a command does not have are left out.
 *
 * Threads: the command's. Start reading at explain_append_tree(). */
#include "front/mongo/explain.h"
#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/index_kind.h"
#include "front/mongo/keep.h"

enum { STAGES_MAX = 10 };

struct tree {
    struct command *command;
    const struct explain *explain;
    struct buffer *out;
    bytes wish;
    bool with_figures;
    bool is_found;                  /* collection and ways are known */
    size_t open[STAGES_MAX], depth; /* documents that were begun */
};

/* ---- what was wished -------------------------------------------------------------------------------- */

/* A field of the command, or of the one statement that a write has, or of a stage of a pipeline. */
static struct value wish_of(const struct tree *tree, const char *name, const char *stage)
{
    struct value value, list, row;
    char room[REPLY_INDEX_BYTES];

    if (document_find(tree->wish, name, &value))
        return value;
    for (size_t i = 0; stage && i < tree->explain->found_stages; i++) {
        if (document_find(tree->explain->stages, reply_index(i, room), &row) &&
            row.type == VALUE_DOCUMENT && document_find(value_document(row), stage, &value))
            return value;
    }
    if ((document_find(tree->wish, "updates", &list) ||
         document_find(tree->wish, "deletes", &list)) &&
        list.type == VALUE_ARRAY && document_find(value_document(list), "0", &row) &&
        row.type == VALUE_DOCUMENT && document_find(value_document(row), name, &value))
        return value;
    return (struct value){ .type = VALUE_MISSING };
}

static struct value filter_of(const struct tree *tree)
{
    struct value filter = wish_of(tree, "filter", "$match");

    if (filter.type == VALUE_MISSING)
        filter = wish_of(tree, "query", NULL);
    if (filter.type == VALUE_MISSING)
        filter = wish_of(tree, "q", NULL);
    return filter;
}

static int64_t number_of(const struct tree *tree, const char *name, const char *stage)
{
    int64_t number = argument_number(wish_of(tree, name, stage), 0);

    return number < 0 && number > INT64_MIN ? -number : number;
}

/* ---- stages ----------------------------------------------------------------------------------------- */

/* A stage works once for each row that it gives, once for each that it passes over, and once to see the end. Nothing
 * yields here. */
static void append_works(struct tree *tree, int64_t returned)
{
    int64_t looked = (int64_t)tree->explain->figures.rows;
    int64_t passed = looked > returned ? looked - returned : 0;

    reply_int64(tree->out, "works", returned + passed + 1);
    reply_int64(tree->out, "advanced", returned);
    reply_int64(tree->out, "needTime", passed);
    reply_int64(tree->out, "needYield", 0);
    reply_int64(tree->out, "saveState", 0);
    reply_int64(tree->out, "restoreState", 0);
}

static void begin(struct tree *tree, const char *name, int64_t returned)
{
    ASSERT(tree->depth < STAGES_MAX);
    if (tree->depth > 0)
        tree->open[tree->depth] = reply_begin(tree->out, "inputStage");
    tree->depth++;
    reply_text(tree->out, "stage", name);
    if (!tree->with_figures)
        return;
    reply_int64(tree->out, "nReturned", returned);
    reply_int64(tree->out, "executionTimeMillisEstimate", 0);
    append_works(tree, returned);
    reply_int32(tree->out, "isEOF", 1);
}

static void end_all(struct tree *tree)
{
    while (tree->depth > 0)
        document_end(tree->out, tree->open[--tree->depth]);
}

static void append_filter(struct tree *tree)
{
    struct value filter = filter_of(tree);

    if (filter.type == VALUE_DOCUMENT && document_field_count(value_document(filter)) > 0)
        document_append(tree->out, BYTES_LITERAL("filter"), filter);
}

static int64_t loaded(const struct tree *tree)
{
    return (int64_t)(tree->explain->figures.documents - tree->explain->figures.reloaded);
}

static void append_direction(struct tree *tree, const struct find_way *way)
{
    reply_text(tree->out, "direction", way->is_reverse ? "backward" : "forward");
}

/* A wildcard is two fields: the path, and what lies there. */
static void append_pattern(struct tree *tree, const struct find_way *way)
{
    struct document_walk walk = document_fields(index_key_pattern(way->index));
    size_t begun = reply_begin(tree->out, "keyPattern");
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_wildcard = index_kind_is_wildcard_name(field.name);
        if (is_wildcard)
            reply_int32(tree->out, "$_path", 1);
        document_append(tree->out, is_wildcard ? way->wildcard : field.name, field.value);
    }
    document_end(tree->out, begun);
}

static void append_array_path(struct buffer *out, bytes name, bool has_arrays)
{
    size_t begun = document_begin_inner(out, VALUE_ARRAY, name);

    if (has_arrays)
        document_append_text(out, "0", name);
    document_end(out, begun);
}

/* In which fields arrays were met. It is known of none, or of one that is not inside of another; otherwise nothing is
 * said. */
static void append_array_paths(struct tree *tree, const struct find_way *way)
{
    const struct index_definition *definition = &way->index->definition;
    bytes last = way->wildcard.len ? way->wildcard : definition->fields[0].path;
    struct buffer *out = tree->out;

    if (way->has_arrays && (definition->field_count > 1 || memchr(last.data, '.', last.len)))
        return;
    size_t begun = reply_begin(out, "multiKeyPaths");
    for (size_t i = 0; i < definition->field_count; i++) {
        bool is_wildcard = definition->fields[i].part == PART_WILDCARD;
        if (is_wildcard)
            append_array_path(out, BYTES_LITERAL("$_path"), false);
        append_array_path(out, is_wildcard ? way->wildcard : definition->fields[i].path,
                          way->has_arrays);
    }
    document_end(out, begun);
}

static void append_collation(struct buffer *out, const struct collation *by)
{
    if (by)
        reply_document(out, "collation", collation_document(by));
}

static void append_index(struct tree *tree, const struct find_way *way)
{
    const struct index_definition *definition = &way->index->definition;
    struct buffer *out = tree->out;

    if (way->wildcard.len)
        append_pattern(tree, way);
    else
        index_append_pattern(tree->command, out, way->index);
    reply_bytes(out, "indexName", definition->name);
    append_collation(out, definition->collation);
    reply_bool(out, "isMultiKey", way->has_arrays);
    append_array_paths(tree, way);
    reply_bool(out, "isUnique", definition->is_unique);
    reply_bool(out, "isSparse", definition->is_sparse);
    reply_bool(out, "isPartial", definition->is_partial);
}

static void append_key_index(struct tree *tree)
{
    size_t pattern = reply_begin(tree->out, "keyPattern");

    reply_int32(tree->out, "_id", 1);
    document_end(tree->out, pattern);
    reply_text(tree->out, "indexName", "_id_");
    append_collation(tree->out, tree->explain->collection->definition.collation);
    reply_bool(tree->out, "isMultiKey", false);
    reply_bool(tree->out, "isUnique", true);
    reply_bool(tree->out, "isSparse", false);
    reply_bool(tree->out, "isPartial", false);
}

/* An index, or the keys of the documents, which is the index on _id. */
static void fill_scan(struct tree *tree, const struct find_way *way)
{
    if (way->index)
        append_index(tree, way);
    else
        append_key_index(tree);
    reply_int32(tree->out, "indexVersion", 2);
    append_direction(tree, way);
    reply_document(tree->out, "indexBounds", way->bounds);
    if (tree->with_figures)
        reply_int64(tree->out, "keysExamined", explain_keys(tree->explain));
}

/* Entries of an index are all that is needed. */
static bool is_covered(const struct tree *tree)
{
    return tree->is_found && tree->explain->way_count == 1 && tree->explain->ways[0].is_covered;
}

/* ---- the bottom ------------------------------------------------------------------------------------- */

static bool is_ordered_by_key(const struct tree *tree)
{
    struct value sort = wish_of(tree, "sort", "$sort"), first;

    return !tree->explain->is_sorted && !tree->explain->is_counted && sort.type == VALUE_DOCUMENT &&
           document_find(value_document(sort), "_id", &first);
}

/* One document by its _id, and nothing else was asked. */
static bool is_by_id(const struct tree *tree, const struct find_way *way)
{
    struct value filter = filter_of(tree), id;

    return way->access == FIND_ACCESS_POINTS && way->is_exact && filter.type == VALUE_DOCUMENT &&
           document_find(value_document(filter), "_id", &id) && id.type != VALUE_DOCUMENT;
}

static void append_fetch(struct tree *tree, bool is_exact)
{
    begin(tree, "FETCH", (int64_t)tree->explain->figures.matched);
    if (!is_exact)
        append_filter(tree);
    if (tree->with_figures)
        reply_int64(tree->out, "docsExamined", loaded(tree));
}

static void append_either(struct tree *tree)
{
    char room[REPLY_INDEX_BYTES];

    append_fetch(tree, false);
    begin(tree, "OR", loaded(tree));
    size_t list = reply_begin_array(tree->out, "inputStages");
    for (size_t i = 0; i < tree->explain->way_count; i++) {
        const struct find_way *way = &tree->explain->ways[i];
        size_t row = reply_begin(tree->out, reply_index(i, room));
        reply_text(tree->out, "stage", "IXSCAN");
        if (way->index)
            append_index(tree, way);
        else
            append_key_index(tree);
        append_direction(tree, way);
        reply_document(tree->out, "indexBounds", way->bounds);
        document_end(tree->out, row);
    }
    document_end(tree->out, list);
    if (tree->with_figures)
        reply_int64(tree->out, "keysExamined", explain_keys(tree->explain));
}

static void append_counted(struct tree *tree, const struct find_way *way)
{
    begin(tree, "COUNT_SCAN", (int64_t)tree->explain->figures.rows);
    fill_scan(tree, way);
}

static void append_everything(struct tree *tree, const struct find_way *way)
{
    bool is_clustered = keep_is_clustered(tree->explain->collection) && !way->is_everything;

    begin(tree, is_clustered ? "CLUSTERED_IXSCAN" : "COLLSCAN",
          (int64_t)tree->explain->figures.matched);
    append_filter(tree);
    append_direction(tree, way);
    if (tree->with_figures)
        reply_int64(tree->out, "docsExamined", loaded(tree));
}

static void append_search(struct tree *tree, const struct find_way *way)
{
    begin(tree, "TEXT_MATCH", (int64_t)tree->explain->figures.matched);
    document_end(tree->out, reply_begin(tree->out, "indexPrefix"));
    reply_bytes(tree->out, "indexName", way->index->definition.name);
    reply_document(tree->out, "parsedTextQuery", way->search);
    reply_int32(tree->out, "textIndexVersion", 3);
    if (tree->with_figures)
        reply_int64(tree->out, "docsRejected",
                    loaded(tree) - (int64_t)tree->explain->figures.matched);
}

/* The bounds below it are those of all rings together. */
static void append_near(struct tree *tree, const struct find_way *way)
{
    bool is_flat = false;
    struct value low;

    for (size_t i = 0; i < way->index->definition.field_count; i++) {
        const struct index_field *field = &way->index->definition.fields[i];
        is_flat |= field->part == PART_CELLS && document_find(field->settings, "low", &low);
    }
    begin(tree, is_flat ? "GEO_NEAR_2D" : "GEO_NEAR_2DSPHERE",
          (int64_t)tree->explain->figures.reloaded);
    index_append_pattern(tree->command, tree->out, way->index);
    reply_bytes(tree->out, "indexName", way->index->definition.name);
    reply_int32(tree->out, "indexVersion", 2);
}

static void append_bottom(struct tree *tree)
{
    const struct explain *explain = tree->explain;
    const struct find_way *way = explain->ways;

    if (!tree->is_found || way->access == FIND_ACCESS_NOTHING) {
        begin(tree, "EOF", 0);
    } else if (explain->way_count > 1) {
        append_either(tree);
    } else if (explain->is_counted && way->is_exact && !way->has_many && !way->is_everything) {
        append_counted(tree, way);
    } else if (keep_is_clustered(explain->collection) && way->access != FIND_ACCESS_INDEX) {
        append_everything(tree, way);
    } else if (is_by_id(tree, way)) {
        begin(tree, "IDHACK", (int64_t)explain->figures.matched);
        if (tree->with_figures) {
            reply_int64(tree->out, "keysExamined", explain_keys(explain));
            reply_int64(tree->out, "docsExamined", loaded(tree));
        }
    } else if (way->access != FIND_ACCESS_INDEX && way->is_everything && !is_ordered_by_key(tree)) {
        append_everything(tree, way);
    } else {
        if (way->search.len)
            append_search(tree, way);
        if (way->is_near)
            append_near(tree, way);
        if (!way->is_covered)
            append_fetch(tree, way->is_exact);
        begin(tree, explain->is_by_value ? "DISTINCT_SCAN" : "IXSCAN", explain_keys(explain));
        fill_scan(tree, way);
    }
}

/* ---- the top ---------------------------------------------------------------------------------------- */

static void append_write(struct tree *tree)
{
    const struct command_work *work = &tree->command->work;
    command_handler *handler = tree->command->row->handler;
    bool is_delete = handler == serve_delete || argument_flag(wish_of(tree, "remove", NULL), false);

    if (handler != serve_update && handler != serve_delete && handler != serve_find_and_modify)
        return;
    begin(tree, is_delete ? "DELETE" : "UPDATE", tree->explain->given);
    if (!tree->with_figures)
        return;
    if (is_delete) {
        reply_int64(tree->out, "nWouldDelete", work->deleted);
        return;
    }
    reply_int64(tree->out, "nMatched", work->matched);
    reply_int64(tree->out, "nWouldModify", work->modified);
    reply_int64(tree->out, "nWouldUpsert", work->upserted);
}

static void append_count(struct tree *tree)
{
    const struct find_explain *figures = &tree->explain->figures;

    begin(tree, "COUNT", tree->explain->given);
    if (tree->with_figures)
        reply_int64(tree->out, "nCounted",
                    (int64_t)(figures->is_covered ? figures->rows : figures->matched));
}

/* Names that are taken or left out as they are, and nothing that is computed. */
static bool is_simple(bytes projection)
{
    struct document_walk walk = document_fields(projection);
    struct field field;

    while (document_next(&walk, &field)) {
        if (memchr(field.name.data, '.', field.name.len) ||
            (!value_is_number(field.value) && field.value.type != VALUE_BOOL))
            return false;
    }
    return true;
}

static void append_projection(struct tree *tree)
{
    struct value projection = wish_of(tree, "projection", NULL);

    if (projection.type != VALUE_DOCUMENT || document_field_count(value_document(projection)) == 0)
        return;
    begin(tree,
          is_covered(tree)                        ? "PROJECTION_COVERED"
          : is_simple(value_document(projection)) ? "PROJECTION_SIMPLE"
                                                  : "PROJECTION_DEFAULT",
          tree->explain->given);
    document_append(tree->out, BYTES_LITERAL("transformBy"), projection);
}

static void append_sort(struct tree *tree, int64_t limit)
{
    const struct explain *explain = tree->explain;
    struct value sort = wish_of(tree, "sort", "$sort");
    int64_t skip = number_of(tree, "skip", "$skip");

    if (!explain->is_sorted)
        return;
    begin(tree, "SORT", (int64_t)explain->figures.reloaded);
    if (sort.type == VALUE_DOCUMENT)
        document_append(tree->out, BYTES_LITERAL("sortPattern"), sort);
    reply_int64(tree->out, "memLimit", LIMIT_CURSOR_BYTES);
    if (limit > 0)
        reply_int64(tree->out, "limitAmount", int64_add_saturating(limit, skip));
    reply_text(tree->out, "type", "simple");
    if (tree->with_figures)
        reply_int64(tree->out, "docsExamined", (int64_t)explain->figures.reloaded);
}

static void append_cut(struct tree *tree)
{
    int64_t limit = number_of(tree, "limit", "$limit"), skip = number_of(tree, "skip", "$skip");

    if (tree->command->row->handler == serve_delete)
        limit = 0; /* means another thing there */
    if (limit > 0 && !tree->explain->is_sorted) {
        begin(tree, "LIMIT", tree->explain->given);
        reply_int64(tree->out, "limitAmount", limit);
    }
    append_projection(tree);
    if (skip > 0) {
        begin(tree, "SKIP", tree->explain->given);
        reply_int64(tree->out, "skipAmount", skip);
    }
    append_sort(tree, limit);
}

void explain_append_tree(struct command *command, bytes wish, const char *name, bool with_figures)
{
    struct tree tree = { .command = command,
                         .explain = command->explain,
                         .out = &command->reply,
                         .wish = wish,
                         .with_figures = with_figures,
                         .is_found = command->explain->way_count > 0 };

    tree.open[0] = reply_begin(tree.out, name);
    if (tree.explain->is_counted && tree.explain->is_known) {
        begin(&tree, "RECORD_STORE_FAST_COUNT", tree.explain->given);
        end_all(&tree);
        return;
    }
    append_write(&tree);
    if (tree.explain->is_counted)
        append_count(&tree);
    append_cut(&tree);
    append_bottom(&tree);
    end_all(&tree);
}

int64_t explain_keys(const struct explain *explain)
{
    bool is_scan = explain->way_count == 1 && explain->ways[0].is_everything &&
                   !explain->ways[0].index;

    return is_scan || explain->is_known ? 0 : (int64_t)explain->figures.rows;
}

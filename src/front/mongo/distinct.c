/* Distinct: which values a field has in the documents that fulfil a filter.
 *
 * Without a filter an index over the field leads from value to value (query/value_walk.h), as long as that pays: where nearly
 * every document has a value of its own, they are looked at as they lie. Values that were met stay met whichever way.
 *
 * Threads: the command's. Start reading at serve_distinct(). */
#include "front/mongo/collating.h"
#include "front/mongo/explain.h"
#include "front/mongo/handlers.h"
#include "front/mongo/hint.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/select.h"
#include "front/mongo/view.h"

/* Values seen, by their keys; open addressing. */
struct distinct {
    struct command *command;
    bytes key;
    const struct path *path;
    struct hint hint;
    const struct collation *collation;
    struct buffer values;  /* an array that was begun */
    struct buffer encoded; /* the key of the value that is looked at */
    size_t begun;
    size_t count;
    uint64_t salt; /* that keys are hashed with */
    bytes *table;
    size_t room; /* a power of two */
};

static status grow(struct distinct *distinct)
{
    size_t room = distinct->room ? 2 * distinct->room : 256;
    bytes *table;

    TRY(ARENA_NEW(distinct->command->arena, room, &table));
    for (size_t i = 0; i < distinct->room; i++) {
        bytes key = distinct->table[i];
        if (key.len == 0)
            continue;
        size_t at = bytes_hash(key, distinct->salt) & (room - 1);
        while (table[at].len > 0)
            at = (at + 1) & (room - 1);
        table[at] = key;
    }
    distinct->table = table;
    distinct->room = room;
    return STATUS_OK;
}

static status add_value(struct distinct *distinct, struct value value)
{
    struct arena *arena = distinct->command->arena;
    struct buffer *encoded = &distinct->encoded;
    char room[REPLY_INDEX_BYTES];
    bytes key;

    if (2 * distinct->count >= distinct->room)
        TRY(grow(distinct));
    encoded->len = 0;
    key_append_value_by(encoded, distinct->collation, value, KEY_ASCENDING);
    TRY(buffer_finish(encoded, &key));
    size_t at = bytes_hash(key, distinct->salt) & (distinct->room - 1);
    for (; distinct->table[at].len > 0; at = (at + 1) & (distinct->room - 1)) {
        if (bytes_equal(distinct->table[at], key))
            return STATUS_OK;
    }
    TRY(arena_copy(arena, key, &distinct->table[at]));
    document_append(&distinct->values, bytes_of_text(reply_index(distinct->count++, room)), value);
    if (distinct->values.is_failed)
        return arena_exhausted(arena);
    if (distinct->values.len > LIMIT_DOCUMENT_BYTES)
        return command_fail(distinct->command, 17217, "distinct too big, %d bytes are the limit",
                            LIMIT_DOCUMENT_BYTES);
    return STATUS_OK;
}

static status add_document(struct distinct *distinct, struct arena *scratch, bytes document)
{
    struct path_values found;

    TRY(path_collect(scratch, distinct->path, document, &found));
    for (size_t i = 0; i < found.count; i++) {
        if (found.items[i].type != VALUE_MISSING && found.items[i].type != VALUE_UNDEFINED)
            TRY(add_value(distinct, found.items[i]));
    }
    return STATUS_OK;
}

/* A row of a view. */
struct viewed {
    struct distinct *distinct;
    struct arena *scratch;
};

static status add_viewed(void *context, bytes document)
{
    struct viewed *viewed = context;

    arena_reset(viewed->scratch);
    return add_document(viewed->distinct, viewed->scratch, document);
}

static status collect_viewed(struct distinct *distinct, bytes name, bytes filter, struct value hint)
{
    struct viewed viewed = { .distinct = distinct, .scratch = arena_open(LIMIT_CURSOR_BYTES) };

    if (!viewed.scratch)
        return status_of(OUT_OF_MEMORY, "no memory to look at documents");
    status s = view_each(distinct->command, name, filter, hint, distinct->collation, add_viewed,
                         &viewed);
    arena_close(viewed.scratch);
    return s;
}

/* ---- all documents that fulfil the filter ------------------------------------------------------------- */

static status collect_found(struct distinct *distinct, const struct collection *collection,
                            bytes filter, struct arena *scratch)
{
    struct command *command = distinct->command;
    struct select_spec spec = { .collection = collection,
                                .by = distinct->hint.by,
                                .hint = distinct->hint.index,
                                .is_reverse = distinct->hint.is_reverse };
    struct select *select;
    struct select_row row;
    bool has = true;
    status s;

    TRY(condition_make(command, command->arena, filter, BYTES_NONE, distinct->collation,
                       &spec.condition));
    if (!collection)
        return STATUS_OK;
    TRY(select_open(command, &spec, &select));
    while (has) {
        arena_reset(scratch);
        TRY_GOTO(select_next(select, &row, &has), done);
        if (has)
            TRY_GOTO(add_document(distinct, scratch, row.document), done);
    }
    s = STATUS_OK;
done:
    select_close(select);
    return s;
}

/* ---- from value to value ------------------------------------------------------------------------------ */

/* What a client sees as _id may be stored under another name. */
static bool fits(const struct distinct *distinct, const struct index *index)
{
    return index_is_usable(index) && !bytes_starts_with(distinct->key, BYTES_LITERAL("_id")) &&
           value_walk_fits(index, distinct->collation, distinct->key);
}

/* The index that was wished, or any; NULL if there is none. */
static status find_index(const struct distinct *distinct, const struct collection *collection,
                         const struct index **out)
{
    bool is_there = false;

    *out = NULL;
    for (size_t i = 0; i < collection->index_count && !*out; i++) {
        const struct index *index = &collection->indexes[i];
        if (fits(distinct, index) &&
            (distinct->hint.by == FIND_ANY_WAY || distinct->hint.index == index))
            *out = index;
    }
    if (*out)
        TRY(scan_has_index(&distinct->command->request, collection, *out, &is_there));
    if (!is_there)
        *out = NULL;
    return STATUS_OK;
}

/* Does the document have the value at which its entry lies? */
static status has_value(const struct distinct *distinct, struct arena *scratch,
                        const struct index *index, bytes document, bytes key, bool *out)
{
    struct path_values found;

    *out = false;
    TRY(path_collect(scratch, distinct->path, document, &found));
    for (size_t i = 0; i < found.count && !*out; i++) {
        struct buffer own = buffer_in(scratch);
        if (found.items[i].type == VALUE_MISSING || found.items[i].type == VALUE_UNDEFINED)
            continue;
        key_append_value_by(&own, distinct->collation, found.items[i],
                            index->definition.fields[0].order);
        if (own.is_failed)
            return arena_exhausted(scratch);
        *out = bytes_equal(bytes_of(own.data, own.len), key);
    }
    return STATUS_OK;
}

static status walk_values(struct distinct *distinct, struct value_walk *walk,
                          const struct index *index, struct arena *scratch)
{
    enum { ROWS_PER_QUESTION = 64 };
    bytes document, key;
    bool has = true, has_it;

    for (uint64_t i = 1; has && value_walk_pays(walk); i++) {
        if (i % ROWS_PER_QUESTION == 0)
            TRY(command_check_time(distinct->command));
        arena_reset(scratch);
        TRY(value_walk_next(walk, scratch, &document, &key, &has));
        if (!has)
            return STATUS_OK;
        TRY(add_document(distinct, scratch, document));
        TRY(has_value(distinct, scratch, index, document, key, &has_it));
        if (has_it)
            value_walk_pass(walk);
    }
    return STATUS_OK;
}

static void note_walk(struct command *command, const struct collection *collection,
                      const struct find_explain *done)
{
    struct command_work *work = &command->work;

    work->keys += done->rows;
    work->documents += done->documents;
    work->has_way = true;
    work->access = done->access;
    work->collection_id = collection->id;
    work->index_id = done->index->id;
    if (command->explain)
        explain_add(command, done);
}

/* Tells the way by a find that would take it. */
static status tell_walk(struct distinct *distinct, const struct collection *collection,
                        const struct index *index)
{
    struct command *command = distinct->command;
    const struct find_request wanted = {
        .request = &command->request, .collection = collection, .by = FIND_BY_INDEX, .hint = index
    };
    struct find *find;

    if (!command->explain)
        return STATUS_OK;
    command->explain->is_by_value = true;
    command->explain->collation = distinct->collation;
    TRY(find_open(&wanted, &find));
    status s = explain_tell(command, collection, find);
    find_close(find);
    return s;
}

static status show(void *context, struct arena *arena, const struct document *document,
                   bytes *shown_out)
{
    return kept_show(arena, context, document->key, document->bson, shown_out);
}

static status collect_values(struct distinct *distinct, const struct collection *collection,
                             struct arena *scratch, bool *is_done_out)
{
    const struct find_view view = { .show = show, .context = (void *)(uintptr_t)collection };
    struct command *command = distinct->command;
    struct value_walk_request wanted = { .request = &command->request,
                                         .collection = collection,
                                         .view = &view };
    struct value_walk *walk;

    *is_done_out = false;
    TRY(find_index(distinct, collection, &wanted.index));
    if (!wanted.index)
        return STATUS_OK;
    TRY(value_walk_open(&wanted, &walk));
    status s = walk_values(distinct, walk, wanted.index, scratch);
    *is_done_out = value_walk_pays(walk);
    const struct find_explain done = value_walk_explain(walk);
    value_walk_close(walk);
    TRY(s);
    if (!*is_done_out)
        return STATUS_OK;
    note_walk(command, collection, &done);
    return tell_walk(distinct, collection, wanted.index);
}

static status collect(struct distinct *distinct, const struct collection *collection, bytes filter)
{
    struct arena *scratch = arena_open(LIMIT_CURSOR_BYTES);
    bool is_done = false;

    if (!scratch)
        return status_of(OUT_OF_MEMORY, "no memory to look at documents");
    status s = collection && document_field_count(filter) == 0
                   ? collect_values(distinct, collection, scratch, &is_done)
                   : STATUS_OK;
    if (s.code == OK && !is_done)
        s = collect_found(distinct, collection, filter, scratch);
    s = fault_keep(distinct->command->arena, &distinct->command->fault, s);
    arena_close(scratch);
    return s;
}

status serve_distinct(struct command *command)
{
    static const struct argument table[] = {
        {"key",        ARGUMENT_TEXT,             true },
        { "query",     ARGUMENT_DOCUMENT,         false},
        { "hint",      ARGUMENT_DOCUMENT_OR_TEXT, false},
        { "collation", ARGUMENT_DOCUMENT,         false},
    };
    enum { KEY, QUERY, HINT, COLLATION };
    struct value given[ARRAY_COUNT(table)];
    struct distinct distinct = { .command = command,
                                 .salt = random_salt(),
                                 .values = buffer_in(command->arena),
                                 .encoded = buffer_in(command->arena) };
    const struct collection *collection;
    bytes name;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &name));
    distinct.key = value_text(given[KEY]);
    TRY(path_parse(command->arena, distinct.key, &distinct.path));
    TRY(command_find(command, name, &collection));
    TRY(collating_read(command, given[COLLATION], collection, &distinct.collation));
    distinct.begun = document_begin(&distinct.values);
    if (view_is_needed(name, collection)) {
        TRY(collect_viewed(&distinct, name, argument_document(given[QUERY]), given[HINT]));
    } else {
        TRY(hint_read(command, collection, given[HINT], &distinct.hint));
        TRY(collect(&distinct, collection, argument_document(given[QUERY])));
    }
    document_end(&distinct.values, distinct.begun);
    if (distinct.values.is_failed)
        return arena_exhausted(command->arena);
    document_append(
        &command->reply, BYTES_LITERAL("values"),
        (struct value){ VALUE_ARRAY, bytes_of(distinct.values.data, distinct.values.len) });
    return STATUS_OK;
}

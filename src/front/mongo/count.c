/* Count: how many documents fulfil a filter, and which values a field has in them.
 *
 * All documents of a collection are counted from figures that are kept, without looking at one of them.
 *
 * Start reading at serve_count() and serve_distinct(). */
#include <stdlib.h>

#include "front/mongo/collating.h"
#include "front/mongo/handlers.h"
#include "front/mongo/select.h"
#include "front/mongo/view.h"

struct count_wish {
    bytes name, filter;
    int64_t skip, limit; /* 0: no limit */
    const struct collection *collection;
    const struct collation *collation;
};

static status count_stored(struct command *command, const struct count_wish *wish, uint64_t *out)
{
    struct select_spec spec = { .collection = wish->collection };

    *out = 0;
    TRY(condition_make(command, command->arena, wish->filter, BYTES_NONE, wish->collation,
                       &spec.condition));
    if (wish->limit != 0)
        spec.wanted = (uint64_t)int64_add_saturating(wish->limit, wish->skip);
    if (wish->collection)
        TRY(select_count(command, &spec, out));
    if (spec.wanted != 0 && *out > spec.wanted)
        *out = spec.wanted;
    *out = *out > (uint64_t)wish->skip ? *out - (uint64_t)wish->skip : 0;
    return STATUS_OK;
}

status serve_count(struct command *command)
{
    static const struct argument table[] = {
        {"query",      ARGUMENT_DOCUMENT,         false},
        { "limit",     ARGUMENT_NUMBER,           false},
        { "skip",      ARGUMENT_NUMBER,           false},
        { "hint",      ARGUMENT_DOCUMENT_OR_TEXT, false},
        { "fields",    ARGUMENT_IGNORED,          false},
        { "collation", ARGUMENT_DOCUMENT,         false},
    };
    enum { QUERY, LIMIT, SKIP, HINT, FIELDS, COLLATION };
    struct value given[ARRAY_COUNT(table)];
    struct count_wish wish;
    uint64_t count;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    wish = (struct count_wish){ .filter = argument_document(given[QUERY]),
                                .skip = argument_number(given[SKIP], 0),
                                .limit = argument_number(given[LIMIT], 0) };
    TRY(command_collection_name(command, &wish.name));
    TRY(command_find(command, wish.name, &wish.collection));
    TRY(collating_read(command, given[COLLATION], wish.collection, &wish.collation));
    if (wish.skip < 0)
        return command_fail(command, ERROR_BadValue, "skip is %lld and must not be negative",
                            (long long)wish.skip);
    if (wish.limit < 0)
        wish.limit = wish.limit == INT64_MIN ? INT64_MAX : -wish.limit;
    if (view_is_needed(wish.name, wish.collection))
        TRY(view_count(command, wish.name, wish.filter, wish.collation, wish.skip, wish.limit,
                       &count));
    else
        TRY(count_stored(command, &wish, &count));
    if (count <= INT32_MAX)
        reply_int32(&command->reply, "n", (int32_t)count);
    else
        reply_int64(&command->reply, "n", (int64_t)count);
    return STATUS_OK;
}

/* ---- distinct --------------------------------------------------------------------------------------- */

/* Values seen, by their keys; open addressing. */
struct distinct {
    struct command *command;
    const struct path *path;
    const struct collation *collation;
    struct buffer values; /* an array that was begun */
    size_t begun;
    size_t count;
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
        size_t at = bytes_hash(key, 0) & (room - 1);
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
    struct buffer encoded = buffer_in(distinct->command->arena);
    char room[REPLY_INDEX_BYTES];
    bytes key;

    if (2 * distinct->count >= distinct->room)
        TRY(grow(distinct));
    key_append_value_by(&encoded, distinct->collation, value, KEY_ASCENDING);
    TRY(buffer_finish(&encoded, &key));
    size_t at = bytes_hash(key, 0) & (distinct->room - 1);
    for (; distinct->table[at].len > 0; at = (at + 1) & (distinct->room - 1)) {
        if (bytes_equal(distinct->table[at], key))
            return STATUS_OK;
    }
    distinct->table[at] = key;
    document_append(&distinct->values, bytes_of_text(reply_index(distinct->count++, room)), value);
    if (distinct->values.is_failed)
        return arena_exhausted(distinct->command->arena);
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

static status collect_viewed(struct distinct *distinct, bytes name, bytes filter)
{
    struct viewed viewed = { .distinct = distinct, .scratch = arena_open(LIMIT_CURSOR_BYTES) };

    if (!viewed.scratch)
        return status_of(OUT_OF_MEMORY, "no memory to look at documents");
    status s = view_each(distinct->command, name, filter, distinct->collation, add_viewed, &viewed);
    arena_close(viewed.scratch);
    return s;
}

static status collect(struct distinct *distinct, const struct collection *collection, bytes filter)
{
    struct command *command = distinct->command;
    struct select_spec spec = { .collection = collection };
    struct arena *scratch = NULL;
    struct select *select;
    struct select_row row;
    bool has = true;

    TRY(condition_make(command, command->arena, filter, BYTES_NONE, distinct->collation,
                       &spec.condition));
    if (!collection)
        return STATUS_OK;
    TRY(select_open(command, &spec, &select));
    status s = status_of(OUT_OF_MEMORY, "no memory to look at documents");
    scratch = arena_open(LIMIT_CURSOR_BYTES);
    while (scratch && has) {
        arena_reset(scratch);
        TRY_GOTO(select_next(select, &row, &has), done);
        if (has)
            TRY_GOTO(add_document(distinct, scratch, row.document), done);
    }
done:
    arena_close(scratch);
    select_close(select);
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
    struct distinct distinct = { .command = command, .values = buffer_in(command->arena) };
    const struct collection *collection;
    bytes name;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &name));
    TRY(path_parse(command->arena, value_text(given[KEY]), &distinct.path));
    TRY(command_find(command, name, &collection));
    TRY(collating_read(command, given[COLLATION], collection, &distinct.collation));
    distinct.begun = document_begin(&distinct.values);
    if (view_is_needed(name, collection))
        TRY(collect_viewed(&distinct, name, argument_document(given[QUERY])));
    else
        TRY(collect(&distinct, collection, argument_document(given[QUERY])));
    document_end(&distinct.values, distinct.begun);
    if (distinct.values.is_failed)
        return arena_exhausted(command->arena);
    document_append(
        &command->reply, BYTES_LITERAL("values"),
        (struct value){ VALUE_ARRAY, bytes_of(distinct.values.data, distinct.values.len) });
    return STATUS_OK;
}

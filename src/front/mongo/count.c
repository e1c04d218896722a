/* Count: how many documents fulfil a filter.
 *
 * All documents of a collection are counted from figures that are kept, without looking at one of them.
 *
 * Threads: the command's. Start reading at serve_count(). */
#include "front/mongo/collating.h"
#include "front/mongo/handlers.h"
#include "front/mongo/hint.h"
#include "front/mongo/select.h"
#include "front/mongo/view.h"

struct count_wish {
    bytes name, filter;
    int64_t skip, limit; /* 0: no limit */
    const struct collection *collection;
    const struct collation *collation;
    struct value hint;
};

static status count_stored(struct command *command, const struct count_wish *wish, uint64_t *out)
{
    struct select_spec spec = { .collection = wish->collection };
    struct hint hint;

    *out = 0;
    TRY(hint_read(command, wish->collection, wish->hint, &hint));
    if (hint.by ==
        FIND_BY_INDEX) { /* the others count the same, and all are known without a walk */
        spec.by = hint.by;
        spec.hint = hint.index;
    }
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
                                .hint = given[HINT],
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

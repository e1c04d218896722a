/* Indexing policy: checks it and fills in its defaults.
 *
 * Everything below the root is indexed unless said otherwise, the etag never. The root must be in one of the
 * two lists, so that no path is left to chance. Composite indexes order by several properties. Spatial, vector and
 * full text indexes are kept and shown; queries do not need them.
 *
 * Pure apart from the call. Start reading at indexing_policy_read(). */
#include "front/cosmos/indexing_policy.h"

#include <strings.h>

#include "base/limits.h"
#include "front/cosmos/container_path.h"

#define ROOT_PATTERN "/*"
#define ETAG_PATTERN "/\"_etag\"/?"

static const char *const mode_names[] = { "consistent", "lazy", "none" };

/* ---- mode ------------------------------------------------------------------------------------------- */

static status read_mode(struct call *call, bytes policy, enum indexing_mode *out)
{
    struct value mode;

    *out = INDEXING_CONSISTENT;
    if (!document_find(policy, "indexingMode", &mode) || mode.type == VALUE_NULL)
        return STATUS_OK;
    bytes text = mode.type == VALUE_STRING ? value_text(mode) : BYTES_NONE;
    for (size_t i = 0; i < sizeof(mode_names) / sizeof(mode_names[0]); i++) {
        if (text.len == strlen(mode_names[i]) &&
            strncasecmp((const char *)text.data, mode_names[i], text.len) == 0) {
            *out = (enum indexing_mode)i;
            return STATUS_OK;
        }
    }
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The indexing mode '%.*s' is invalid; it must be 'consistent', 'lazy' or "
                     "'none'.",
                     (int)text.len, (const char *)text.data);
}

/* Without an index there is nothing that could happen by itself. */
static status read_automatic(struct call *call, bytes policy, enum indexing_mode mode, bool *out)
{
    struct value automatic;

    *out = mode != INDEXING_NONE;
    if (!document_find(policy, "automatic", &automatic) || automatic.type == VALUE_NULL)
        return STATUS_OK;
    if (automatic.type != VALUE_BOOL)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The property 'automatic' of the indexing policy must be true or false.");
    *out = *out && automatic.raw.data[0] != 0;
    return STATUS_OK;
}

/* ---- lists of paths --------------------------------------------------------------------------------- */

struct path_list {
    const char *name; /* "includedPaths" ... */
    struct value given;
    size_t count;
    bytes *paths;
};

static status fail_list(struct call *call, const char *name)
{
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The property '%s' of the indexing policy must be an array of objects with a "
                     "string 'path'.",
                     name);
}

static status read_path(struct call *call, const char *name, struct value element, bytes *out)
{
    struct value path;

    if (element.type != VALUE_DOCUMENT || !document_find(value_document(element), "path", &path) ||
        path.type != VALUE_STRING)
        return fail_list(call, name);
    *out = value_text(path);
    return STATUS_OK;
}

static status check_pattern(struct call *call, bytes pattern)
{
    struct path_fault fault;
    bytes none;

    TRY(container_path_read(call->arena, pattern, PATH_PATTERN, &none, &fault));
    if (!fault.why)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The indexing path '%.*s' could not be accepted, failed near position '%zu': "
                     "%s.",
                     (int)pattern.len, (const char *)pattern.data, fault.position, fault.why);
}

static bool has_path(const struct path_list *list, bytes path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (bytes_equal(list->paths[i], path))
            return true;
    }
    return false;
}

static status read_list(struct call *call, bytes policy, const char *name, struct path_list *out)
{
    struct field element;

    *out = (struct path_list){ .name = name };
    TRY(ARENA_NEW(call->arena, LIMIT_PATH_PATTERNS + 1, &out->paths)); /* one default besides */
    if (!document_find(policy, name, &out->given) || out->given.type == VALUE_NULL) {
        out->given = (struct value){ .type = VALUE_MISSING };
        return STATUS_OK;
    }
    if (out->given.type != VALUE_ARRAY)
        return fail_list(call, name);
    struct document_walk walk = document_fields(value_document(out->given));
    while (document_next(&walk, &element)) {
        bytes path;
        if (out->count == LIMIT_PATH_PATTERNS)
            return call_fail(call, FAIL_BAD_REQUEST, "The property '%s' has more than %d paths.",
                             name, LIMIT_PATH_PATTERNS);
        TRY(read_path(call, name, element.value, &path));
        TRY(check_pattern(call, path));
        if (has_path(out, path))
            return call_fail(call, FAIL_BAD_REQUEST, "The indexing path '%.*s' is twice in '%s'.",
                             (int)path.len, (const char *)path.data, name);
        out->paths[out->count++] = path;
    }
    return STATUS_OK;
}

static status check_lists(struct call *call, const struct path_list *included,
                          const struct path_list *excluded)
{
    for (size_t i = 0; i < included->count; i++) {
        bytes path = included->paths[i];
        if (has_path(excluded, path))
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The indexing path '%.*s' is both included and excluded.",
                             (int)path.len, (const char *)path.data);
    }
    if (!has_path(included, BYTES_LITERAL(ROOT_PATTERN)) &&
        !has_path(excluded, BYTES_LITERAL(ROOT_PATTERN)))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The special mandatory indexing path '/*' is in neither of includedPaths "
                         "and excludedPaths; put it into one of them.");
    return STATUS_OK;
}

static void append_list(struct buffer *out, const struct path_list *list, const char *more)
{
    size_t array = document_begin_inner(out, VALUE_ARRAY, bytes_of_text(list->name));
    size_t count = 0;

    if (list->given.type == VALUE_ARRAY) {
        struct document_walk walk = document_fields(value_document(list->given));
        struct field element;
        for (; document_next(&walk, &element); count++)
            document_append(out, element.name, element.value);
    }
    if (more) {
        const char *place = arena_format(out->arena, "%zu", count);
        size_t begun = document_begin_inner(out, VALUE_DOCUMENT, bytes_of_text(place ? place : ""));
        document_append_text(out, "path", bytes_of_text(more));
        document_end(out, begun);
    }
    document_end(out, array);
}

/* Both lists with their defaults. */
static status read_lists(struct call *call, bytes policy, struct buffer *definition,
                         struct indexing_policy *out)
{
    struct path_list included, excluded;
    const char *more_included = NULL, *more_excluded = NULL;

    TRY(read_list(call, policy, "includedPaths", &included));
    TRY(read_list(call, policy, "excludedPaths", &excluded));
    if (out->mode != INDEXING_NONE) {
        if (included.given.type == VALUE_MISSING &&
            !has_path(&excluded, BYTES_LITERAL(ROOT_PATTERN))) {
            more_included = ROOT_PATTERN;
            included.paths[included.count++] = BYTES_LITERAL(ROOT_PATTERN);
        }
        TRY(check_lists(call, &included, &excluded));
        if (!has_path(&included, BYTES_LITERAL(ETAG_PATTERN)) &&
            !has_path(&excluded, BYTES_LITERAL(ETAG_PATTERN))) {
            more_excluded = ETAG_PATTERN;
            excluded.paths[excluded.count++] = BYTES_LITERAL(ETAG_PATTERN);
        }
    }
    append_list(definition, &included, more_included);
    append_list(definition, &excluded, more_excluded);
    out->included = included.paths;
    out->included_count = included.count;
    out->excluded = excluded.paths;
    out->excluded_count = excluded.count;
    return STATUS_OK;
}

/* ---- composite indexes ------------------------------------------------------------------------------- */

static status read_order(struct call *call, struct value element, bool *is_descending_out)
{
    struct value order;

    *is_descending_out = false;
    if (!document_find(value_document(element), "order", &order) || order.type == VALUE_NULL)
        return STATUS_OK;
    bytes text = order.type == VALUE_STRING ? value_text(order) : BYTES_NONE;
    *is_descending_out = bytes_equal(text, BYTES_LITERAL("descending"));
    if (*is_descending_out || bytes_equal(text, BYTES_LITERAL("ascending")))
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The order '%.*s' of a composite index is invalid; it must be 'ascending' or "
                     "'descending'.",
                     (int)text.len, (const char *)text.data);
}

static status read_composite_path(struct call *call, struct value element,
                                  struct composite_index *out)
{
    struct path_fault fault;
    bytes path;

    TRY(read_path(call, "compositeIndexes", element, &path));
    if (out->count == COMPOSITE_PATHS_MAX)
        return call_fail(call, FAIL_BAD_REQUEST, "A composite index has at most %d paths.",
                         COMPOSITE_PATHS_MAX);
    TRY(read_order(call, element, &out->is_descending[out->count]));
    TRY(container_path_read(call->arena, path, PATH_PROPERTY, &out->paths[out->count], &fault));
    if (fault.why)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The path '%.*s' of a composite index could not be accepted, failed near "
                         "position '%zu': %s.",
                         (int)path.len, (const char *)path.data, fault.position, fault.why);
    out->count++;
    return STATUS_OK;
}

static status read_composite(struct call *call, struct value list, struct composite_index *out)
{
    struct field element;

    if (list.type != VALUE_ARRAY)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The property 'compositeIndexes' of the indexing policy must be an array "
                         "of arrays of {\"path\", \"order\"}.");
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &element))
        TRY(read_composite_path(call, element.value, out));
    if (out->count < COMPOSITE_PATHS_MIN)
        return call_fail(call, FAIL_BAD_REQUEST, "A composite index has at least %d paths.",
                         COMPOSITE_PATHS_MIN);
    return STATUS_OK;
}

static status read_composites(struct call *call, bytes policy, struct buffer *definition,
                              struct indexing_policy *out)
{
    struct value lists;
    struct field list;

    if (!document_find(policy, "compositeIndexes", &lists) || lists.type == VALUE_NULL)
        return STATUS_OK;
    if (lists.type != VALUE_ARRAY)
        return fail_list(call, "compositeIndexes");
    size_t count = document_field_count(value_document(lists));
    if (count > COMPOSITES_MAX)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The indexing policy has %zu composite indexes, the limit is %d.", count,
                         COMPOSITES_MAX);
    TRY(ARENA_NEW(call->arena, count, &out->composites));
    struct document_walk walk = document_fields(value_document(lists));
    while (document_next(&walk, &list))
        TRY(read_composite(call, list.value, &out->composites[out->composite_count++]));
    document_append(definition, BYTES_LITERAL("compositeIndexes"), lists);
    return STATUS_OK;
}

/* ---- further indexes, kept and shown ---------------------------------------------------------------- */

/* Arrays of objects with a path. */
static status check_paths(struct call *call, const char *name, struct value list)
{
    struct field element;
    bytes path;

    if (list.type != VALUE_ARRAY)
        return fail_list(call, name);
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &element))
        TRY(read_path(call, name, element.value, &path));
    return STATUS_OK;
}

static status read_further(struct call *call, bytes policy, struct buffer *definition)
{
    static const struct {
        const char *name;
        status (*check)(struct call *call, const char *name, struct value list);
    } rows[] = {
        {"spatialIndexes",   check_paths},
        { "vectorIndexes",   check_paths},
        { "fullTextIndexes", check_paths},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct value list;
        if (!document_find(policy, rows[i].name, &list) || list.type == VALUE_NULL)
            continue;
        TRY(rows[i].check(call, rows[i].name, list));
        document_append(definition, bytes_of_text(rows[i].name), list);
    }
    return STATUS_OK;
}

status indexing_policy_read(struct call *call, struct value given, struct buffer *definition,
                            struct indexing_policy *out)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    bytes policy = bytes_of(nothing, sizeof(nothing));
    bool is_automatic;

    *out = (struct indexing_policy){ 0 };
    if (given.type == VALUE_DOCUMENT)
        policy = value_document(given);
    TRY(read_mode(call, policy, &out->mode));
    TRY(read_automatic(call, policy, out->mode, &is_automatic));
    size_t begun = document_begin_inner(definition, VALUE_DOCUMENT,
                                        BYTES_LITERAL("indexingPolicy"));
    document_append_text(definition, "indexingMode", bytes_of_text(mode_names[out->mode]));
    document_append_bool(definition, "automatic", is_automatic);
    TRY(read_lists(call, policy, definition, out));
    TRY(read_composites(call, policy, definition, out));
    TRY(read_further(call, policy, definition));
    document_end(definition, begun);
    return STATUS_OK;
}

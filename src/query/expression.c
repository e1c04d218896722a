/* Expression: building the nodes of the tree.
 *
 * A node knows how deep the tree below it is, and none is built deeper than LIMIT_QUERY_DEPTH: so
 * everything that walks a tree may recurse.
 *
 * Pure apart from the arena. */
#include "query/expression.h"

#include "query/tree.h"

static status check_depth(struct arena *arena, unsigned depth)
{
    if (depth > LIMIT_QUERY_DEPTH)
        return status_fail(arena, TOO_LARGE,
                           "the query's expressions are nested more than %d deep, the limit",
                           LIMIT_QUERY_DEPTH);
    return STATUS_OK;
}

static status new_node(struct arena *arena, const struct expression *shape,
                       const struct expression **out)
{
    struct expression *node;

    *out = NULL;
    TRY(ARENA_NEW(arena, 1, &node));
    *node = *shape;
    node->depth = 1;
    for (size_t i = 0; i < node->count; i++) {
        if (node->args[i]->depth >= node->depth)
            node->depth = node->args[i]->depth + 1;
    }
    *out = node;
    return check_depth(arena, node->depth);
}

static status copy_args(struct arena *arena, const struct expression *const *args, size_t count,
                        const struct expression *const **out)
{
    const struct expression **copy;

    TRY(ARENA_NEW(arena, count, &copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = args[i];
    *out = copy;
    return STATUS_OK;
}

status expression_literal(struct arena *arena, struct value value, const struct expression **out)
{
    return new_node(arena, &(struct expression){ .kind = EXPRESSION_LITERAL, .literal = value },
                    out);
}

status expression_variable(struct arena *arena, uint32_t number, const struct expression **out)
{
    return new_node(arena, &(struct expression){ .kind = EXPRESSION_VARIABLE, .number = number },
                    out);
}

status expression_member(struct arena *arena, const struct expression *of, bytes name,
                         const struct expression **out)
{
    struct expression shape = { .kind = EXPRESSION_MEMBER, .name = name, .count = 1 };

    TRY(copy_args(arena, &of, 1, &shape.args));
    return new_node(arena, &shape, out);
}

status expression_call(struct arena *arena, enum function function,
                       const struct expression *const *args, size_t count,
                       const struct expression **out)
{
    struct expression shape = { .kind = EXPRESSION_CALL, .function = function, .count = count };

    TRY(copy_args(arena, args, count, &shape.args));
    return new_node(arena, &shape, out);
}

status expression_object(struct arena *arena, const bytes *names,
                         const struct expression *const *args, size_t count,
                         const struct expression **out)
{
    struct expression shape = { .kind = EXPRESSION_OBJECT, .count = count };
    bytes *copy;

    TRY(copy_args(arena, args, count, &shape.args));
    TRY(ARENA_NEW(arena, count, &copy));
    if (count)
        memcpy(copy, names, count * sizeof(*copy));
    shape.names = copy;
    return new_node(arena, &shape, out);
}

status expression_array(struct arena *arena, const struct expression *const *args, size_t count,
                        const struct expression **out)
{
    struct expression shape = { .kind = EXPRESSION_ARRAY, .count = count };

    TRY(copy_args(arena, args, count, &shape.args));
    return new_node(arena, &shape, out);
}

status expression_aggregate(struct arena *arena, uint32_t number, const struct expression **out)
{
    return new_node(arena, &(struct expression){ .kind = EXPRESSION_AGGREGATE, .number = number },
                    out);
}

status expression_regroup(struct arena *arena, const struct expression *x,
                          const struct expression *const *groups, size_t count,
                          const struct expression **out)
{
    struct expression shape = *x;
    const struct expression **args;
    bool is_changed = false;

    for (size_t i = 0; i < count; i++) {
        struct expression group = { .kind = EXPRESSION_GROUP, .number = (uint32_t)i };
        if (expression_equal(x, groups[i]))
            return new_node(arena, &group, out);
    }
    *out = x;
    if (x->count == 0)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, x->count, &args));
    for (size_t i = 0; i < x->count; i++) {
        TRY(expression_regroup(arena, x->args[i], groups, count, &args[i]));
        is_changed |= args[i] != x->args[i];
    }
    shape.args = args;
    return is_changed ? new_node(arena, &shape, out) : STATUS_OK;
}

static unsigned deeper(unsigned depth, const struct expression *x)
{
    return x && x->depth > depth ? x->depth : depth;
}

static unsigned query_depth(const struct query *query)
{
    unsigned depth = deeper(query->output->depth, query->where);

    for (size_t i = 0; i < query->binding_count; i++) {
        depth = deeper(depth, query->bindings[i].of);
        if (query->bindings[i].query && query_depth(query->bindings[i].query) >= depth)
            depth = query_depth(query->bindings[i].query) + 1;
    }
    for (size_t i = 0; i < query->aggregate_count; i++)
        depth = deeper(depth, query->aggregates[i].of);
    for (size_t i = 0; i < query->group_count; i++)
        depth = deeper(depth, query->groups[i]);
    return depth;
}

status expression_subquery(struct arena *arena, enum subquery_kind kind, const struct query *query,
                           const struct expression **out)
{
    struct expression shape = { .kind = EXPRESSION_SUBQUERY, .subquery = kind, .query = query };

    TRY(new_node(arena, &shape, out));
    struct expression *node = (struct expression *)(uintptr_t)*out;
    node->depth = query_depth(query) + 1;
    return check_depth(arena, node->depth);
}

bool expression_equal(const struct expression *a, const struct expression *b)
{
    if (a->kind != b->kind || a->function != b->function || a->number != b->number ||
        a->count != b->count || a->query != b->query || !bytes_equal(a->name, b->name) ||
        a->literal.type != b->literal.type || !bytes_equal(a->literal.raw, b->literal.raw))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!expression_equal(a->args[i], b->args[i]))
            return false;
        if (a->kind == EXPRESSION_OBJECT && !bytes_equal(a->names[i], b->names[i]))
            return false;
    }
    return true;
}

bool expression_uses_variable(const struct expression *expression)
{
    if (expression->kind == EXPRESSION_VARIABLE || expression->kind == EXPRESSION_SUBQUERY)
        return true;
    for (size_t i = 0; i < expression->count; i++) {
        if (expression_uses_variable(expression->args[i]))
            return true;
    }
    return false;
}

static const struct expression *find_in_query(const struct query *query, uint32_t from,
                                              uint32_t end);

const struct expression *expression_find_variable(const struct expression *x, uint32_t from,
                                                  uint32_t end)
{
    const struct expression *found = NULL;

    if (!x)
        return NULL;
    if (x->kind == EXPRESSION_VARIABLE)
        return x->number >= from && x->number < end ? x : NULL;
    if (x->kind == EXPRESSION_SUBQUERY)
        return find_in_query(x->query, from, end);
    for (size_t i = 0; i < x->count && !found; i++)
        found = expression_find_variable(x->args[i], from, end);
    return found;
}

static const struct expression *find_in_query(const struct query *query, uint32_t from,
                                              uint32_t end)
{
    const struct expression *found = expression_find_variable(query->output, from, end);

    for (size_t i = 0; i < query->binding_count && !found; i++) {
        const struct query_binding *binding = &query->bindings[i];
        found = binding->query ? find_in_query(binding->query, from, end)
                               : expression_find_variable(binding->of, from, end);
    }
    if (!found)
        found = expression_find_variable(query->where, from, end);
    for (size_t i = 0; i < query->aggregate_count && !found; i++)
        found = expression_find_variable(query->aggregates[i].of, from, end);
    for (size_t i = 0; i < query->group_count && !found; i++)
        found = expression_find_variable(query->groups[i], from, end);
    return found;
}

enum value_kind value_kind_of(struct value value)
{
    /* A table, because every comparison asks; the other types are below it or have no place in it. */
    static const uint8_t kinds[] = {
        [VALUE_MISSING] = KIND_MISSING,   [VALUE_DOUBLE] = KIND_NUMBER,
        [VALUE_STRING] = KIND_STRING,     [VALUE_DOCUMENT] = KIND_DOCUMENT,
        [VALUE_ARRAY] = KIND_ARRAY,       [VALUE_BINARY] = KIND_OTHER,
        [VALUE_UNDEFINED] = KIND_MISSING, [VALUE_OBJECT_ID] = KIND_OTHER,
        [VALUE_BOOL] = KIND_BOOL,         [VALUE_DATE] = KIND_OTHER,
        [VALUE_NULL] = KIND_NULL,         [VALUE_REGEX] = KIND_OTHER,
        [VALUE_DB_POINTER] = KIND_OTHER,  [VALUE_CODE] = KIND_OTHER,
        [VALUE_SYMBOL] = KIND_STRING,     [VALUE_CODE_WITH_SCOPE] = KIND_OTHER,
        [VALUE_INT32] = KIND_NUMBER,      [VALUE_TIMESTAMP] = KIND_OTHER,
        [VALUE_INT64] = KIND_NUMBER,      [VALUE_DECIMAL128] = KIND_NUMBER,
    };

    return (size_t)value.type < ARRAY_COUNT(kinds) ? (enum value_kind)kinds[value.type]
                                                   : KIND_OTHER;
}

/* Explain query: a filter in the one form that tools compare: every condition spelled out, one by one.
 *
 *   { a: 5, b: { $gt: 1, $lt: 9 } }  becomes  { $and: [ { a: { $eq: 5 } }, { b: { $gt: 1 } }, { b: { $lt: 9 } } ] }
 *
 * Conditions keep the order in which they were written. The filter was parsed before, so nothing is refused here;
 * what has no other form stays as it is.
 *
 * Threads: pure apart from the arena. Start reading at explain_parsed_query(). */
#include "front/mongo/explain.h"

/* Conditions that are collected. */
struct conditions {
    struct command *command;
    struct buffer list; /* an array that was begun */
    size_t count;
    bytes only; /* the last one */
};

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

static status add_condition(struct conditions *c, bytes condition)
{
    char room[REPLY_INDEX_BYTES];

    reply_document(&c->list, reply_index(c->count++, room), condition);
    c->only = condition;
    return STATUS_OK;
}

/* { name: value } */
static status wrap(struct command *command, bytes name, struct value value, bytes *out)
{
    struct buffer built = buffer_in(command->arena);
    size_t begun = document_begin(&built);

    document_append(&built, name, value);
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

static struct value as_document(bytes document)
{
    return (struct value){ .type = VALUE_DOCUMENT, .raw = document };
}

static status add_operator(struct conditions *c, bytes path, const struct field *operator)
{
    bytes inner, outer;

    if (is_named(operator->name, "$options"))
        return STATUS_OK;
    if (is_named(operator->name, "$ne")) {
        TRY(wrap(c->command, BYTES_LITERAL("$eq"), operator->value, &inner));
        TRY(wrap(c->command, BYTES_LITERAL("$not"), as_document(inner), &inner));
    } else {
        TRY(wrap(c->command, operator->name, operator->value, &inner));
    }
    TRY(wrap(c->command, path, as_document(inner), &outer));
    return add_condition(c, outer);
}

static bool has_operators(struct value value)
{
    struct document_walk walk;
    struct field first;

    if (value.type != VALUE_DOCUMENT)
        return false;
    walk = document_fields(value_document(value));
    return document_next(&walk, &first) && first.name.len > 1 && first.name.data[0] == '$' &&
           !is_named(first.name, "$ref") && !is_named(first.name, "$id");
}

static status add_regex(struct conditions *c, const struct field *field)
{
    struct value_regex regex = value_regex(field->value);
    struct buffer built = buffer_in(c->command->arena);
    size_t begun = document_begin(&built);
    bytes inner, condition;

    document_append_text(&built, "$regex", regex.pattern);
    if (regex.options.len)
        document_append_text(&built, "$options", regex.options);
    document_end(&built, begun);
    TRY(buffer_finish(&built, &inner));
    TRY(wrap(c->command, field->name, as_document(inner), &condition));
    return add_condition(c, condition);
}

static status add_operand(struct conditions *c, const struct field *field)
{
    struct value value = field->value, options;
    struct field operator= { .name = BYTES_LITERAL("$eq"), .value = value };
    bytes condition;

    if (value.type == VALUE_REGEX)
        return add_regex(c, field);
    if (!has_operators(value))
        return add_operator(c, field->name, &operator);
    if (document_find(value_document(value), "$options", &options)) { /* belongs to its neighbour */
        TRY(wrap(c->command, field->name, value, &condition));
        return add_condition(c, condition);
    }
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &operator))
        TRY(add_operator(c, field->name, &operator));
    return STATUS_OK;
}

static status normalise(struct command *command, bytes filter, unsigned depth, bytes *out);

/* $or and $nor: each of theirs in that form. */
static status add_alternatives(struct conditions *c, const struct field *field, unsigned depth)
{
    struct buffer list = buffer_in(c->command->arena);
    size_t begun = document_begin(&list), count = 0;
    struct document_walk walk = document_fields(value_document(field->value));
    char room[REPLY_INDEX_BYTES];
    struct field item;
    bytes array, inner;

    while (document_next(&walk, &item)) {
        TRY(normalise(c->command, value_document(item.value), depth + 1, &inner));
        reply_document(&list, reply_index(count++, room), inner);
    }
    document_end(&list, begun);
    TRY(buffer_finish(&list, &array));
    TRY(wrap(c->command, field->name, (struct value){ VALUE_ARRAY, array }, &inner));
    return add_condition(c, inner);
}

static status add_all(struct conditions *c, bytes filter, unsigned depth)
{
    struct document_walk walk = document_fields(filter);
    struct field field, item;
    bytes condition;

    while (document_next(&walk, &field)) {
        bool is_list = field.value.type == VALUE_ARRAY && depth < LIMIT_NESTING_DEPTH;
        if (is_list && is_named(field.name, "$and")) {
            struct document_walk items = document_fields(value_document(field.value));
            while (document_next(&items, &item)) {
                if (item.value.type == VALUE_DOCUMENT)
                    TRY(add_all(c, value_document(item.value), depth + 1));
            }
        } else if (is_list && (is_named(field.name, "$or") || is_named(field.name, "$nor"))) {
            TRY(add_alternatives(c, &field, depth));
        } else if (is_named(field.name, "$comment")) {
            continue;
        } else if (field.name.len && field.name.data[0] == '$') {
            TRY(wrap(c->command, field.name, field.value, &condition));
            TRY(add_condition(c, condition));
        } else {
            TRY(add_operand(c, &field));
        }
    }
    return STATUS_OK;
}

static status normalise(struct command *command, bytes filter, unsigned depth, bytes *out)
{
    struct conditions c = { .command = command, .list = buffer_in(command->arena) };
    size_t begun = document_begin(&c.list);
    bytes array;

    TRY(add_all(&c, filter, depth));
    document_end(&c.list, begun);
    TRY(buffer_finish(&c.list, &array));
    *out = c.only;
    if (c.count == 0)
        *out = argument_document((struct value){ .type = VALUE_MISSING });
    return c.count > 1
               ? wrap(command, BYTES_LITERAL("$and"), (struct value){ VALUE_ARRAY, array }, out)
               : STATUS_OK;
}

bytes explain_parsed_query(struct command *command, bytes filter)
{
    bytes parsed;

    return normalise(command, filter, 0, &parsed).code == OK ? parsed : filter;
}

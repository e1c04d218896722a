/* Projection: from the `projection` of a command to a tree.
 *
 *   projection = { *( path : 0 | 1 | true | false | { $slice : .. } | { $elemMatch : .. } | projection | expression ) }
 *
 * The first field that says so (other than _id) decides whether it keeps or leaves out; the others must agree.
 *
 * Threads: pure apart from the arena. Start reading at projection_parse(). */
#include "front/mongo/projection.h"

#include "front/mongo/filter.h"

enum mode { MODE_OPEN, MODE_KEEP, MODE_DROP };

struct projection_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
    enum projection_place place;
    struct projection *projection;
    enum mode mode;
    bool is_id_kept;
    bool has_element;
};

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

static bool is_flag(struct value value)
{
    return value.type == VALUE_BOOL || value_is_number(value);
}

static status decide(struct projection_parser *p, bytes path, enum mode mode)
{
    if (p->mode == MODE_OPEN)
        p->mode = mode;
    if (p->mode == mode)
        return STATUS_OK;
    bool is_keep = mode == MODE_KEEP;
    return fault_raise(p->arena, p->fault, is_keep ? 31253 : 31254,
                       "Cannot do %s on field %.*s in %s projection",
                       is_keep ? "inclusion" : "exclusion", (int)path.len, (const char *)path.data,
                       is_keep ? "exclusion" : "inclusion");
}

static status check_path(struct projection_parser *p, bytes path)
{
    size_t part_len = 0;

    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.data[i] != '.') {
            if (part_len == 0 && path.data[i] == '$')
                return fault_raise(p->arena, p->fault, 16410,
                                   "FieldPath field names may not start with '$'. Consider using "
                                   "$getField or $setField: '%.*s'",
                                   (int)path.len, (const char *)path.data);
            part_len++;
            continue;
        }
        if (part_len == 0)
            return fault_raise(p->arena, p->fault, path.len ? 40353 : 40352,
                               "FieldPath must not have empty parts: '%.*s'", (int)path.len,
                               (const char *)path.data);
        part_len = 0;
    }
    return STATUS_OK;
}

static status add(struct projection_parser *p, bytes path, enum projection_kind kind,
                  struct projection_node **out)
{
    TRY(check_path(p, path));
    status s = projection_add(p->arena, p->projection, path, kind, out);
    if (s.code == INVALID)
        return fault_raise(p->arena, p->fault, 31249, "%s", s.message);
    return s;
}

/* ---- kinds of fields -------------------------------------------------------------------------------- */

static status parse_flag(struct projection_parser *p, bytes path, bool is_kept)
{
    struct projection_node *node;

    if (is_named(path, "_id")) {
        p->projection->keeps_id = is_kept;
        p->is_id_kept = is_kept;
        if (is_kept)
            return STATUS_OK;
        return add(p, path, PROJECT_DROP, &node);
    }
    TRY(decide(p, path, is_kept ? MODE_KEEP : MODE_DROP));
    return add(p, path, is_kept ? PROJECT_KEEP : PROJECT_DROP, &node);
}

static status parse_formula(struct projection_parser *p, bytes path, struct value expression)
{
    struct projection_node *node;

    if (p->mode == MODE_DROP)
        return fault_raise(p->arena, p->fault, 31252,
                           "Cannot use expression other than $meta in exclusion projection");
    TRY(decide(p, path, MODE_KEEP));
    TRY(add(p, path, PROJECT_COMPUTE, &node));
    return formula_parse(p->arena, expression, p->scope, &node->formula, p->fault);
}

static status parse_slice(struct projection_parser *p, bytes path, struct value argument)
{
    struct projection_node *node;
    struct document_walk walk;
    struct field skip, limit, more;

    TRY(add(p, path, PROJECT_SLICE, &node));
    if (value_is_number(argument)) {
        if (!value_as_int64(argument, &node->limit))
            node->limit = (int64_t)value_as_double(argument);
        node->skip = node->limit < 0 ? node->limit : 0;
        node->limit = node->limit < 0 ? INT64_MAX : node->limit;
        return STATUS_OK;
    }
    if (argument.type != VALUE_ARRAY)
        return fault_raise(
            p->arena, p->fault, 28667,
            "Invalid $slice syntax. The given syntax did not match the find() $slice "
            "syntax, a number or [skip, limit]");
    walk = document_fields(value_document(argument));
    if (!document_next(&walk, &skip) || !document_next(&walk, &limit) ||
        document_next(&walk, &more) || !value_as_int64(skip.value, &node->skip) ||
        !value_as_int64(limit.value, &node->limit))
        return fault_raise(p->arena, p->fault, 28667,
                           "Invalid $slice syntax: an array must hold skip and limit");
    if (node->limit <= 0)
        return fault_raise(p->arena, p->fault, 28724,
                           "First argument to $slice must be an array, and the limit positive");
    return STATUS_OK;
}

static status parse_element(struct projection_parser *p, bytes path, struct value whole)
{
    struct projection_node *node;

    if (memchr(path.data, '.', path.len))
        return fault_raise(p->arena, p->fault, 31275,
                           "Cannot use $elemMatch projection on a nested field.");
    TRY(decide(p, path, MODE_KEEP));
    p->has_element = true;
    TRY(add(p, path, PROJECT_ELEMENT, &node));
    return filter_parse_field(p->arena, BYTES_NONE, whole, p->scope, &node->match, p->fault);
}

static status parse_positional(struct projection_parser *p, bytes path)
{
    struct projection_node *node;

    if (p->projection->needs_position)
        return fault_raise(p->arena, p->fault, 31276,
                           "Cannot specify more than one positional projection per query.");
    TRY(decide(p, path, MODE_KEEP));
    p->projection->needs_position = true;
    return add(p, bytes_of(path.data, path.len - 2), PROJECT_POSITIONAL, &node);
}

static bool is_positional(bytes path)
{
    return path.len > 2 && path.data[path.len - 1] == '$' && path.data[path.len - 2] == '.';
}

static status join_path(struct projection_parser *p, bytes path, bytes name, bytes *out)
{
    struct buffer joined = buffer_in(p->arena);

    buffer_append(&joined, path);
    buffer_append_text(&joined, ".");
    buffer_append(&joined, name);
    return buffer_finish(&joined, out);
}

static status parse_field(struct projection_parser *p, bytes path, struct value value);

/* Fields of fields: { a: { b: 1 } } is { "a.b": 1 }. */
static status parse_inside(struct projection_parser *p, bytes path, bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field field;

    if (document_field_count(document) == 0)
        return fault_raise(p->arena, p->fault, 51270,
                           "An empty sub-projection is not a valid value. Found empty object at "
                           "path %.*s",
                           (int)path.len, (const char *)path.data);
    while (document_next(&walk, &field)) {
        bytes below;
        TRY(join_path(p, path, field.name, &below));
        TRY(parse_field(p, below, field.value));
    }
    return STATUS_OK;
}

static status parse_document(struct projection_parser *p, bytes path, struct value value)
{
    struct document_walk walk = document_fields(value_document(value));
    struct field first;

    if (!document_next(&walk, &first) || first.name.len == 0 || first.name.data[0] != '$')
        return parse_inside(p, path, value_document(value));
    if (p->place == PROJECTION_OF_FIND && is_named(first.name, "$slice"))
        return parse_slice(p, path, first.value);
    if (p->place == PROJECTION_OF_FIND && is_named(first.name, "$elemMatch"))
        return parse_element(p, path, value);
    return parse_formula(p, path, value);
}

static status parse_field(struct projection_parser *p, bytes path, struct value value)
{
    if (p->place == PROJECTION_OF_FIND && is_positional(path))
        return parse_positional(p, path);
    if (is_flag(value))
        return parse_flag(p, path, formula_is_true(value));
    if (value.type == VALUE_DOCUMENT)
        return parse_document(p, path, value);
    return parse_formula(p, path, value);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static status open_root(struct projection_parser *p)
{
    TRY(ARENA_NEW(p->arena, 1, &p->projection));
    TRY(ARENA_NEW(p->arena, 1, &p->projection->root));
    p->projection->root->kind = PROJECT_INSIDE;
    p->projection->keeps_id = true;
    return STATUS_OK;
}

status projection_parse(struct arena *arena, bytes document, enum projection_place place,
                        const struct formula_scope *scope, const struct projection **out,
                        struct fault *fault)
{
    struct projection_parser p = { .arena = arena, .fault = fault, .scope = scope, .place = place };
    struct document_walk walk;
    struct field field;

    *out = NULL;
    if (document.len == 0 || document_field_count(document) == 0)
        return place == PROJECTION_OF_FIND
                   ? STATUS_OK
                   : fault_raise(arena, fault, 51272,
                                 "Invalid $project :: caused by :: projection specification must "
                                 "have at least one field");
    TRY(open_root(&p));
    walk = document_fields(document);
    while (document_next(&walk, &field))
        TRY(parse_field(&p, field.name, field.value));
    if (p.projection->needs_position && p.has_element)
        return fault_raise(arena, fault, 31255,
                           "Cannot specify positional operator and $elemMatch.");
    p.projection->is_inclusion = p.mode == MODE_KEEP || (p.mode == MODE_OPEN && p.is_id_kept);
    *out = p.projection;
    return STATUS_OK;
}

/* Fields of fields are put in one by one; what begins with an operator is computed. */
static status parse_new_field(struct projection_parser *p, bytes path, struct value value)
{
    struct projection_node *node;
    struct document_walk walk;
    struct field field;

    bool is_inside = value.type == VALUE_DOCUMENT &&
                     document_field_count(value_document(value)) > 0 &&
                     !filter_has_operators(value);
    if (!is_inside) {
        TRY(add(p, path, PROJECT_COMPUTE, &node));
        return formula_parse(p->arena, value, p->scope, &node->formula, p->fault);
    }
    walk = document_fields(value_document(value));
    while (document_next(&walk, &field)) {
        bytes below;
        TRY(join_path(p, path, field.name, &below));
        TRY(parse_new_field(p, below, field.value));
    }
    return STATUS_OK;
}

status projection_parse_fields(struct arena *arena, bytes document,
                               const struct formula_scope *scope, const struct projection **out,
                               struct fault *fault)
{
    struct projection_parser p = { .arena = arena, .fault = fault, .scope = scope };
    struct document_walk walk = document_fields(document);
    struct field field;

    TRY(open_root(&p));
    p.projection->adds_only = true;
    while (document_next(&walk, &field))
        TRY(parse_new_field(&p, field.name, field.value));
    *out = p.projection;
    return STATUS_OK;
}

status projection_parse_unset(struct arena *arena, struct value names,
                              const struct projection **out, struct fault *fault)
{
    struct projection_parser p = { .arena = arena, .fault = fault };
    struct projection_node *node;
    struct document_walk walk;
    struct field name = { .value = names };

    TRY(open_root(&p));
    *out = p.projection;
    if (names.type == VALUE_STRING)
        return add(&p, value_text(names), PROJECT_DROP, &node);
    if (names.type != VALUE_ARRAY || document_field_count(value_document(names)) == 0)
        return fault_raise(arena, fault, 31002,
                           "$unset specification must be a string or a non-empty array of strings");
    walk = document_fields(value_document(names));
    while (document_next(&walk, &name)) {
        if (name.value.type != VALUE_STRING)
            return fault_raise(arena, fault, 31120,
                               "$unset specification must be a string or an array containing only "
                               "string values");
        TRY(add(&p, value_text(name.value), PROJECT_DROP, &node));
    }
    return STATUS_OK;
}

status projection_fault(struct arena *arena, const struct projection_run *run, status failed,
                        struct fault *fault)
{
    if (failed.code != INVALID || !run->refusal)
        return failed;
    return fault_raise(arena, fault, run->refusal, "%s", failed.message);
}

/* ---- orders ----------------------------------------------------------------------------------------- */

/* {$meta: "textScore"} */
static status parse_meta(struct arena *arena, bytes wish, struct order_part *part,
                         struct fault *fault)
{
    struct value meta;

    if (!document_find(wish, "$meta", &meta))
        return fault_raise(arena, fault, 17312,
                           "$meta is the only expression supported by $sort "
                           "right now");
    if (meta.type != VALUE_STRING || !is_named(value_text(meta), "textScore"))
        return fault_raise(arena, fault, 31138,
                           "Illegal $meta sort: it must be \"textScore\" here");
    part->is_score = true;
    return STATUS_OK;
}

static status parse_direction(struct arena *arena, struct field field, struct order_part *part,
                              struct fault *fault)
{
    int64_t direction;

    part->is_score = false;
    if (field.value.type == VALUE_DOCUMENT)
        return parse_meta(arena, value_document(field.value), part, fault);
    if (!value_is_number(field.value))
        return fault_raise(arena, fault, 15974,
                           "Illegal key in $sort specification: %.*s: the direction is no number",
                           (int)field.name.len, (const char *)field.name.data);
    if (!value_as_int64(field.value, &direction) || (direction != 1 && direction != -1))
        return fault_raise(arena, fault, 15975,
                           "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
    part->is_descending = direction < 0;
    return STATUS_OK;
}

status sort_parse(struct arena *arena, bytes document, const struct collation *by,
                  struct sort_wish *out, struct fault *fault)
{
    struct projection_parser p = { .arena = arena, .fault = fault };
    struct order_part parts[LIMIT_INDEX_FIELDS];
    struct document_walk walk;
    struct field field;
    size_t count = 0;

    *out = (struct sort_wish){ 0 };
    if (document.len == 0)
        return STATUS_OK;
    walk = document_fields(document);
    while (document_next(&walk, &field)) {
        bool is_natural = is_named(field.name, "$natural");
        if (count == LIMIT_INDEX_FIELDS)
            return fault_raise(arena, fault, 13103, "a sort has more than %d fields",
                               LIMIT_INDEX_FIELDS);
        if (!is_natural)
            TRY(check_path(&p, field.name));
        parts[count].path = field.name;
        TRY(parse_direction(arena, field, &parts[count], fault));
        if (is_natural && document_field_count(document) != 1)
            return fault_raise(arena, fault, ERROR_BadValue,
                               "$natural sort cannot be set to a value other than -1 or 1, nor be "
                               "combined with fields");
        out->is_natural = is_natural;
        out->is_reverse = is_natural && parts[count].is_descending;
        count++;
    }
    if (count == 0 || out->is_natural)
        return STATUS_OK;
    return order_make(arena, by, parts, count, &out->order);
}

/* Update: applies a tree of steps to a document.
 *
 * Document and tree are walked together. At each place a set of nodes applies: usually one, but several where an
 * array is updated by position and by filters at once. A place with a step is changed by it; other places
 * are copied, with their changed children in them, and what is not there is made if a step below it makes
 * something.
 *
 * Keeps: if nothing changes, the document is given back as it came.
 * Threads: a run belongs to its request. Start reading at update_apply(). */
#include "query/match_parts.h"
#include "query/pipeline.h"
#include "query/update_parts.h"

#include <stdio.h>

/* Nodes that may meet at one place. */
enum { NODES_MAX = 32 };
/* Elements that setting a position behind the end of an array may add. */
enum { PADDING_MAX = 1500000 };

struct nodes {
    const struct update_node *items[NODES_MAX];
    size_t count;
};

struct walk {
    const struct update *update;
    struct update_run *run;
    bytes original;
    /* For each node by its number: the last visit of its parent to a document that found the field there. */
    uint32_t *met;
    uint32_t visits;
};

static status apply_value(struct walk *w, const struct nodes *nodes, bytes name, struct value old,
                          struct update_change *out);

const char *update_note_refusal(struct update_run *run, int32_t number, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *message = arena_format_args(run->arena, format, args);
    va_end(args);
    run->refusal = number;
    return message ? message : "the update cannot be applied";
}

static status add_node(struct walk *w, struct nodes *nodes, const struct update_node *node)
{
    if (nodes->count == NODES_MAX)
        return update_refuse(w->run, REFUSED_BAD_VALUE,
                             "more than %d paths of the update meet at one array element",
                             NODES_MAX);
    nodes->items[nodes->count++] = node;
    return STATUS_OK;
}

static bool is_filter(bytes name)
{
    return name.len >= 3 && name.data[0] == '$' && name.data[1] == '[';
}

static bytes write_position(size_t position, char room[24])
{
    return bytes_of(room, (size_t)snprintf(room, 24, "%zu", position));
}

/* Name of a child as it stands in this document: "$" is the position that was found. */
static status name_of(struct walk *w, const struct update_node *child, char room[24], bytes *out)
{
    *out = child->name;
    if (!bytes_equal(child->name, BYTES_LITERAL("$")))
        return STATUS_OK;
    if (!w->run->has_position)
        return update_refuse(w->run, REFUSED_BAD_VALUE,
                             "The positional operator did not find the match needed from the "
                             "query.");
    *out = write_position(w->run->position, room);
    return STATUS_OK;
}

/* ---- what is not there ------------------------------------------------------------------------------ */

/* Of the children those that count where nothing is. */
static const struct update_node *first_fertile(const struct walk *w, const struct update_node *node)
{
    return node->fertile[w->run->is_insert];
}

static const struct update_node *next_fertile(const struct walk *w, const struct update_node *child)
{
    return child->next_fertile[w->run->is_insert];
}

static status make_missing(struct walk *w, const struct update_node *node, struct value *out);

/* A new document with what the children make; missing if they make nothing. */
static status make_children(struct walk *w, const struct update_node *node, struct value *out)
{
    const struct update_node *child = first_fertile(w, node);
    struct buffer built = buffer_in(w->run->arena);
    size_t begun = document_begin(&built), count = 0;

    *out = (struct value){ .type = VALUE_MISSING };
    for (; child; child = next_fertile(w, child)) {
        struct value value;
        char room[24];
        bytes name;
        if (is_filter(child->name))
            return update_refuse(w->run, REFUSED_BAD_VALUE,
                                 "The path to '%.*s' must exist in the document in order to apply "
                                 "array updates.",
                                 (int)child->name.len, (const char *)child->name.data);
        TRY(name_of(w, child, room, &name));
        TRY(make_missing(w, child, &value));
        count += value.type != VALUE_MISSING;
        document_append(&built, name, value);
    }
    document_end(&built, begun);
    if (count == 0)
        return STATUS_OK;
    out->type = VALUE_DOCUMENT;
    return buffer_finish(&built, &out->raw);
}

static status make_missing(struct walk *w, const struct update_node *node, struct value *out)
{
    struct update_change change;

    if (!node->step)
        return make_children(w, node, out);
    *out = (struct value){ .type = VALUE_MISSING };
    if (!update_creates(node->step, w->run))
        return STATUS_OK;
    TRY(update_step_apply(node->step, w->run, w->original, *out, &change));
    if (change.is_changed)
        *out = change.value;
    return STATUS_OK;
}

/* Would a step below make something where nothing is? */
static bool makes_something(const struct walk *w, const struct update_node *node)
{
    const struct update_node *child = first_fertile(w, node);

    if (node->step)
        return update_creates(node->step, w->run);
    while (child && !makes_something(w, child))
        child = next_fertile(w, child);
    return child != NULL;
}

/* ---- documents -------------------------------------------------------------------------------------- */

static bool is_wide(const struct update_node *node)
{
    return node->child_count > NAMES_FEW;
}

/* Children of a node that are asked one by one whether they stand for a name: all of them, or where they are many only those
 * that may stand for another name than their own. */
static const struct update_node *first_asked(const struct update_node *node)
{
    return is_wide(node) ? node->dollared : node->children;
}

static const struct update_node *next_asked(const struct update_node *node,
                                            const struct update_node *child)
{
    const struct update_node *next = child->next;

    return is_wide(node) && next && !update_is_dollared(next) ? NULL : next;
}

/* The child of this name, if it is not among those that are asked. It comes behind them where it is a position: '$' is below
 * all digits. */
static status add_named(struct walk *w, const struct update_node *node, bytes name,
                        struct nodes *out)
{
    const struct update_node *child = is_wide(node) ? names_find(node->names, name) : NULL;

    return child && !update_is_dollared(child) ? add_node(w, out, child) : STATUS_OK;
}

/* All children of the nodes that stand for this name. */
static status gather(struct walk *w, const struct nodes *nodes, bytes name, struct nodes *out)
{
    out->count = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *node = nodes->items[i], *child;
        for (child = first_asked(node); child; child = next_asked(node, child)) {
            char room[24];
            bytes wanted;
            TRY(name_of(w, child, room, &wanted));
            if (bytes_equal(wanted, name))
                TRY(add_node(w, out, child));
        }
        TRY(add_named(w, node, name, out));
    }
    return STATUS_OK;
}

static void note_met(struct walk *w, const struct nodes *below, uint32_t visit)
{
    for (size_t i = 0; i < below->count; i++)
        w->met[below->items[i]->number] = visit;
}

static status append_new(struct walk *w, const struct nodes *nodes, uint32_t visit,
                         struct buffer *built, bool *is_changed)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *child = first_fertile(w, nodes->items[i]);
        for (; child; child = next_fertile(w, child)) {
            struct value value;
            char room[24];
            bytes name;
            TRY(name_of(w, child, room, &name));
            if (w->met[child->number] == visit)
                continue;
            TRY(make_missing(w, child, &value));
            *is_changed |= value.type != VALUE_MISSING;
            document_append(built, name, value);
        }
    }
    return STATUS_OK;
}

static status no_array(struct walk *w, bytes name, struct value value)
{
    return update_refuse(w->run, REFUSED_BAD_VALUE,
                         "Cannot apply array updates to non-array element %.*s of type %s",
                         (int)name.len, (const char *)name.data, value_type_name(value.type));
}

static bool has_filter_child(const struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *node = nodes->items[i], *child;
        for (child = first_asked(node); child; child = next_asked(node, child)) {
            if (is_filter(child->name))
                return true;
        }
    }
    return false;
}

static status apply_document(struct walk *w, const struct nodes *nodes, bytes name, bytes document,
                             struct update_change *out)
{
    struct buffer built = buffer_in(w->run->arena);
    size_t begun = document_begin(&built);
    struct document_walk fields = document_fields(document);
    uint32_t visit = ++w->visits;
    struct nodes below;
    struct field field;

    if (has_filter_child(nodes))
        return no_array(w, name, (struct value){ .type = VALUE_DOCUMENT });
    out->is_changed = false;
    while (document_next(&fields, &field)) {
        struct update_change change = { .value = field.value };
        TRY(gather(w, nodes, field.name, &below));
        note_met(w, &below, visit);
        if (below.count)
            TRY(apply_value(w, &below, field.name, field.value, &change));
        out->is_changed |= change.is_changed;
        document_append(&built, field.name, change.is_changed ? change.value : field.value);
    }
    TRY(append_new(w, nodes, visit, &built, &out->is_changed));
    document_end(&built, begun);
    out->value = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->value.raw);
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

static status filter_holds(struct walk *w, bytes part, struct value element, bool *out)
{
    bytes name = bytes_of(part.data + 2, part.len - 3);
    struct matching matching = { .scratch = w->run->arena, .formulas = w->run->formulas };
    const struct update_filter *filter = update_filter_of(w->update, name);
    struct buffer built = buffer_in(w->run->arena);
    bytes document;

    *out = name.len == 0;
    if (!filter || !filter->match)
        return STATUS_OK;
    size_t begun = document_begin(&built);
    document_append(&built, name, element);
    document_end(&built, begun);
    TRY(buffer_finish(&built, &document));
    return match_document(filter->match, &matching, document, out);
}

/* All children of the nodes that stand for the element at this position. */
static status gather_element(struct walk *w, const struct nodes *nodes, size_t position,
                             struct value element, struct nodes *out)
{
    char room[24];

    out->count = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *node = nodes->items[i], *child;
        for (child = first_asked(node); child; child = next_asked(node, child)) {
            bool is_meant;
            bytes name;
            TRY(name_of(w, child, room, &name));
            if (is_filter(name))
                TRY(filter_holds(w, name, element, &is_meant));
            else
                is_meant = match_is_position(name, position);
            if (is_meant)
                TRY(add_node(w, out, child));
        }
        if (is_wide(node))
            TRY(add_named(w, node, write_position(position, room), out));
    }
    return STATUS_OK;
}

static bool read_position(bytes name, size_t *out)
{
    size_t position = 0;

    if (name.len == 0 || name.len > 9 || (name.len > 1 && name.data[0] == '0'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
        position = position * 10 + (size_t)(name.data[i] - '0');
    }
    *out = position;
    return true;
}

struct array_builder {
    struct buffer built;
    size_t begun;
    size_t count;
};

static void append_element(struct array_builder *array, struct value value)
{
    char room[24];

    if (value.type == VALUE_MISSING)
        value.type = VALUE_NULL;
    document_append(&array->built, write_position(array->count++, room), value);
}

/* Elements behind the end: nulls up to them. */
static status append_behind(struct walk *w, const struct update_node *child, bytes parent,
                            bytes name, struct array_builder *array, bool *is_changed)
{
    struct value value;
    size_t position;

    if (!read_position(name, &position)) {
        if (!makes_something(w, child))
            return STATUS_OK;
        return update_refuse(
            w->run, REFUSED_PATH, "Cannot create field '%.*s' in element %.*s, which is an array",
            (int)name.len, (const char *)name.data, (int)parent.len, (const char *)parent.data);
    }
    if (position < array->count)
        return STATUS_OK;
    TRY(make_missing(w, child, &value));
    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    if (position - array->count > PADDING_MAX)
        return update_refuse(w->run, REFUSED_BACKFILL,
                             "Cannot add element %zu to an array of %zu elements: that would fill "
                             "it with more than %d nulls",
                             position, array->count, PADDING_MAX);
    while (array->count < position)
        append_element(array, (struct value){ .type = VALUE_NULL });
    append_element(array, value);
    *is_changed = true;
    return STATUS_OK;
}

static status apply_array(struct walk *w, const struct nodes *nodes, bytes name, bytes array,
                          struct update_change *out)
{
    struct array_builder made = { .built = buffer_in(w->run->arena) };
    struct document_walk elements = document_fields(array);
    struct nodes below;
    struct field element;

    made.begun = document_begin(&made.built);
    out->is_changed = false;
    while (document_next(&elements, &element)) {
        struct update_change change = { .value = element.value };
        TRY(gather_element(w, nodes, made.count, element.value, &below));
        if (below.count)
            TRY(apply_value(w, &below, element.name, element.value, &change));
        out->is_changed |= change.is_changed;
        append_element(&made, change.is_changed ? change.value : element.value);
    }
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *child = first_fertile(w, nodes->items[i]);
        for (; child; child = next_fertile(w, child)) {
            char room[24];
            bytes wanted;
            TRY(name_of(w, child, room, &wanted));
            if (!is_filter(wanted))
                TRY(append_behind(w, child, name, wanted, &made, &out->is_changed));
        }
    }
    document_end(&made.built, made.begun);
    out->value = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&made.built, &out->value.raw);
}

/* ---- any value -------------------------------------------------------------------------------------- */

static status apply_scalar(struct walk *w, const struct nodes *nodes, bytes name, struct value old)
{
    if (has_filter_child(nodes))
        return no_array(w, name, old);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct update_node *child = nodes->items[i]->children;
        if (child && makes_something(w, nodes->items[i]))
            return update_refuse(w->run, REFUSED_PATH,
                                 "Cannot create field '%.*s' in element {%.*s: ...} of type %s",
                                 (int)child->name.len, (const char *)child->name.data,
                                 (int)name.len, (const char *)name.data, value_type_name(old.type));
    }
    return STATUS_OK;
}

static status apply_value(struct walk *w, const struct nodes *nodes, bytes name, struct value old,
                          struct update_change *out)
{
    *out = (struct update_change){ .value = old };
    for (size_t i = 0; i < nodes->count; i++) {
        if (!nodes->items[i]->step)
            continue;
        if (nodes->count > 1)
            return update_refuse(w->run, REFUSED_CONFLICT, "Update created a conflict at '%.*s'",
                                 (int)name.len, (const char *)name.data);
        return update_step_apply(nodes->items[0]->step, w->run, w->original, old, out);
    }
    if (old.type == VALUE_DOCUMENT)
        return apply_document(w, nodes, name, value_document(old), out);
    if (old.type == VALUE_ARRAY)
        return apply_array(w, nodes, name, value_document(old), out);
    return apply_scalar(w, nodes, name, old);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static status check_result(struct update_run *run, bytes document)
{
    if (document.len > LIMIT_DOCUMENT_BYTES) {
        run->refusal = REFUSED_SIZE;
        return status_fail(run->arena, TOO_LARGE,
                           "Resulting document after update is larger than %d: it has %zu bytes",
                           LIMIT_DOCUMENT_BYTES, document.len);
    }
    return document_check(run->arena, document);
}

static status check_id(struct update_run *run, bytes old, bytes fresh)
{
    struct value before, after;

    bool had_id = document_find(old, "_id", &before);
    document_find(fresh, "_id", &after);
    if (!had_id || (after.type == before.type && bytes_equal(after.raw, before.raw)))
        return STATUS_OK;
    return update_refuse(run, REFUSED_IMMUTABLE,
                         "Performing an update on the path '_id' would modify the immutable field "
                         "'_id'");
}

static status apply_steps(const struct update *update, struct update_run *run, bytes document,
                          struct update_result *out)
{
    struct walk w = { .update = update, .run = run, .original = document };
    const struct nodes nodes = { .items = { update->root }, .count = 1 };
    struct update_change change;

    *out = (struct update_result){ .document = document };
    if (!update->root->children)
        return STATUS_OK;
    TRY(ARENA_NEW(run->arena, update->node_count + 1, &w.met));
    TRY(apply_document(&w, &nodes, BYTES_NONE, document, &change));
    if (!change.is_changed)
        return STATUS_OK;
    out->is_changed = true;
    out->document = change.value.raw;
    return STATUS_OK;
}

/* The _id stays in front; a replacement without one keeps that of the document. */
static status replace(const struct update *update, struct update_run *run, bytes document,
                      struct update_result *out)
{
    struct buffer built = buffer_in(run->arena);
    struct document_walk walk = document_fields(update->replacement);
    struct value old_id, new_id;
    struct field field;

    bool has_id = document_find(document, "_id", &old_id);
    if (document_find(update->replacement, "_id", &new_id) && has_id &&
        !match_is_equal(old_id, new_id))
        return update_refuse(run, REFUSED_IMMUTABLE,
                             "After applying the update, the (immutable) field '_id' was found to "
                             "have been altered");
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("_id"), has_id ? old_id : new_id);
    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("_id")))
            document_append(&built, field.name, field.value);
    }
    document_end(&built, begun);
    TRY(buffer_finish(&built, &out->document));
    out->is_changed = !bytes_equal(out->document, document);
    return STATUS_OK;
}

/* ---- pipelines -------------------------------------------------------------------------------------- */

struct single {
    bytes document;
    bool is_given;
};

static status next_single(void *context, bytes *document_out, bool *has_out)
{
    struct single *single = context;

    *document_out = single->document;
    *has_out = !single->is_given;
    single->is_given = true;
    return STATUS_OK;
}

/* A document without an _id gets the one it had. */
static status keep_id(struct update_run *run, bytes old, bytes fresh, bytes *out)
{
    struct buffer built = buffer_in(run->arena);
    struct document_walk walk = document_fields(fresh);
    struct value id, ignored;
    struct field field;

    if (document_find(fresh, "_id", &ignored) || !document_find(old, "_id", &id))
        return arena_copy(run->arena, fresh, out);
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("_id"), id);
    while (document_next(&walk, &field))
        document_append(&built, field.name, field.value);
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

static status apply_pipeline(const struct update *update, struct update_run *run, bytes document,
                             struct update_result *out)
{
    struct formula_run formulas = { .now = run->now };
    struct single single = { .document = document };
    const struct pipeline_source source = { .next = next_single, .context = &single };
    struct pipeline_run *running;
    bool has_row;
    bytes made;

    if (run->formulas)
        formulas = *run->formulas;
    TRY(pipeline_open(update->pipeline, 0, &source, &formulas, run->arena, &running));
    status s = pipeline_next(running, &made, &has_row);
    run->refusal = pipeline_refusal(running);
    if (s.code == OK)
        s = keep_id(run, document, has_row ? made : document, &out->document);
    pipeline_close(running);
    out->is_changed = s.code == OK && !bytes_equal(out->document, document);
    return s;
}

static status make_result(const struct update *update, struct update_run *run, bytes document,
                          struct update_result *out)
{
    if (update->is_replacement)
        return replace(update, run, document, out);
    if (update->pipeline)
        return apply_pipeline(update, run, document, out);
    return apply_steps(update, run, document, out);
}

static void begin_run(struct update_run *run, bool is_insert)
{
    run->refusal = 0;
    run->is_insert = is_insert;
    run->lookups = 0;
    run->looked = NULL;
}

status update_apply(const struct update *update, struct update_run *run, bytes document,
                    struct update_result *out)
{
    begin_run(run, false);
    TRY(make_result(update, run, document, out));
    if (!out->is_changed)
        return STATUS_OK;
    TRY(check_id(run, document, out->document));
    return check_result(run, out->document);
}

/* ---- inserting -------------------------------------------------------------------------------------- */

/* The equalities of a condition as steps that set their values. */
struct equalities {
    struct arena *arena;
    struct update_step *steps;
    size_t count, room;
    bool is_id_only;
};

static status add_equality(struct equalities *e, bytes path, struct value value)
{
    if (e->is_id_only && !bytes_equal(path, BYTES_LITERAL("_id")))
        return STATUS_OK;
    if (e->count == e->room) {
        size_t room = e->room ? e->room * 2 : 8;
        struct update_step *more;
        TRY(ARENA_NEW(e->arena, room, &more));
        if (e->count)
            memcpy(more, e->steps, e->count * sizeof(*more));
        e->steps = more;
        e->room = room;
    }
    e->steps[e->count++] = (struct update_step){ .kind = UPDATE_SET, .path = path, .value = value };
    return STATUS_OK;
}

static status collect_equalities(struct equalities *e, const struct match *match)
{
    bool is_single_or = match->kind == MATCH_OR && match->count == 1;

    if (match->kind == MATCH_EQUAL && match->path.len)
        return add_equality(e, match->path, match->value);
    if (match->kind == MATCH_IN && match->value_count == 1 && match->pattern_count == 0)
        return add_equality(e, match->path, match->values[0]);
    for (size_t i = 0; (match->kind == MATCH_AND || is_single_or) && i < match->count; i++)
        TRY(collect_equalities(e, match->parts[i]));
    return STATUS_OK;
}

static status base_of(struct update_run *run, const struct match *match, bool is_id_only,
                      bytes *out)
{
    struct equalities e = { .arena = run->arena, .is_id_only = is_id_only };
    struct update_result result;
    struct buffer empty = buffer_in(run->arena);
    struct update base;

    document_end(&empty, document_begin(&empty));
    TRY(buffer_finish(&empty, out));
    if (match)
        TRY(collect_equalities(&e, match));
    if (e.count == 0)
        return STATUS_OK;
    status s = update_join(run->arena, e.steps, e.count, &base, &run->refusal);
    if (s.code == INVALID && run->refusal == REFUSED_CONFLICT)
        return update_refuse(run, REFUSED_TWICE,
                             "cannot infer query fields to set, a path is matched twice");
    TRY(s);
    TRY(apply_steps(&base, run, *out, &result));
    *out = result.document;
    return STATUS_OK;
}

bool update_is_bad_id(struct value id)
{
    return id.type == VALUE_ARRAY || id.type == VALUE_REGEX || id.type == VALUE_UNDEFINED;
}

/* _id in front of all others. */
static status put_id_first(struct update_run *run, bytes document, struct value fresh_id,
                           bytes *out)
{
    struct buffer built = buffer_in(run->arena);
    struct document_walk walk = document_fields(document);
    struct value id;
    struct field field;

    if (!document_find(document, "_id", &id))
        id = fresh_id;
    if (update_is_bad_id(id))
        return update_refuse(run, 53, "The '_id' value cannot be of type %s",
                             value_type_name(id.type));
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("_id"), id);
    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("_id")))
            document_append(&built, field.name, field.value);
    }
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

status update_insert(const struct update *update, struct update_run *run, const struct match *match,
                     struct value fresh_id, bytes *out)
{
    struct update_result result;
    bytes base;

    begin_run(run, true);
    TRY(base_of(run, match, update->is_replacement, &base));
    result.document = base;
    TRY(make_result(update, run, base, &result));
    TRY(check_id(run, base, result.document));
    TRY(put_id_first(run, result.document, fresh_id, out));
    return check_result(run, *out);
}

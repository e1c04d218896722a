/* Projection: gives parts of a document.
 *
 * Document and tree are walked together. Kept fields stay in the order of the document; computed ones that are
 * new come behind them in the order in which they were named. Arrays on the way are entered element by element;
 * where something is kept, elements that are no documents go.
 *
 * Threads: pure apart from the run's arena. Start reading at projection_apply(). */
#include "query/projection.h"

#include <stdio.h>

#include "query/match_parts.h"
#include "query/names.h"

struct walk {
    const struct projection *projection;
    struct projection_run *run;
    struct formula_run formulas;
    /* For each node by its number: the last visit of its parent to a document that found the field there. NULL if nothing is
     * computed. */
    uint32_t *met;
    uint32_t visits;
};

static status project_document(struct walk *w, const struct projection_node *node, bytes document,
                               struct value *out);

/* ---- arrays ----------------------------------------------------------------------------------------- */

struct list {
    struct buffer built;
    size_t begun, count;
};

static struct list list_begin(struct walk *w)
{
    struct list list = { .built = buffer_in(w->run->arena) };

    list.begun = document_begin(&list.built);
    return list;
}

static void list_add(struct list *list, struct value value)
{
    char name[24];
    int len = snprintf(name, sizeof(name), "%zu", list->count++);

    document_append(&list->built, bytes_of(name, (size_t)len), value);
}

static status list_end(struct list *list, struct value *out)
{
    document_end(&list->built, list->begun);
    *out = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&list->built, &out->raw);
}

static status project_array(struct walk *w, const struct projection_node *node, bytes array,
                            struct value *out)
{
    bool keeps_others = !w->projection->is_inclusion;
    struct document_walk walk = document_fields(array);
    struct list list = list_begin(w);
    struct field element;

    while (document_next(&walk, &element)) {
        struct value value = element.value;
        if (value.type == VALUE_DOCUMENT)
            TRY(project_document(w, node, value_document(value), &value));
        else if (value.type == VALUE_ARRAY)
            TRY(project_array(w, node, value_document(value), &value));
        else if (!keeps_others)
            continue;
        list_add(&list, value);
    }
    return list_end(&list, out);
}

static status slice(struct walk *w, const struct projection_node *node, struct value value,
                    struct value *out)
{
    struct list list = list_begin(w);
    struct document_walk walk;
    struct field element;

    *out = value;
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    int64_t size = (int64_t)document_field_count(value_document(value));
    int64_t from = node->skip < 0 ? (node->skip + size < 0 ? 0 : node->skip + size) : node->skip;
    walk = document_fields(value_document(value));
    for (int64_t i = 0; document_next(&walk, &element); i++) {
        if (i >= from && i - from < node->limit)
            list_add(&list, element.value);
    }
    return list_end(&list, out);
}

static status first_element(struct walk *w, const struct projection_node *node, struct value value,
                            struct value *out)
{
    struct matching matching = { .scratch = w->run->arena, .formulas = w->run->formulas };
    struct list list = list_begin(w);
    struct document_walk walk;
    struct field element;
    bool is_match;

    *out = (struct value){ .type = VALUE_MISSING };
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    /* The condition is one on arrays; it tells where it was fulfilled. */
    TRY(match_value(node->match, &matching, value, &is_match));
    if (!is_match)
        return STATUS_OK;
    walk = document_fields(value_document(value));
    for (size_t i = 0; document_next(&walk, &element); i++) {
        if (i == matching.position)
            list_add(&list, element.value);
    }
    return list_end(&list, out);
}

static status found_element(struct walk *w, struct value value, struct value *out)
{
    struct list list = list_begin(w);
    struct document_walk walk;
    struct field element;

    *out = value;
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    size_t size = document_field_count(value_document(value));
    if (!w->run->has_position || w->run->position >= size) {
        w->run->refusal = 51246;
        return status_of(INVALID,
                         "Executor error during find command: positional operator '.$' couldn't "
                         "find a matching element in the array");
    }
    walk = document_fields(value_document(value));
    for (size_t i = 0; document_next(&walk, &element); i++) {
        if (i == w->run->position)
            list_add(&list, element.value);
    }
    return list_end(&list, out);
}

/* ---- values ----------------------------------------------------------------------------------------- */

static status compute(struct walk *w, const struct projection_node *node, struct value *out)
{
    status s = formula_value(node->formula, &w->formulas, out);

    w->run->refusal = w->formulas.refusal;
    return s;
}

static status project_value(struct walk *w, const struct projection_node *node, struct value value,
                            struct value *out)
{
    *out = value;
    switch (node->kind) {
    case PROJECT_KEEP:
        return STATUS_OK;
    case PROJECT_DROP:
        *out = (struct value){ .type = VALUE_MISSING };
        return STATUS_OK;
    case PROJECT_COMPUTE:
        return compute(w, node, out);
    case PROJECT_SLICE:
        return slice(w, node, value, out);
    case PROJECT_ELEMENT:
        return first_element(w, node, value, out);
    case PROJECT_POSITIONAL:
        return found_element(w, value, out);
    case PROJECT_INSIDE:
        break;
    }
    if (value.type == VALUE_DOCUMENT)
        return project_document(w, node, value_document(value), out);
    if (value.type == VALUE_ARRAY)
        return project_array(w, node, value_document(value), out);
    if (w->projection->is_inclusion)
        *out = (struct value){ .type = VALUE_MISSING };
    return STATUS_OK;
}

/* What is computed where nothing is; missing if nothing is. */
static status make_missing(struct walk *w, const struct projection_node *node, struct value *out)
{
    struct buffer built = buffer_in(w->run->arena);
    size_t begun;

    *out = (struct value){ .type = VALUE_MISSING };
    if (node->kind == PROJECT_COMPUTE)
        return compute(w, node, out);
    if (node->kind != PROJECT_INSIDE || !node->computes)
        return STATUS_OK;
    begun = document_begin(&built);
    for (const struct projection_node *child = node->children; child; child = child->next) {
        struct value value;
        TRY(make_missing(w, child, &value));
        document_append(&built, child->name, value);
    }
    document_end(&built, begun);
    out->type = VALUE_DOCUMENT;
    return buffer_finish(&built, &out->raw);
}

static status project_fields(struct walk *w, const struct projection_node *node, bytes document,
                             uint32_t visit, struct buffer *built)
{
    bool keeps_others = !w->projection->is_inclusion;
    bool is_top = node == w->projection->root;
    struct document_walk walk = document_fields(document);
    struct field field;

    while (document_next(&walk, &field)) {
        const struct projection_node *child = names_find(node->names, field.name);
        struct value value = field.value;
        bool is_id = is_top && bytes_equal(field.name, BYTES_LITERAL("_id"));
        if (child && w->met)
            w->met[child->number] = visit;
        if (child) {
            bool is_scalar = value.type != VALUE_DOCUMENT && value.type != VALUE_ARRAY;
            if (is_scalar && child->kind == PROJECT_INSIDE && child->computes)
                TRY(make_missing(w, child, &value));
            else
                TRY(project_value(w, child, field.value, &value));
        } else if (is_id ? !w->projection->keeps_id : !keeps_others) {
            continue;
        }
        document_append(built, field.name, value);
    }
    return STATUS_OK;
}

static status append_new(struct walk *w, const struct projection_node *node, uint32_t visit,
                         struct buffer *built)
{
    struct value value;

    for (const struct projection_node *child = node->children; child; child = child->next) {
        if (!child->computes || w->met[child->number] == visit)
            continue;
        TRY(make_missing(w, child, &value));
        document_append(built, child->name, value);
    }
    return STATUS_OK;
}

static status project_document(struct walk *w, const struct projection_node *node, bytes document,
                               struct value *out)
{
    struct buffer built = buffer_in(w->run->arena);
    size_t begun = document_begin(&built);
    uint32_t visit = ++w->visits;

    TRY(project_fields(w, node, document, visit, &built));
    if (node->computes)
        TRY(append_new(w, node, visit, &built));
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

status projection_apply(const struct projection *projection, struct projection_run *run,
                        bytes document, bytes *out)
{
    struct value variables[FORMULA_VARIABLES_MAX];
    struct walk w = { .projection = projection, .run = run };
    struct value made;

    run->refusal = 0;
    if (run->formulas)
        w.formulas = *run->formulas;
    w.formulas.arena = run->arena;
    w.formulas.root = w.formulas.current = (struct value){ .type = VALUE_DOCUMENT,
                                                           .raw = document };
    if (!w.formulas.variables)
        w.formulas.variables = variables;
    if (projection->root->computes)
        TRY(ARENA_NEW(run->arena, projection->node_count + 1, &w.met));
    TRY(project_document(&w, projection->root, document, &made));
    *out = made.raw;
    return STATUS_OK;
}

/* ---- building --------------------------------------------------------------------------------------- */

static status find_child(struct arena *arena, struct projection *projection,
                         struct projection_node *parent, bytes name, struct projection_node **out,
                         bool *is_new_out)
{
    *out = names_find(parent->names, name);
    *is_new_out = *out == NULL;
    if (*out)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->name = name;
    (*out)->kind = PROJECT_INSIDE;
    (*out)->number = (uint32_t)++projection->node_count;
    *(parent->last_child ? &parent->last_child->next : &parent->children) = *out;
    parent->last_child = *out;
    return names_add(&parent->names, arena, *out);
}

status projection_add(struct arena *arena, struct projection *projection, bytes path,
                      enum projection_kind kind, struct projection_node **out)
{
    struct projection_node *node;
    bytes rest = path;
    bool is_new = true;

    if (!projection->root) {
        TRY(ARENA_NEW(arena, 1, &projection->root));
        projection->root->kind = PROJECT_INSIDE;
    }
    node = projection->root;
    node->computes |= kind == PROJECT_COMPUTE;
    while (rest.len) {
        bytes part = match_take_part(&rest);
        TRY(find_child(arena, projection, node, part, &node, &is_new));
        if (node->kind != PROJECT_INSIDE)
            return status_fail(arena, INVALID, "Path collision at %.*s", (int)path.len,
                               (const char *)path.data);
        node->computes |= kind == PROJECT_COMPUTE;
    }
    if (!is_new)
        return status_fail(arena, INVALID, "Path collision at %.*s", (int)path.len,
                           (const char *)path.data);
    node->kind = kind;
    *out = node;
    return STATUS_OK;
}

status projection_names(const struct projection *projection, struct arena *arena, const bytes **out,
                        size_t *count_out)
{
    size_t count = 0;
    bytes *names;

    *out = NULL;
    *count_out = 0;
    if (!projection->is_inclusion || projection->keeps_id || projection->adds_only)
        return STATUS_OK;
    const struct projection_node *first = projection->root ? projection->root->children : NULL;
    for (const struct projection_node *node = first; node; node = node->next) {
        if (node->kind == PROJECT_KEEP)
            count++;
        else if (node->kind != PROJECT_DROP) /* of _id */
            return STATUS_OK;
    }
    TRY(ARENA_NEW(arena, count, &names));
    for (const struct projection_node *node = first; node; node = node->next) {
        if (node->kind == PROJECT_KEEP)
            names[(*count_out)++] = node->name;
    }
    *out = names;
    return STATUS_OK;
}

/* Match: does a document fulfil a condition?
 *
 * A walk over the tree; leaves follow their path through the document (see match.h for the rules) and stop
 * at the first value that decides. Nothing is allocated, apart from what patterns and formulas need.
 *
 * Keeps: the work for one document is bounded, even for paths made of digits over nested arrays, which
 * reach a value in very many ways.
 * Threads: a tree is immutable; a matching belongs to its request. Start reading at match_document(). */
#include "query/match_parts.h"
#include "query/schema.h"
#include "query/search.h"

#include <math.h>

enum { STEPS_MAX = LIMIT_DOCUMENT_BYTES };

/* A leaf on its way through a document. */
struct visit {
    const struct match *leaf;
    match_value_visitor *each; /* instead of a leaf */
    void *context;
    struct matching *matching;
    bool enters_leaf_arrays;
    bool is_found;
    bool has_position;
    size_t position;
};

static status visit_document(struct visit *v, bytes document, bytes path);

status match_count_steps(struct matching *matching, uint64_t steps)
{
    matching->steps += steps;
    if (matching->steps <= STEPS_MAX)
        return STATUS_OK;
    return status_fail(matching->scratch, TOO_LARGE,
                       "a condition takes more than %d steps in one document", STEPS_MAX);
}

static status count_step(struct matching *matching)
{
    return match_count_steps(matching, 1);
}

/* ---- values at the end of a path -------------------------------------------------------------------- */

static status ask(struct visit *v, struct value value)
{
    if (v->each)
        return v->each(v->context, value);
    return match_ask_leaf(v->leaf, v->matching, value, &v->is_found);
}

/* Only the outermost array that is entered element by element tells the position. */
static void enter_position(struct visit *v, bool is_outermost, size_t position)
{
    if (is_outermost) {
        v->has_position = true;
        v->position = position;
    }
}

static void leave_position(struct visit *v, bool is_outermost)
{
    if (is_outermost)
        v->has_position = false;
}

static status visit_leaf_array(struct visit *v, struct value array)
{
    struct document_walk walk = document_fields(value_document(array));
    bool is_outermost = !v->has_position;
    struct field element;

    for (size_t i = 0; document_next(&walk, &element); i++) {
        TRY(count_step(v->matching));
        enter_position(v, is_outermost, i);
        TRY(ask(v, element.value));
        if (v->is_found)
            return STATUS_OK;
    }
    leave_position(v, is_outermost);
    return ask(v, array);
}

static status visit_end(struct visit *v, struct value value)
{
    if (value.type == VALUE_ARRAY && v->enters_leaf_arrays)
        return visit_leaf_array(v, value);
    return ask(v, value);
}

/* ---- the way ---------------------------------------------------------------------------------------- */

bytes match_take_part(bytes *path)
{
    const uint8_t *dot = path->len ? memchr(path->data, '.', path->len) : NULL;
    bytes part = bytes_of(path->data, dot ? (size_t)(dot - path->data) : path->len);

    *path = dot ? bytes_from(*path, part.len + 1) : BYTES_NONE;
    return part;
}

bool match_is_position(bytes part, size_t position)
{
    char digits[24];
    size_t at = sizeof(digits);

    if (part.len == 0 || part.data[0] < '0' || part.data[0] > '9')
        return false;
    do {
        digits[--at] = (char)('0' + position % 10);
        position /= 10;
    } while (position);
    return bytes_equal(part, bytes_of(digits + at, sizeof(digits) - at));
}

static status visit_array(struct visit *v, bytes array, bytes path);

/* The element that the first part of the path names by its position. */
static status visit_at_position(struct visit *v, struct value element, bytes rest, bool is_last)
{
    if (is_last)
        return ask(v, element);
    if (element.type == VALUE_DOCUMENT)
        return visit_document(v, value_document(element), rest);
    if (element.type == VALUE_ARRAY)
        return visit_array(v, value_document(element), rest);
    return STATUS_OK;
}

static bool has_dot(bytes path)
{
    return path.len && memchr(path.data, '.', path.len);
}

/* An array in the middle of a path. */
static status visit_array(struct visit *v, bytes array, bytes path)
{
    struct document_walk walk = document_fields(array);
    bool is_outermost = !v->has_position;
    bool is_last = !has_dot(path);
    bytes rest = path;
    bytes part = match_take_part(&rest);
    struct field element;

    for (size_t i = 0; !v->is_found && document_next(&walk, &element); i++) {
        TRY(count_step(v->matching));
        if (element.value.type == VALUE_DOCUMENT) {
            enter_position(v, is_outermost, i);
            TRY(visit_document(v, value_document(element.value), path));
            if (v->is_found)
                return STATUS_OK;
            leave_position(v, is_outermost);
        }
        if (match_is_position(part, i))
            TRY(visit_at_position(v, element.value, rest, is_last));
    }
    return STATUS_OK;
}

static status visit_document(struct visit *v, bytes document, bytes path)
{
    struct value value;

    for (;;) {
        bool is_last = !has_dot(path);
        bytes part = match_take_part(&path);
        TRY(count_step(v->matching));
        document_find_bytes(document, part, &value);
        if (is_last)
            return visit_end(v, value);
        if (value.type == VALUE_ARRAY)
            return visit_array(v, value_document(value), path);
        if (value.type != VALUE_DOCUMENT)
            return ask(v, (struct value){ .type = VALUE_MISSING });
        document = value_document(value);
    }
}

static bool enters_leaf_arrays(enum match_kind kind)
{
    return kind != MATCH_SIZE && kind != MATCH_ELEMENT_WHERE && kind != MATCH_ELEMENT_IS;
}

static bool is_near(const struct match *match)
{
    return match->kind == MATCH_GEOMETRY && match->geometry->relation == GEOMETRY_NEAR;
}

static status match_by_path(const struct match *leaf, struct matching *matching, bytes document,
                            bool *out)
{
    struct visit v = { .leaf = leaf,
                       .matching = matching,
                       .enters_leaf_arrays = enters_leaf_arrays(leaf->kind) };
    bool had_position = matching->has_position;
    size_t position = matching->position;

    matching->has_position = false;
    if (is_near(leaf))
        matching->distance = INFINITY;
    TRY(visit_document(&v, document, leaf->path));
    if (is_near(leaf))
        v.is_found = isfinite(matching->distance) && matching->distance >= leaf->geometry->least &&
                     matching->distance <= leaf->geometry->most;
    *out = v.is_found;
    /* An element condition tells its position itself, unless an array around it was entered. */
    if (v.is_found && v.has_position) {
        matching->has_position = true;
        matching->position = v.position;
    } else if (!v.is_found || !matching->has_position) {
        matching->has_position = had_position;
        matching->position = position;
    }
    return STATUS_OK;
}

status match_each_value(bytes path, struct matching *matching, bytes document,
                        match_value_visitor *each, void *context)
{
    struct visit v = {
        .matching = matching, .enters_leaf_arrays = true, .each = each, .context = context
    };

    matching->steps = 0;
    return visit_document(&v, document, path);
}

/* ---- the tree --------------------------------------------------------------------------------------- */

/* What is asked: a document, or a single value. */
struct subject {
    bool is_value;
    bytes document;
    struct value value;
};

static status match_subject(const struct match *m, struct matching *matching,
                            const struct subject *subject, bool *out);

static status match_parts(const struct match *m, struct matching *matching,
                          const struct subject *subject, bool until, bool *out)
{
    for (size_t i = 0; i < m->count; i++) {
        TRY(match_subject(m->parts[i], matching, subject, out));
        if (*out == until)
            return STATUS_OK;
    }
    *out = !until;
    return STATUS_OK;
}

/* What was refused has no position. */
static status match_not(const struct match *m, struct matching *matching,
                        const struct subject *subject, bool *out)
{
    bool had_position = matching->has_position;
    size_t position = matching->position;

    TRY(match_parts(m, matching, subject, true, out));
    matching->has_position = had_position;
    matching->position = position;
    *out = !*out;
    return STATUS_OK;
}

static status match_text(struct matching *matching, bytes document, bool *out)
{
    *out = false;
    if (!matching->search)
        return status_of(INVALID,
                         "a text search needs documents of a collection with a text index");
    TRY(search_document(matching->search, matching->scratch, document, out,
                        &matching->score.value));
    matching->score.is_known = true;
    return STATUS_OK;
}

const struct search_wish *match_wish(const struct match *match)
{
    const struct search_wish *found = NULL;

    if (!match || match->kind == MATCH_TEXT)
        return match ? match->wish : NULL;
    if (match->kind != MATCH_AND && match->kind != MATCH_OR)
        return NULL;
    for (size_t i = 0; i < match->count && !found; i++)
        found = match_wish(match->parts[i]);
    return found;
}

static struct value whole_of(const struct subject *subject)
{
    if (subject->is_value)
        return subject->value;
    return (struct value){ .type = VALUE_DOCUMENT, .raw = subject->document };
}

static status match_subject(const struct match *m, struct matching *matching,
                            const struct subject *subject, bool *out)
{
    switch (m->kind) {
    case MATCH_ALWAYS:
    case MATCH_NEVER:
        *out = m->kind == MATCH_ALWAYS;
        return STATUS_OK;
    case MATCH_AND:
        return match_parts(m, matching, subject, false, out);
    case MATCH_OR:
        return match_parts(m, matching, subject, true, out);
    case MATCH_NOR:
    case MATCH_NOT:
        return match_not(m, matching, subject, out);
    case MATCH_TEXT:
        return match_text(matching, subject->document, out);
    case MATCH_FORMULA:
        return match_ask_formula(m, matching, subject->document, out);
    case MATCH_SCHEMA:
        return schema_judge(m->schema, matching, whole_of(subject), out);
    case MATCH_EQUAL:
    case MATCH_LESS:
    case MATCH_LESS_EQUAL:
    case MATCH_GREATER:
    case MATCH_GREATER_EQUAL:
    case MATCH_IN:
    case MATCH_PATTERN:
    case MATCH_EXISTS:
    case MATCH_TYPE:
    case MATCH_MODULO:
    case MATCH_BITS:
    case MATCH_SIZE:
    case MATCH_GEOMETRY:
    case MATCH_ELEMENT_WHERE:
    case MATCH_ELEMENT_IS:
        if (subject->is_value)
            return match_ask_leaf(m, matching, subject->value, out);
        return match_by_path(m, matching, subject->document, out);
    }
    return STATUS_OK;
}

status match_document(const struct match *match, struct matching *matching, bytes document,
                      bool *out)
{
    const struct subject subject = { .document = document };

    *out = false;
    matching->steps = 0;
    matching->has_position = false;
    matching->score.is_known = false;
    return match_subject(match, matching, &subject, out);
}

status match_value(const struct match *match, struct matching *matching, struct value value,
                   bool *out)
{
    const struct subject subject = { .is_value = true, .value = value };

    *out = false;
    matching->steps = 0;
    matching->has_position = false;
    return match_subject(match, matching, &subject, out);
}

status match_inner_document(const struct match *match, struct matching *matching, bytes document,
                            bool *out)
{
    const struct subject subject = { .document = document };

    return match_subject(match, matching, &subject, out);
}

status match_inner_value(const struct match *match, struct matching *matching, struct value value,
                         bool *out)
{
    const struct subject subject = { .is_value = true, .value = value };

    return match_subject(match, matching, &subject, out);
}

const struct match *match_near(const struct match *match)
{
    if (!match || is_near(match))
        return match;
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count; i++) {
        if (is_near(match->parts[i]))
            return match->parts[i];
    }
    return NULL;
}

bool match_has_formula(const struct match *match)
{
    for (size_t i = 0; i < match->count; i++) {
        if (match_has_formula(match->parts[i]))
            return true;
    }
    return match->kind == MATCH_FORMULA;
}

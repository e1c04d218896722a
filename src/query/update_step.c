/* Update step: what one operator makes of one value.
 *
 * Steps on arrays are in update_array.c. A step that gives back the same type and the same bytes has changed
 * nothing.
 *
 * Threads: pure apart from the run's arena. Start reading at update_step_apply(). */
#include "query/update_parts.h"

#include "query/formula_body.h"
#include "query/match_parts.h"

bool update_is_identical(struct value a, struct value b)
{
    return a.type == b.type && bytes_equal(a.raw, b.raw);
}

bool update_creates(const struct update_step *step, const struct update_run *run)
{
    switch (step->kind) {
    case UPDATE_UNSET:
    case UPDATE_RENAME_FROM:
    case UPDATE_POP:
    case UPDATE_PULL:
    case UPDATE_PULL_ALL:
        return false;
    case UPDATE_SET_ON_INSERT:
        return run->is_insert;
    case UPDATE_SET:
    case UPDATE_INCREMENT:
    case UPDATE_MULTIPLY:
    case UPDATE_MIN:
    case UPDATE_MAX:
    case UPDATE_RENAME_TO:
    case UPDATE_CURRENT_DATE:
    case UPDATE_CURRENT_TIMESTAMP:
    case UPDATE_BITS:
    case UPDATE_PUSH:
    case UPDATE_ADD_TO_SET:
        return true;
    }
    return false;
}

static status give(struct value old, struct value fresh, struct update_change *out)
{
    *out = (struct update_change){ .is_changed = !update_is_identical(old, fresh), .value = fresh };
    return STATUS_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static status zero_like(struct update_run *run, struct value number, struct value *out)
{
    if (number.type == VALUE_DOUBLE)
        return value_of_double(run->arena, 0, out);
    if (number.type == VALUE_DECIMAL128) {
        TRY(value_of_int64(run->arena, 0, out));
        return number_to_decimal(run->arena, *out, out);
    }
    return value_of_integer(run->arena, number.type, 0, out);
}

static status calculate(const struct update_step *step, struct update_run *run, struct value old,
                        struct update_change *out)
{
    bool is_product = step->kind == UPDATE_MULTIPLY;
    const char *name = is_product ? "$mul" : "$inc";
    struct value fresh = step->value;

    if (old.type == VALUE_MISSING) {
        if (is_product)
            TRY(zero_like(run, step->value, &fresh));
        return give(old, fresh, out);
    }
    if (!value_is_number(old))
        return update_refuse(run, REFUSED_TYPE,
                             "Cannot apply %s to a value of non-numeric type. The field '%.*s' is "
                             "of type %s",
                             name, (int)step->path.len, (const char *)step->path.data,
                             value_type_name(old.type));
    TRY(number_calculate(run->arena, is_product ? NUMBER_MULTIPLY : NUMBER_ADD, old, step->value,
                         &fresh));
    if (fresh.type == VALUE_MISSING)
        return update_refuse(run, REFUSED_BAD_VALUE,
                             "Failed to apply %s operations to the current value of '%.*s': the "
                             "result does not fit in 64 bits",
                             name, (int)step->path.len, (const char *)step->path.data);
    return give(old, fresh, out);
}

const struct collation *update_collation(const struct update_run *run)
{
    return run->formulas ? run->formulas->collation : NULL;
}

static status keep_edge(const struct update_step *step, const struct update_run *run,
                        struct value old, int sign, struct update_change *out)
{
    bool is_taken = old.type == VALUE_MISSING ||
                    sign * value_compare_by(update_collation(run), step->value, old) > 0;

    return give(old, is_taken ? step->value : old, out);
}

static bool is_integer(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

static status combine_bits(const struct update_step *step, struct update_run *run, struct value old,
                           struct update_change *out)
{
    bool is_long = step->value.type == VALUE_INT64 || old.type == VALUE_INT64;
    int64_t a = 0, b = 0, made = 0;
    struct value fresh;

    if (old.type != VALUE_MISSING && !is_integer(old))
        return update_refuse(run, REFUSED_BAD_VALUE,
                             "Cannot apply $bit to a value of non-integral type. The field '%.*s' "
                             "is of type %s",
                             (int)step->path.len, (const char *)step->path.data,
                             value_type_name(old.type));
    bool has_operand = value_as_int64(step->value, &b);
    ASSERT(has_operand);
    if (old.type != VALUE_MISSING && !value_as_int64(old, &a))
        return STATUS_OK;
    switch (step->bits) {
    case UPDATE_BITS_AND:
        made = a & b;
        break;
    case UPDATE_BITS_OR:
        made = a | b;
        break;
    case UPDATE_BITS_XOR:
        made = a ^ b;
        break;
    }
    TRY(value_of_integer(run->arena, is_long ? VALUE_INT64 : VALUE_INT32, made, &fresh));
    return give(old, fresh, out);
}

/* ---- time ------------------------------------------------------------------------------------------- */

static status set_date(const struct update_step *step, struct update_run *run, struct value old,
                       struct update_change *out)
{
    struct value fresh;

    if (step->kind == UPDATE_CURRENT_DATE)
        TRY(value_of_integer(run->arena, VALUE_DATE, run->now, &fresh));
    else
        TRY(value_of_integer(run->arena, VALUE_TIMESTAMP,
                             (int64_t)((uint64_t)(run->now / 1000) << 32 | 1), &fresh));
    return give(old, fresh, out);
}

/* ---- renaming --------------------------------------------------------------------------------------- */

/* A document that was looked into, with its fields by name. */
struct looked {
    bytes name; /* first, see names.h: the bytes of `data` */
    const uint8_t *data;
    struct names *fields;
};

static status index_fields(struct arena *arena, bytes document, struct names **out)
{
    struct document_walk walk = document_fields(document);
    struct field *fields;
    size_t count = 0;

    *out = NULL;
    TRY(ARENA_NEW(arena, document_field_count(document) + 1, &fields)); /* one to find the end */
    while (document_next(&walk, &fields[count])) {
        if (names_find(*out, fields[count].name)) /* the first of a name counts */
            continue;
        TRY(names_add(out, arena, &fields[count]));
        count++;
    }
    return STATUS_OK;
}

/* A field of the original document, or of one in it. Few are found by a walk; clients may rename very many. */
static status find_field(struct update_run *run, bytes document, bytes name, struct value *out)
{
    bytes key = bytes_of(&document.data, sizeof(document.data));
    const struct field *field;
    struct looked *looked;

    if (++run->lookups <= NAMES_FEW) {
        document_find_bytes(document, name, out);
        return STATUS_OK;
    }
    looked = names_find(run->looked, key);
    if (!looked) {
        TRY(ARENA_NEW(run->arena, 1, &looked));
        looked->data = document.data;
        looked->name = bytes_of(&looked->data, sizeof(looked->data));
        TRY(index_fields(run->arena, document, &looked->fields));
        TRY(names_add(&run->looked, run->arena, looked));
    }
    field = names_find(looked->fields, name);
    *out = field ? field->value : (struct value){ .type = VALUE_MISSING };
    return STATUS_OK;
}

/* What stands at the path; arrays on the way are refused. */
static status find_plain(struct update_run *run, bytes document, bytes path, struct value *out)
{
    bytes rest = path;

    *out = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    while (rest.len) {
        bytes part = match_take_part(&rest);
        if (out->type == VALUE_ARRAY)
            return update_refuse(run, REFUSED_BAD_VALUE,
                                 "The source field cannot be an array element, '%.*s' has an array "
                                 "on its way",
                                 (int)path.len, (const char *)path.data);
        if (out->type != VALUE_DOCUMENT) {
            *out = (struct value){ .type = VALUE_MISSING };
            return STATUS_OK;
        }
        TRY(find_field(run, value_document(*out), part, out));
    }
    return STATUS_OK;
}

static status rename_to(const struct update_step *step, struct update_run *run, bytes original,
                        struct value old, struct update_change *out)
{
    struct value moved;

    TRY(find_plain(run, original, step->from, &moved));
    if (moved.type == VALUE_MISSING)
        return STATUS_OK;
    return give(old, moved, out);
}

static status rename_from(const struct update_step *step, struct update_run *run, bytes original,
                          struct value old, struct update_change *out)
{
    struct value moved;

    TRY(find_plain(run, original, step->path, &moved));
    return give(old, (struct value){ .type = VALUE_MISSING }, out);
}

status update_step_apply(const struct update_step *step, struct update_run *run, bytes original,
                         struct value old, struct update_change *out)
{
    *out = (struct update_change){ .value = old };
    switch (step->kind) {
    case UPDATE_SET:
        return give(old, step->value, out);
    case UPDATE_SET_ON_INSERT:
        return run->is_insert ? give(old, step->value, out) : STATUS_OK;
    case UPDATE_UNSET:
        return give(old, (struct value){ .type = VALUE_MISSING }, out);
    case UPDATE_INCREMENT:
    case UPDATE_MULTIPLY:
        return calculate(step, run, old, out);
    case UPDATE_MIN:
        return keep_edge(step, run, old, -1, out);
    case UPDATE_MAX:
        return keep_edge(step, run, old, 1, out);
    case UPDATE_RENAME_FROM:
        return rename_from(step, run, original, old, out);
    case UPDATE_RENAME_TO:
        return rename_to(step, run, original, old, out);
    case UPDATE_CURRENT_DATE:
    case UPDATE_CURRENT_TIMESTAMP:
        return set_date(step, run, old, out);
    case UPDATE_BITS:
        return combine_bits(step, run, old, out);
    case UPDATE_PUSH:
        return update_push(step, run, old, out);
    case UPDATE_ADD_TO_SET:
        return update_add_to_set(step, run, old, out);
    case UPDATE_POP:
        return update_pop(step, run, old, out);
    case UPDATE_PULL:
    case UPDATE_PULL_ALL:
        return update_pull(step, run, old, out);
    }
    return STATUS_OK;
}

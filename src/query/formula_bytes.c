/* Operators of formulas that look at how a value is stored.
 *
 * Null or missing in, null out.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

status formula_binary_size(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (formula_is_null(value))
        return formula_give_null(out);
    if (value.type == VALUE_STRING)
        return formula_give_int(run, (int64_t)value_text(value).len, out);
    if (value.type != VALUE_BINARY)
        return formula_refuse(run, 51276,
                              "$binarySize requires a string or BinData argument, found: %s",
                              value_type_name(value.type));
    return formula_give_int(run, (int64_t)value_binary(value).content.len, out);
}

status formula_document_size(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (formula_is_null(value))
        return formula_give_null(out);
    if (value.type != VALUE_DOCUMENT)
        return formula_refuse(run, 31393, "$bsonSize requires a document input, found: %s",
                              value_type_name(value.type));
    return formula_give_int(run, (int64_t)value_document(value).len, out);
}

/* Half of a timestamp: it is stored with the low half first, the lowest byte first. */
static status half_of(const struct formula *call, struct formula_run *run, const char *name,
                      size_t offset, int32_t number, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (formula_is_null(value))
        return formula_give_null(out);
    if (value.type != VALUE_TIMESTAMP)
        return formula_refuse(run, number, "Argument to %s must be a timestamp, but is %s", name,
                              value_type_name(value.type));
    return value_of_integer(run->arena, VALUE_INT64,
                            bytes_read_u32_low_first(value.raw.data + offset), out);
}

status formula_timestamp_increment(const struct formula *call, struct formula_run *run,
                                   struct value *out)
{
    return half_of(call, run, "$tsIncrement", 0, 5687302, out);
}

status formula_timestamp_second(const struct formula *call, struct formula_run *run,
                                struct value *out)
{
    return half_of(call, run, "$tsSecond", 4, 5687301, out);
}

status formula_metadata(const struct formula *call, struct formula_run *run, struct value *out)
{
    (void)call;
    if (!run->score || !run->score->is_known)
        return formula_refuse(run, 40218,
                              "query requires text score metadata, but it is not available: search "
                              "with $text first");
    return value_of_double(run->arena, run->score->value, out);
}

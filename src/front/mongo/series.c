/* Series: time-series collections.
 *
 * A measurement is stored as one document like any other, because what MongoDB packs into buckets the storage
 * below packs by itself; so there is no collection of buckets, and a measurement is found, and dies, exactly at its
 * own date and not with its bucket. What remains of buckets are the options about their span, which are checked,
 * kept and shown, and the rules about what may be changed, which clients know.
 *
 * An expiry is an index of the engine on the field with the date, the same as that of a clustered collection on _id
 * (collmod.c).
 *
 * Threads: the command's. Start reading at series_read(). */
#include "front/mongo/series.h"

#include "front/mongo/filter.h"
#include "front/mongo/keep.h"

enum { SPAN_MAX_S = 31536000 };

static const struct granularity {
    const char *name;
    int32_t span_s;
} granularities[] = {
    {"seconds",  3600   },
    { "minutes", 86400  },
    { "hours",   2592000},
};

static const struct argument table[] = {
    {"timeField",              ARGUMENT_TEXT,   true },
    { "metaField",             ARGUMENT_TEXT,   false},
    { "granularity",           ARGUMENT_TEXT,   false},
    { "bucketMaxSpanSeconds",  ARGUMENT_NUMBER, false},
    { "bucketRoundingSeconds", ARGUMENT_NUMBER, false},
};
enum { TIME, META, GRANULARITY, SPAN, ROUNDING, FIELDS };

static bool has(const struct value *given, int which)
{
    return given[which].type != VALUE_MISSING;
}

/* ---- options ---------------------------------------------------------------------------------------- */

static status check_field(struct command *command, const char *option, bytes name)
{
    bool is_bad = name.len == 0 || name.data[0] == '$' || memchr(name.data, '.', name.len) ||
                  memchr(name.data, 0, name.len);

    if (is_bad)
        return command_fail(command, ERROR_BadValue,
                            "'%s' is '%.*s'; it must be the name of a field at the top of "
                            "documents: not empty, without dots, not beginning with '$'",
                            option, (int)name.len, (const char *)name.data);
    if (bytes_is_text(name, "_id"))
        return command_fail(command, ERROR_InvalidOptions, "'%s' cannot be '_id'", option);
    return STATUS_OK;
}

static status find_granularity(struct command *command, bytes name, const struct granularity **out)
{
    for (size_t i = 0; i < ARRAY_COUNT(granularities); i++) {
        *out = &granularities[i];
        if (bytes_is_text(name, granularities[i].name))
            return STATUS_OK;
    }
    return command_fail(command, ERROR_BadValue,
                        "Enumeration value '%.*s' for field 'timeseries.granularity' is not a "
                        "valid value; it is seconds, minutes or hours",
                        (int)name.len, (const char *)name.data);
}

static status check_span(struct command *command, const char *option, struct value value)
{
    int64_t seconds = argument_number(value, 0);

    if (seconds >= 1 && seconds <= SPAN_MAX_S)
        return STATUS_OK;
    return command_fail(command, ERROR_BadValue,
                        "BSON field 'timeseries.%s' is %lld; it must be 1 to %d seconds", option,
                        (long long)seconds, SPAN_MAX_S);
}

/* Both spans together, or one that the granularity has anyway. */
static status check_spans(struct command *command, const struct value *given,
                          const struct granularity *granularity)
{
    int64_t span = argument_number(given[SPAN], 0), rounding = argument_number(given[ROUNDING], 0);

    if (has(given, SPAN))
        TRY(check_span(command, "bucketMaxSpanSeconds", given[SPAN]));
    if (has(given, ROUNDING))
        TRY(check_span(command, "bucketRoundingSeconds", given[ROUNDING]));
    if (has(given, GRANULARITY)) {
        if (has(given, ROUNDING) || (has(given, SPAN) && span != granularity->span_s))
            return command_fail(command, ERROR_InvalidOptions,
                                "Timeseries 'granularity' and 'bucketRoundingSeconds' exclude each "
                                "other, and 'bucketMaxSpanSeconds' beside granularity '%s' can "
                                "only be %d",
                                granularity->name, granularity->span_s);
        return STATUS_OK;
    }
    if (has(given, SPAN) != has(given, ROUNDING) || span != rounding)
        return command_fail(command, ERROR_InvalidOptions,
                            "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' must be "
                            "given together, and equal; they are %lld and %lld",
                            (long long)span, (long long)rounding);
    return STATUS_OK;
}

static status write_options(struct command *command, const struct value *given,
                            const struct granularity *granularity, bytes *out)
{
    struct buffer options = buffer_in(command->arena);
    size_t begun = document_begin(&options);

    document_append(&options, BYTES_LITERAL("timeField"), given[TIME]);
    document_append(&options, BYTES_LITERAL("metaField"), given[META]);
    if (has(given, ROUNDING)) {
        int32_t span = (int32_t)argument_number(given[SPAN], 0);
        reply_int32(&options, "bucketRoundingSeconds", span);
        reply_int32(&options, "bucketMaxSpanSeconds", span);
    } else {
        reply_text(&options, "granularity", granularity->name);
        reply_int32(&options, "bucketMaxSpanSeconds", granularity->span_s);
    }
    document_end(&options, begun);
    return buffer_finish(&options, out);
}

status series_read(struct command *command, bytes given_options, bytes *out)
{
    const struct granularity *granularity = &granularities[0];
    struct value given[FIELDS];

    TRY(command_fields(command, "create.timeseries", given_options, table, FIELDS, given));
    TRY(check_field(command, "timeField", value_text(given[TIME])));
    if (has(given, META)) {
        TRY(check_field(command, "metaField", value_text(given[META])));
        if (bytes_equal(value_text(given[META]), value_text(given[TIME])))
            return command_fail(command, ERROR_InvalidOptions,
                                "The 'metaField' cannot be the same as the 'timeField': '%.*s'",
                                (int)value_text(given[META]).len,
                                (const char *)value_text(given[META]).data);
    }
    if (has(given, GRANULARITY))
        TRY(find_granularity(command, value_text(given[GRANULARITY]), &granularity));
    TRY(check_spans(command, given, granularity));
    return write_options(command, given, granularity, out);
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static bytes options_of(const struct collection *collection)
{
    if (collection->definition.options.len == 0)
        return BYTES_NONE;
    struct value series = keep_option(collection, "timeseries");
    return series.type == VALUE_DOCUMENT ? value_document(series) : BYTES_NONE;
}

static bytes text_of(bytes options, const char *name)
{
    struct value value;

    return options.len > 0 && document_find(options, name, &value) ? argument_text(value)
                                                                   : BYTES_NONE;
}

bool series_is(const struct collection *collection)
{
    return options_of(collection).len > 0;
}

bytes series_time_field(const struct collection *collection)
{
    return text_of(options_of(collection), "timeField");
}

/* ---- collMod ---------------------------------------------------------------------------------------- */

static int32_t span_of(bytes options)
{
    struct value value = { .type = VALUE_MISSING };

    document_find(options, "bucketMaxSpanSeconds", &value);
    return (int32_t)argument_number(value, 0);
}

status series_modify(struct command *command, const struct collection *collection,
                     bytes given_options, struct value *out)
{
    const struct granularity *granularity = NULL;
    bytes options = options_of(collection), next;
    struct value given[FIELDS];

    if (options.len == 0)
        return command_fail(command, ERROR_InvalidOptions,
                            "option only supported on a time-series collection: timeseries");
    TRY(command_fields(command, "collMod.timeseries", given_options, table + GRANULARITY,
                       FIELDS - GRANULARITY, given + GRANULARITY));
    document_find(options, "timeField", &given[TIME]);
    document_find(options, "metaField", &given[META]);
    if (has(given, GRANULARITY))
        TRY(find_granularity(command, value_text(given[GRANULARITY]), &granularity));
    else if (!has(given, SPAN) && !has(given, ROUNDING))
        return command_fail(command, ERROR_InvalidOptions,
                            "timeseries needs a granularity, or bucketMaxSpanSeconds and "
                            "bucketRoundingSeconds");
    TRY(check_spans(command, given, granularity ? granularity : &granularities[0]));
    TRY(write_options(command, given, granularity, &next));
    if (span_of(next) < span_of(options))
        return command_fail(command, ERROR_InvalidOptions,
                            "Invalid transition for timeseries options: the span of %d seconds "
                            "can only become longer, and %d is shorter",
                            span_of(options), span_of(next));
    *out = (struct value){ .type = VALUE_DOCUMENT, .raw = next };
    return STATUS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

status series_check_document(struct command *command, const struct collection *collection,
                             bytes document)
{
    bytes field = series_time_field(collection);
    struct value value;

    if (field.len == 0)
        return STATUS_OK;
    document_find_bytes(document, field, &value);
    if (value.type == VALUE_DATE)
        return STATUS_OK;
    return command_fail(command, ERROR_BadValue,
                        "'%.*s' must be present and contain a valid BSON UTC datetime value; it is "
                        "%s",
                        (int)field.len, (const char *)field.data,
                        value.type == VALUE_MISSING ? "missing" : value_type_name(value.type));
}

static bool is_below(bytes path, bytes field)
{
    return field.len > 0 && bytes_starts_with(path, field) &&
           (path.len == field.len || path.data[field.len] == '.');
}

/* Does a filter only ask about this field? */
static bool asks_only(bytes filter, bytes field)
{
    struct document_walk walk = document_fields(filter);
    struct field condition, part;

    while (document_next(&walk, &condition)) {
        bool is_list = bytes_is_text(condition.name, "$and") ||
                       bytes_is_text(condition.name, "$or") ||
                       bytes_is_text(condition.name, "$nor");
        if (bytes_is_text(condition.name, "$comment") || is_below(condition.name, field))
            continue;
        if (!is_list || condition.value.type != VALUE_ARRAY)
            return false;
        struct document_walk parts = document_fields(value_document(condition.value));
        while (document_next(&parts, &part)) {
            if (part.value.type != VALUE_DOCUMENT || !asks_only(value_document(part.value), field))
                return false;
        }
    }
    return true;
}

static bool changes_only(bytes update, bytes field)
{
    struct document_walk walk = document_fields(update);
    struct field operator, path;

    while (document_next(&walk, &operator)) {
        if (operator.value.type != VALUE_DOCUMENT)
            return false;
        struct document_walk paths = document_fields(value_document(operator.value));
        while (document_next(&paths, &path)) {
            bool is_rename = bytes_is_text(operator.name, "$rename");
            if (!is_below(path.name, field) ||
                (is_rename && !is_below(argument_text(path.value), field)))
                return false;
        }
    }
    return true;
}

static status refuse_update(struct command *command, const char *what)
{
    return command_fail(command, ERROR_InvalidOptions,
                        "Cannot perform %s on a time-series collection: only updateMany with "
                        "operators, on the metaField and with a filter on it, is possible",
                        what);
}

status series_check_update(struct command *command, const struct collection *collection,
                           const struct change_wish *wish)
{
    bytes options = options_of(collection), meta = text_of(options, "metaField");

    if (options.len == 0)
        return STATUS_OK;
    if (wish->is_upsert)
        return refuse_update(command, "an upsert");
    if (!wish->is_multi)
        return refuse_update(command, "a non-multi update");
    if (!filter_has_operators(wish->update))
        return refuse_update(command, "a replacement or a pipeline update");
    if (meta.len == 0)
        return refuse_update(command, "an update, without a metaField,");
    if (!asks_only(wish->filter, meta))
        return refuse_update(command, "an update with a filter on another field");
    if (!changes_only(value_document(wish->update), meta))
        return refuse_update(command, "an update of another field");
    return STATUS_OK;
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

status series_index(struct command *command, bytes series, struct index_definition *out,
                    bool *has_out)
{
    struct index_spec spec = { .kind = INDEX_SPEC_PLAIN, .version = 2 };
    bytes time = text_of(series, "timeField"), meta = text_of(series, "metaField");
    struct buffer key = buffer_in(command->arena);

    *has_out = meta.len > 0;
    if (!*has_out)
        return STATUS_OK;
    const char *name = arena_format(command->arena, "%.*s_1_%.*s_1", (int)meta.len,
                                    (const char *)meta.data, (int)time.len,
                                    (const char *)time.data);
    const char *first = arena_format(command->arena, "%.*s", (int)meta.len,
                                     (const char *)meta.data);
    const char *second = arena_format(command->arena, "%.*s", (int)time.len,
                                      (const char *)time.data);
    if (!name || !first || !second)
        return arena_exhausted(command->arena);
    size_t begun = document_begin(&key);
    reply_int32(&key, first, 1);
    reply_int32(&key, second, 1);
    document_end(&key, begun);
    TRY(buffer_finish(&key, &spec.key));
    spec.name = bytes_of_text(name);
    return index_spec_define(command, &spec, out);
}

static status check_expiry(struct command *command, bytes options, const struct index_spec *spec)
{
    bytes time = text_of(options, "timeField"), meta = text_of(options, "metaField");
    struct value direction;

    if (!index_spec_is_single(spec))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL indexes are single-field indexes, compound indexes do not support "
                            "TTL");
    bool is_on_time = document_find_bytes(spec->key, time, &direction);
    if (is_on_time && spec->partial.len > 0 && asks_only(spec->partial, meta))
        return STATUS_OK;
    return command_fail(command, ERROR_InvalidOptions,
                        "TTL indexes are not supported on time-series collections but on the "
                        "timeField with a partialFilterExpression on the metaField; for all "
                        "documents run { collMod: ..., expireAfterSeconds: %d }",
                        spec->expire_after_s);
}

status series_check_index(struct command *command, const struct collection *collection,
                          const struct index_spec *spec)
{
    bytes options = options_of(collection);

    if (options.len == 0)
        return STATUS_OK;
    if (spec->is_unique || spec->is_sparse || spec->kind == INDEX_SPEC_ID)
        return command_fail(command, ERROR_InvalidOptions,
                            "%s indexes are not supported on time-series collections",
                            spec->is_unique   ? "Unique"
                            : spec->is_sparse ? "Sparse"
                                              : "_id");
    return spec->has_expiry ? check_expiry(command, options, spec) : STATUS_OK;
}

/* ---- figures ---------------------------------------------------------------------------------------- */

void series_append_stats(struct command *command, struct buffer *out,
                         const struct collection *collection)
{
    static const char *const none[] = { "bucketCount", "numBucketInserts", "numBucketUpdates",
                                        "numBucketsOpenedDueToMetadata", "numCommits" };
    bytes name = collection->definition.name;

    if (!series_is(collection))
        return;
    size_t begun = reply_begin(out, "timeseries");
    const char *buckets =
        arena_format(command->arena, "%.*s.system.buckets.%.*s", (int)command->database.len,
                     (const char *)command->database.data, (int)name.len, (const char *)name.data);
    reply_text(out, "bucketsNs", buckets ? buckets : "");
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        reply_int32(out, none[i], 0);
    document_end(out, begun);
}

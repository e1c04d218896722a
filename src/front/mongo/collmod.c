/* Collmod: the command that changes a collection's settings and its indexes.
 *
 * An expiry is changed in one small durable step, whatever the size of the collection (B-6). What a number
 * means here is what MongoDB makes of it, which is not what createIndexes makes of it: doubles are cut,
 * decimals rounded to the even neighbour, what is too large is cut to the largest. NaN is refused, because it
 * would mean 0 there, and 0 would empty the collection.
 *
 * The index on _ts is the collection's default time to live, and the expiry of a clustered collection is that
 * of an index on _id which only the engine knows; that of a time-series collection is one on its date.
 *
 * Keeps: a command that changes several things is checked as a whole before the first of them is changed.
 * Threads: the command's. Start reading at serve_coll_mod(). */
#include <math.h>

#include "front/mongo/collmod.h"

#include "front/mongo/capped.h"
#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/keep.h"
#include "front/mongo/series.h"
#include "front/mongo/validator.h"
#include "front/mongo/view.h"

struct modification {
    bytes name;
    const struct collection *collection;
    bool has_expiry;
    int32_t expire_after_s;
    bool has_hidden, is_hidden;
    struct index_spec *index; /* NULL: none is changed */
    int32_t own_expiry_s;     /* of a clustered or time-series collection itself */
    bool is_index_made;       /* for that expiry; to be waited for */
};

/* ---- numbers ---------------------------------------------------------------------------------------- */

status collmod_seconds(struct command *command, struct value value, bool is_never_allowed,
                       int32_t *out)
{
    double seconds = value_as_double(value);

    *out = 0;
    if (isnan(seconds))
        return command_fail(command, ERROR_InvalidOptions,
                            "expireAfterSeconds is NaN; give a number of seconds, 0 to %d",
                            LIMIT_TTL_SECONDS);
    seconds = value.type == VALUE_DECIMAL128 ? nearbyint(seconds) : trunc(seconds);
    if (seconds < 0 && !(is_never_allowed && seconds == TTL_NEVER))
        return command_fail(command, ERROR_InvalidOptions,
                            "TTL index 'expireAfterSeconds' option cannot be less than 0");
    *out = seconds > LIMIT_TTL_SECONDS ? LIMIT_TTL_SECONDS : (int32_t)seconds;
    return STATUS_OK;
}

/* ---- finding the index ------------------------------------------------------------------------------ */

static bool is_text(const struct index_spec *spec)
{
    struct document_walk walk = document_fields(spec->key);
    struct field field;

    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_STRING &&
            bytes_equal(value_text(field.value), BYTES_LITERAL("text")))
            return true;
    }
    return false;
}

static status find_by_key(struct command *command, struct index_spec *specs, size_t count,
                          bytes key, struct index_spec **out)
{
    struct buffer shown = buffer_in(command->arena);

    json_write(&shown, key);
    for (size_t i = 0; i < count; i++) {
        if (is_text(&specs[i]) || document_compare(specs[i].key, key) != 0)
            continue;
        if (*out)
            return command_fail(command, ERROR_AmbiguousIndexKeyPattern,
                                "index keyPattern %.*s matches several indexes, such as '%.*s' and "
                                "'%.*s'; must use the index name to select one",
                                (int)shown.len, (const char *)shown.data, (int)(*out)->name.len,
                                (const char *)(*out)->name.data, (int)specs[i].name.len,
                                (const char *)specs[i].name.data);
        *out = &specs[i];
    }
    if (*out)
        return STATUS_OK;
    return command_fail(command, ERROR_IndexNotFound, "cannot find index %.*s", (int)shown.len,
                        (const char *)shown.data);
}

static status find_index(struct command *command, const struct modification *change,
                         struct value name, struct value key, struct index_spec **out)
{
    struct index_spec *specs;
    size_t count;

    *out = NULL;
    TRY(index_spec_list(command, change->collection, &specs, &count));
    if (key.type == VALUE_DOCUMENT)
        return find_by_key(command, specs, count, value_document(key), out);
    bytes wanted = argument_text(name);
    for (size_t i = 0; i < count; i++) {
        if (bytes_equal(specs[i].name, wanted))
            *out = &specs[i];
    }
    if (*out)
        return STATUS_OK;
    return command_fail(command, ERROR_IndexNotFound, "cannot find index '%.*s'", (int)wanted.len,
                        (const char *)wanted.data);
}

/* ---- changing an index ------------------------------------------------------------------------------ */

static void reply_change(struct command *command, const struct modification *change,
                         const struct index_spec *old)
{
    struct buffer *out = &command->reply;

    if (change->has_expiry) {
        if (old->has_expiry)
            reply_int64(out, "expireAfterSeconds_old", old->expire_after_s);
        reply_int64(out, "expireAfterSeconds_new", change->expire_after_s);
    }
    if (change->has_hidden && change->is_hidden != old->is_hidden) {
        reply_bool(out, "hidden_old", old->is_hidden);
        reply_bool(out, "hidden_new", change->is_hidden);
    }
}

static status check_index(struct command *command, const struct modification *change,
                          const struct index_spec *spec)
{
    if (change->has_hidden && spec->kind == INDEX_SPEC_ID)
        return command_fail(command, ERROR_BadValue, "can't hide _id index");
    if (change->has_hidden && change->is_hidden && spec->kind == INDEX_SPEC_STAMP)
        return command_fail(command, ERROR_InvalidOptions,
                            "the TTL index on _ts is the collection's default time to live and "
                            "cannot be hidden");
    if (!change->has_expiry || spec->has_expiry)
        return STATUS_OK;
    if (spec->kind == INDEX_SPEC_ID)
        return command_fail(command, ERROR_InvalidOptions,
                            "the _id field does not support TTL indexes");
    if (!index_spec_is_single(spec) || index_spec_is_wildcard(spec))
        return command_fail(command, ERROR_InvalidOptions,
                            "TTL indexes are single-field indexes, compound indexes do not support "
                            "TTL");
    return STATUS_OK;
}

/* The default time to live of the collection, and the row under which it is listed. An index of the engine on
 * that field, if there is one, has done its service. */
static status change_default_ttl(struct command *command, const struct modification *change,
                                 const struct index_spec *spec)
{
    const struct collection_definition *definition = &change->collection->definition;
    struct collection_change wanted = { .if_version = change->collection->version,
                                        .sets_default_ttl = true,
                                        .default_ttl = change->expire_after_s,
                                        .sets_options = true,
                                        .drops = &spec->name,
                                        .drop_count = spec->index ? 1 : 0 };
    struct keep keep = keep_read(definition->options);
    struct index_spec row = *spec;

    row.is_hidden = false;
    row.has_expiry = true;
    row.expire_after_s = change->expire_after_s;
    TRY(index_spec_row(command->arena, &row, &keep.stamp_index));
    TRY(keep_write(command->arena, definition->options, &keep, &wanted.options));
    return collection_change(command->face->engine, command->arena, definition->database,
                             definition->name, &wanted);
}

static status change_index(struct command *command, const struct modification *change,
                           const struct index_spec *old)
{
    const struct collection_definition *definition = &change->collection->definition;
    struct index_change wanted = { .name = old->name };
    struct index_spec next = *old;

    if (change->has_expiry && index_spec_is_on_stamp(old->key))
        return change_default_ttl(command, change, old);
    if (old->kind == INDEX_SPEC_STAMP)
        return STATUS_OK;
    if (change->has_hidden)
        next.is_hidden = change->is_hidden;
    if (change->has_expiry) {
        next.has_expiry = true;
        next.expire_after_s = change->expire_after_s;
        wanted.sets_expiry = !index_spec_never_expires(&next);
        wanted.expire_after_s = change->expire_after_s;
    }
    wanted.sets_options = true;
    TRY(index_spec_options(command->arena, &next, &wanted.options));
    status s = index_change(command->face->engine, command->arena, definition->database,
                            definition->name, &wanted);
    if (s.code == NOT_FOUND)
        return command_fail(command, ERROR_IndexNotFound, "%s", s.message);
    return s;
}

static status read_expiry(struct command *command, struct modification *change, struct value value)
{
    const bool is_on_stamp = index_spec_is_on_stamp(change->index->key);

    if (!change->has_expiry)
        return STATUS_OK;
    TRY(collmod_seconds(command, value, is_on_stamp, &change->expire_after_s));
    if (!is_on_stamp || change->expire_after_s != 0)
        return STATUS_OK;
    return command_fail(command, ERROR_InvalidOptions,
                        "the TTL index on _ts is the collection's default time to live, which "
                        "must be -1 or 1 to %d",
                        LIMIT_TTL_SECONDS);
}

/* What is to be changed of which index. */
static status read_index(struct command *command, struct modification *change, bytes given_index)
{
    static const struct argument table[] = {
        {"name",                ARGUMENT_TEXT,     false},
        { "keyPattern",         ARGUMENT_DOCUMENT, false},
        { "expireAfterSeconds", ARGUMENT_NUMBER,   false},
        { "hidden",             ARGUMENT_FLAG,     false},
        { "unique",             ARGUMENT_FLAG,     false},
        { "prepareUnique",      ARGUMENT_FLAG,     false},
    };
    enum { NAME, KEY, EXPIRY, HIDDEN, UNIQUE, PREPARE };
    struct value given[ARRAY_COUNT(table)];

    TRY(command_fields(command, "collMod.index", given_index, table, ARRAY_COUNT(table), given));
    bool has_name = given[NAME].type != VALUE_MISSING, has_key = given[KEY].type != VALUE_MISSING;
    change->has_expiry = given[EXPIRY].type != VALUE_MISSING;
    change->has_hidden = given[HIDDEN].type != VALUE_MISSING;
    change->is_hidden = argument_flag(given[HIDDEN], false);
    if (has_name == has_key)
        return command_fail(command, ERROR_InvalidOptions,
                            has_name ? "Cannot specify both key pattern and name."
                                     : "Must specify either index name or key pattern.");
    if (given[UNIQUE].type != VALUE_MISSING || given[PREPARE].type != VALUE_MISSING)
        return command_fail(command, ERROR_InvalidOptions,
                            "an index is not made unique by collMod here; drop it and create a "
                            "unique one");
    if (!change->has_expiry && !change->has_hidden)
        return command_fail(command, ERROR_InvalidOptions,
                            "no expireAfterSeconds or hidden field: nothing to change");
    TRY(find_index(command, change, given[NAME], given[KEY], &change->index));
    TRY(check_index(command, change, change->index));
    return read_expiry(command, change, given[EXPIRY]);
}

static status modify_index(struct command *command, const struct modification *change)
{
    TRY(change_index(command, change, change->index));
    reply_change(command, change, change->index);
    return STATUS_OK;
}

/* ---- a clustered collection ------------------------------------------------------------------------- */

static status read_clustered(struct command *command, struct value value, int32_t *out)
{
    *out = INDEX_NO_EXPIRY;
    if (value.type == VALUE_STRING) {
        if (bytes_equal(value_text(value), BYTES_LITERAL("off")))
            return STATUS_OK;
        return command_fail(command, ERROR_InvalidOptions,
                            "expireAfterSeconds must be a number of seconds or \"off\"");
    }
    if (!value_is_number(value))
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field 'collMod.expireAfterSeconds' is the wrong type '%s', "
                            "expected types '[string, number]'",
                            value_type_name(value.type));
    return collmod_clustered_seconds(command, value, out);
}

status collmod_clustered_seconds(struct command *command, struct value value, int32_t *out)
{
    double seconds = value_as_double(value);
    double now_s = (double)(command->request.now / 1000);

    *out = 0;
    if (!(trunc(seconds) >= 0))
        return command_fail(command, ERROR_InvalidOptions,
                            "expireAfterSeconds must be a number of at least 0");
    if (seconds > now_s || seconds > LIMIT_TTL_SECONDS)
        return command_fail(command, ERROR_InvalidOptions,
                            "expireAfterSeconds must not be more than the seconds since 1970, "
                            "which are %.0f; it is %.0f",
                            now_s, seconds);
    *out = (int32_t)seconds;
    return STATUS_OK;
}

static status read_own_expiry(struct command *command, struct modification *change,
                              struct value value)
{
    if (!keep_is_clustered(change->collection) && !series_is(change->collection))
        return command_fail(
            command, ERROR_InvalidOptions,
            "'expireAfterSeconds' is only for clustered and time-series "
            "collections; for a TTL index say index: {name: ..., expireAfterSeconds: ...}");
    return read_clustered(command, value, &change->own_expiry_s);
}

static status modify_clustered(struct command *command, struct modification *change)
{
    const struct collection_definition *definition = &change->collection->definition;
    const int32_t seconds = change->own_expiry_s;
    struct engine *engine = command->face->engine;
    struct index_definition index;

    if (collection_index(change->collection, BYTES_LITERAL(KEEP_CLUSTERED_INDEX)))
        return index_set_expiry(engine, command->arena, definition->database, definition->name,
                                BYTES_LITERAL(KEEP_CLUSTERED_INDEX), seconds);
    if (seconds == INDEX_NO_EXPIRY)
        return STATUS_OK;
    bytes path = series_time_field(change->collection);
    TRY(collmod_expiry_index(command->arena, path.len > 0 ? path : BYTES_LITERAL("_id"), seconds,
                             &index));
    change->is_index_made = true;
    return index_create(engine, command->arena, definition->database, definition->name, &index);
}

status collmod_expiry_index(struct arena *arena, bytes path, int32_t expire_after_s,
                            struct index_definition *out)
{
    struct index_field *field;

    TRY(ARENA_NEW(arena, 1, &field));
    field->path = path;
    *out = (struct index_definition){ .name = BYTES_LITERAL(KEEP_CLUSTERED_INDEX),
                                      .kind = INDEX_FIELDS,
                                      .is_missing_null = true,
                                      .expire_after_s = expire_after_s,
                                      .field_count = 1,
                                      .fields = field };
    return STATUS_OK;
}

/* ---- settings that are kept ------------------------------------------------------------------------- */

static status keep_settings(struct command *command, const struct modification *change,
                            const struct argument *table, const struct value *given, size_t count)
{
    const struct collection_definition *definition = &change->collection->definition;
    struct collection_change wanted = { .if_version = change->collection->version,
                                        .sets_options = true };
    struct keep keep = keep_read(definition->options);
    bool is_changed = false;

    for (size_t i = 0; i < count; i++) {
        if (given[i].type == VALUE_MISSING)
            continue;
        TRY(keep_set_option(command->arena, keep.options, table[i].name, given[i], &keep.options));
        is_changed = true;
    }
    if (!is_changed)
        return STATUS_OK;
    TRY(keep_write(command->arena, definition->options, &keep, &wanted.options));
    return collection_change(command->face->engine, command->arena, definition->database,
                             definition->name, &wanted);
}

/* What the view looks at or its stages; the other one stays. */
static status check_new_view(struct command *command, const struct modification *change,
                             struct value view_on, struct value pipeline)
{
    bytes on = argument_text(view_on);

    if (view_on.type == VALUE_MISSING)
        on = argument_text(keep_option(change->collection, "viewOn"));
    if (pipeline.type == VALUE_MISSING)
        pipeline = keep_option(change->collection, "pipeline");
    if (on.len == 0)
        return command_fail(command, ERROR_BadValue, "'viewOn' cannot be empty");
    return view_check(command, change->name, on, value_document(pipeline),
                      change->collection->definition.collation);
}

static status check_view(struct command *command, const struct modification *change,
                         struct value view_on, struct value pipeline, bool wants_other)
{
    bool is_view = keep_is_view(change->collection);
    bool wants_view = view_on.type != VALUE_MISSING || pipeline.type != VALUE_MISSING;

    if (is_view && wants_other)
        return command_fail(command, ERROR_InvalidOptions,
                            "option not supported on a view: only viewOn and pipeline are");
    if (!is_view && wants_view)
        return command_fail(command, ERROR_InvalidOptions,
                            "option only supported on a view: viewOn and pipeline");
    return wants_view ? check_new_view(command, change, view_on, pipeline) : STATUS_OK;
}

/* What collMod cannot change of a time-series collection. */
static status check_series(struct command *command, const struct collection *collection,
                           bool wants_validator, struct value index)
{
    struct value hidden;

    if (!series_is(collection))
        return STATUS_OK;
    if (wants_validator)
        return command_fail(command, ERROR_InvalidOptions,
                            "option not supported on a time-series collection: validators and "
                            "images before and after changes");
    if (index.type == VALUE_DOCUMENT &&
        document_find(value_document(index), "expireAfterSeconds", &hidden))
        return command_fail(command, ERROR_InvalidOptions,
                            "TTL indexes are not supported for time-series collections. Please "
                            "refer to the documentation and use the top-level "
                            "'expireAfterSeconds' option instead");
    return STATUS_OK;
}

static const struct argument table[] = {
    {"viewOn",                        ARGUMENT_TEXT,     false},
    { "pipeline",                     ARGUMENT_ARRAY,    false},
    { "validator",                    ARGUMENT_DOCUMENT, false},
    { "validationLevel",              ARGUMENT_TEXT,     false},
    { "validationAction",             ARGUMENT_TEXT,     false},
    { "changeStreamPreAndPostImages", ARGUMENT_DOCUMENT, false},
    { "timeseries",                   ARGUMENT_DOCUMENT, false},
    { "index",                        ARGUMENT_DOCUMENT, false},
    { "expireAfterSeconds",           ARGUMENT_ANY,      false},
    { "cappedSize",                   ARGUMENT_NUMBER,   false},
    { "cappedMax",                    ARGUMENT_NUMBER,   false},
    { "dryRun",                       ARGUMENT_IGNORED,  false},
};
enum { VIEW_ON, PIPELINE, VALIDATOR, LEVEL, ACTION, IMAGES, SERIES, KEPT_COUNT };
enum { INDEX = KEPT_COUNT, EXPIRY, CAPPED_SIZE, CAPPED_MAX };

/* Whatever can be refused is refused here. */
static status check_all(struct command *command, struct modification *change, struct value *given)
{
    bool wants_other = false, wants_validator = false;

    for (size_t i = VALIDATOR; i <= CAPPED_MAX; i++)
        wants_other |= given[i].type != VALUE_MISSING;
    for (size_t i = VALIDATOR; i <= IMAGES; i++)
        wants_validator |= given[i].type != VALUE_MISSING;
    TRY(check_view(command, change, given[VIEW_ON], given[PIPELINE], wants_other));
    TRY(validator_check(command, given[VALIDATOR], given[LEVEL], given[ACTION]));
    TRY(check_series(command, change->collection, wants_validator, given[INDEX]));
    if (given[SERIES].type != VALUE_MISSING)
        TRY(series_modify(command, change->collection, value_document(given[SERIES]),
                          &given[SERIES]));
    TRY(capped_check(command, change->collection, given[CAPPED_SIZE], given[CAPPED_MAX]));
    if (given[EXPIRY].type != VALUE_MISSING)
        TRY(read_own_expiry(command, change, given[EXPIRY]));
    if (given[INDEX].type != VALUE_MISSING)
        TRY(read_index(command, change, value_document(given[INDEX])));
    return STATUS_OK;
}

static status modify_settings(struct command *command, struct modification *change,
                              const struct value *given)
{
    status s = status_of(CONFLICT, "");

    for (int i = 0; i < COMMAND_CHANGE_TRIES && s.code == CONFLICT; i++) {
        TRY(command_renew(command));
        TRY(command_find(command, change->name, &change->collection));
        s = change->collection ? keep_settings(command, change, table, given, KEPT_COUNT)
                               : STATUS_OK;
    }
    return s;
}

/* The engine may still have no room for another expiry, so that comes first; waiting for its index comes last, since
 * it renews the picture in which the collection was found. */
status serve_coll_mod(struct command *command)
{
    struct value given[ARRAY_COUNT(table)];
    struct modification change = { 0 };

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &change.name));
    TRY(command_find(command, change.name, &change.collection));
    bytes namespace = command_namespace(command, change.name);
    if (!change.collection)
        return command_fail(command, ERROR_NamespaceNotFound, "ns does not exist: %.*s",
                            (int)namespace.len, (const char *)namespace.data);
    TRY(check_all(command, &change, given));
    if (given[EXPIRY].type != VALUE_MISSING)
        TRY(modify_clustered(command, &change));
    if (change.index)
        TRY(modify_index(command, &change));
    TRY(capped_modify(command, change.collection, given[CAPPED_SIZE], given[CAPPED_MAX]));
    TRY(modify_settings(command, &change, given));
    if (change.is_index_made)
        TRY(index_build_await(command, change.name, BYTES_LITERAL(KEEP_CLUSTERED_INDEX)));
    if (given[CAPPED_SIZE].type == VALUE_MISSING && given[CAPPED_MAX].type == VALUE_MISSING)
        return STATUS_OK;
    return capped_trim(command, change.name);
}

/* Create: collections made with options, and renamed.
 *
 * Options that have no effect on the engine are kept and listed again. The expiry of a clustered collection is
 * an index of the engine on _id, which is not listed as one: it ends documents whose _id is a date. That of a
 * time-series collection is the same on its date.
 *
 * Threads: the command's. Start reading at serve_create(). */
#include "front/mongo/create.h"

#include "front/mongo/capped.h"
#include "front/mongo/collating.h"
#include "front/mongo/collmod.h"
#include "front/mongo/handlers.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"
#include "front/mongo/principal.h"
#include "front/mongo/series.h"
#include "front/mongo/validator.h"
#include "front/mongo/view.h"

static const struct argument table[] = {
    {"capped",                        ARGUMENT_FLAG,     false},
    { "size",                         ARGUMENT_NUMBER,   false},
    { "max",                          ARGUMENT_NUMBER,   false},
    { "validator",                    ARGUMENT_DOCUMENT, false},
    { "validationLevel",              ARGUMENT_TEXT,     false},
    { "validationAction",             ARGUMENT_TEXT,     false},
    { "collation",                    ARGUMENT_DOCUMENT, false},
    { "viewOn",                       ARGUMENT_TEXT,     false},
    { "pipeline",                     ARGUMENT_ARRAY,    false},
    { "clusteredIndex",               ARGUMENT_ANY,      false},
    { "expireAfterSeconds",           ARGUMENT_NUMBER,   false},
    { "changeStreamPreAndPostImages", ARGUMENT_DOCUMENT, false},
    { "timeseries",                   ARGUMENT_DOCUMENT, false},
    { "encryptedFields",              ARGUMENT_DOCUMENT, false},
    { "autoIndexId",                  ARGUMENT_IGNORED,  false},
    { "idIndex",                      ARGUMENT_IGNORED,  false},
    { "temp",                         ARGUMENT_IGNORED,  false},
    { "flags",                        ARGUMENT_IGNORED,  false},
    { "storageEngine",                ARGUMENT_IGNORED,  false},
    { "indexOptionDefaults",          ARGUMENT_IGNORED,  false},
};
enum {
    CAPPED,
    SIZE,
    MAX,
    VALIDATOR,
    LEVEL,
    ACTION,
    COLLATION,
    VIEW_ON,
    PIPELINE,
    CLUSTERED,
    EXPIRY,
    IMAGES,
    TIMESERIES,
    ENCRYPTED,
};

struct creating {
    struct value given[ARRAY_COUNT(table)];
    struct buffer options; /* begun */
    struct keep keep;
    struct index_definition indexes[2];
    size_t index_count;
    bool is_view;
    const struct collation *collation;
};

static bool has(const struct creating *creating, int which)
{
    return creating->given[which].type != VALUE_MISSING;
}

static void keep_given(struct creating *creating, int which)
{
    if (has(creating, which))
        document_append(&creating->options, bytes_of_text(table[which].name),
                        creating->given[which]);
}

/* ---- kinds of collections --------------------------------------------------------------------------- */

static status take_capped(struct command *command, struct creating *creating)
{
    struct capped_limits limits = { 0 };

    if (!argument_flag(creating->given[CAPPED], false)) {
        if (has(creating, SIZE) || has(creating, MAX))
            return command_fail(command, ERROR_InvalidOptions,
                                "the 'capped' field needs to be true when either the 'size' or "
                                "'max' fields are present");
        return STATUS_OK;
    }
    if (!has(creating, SIZE))
        return command_fail(command, ERROR_InvalidOptions,
                            "the 'size' field is required when 'capped' is true");
    TRY(capped_read(command, creating->given[SIZE], creating->given[MAX], &limits));
    capped_index(limits, &creating->indexes[creating->index_count++]);
    return STATUS_OK;
}

static status take_view(struct command *command, bytes name, struct creating *creating)
{
    static const uint8_t no_stages[5] = { 5, 0, 0, 0, 0 };
    bytes stages = bytes_of(no_stages, sizeof(no_stages));

    if (has(creating, PIPELINE) && !has(creating, VIEW_ON))
        return command_fail(command, ERROR_InvalidOptions,
                            "'pipeline' requires 'viewOn' to also be specified");
    if (!has(creating, VIEW_ON))
        return STATUS_OK;
    if (value_text(creating->given[VIEW_ON]).len == 0)
        return command_fail(command, ERROR_BadValue, "'viewOn' cannot be empty");
    if (has(creating, CAPPED) || has(creating, VALIDATOR) || has(creating, CLUSTERED))
        return command_fail(command, ERROR_InvalidOptions,
                            "a view cannot be capped, clustered nor have a validator");
    if (has(creating, PIPELINE))
        stages = value_document(creating->given[PIPELINE]);
    TRY(view_check(command, name, value_text(creating->given[VIEW_ON]), stages,
                   creating->collation));
    creating->is_view = true;
    keep_given(creating, VIEW_ON);
    document_append(&creating->options, BYTES_LITERAL("pipeline"),
                    (struct value){ VALUE_ARRAY, stages });
    return STATUS_OK;
}

static status check_clustered(struct command *command, bytes document, bytes *name_out)
{
    static const struct argument fields[] = {
        {"key",     ARGUMENT_DOCUMENT, true },
        { "unique", ARGUMENT_FLAG,     true },
        { "name",   ARGUMENT_TEXT,     false},
        { "v",      ARGUMENT_NUMBER,   false},
    };
    struct value given[ARRAY_COUNT(fields)], direction;

    TRY(command_fields(command, "create.clusteredIndex", document, fields, ARRAY_COUNT(fields),
                       given));
    bytes key = value_document(given[0]);
    if (document_field_count(key) != 1 || !document_find(key, "_id", &direction) ||
        !value_is_number(direction) || value_as_double(direction) != 1)
        return command_fail(command, ERROR_InvalidIndexSpecificationOption,
                            "the 'clusteredIndex' key must be {_id: 1}");
    if (!argument_flag(given[1], false))
        return command_fail(command, ERROR_InvalidIndexSpecificationOption,
                            "the 'clusteredIndex' must be unique: true");
    *name_out = given[2].type == VALUE_MISSING ? BYTES_LITERAL("_id_") : value_text(given[2]);
    return STATUS_OK;
}

static void append_clustered(struct buffer *out, bytes name)
{
    size_t begun = reply_begin(out, "clusteredIndex");

    reply_int32(out, "v", 2);
    size_t key = reply_begin(out, "key");
    reply_int32(out, "_id", 1);
    document_end(out, key);
    reply_bytes(out, "name", name);
    reply_bool(out, "unique", true);
    document_end(out, begun);
}

/* The hidden index that ends documents, if an expiry is wanted. */
static status take_expiry(struct command *command, struct creating *creating, bytes path)
{
    int32_t seconds;

    if (!has(creating, EXPIRY))
        return STATUS_OK;
    TRY(collmod_clustered_seconds(command, creating->given[EXPIRY], &seconds));
    return collmod_expiry_index(command->arena, path, seconds,
                                &creating->indexes[creating->index_count++]);
}

static status take_clustered(struct command *command, struct creating *creating)
{
    struct buffer beside = buffer_in(command->arena);
    bytes name;

    if (has(creating, EXPIRY) && !has(creating, CLUSTERED) && !has(creating, TIMESERIES))
        return command_fail(command, ERROR_InvalidOptions,
                            "'expireAfterSeconds' requires 'clusteredIndex' or 'timeseries'; for "
                            "other collections create a TTL index on a field with a date");
    if (!has(creating, CLUSTERED))
        return STATUS_OK;
    if (creating->given[CLUSTERED].type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "'clusteredIndex' must be {key: {_id: 1}, unique: true}, not a %s",
                            value_type_name(creating->given[CLUSTERED].type));
    if (has(creating, CAPPED))
        return command_fail(command, ERROR_InvalidOptions,
                            "a clustered collection cannot be capped");
    TRY(check_clustered(command, value_document(creating->given[CLUSTERED]), &name));
    append_clustered(&creating->options, name);
    size_t begun = document_begin(&beside);
    reply_bool(&beside, "unique", true);
    reply_bool(&beside, "clustered", true);
    document_end(&beside, begun);
    TRY(buffer_finish(&beside, &creating->keep.id_index));
    return take_expiry(command, creating, BYTES_LITERAL("_id"));
}

/* Measurements: no options but those that say how they are kept and when they end. */
static status take_series(struct command *command, struct creating *creating)
{
    static const int others[] = { CAPPED,   VALIDATOR, LEVEL,  ACTION,   VIEW_ON,
                                  PIPELINE, CLUSTERED, IMAGES, ENCRYPTED };
    struct value time;
    bytes series;
    bool has_index;

    if (!has(creating, TIMESERIES))
        return STATUS_OK;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        if (has(creating, others[i]))
            return command_fail(command, ERROR_InvalidOptions,
                                "time-series collections do not have the option '%s'",
                                table[others[i]].name);
    }
    TRY(series_read(command, value_document(creating->given[TIMESERIES]), &series));
    reply_document(&creating->options, "timeseries", series);
    document_find(series, "timeField", &time);
    TRY(take_expiry(command, creating, value_text(time)));
    TRY(series_index(command, series, &creating->indexes[creating->index_count], &has_index));
    creating->index_count += has_index;
    return STATUS_OK;
}

static status take_rest(struct command *command, struct creating *creating)
{
    if (has(creating, ENCRYPTED))
        return command_fail(command, ERROR_InvalidOptions,
                            "encrypted fields are not in this version");
    TRY(validator_check(command, creating->given[VALIDATOR], creating->given[LEVEL],
                        creating->given[ACTION]));
    for (int which = VALIDATOR; which <= ACTION; which++)
        keep_given(creating, which);
    keep_given(creating, IMAGES);
    return STATUS_OK;
}

/* ---- create ----------------------------------------------------------------------------------------- */

static status make(struct command *command, bytes name, struct creating *creating)
{
    struct collection_definition definition = { .database = command->database,
                                                .name = name,
                                                .default_ttl = TTL_OFF,
                                                .collation = creating->collation };
    bool is_plain = creating->keep.options.len <= 5 && creating->keep.id_index.len == 0;

    if (!is_plain)
        TRY(keep_write(command->arena, BYTES_NONE, &creating->keep, &definition.options));
    if (creating->is_view)
        TRY(foreign_mark_view(command->arena, definition.options, &definition.options));
    return command_create(command, &definition, creating->indexes, creating->index_count);
}

status serve_create(struct command *command)
{
    const struct collection *collection;
    struct creating creating = { .options = buffer_in(command->arena) };
    bytes name;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), creating.given));
    TRY(command_collection_name(command, &name));
    size_t begun = document_begin(&creating.options);
    if (has(&creating, COLLATION))
        TRY(collating_parse(command, creating.given[COLLATION], &creating.collation));
    TRY(take_capped(command, &creating));
    TRY(take_view(command, name, &creating));
    TRY(take_clustered(command, &creating));
    TRY(take_series(command, &creating));
    TRY(take_rest(command, &creating));
    document_end(&creating.options, begun);
    TRY(buffer_finish(&creating.options, &creating.keep.options));
    TRY(command_find(command, name, &collection));
    status s = collection ? status_of(EXISTS, "") : make(command, name, &creating);
    if (s.code != EXISTS)
        return s;
    bytes namespace = command_namespace(command, name);
    return command_fail(command, ERROR_NamespaceExists, "Collection %.*s already exists.",
                        (int)namespace.len, (const char *)namespace.data);
}

void create_append_options(struct buffer *out, const struct collection *collection)
{
    bytes options = keep_read(collection->definition.options).options;
    const struct index *index = collection_index(collection, BYTES_LITERAL(KEEP_CLUSTERED_INDEX));
    struct field field;

    capped_append_options(out, capped_limits(collection));
    if (options.len > 0) {
        struct document_walk walk = document_fields(options);
        while (document_next(&walk, &field))
            document_append(out, field.name, field.value);
    }
    if (collection->definition.collation)
        reply_document(out, "collation", collation_document(collection->definition.collation));
    if (index && index->definition.expire_after_s != INDEX_NO_EXPIRY)
        reply_int64(out, "expireAfterSeconds", index->definition.expire_after_s);
}

/* ---- rename ----------------------------------------------------------------------------------------- */

struct place {
    bytes database, name;
};

static status read_place(struct command *command, struct value value, struct place *out)
{
    bytes text = argument_text(value);
    const uint8_t *dot = text.len ? memchr(text.data, '.', text.len) : NULL;

    *out = (struct place){ 0 };
    if (dot)
        *out = (struct place){ .database = bytes_of(text.data, (size_t)(dot - text.data)),
                               .name = bytes_from(text, (size_t)(dot - text.data) + 1) };
    if (out->database.len == 0 || out->name.len == 0 || namespace_is_hidden(out->database))
        return command_fail(command, ERROR_InvalidNamespace,
                            "Invalid namespace: '%.*s'; it must be a database, a dot and a "
                            "collection",
                            (int)text.len, (const char *)text.data);
    return STATUS_OK;
}

static status find_place(struct command *command, struct place place, const struct collection **out)
{
    status s = catalog_find(&command->request, place.database, place.name, out);

    if (s.code == NOT_FOUND)
        *out = NULL;
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status rename_to(struct command *command, struct place from, struct place to,
                        bool drops_target)
{
    struct engine *engine = command->face->engine;

    if (drops_target)
        return collection_rename_over(engine, command->arena, from.database, from.name, to.database,
                                      to.name);
    status s = collection_rename(engine, command->arena, from.database, from.name, to.database,
                                 to.name);
    if (s.code == EXISTS)
        return command_fail(command, ERROR_NamespaceExists,
                            "target namespace exists; say dropTarget: true to replace it");
    return s;
}

status serve_rename_collection(struct command *command)
{
    static const struct argument fields[] = {
        {"to",          ARGUMENT_TEXT,    true },
        { "dropTarget", ARGUMENT_FLAG,    false},
        { "stayTemp",   ARGUMENT_IGNORED, false},
    };
    struct value given[ARRAY_COUNT(fields)];
    struct engine *engine = command->face->engine;
    const struct collection *source;
    struct place from, to;

    TRY(command_arguments(command, fields, ARRAY_COUNT(fields), given));
    TRY(read_place(command, command->target, &from));
    TRY(read_place(command, given[0], &to));
    bool is_inside = bytes_equal(from.database, to.database);
    if (!is_inside) /* it is as if it was read there and written here */
        TRY(principal_permit_on(command, from.database, ACCESS_READ));
    TRY(principal_permit_on(command, from.database, ACCESS_MANAGE));
    TRY(principal_permit_on(command, to.database, is_inside ? ACCESS_MANAGE : ACCESS_WRITE));
    TRY(find_place(command, from, &source));
    if (!source)
        return command_fail(command, ERROR_NamespaceNotFound,
                            "Source collection %.*s.%.*s does not exist", (int)from.database.len,
                            (const char *)from.database.data, (int)from.name.len,
                            (const char *)from.name.data);
    if (keep_is_view(source))
        return command_fail(command, ERROR_CommandNotSupportedOnView, "cannot rename a view");
    if (series_is(source))
        return command_fail(command, ERROR_IllegalOperation,
                            "renameCollection is not supported on time-series collections");
    if (bytes_equal(from.database, to.database) && bytes_equal(from.name, to.name))
        return command_fail(command, ERROR_IllegalOperation, "Can't rename a collection to itself");
    TRY(command_check_name(command, to.database, to.name));
    if (!catalog_has_database(&command->request, to.database)) {
        status s = database_create(engine, command->arena, to.database, BYTES_NONE);
        if (s.code != OK && s.code != EXISTS)
            return s;
    }
    return rename_to(command, from, to, argument_flag(given[1], false));
}

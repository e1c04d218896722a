/* Index create: createIndexes.
 *
 * All members of `indexes` are checked against what is there and against each other before anything is
 * changed; then all new ones are registered in one durable step, and the command is answered when they are
 * built. What is there already under the same name and with the same meaning is passed over.
 *
 *   same name   same meaning   same options
 *   yes         yes            yes             nothing to do
 *   yes         yes            no              85, and the message names the collMod that does it
 *   yes         no                             86
 *   no          yes            whatever        85
 *   no          no                             a new index
 *
 * Threads: the command's. Start reading at serve_create_indexes(). */
#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/keep.h"
#include "front/mongo/series.h"

enum { TRIES_MAX = COMMAND_CHANGE_TRIES };

struct creation {
    bytes name;
    struct index_spec *wanted;
    size_t wanted_count;
    /* As of the last look at the catalog: what is there, then what is new. */
    const struct collection *collection;
    struct index_spec *specs;
    size_t there_count, spec_count;
    size_t before_count; /* at the first look */
    bool is_looked_at;
};

/* ---- conflicts -------------------------------------------------------------------------------------- */

/* The call that does what was probably meant. */
static const char *advice(struct command *command, const struct creation *creation,
                          const struct index_spec *there, const struct index_spec *wanted)
{
    const char *text;

    if (wanted->has_expiry && !index_spec_has_same_options(there, wanted))
        text = arena_format(command->arena,
                            "To change when documents expire, run { collMod: \"%.*s\", index: { "
                            "name: \"%.*s\", expireAfterSeconds: %d } }",
                            (int)creation->name.len, (const char *)creation->name.data,
                            (int)there->name.len, (const char *)there->name.data,
                            wanted->expire_after_s);
    else
        text = arena_format(command->arena, "To replace it, drop the index \"%.*s\" first",
                            (int)there->name.len, (const char *)there->name.data);
    return text ? text : "";
}

static status fail_options(struct command *command, const struct creation *creation,
                           const struct index_spec *there, const struct index_spec *wanted)
{
    bool is_same_name = bytes_equal(there->name, wanted->name);

    return command_fail(command, ERROR_IndexOptionsConflict,
                        "An equivalent index already exists with %s. Requested index: %s, existing "
                        "index: %s. %s",
                        is_same_name ? "the same name but different options"
                                     : "a different name or different options",
                        index_spec_text(command, wanted), index_spec_text(command, there),
                        advice(command, creation, there, wanted));
}

/* *is_there_out: there is nothing to do for it. */
static status compare(struct command *command, const struct creation *creation,
                      const struct index_spec *wanted, bool *is_there_out)
{
    *is_there_out = false;
    for (size_t i = 0; i < creation->spec_count; i++) {
        const struct index_spec *there = &creation->specs[i];
        if (!bytes_equal(there->name, wanted->name))
            continue;
        if (!index_spec_is_same(command->arena, there, wanted))
            return command_fail(command, ERROR_IndexKeySpecsConflict,
                                "An existing index has the same name as the requested index, but "
                                "another key, filter, collation or uniqueness. Requested index: "
                                "%s, existing index: %s. Drop the existing one, or choose another "
                                "name",
                                index_spec_text(command, wanted), index_spec_text(command, there));
        if (!index_spec_has_same_options(there, wanted))
            return fail_options(command, creation, there, wanted);
        *is_there_out = true;
        return STATUS_OK;
    }
    for (size_t i = 0; i < creation->spec_count; i++) {
        const struct index_spec *there = &creation->specs[i];
        if (index_spec_is_same(command->arena, there, wanted))
            return fail_options(command, creation, there, wanted);
        if (there->kind == INDEX_SPEC_TEXT && wanted->kind == INDEX_SPEC_TEXT)
            return command_fail(command, ERROR_CannotCreateIndex,
                                "only one text index per collection allowed, found existing text "
                                "index \"%.*s\"",
                                (int)there->name.len, (const char *)there->name.data);
    }
    return STATUS_OK;
}

/* ---- creating --------------------------------------------------------------------------------------- */

/* What is there, and behind it what is new. */
static status look(struct command *command, struct creation *creation)
{
    struct index_spec *there, *specs;

    TRY(index_spec_list(command, creation->collection, &there, &creation->there_count));
    TRY(ARENA_NEW(command->arena, creation->there_count + creation->wanted_count, &specs));
    memcpy(specs, there, creation->there_count * sizeof(*specs));
    creation->specs = specs;
    creation->spec_count = creation->there_count;
    if (!creation->is_looked_at)
        creation->before_count = creation->there_count;
    creation->is_looked_at = true;
    for (size_t i = 0; i < creation->wanted_count; i++) {
        const struct index_spec *wanted = &creation->wanted[i];
        bool is_there = wanted->kind == INDEX_SPEC_ID;
        TRY(series_check_index(command, creation->collection, wanted));
        if (!is_there)
            TRY(compare(command, creation, wanted, &is_there));
        if (!is_there)
            specs[creation->spec_count++] = *wanted;
    }
    if (creation->spec_count <= LIMIT_INDEXES)
        return STATUS_OK;
    return command_fail(command, ERROR_CannotCreateIndex,
                        "add index fails, too many indexes: the collection would have %zu, limit "
                        "%d",
                        creation->spec_count, LIMIT_INDEXES);
}

static status set_default_ttl(struct command *command, const struct creation *creation,
                              const struct index_spec *spec, struct collection_change *change)
{
    bytes options = creation->collection->definition.options;
    struct keep keep = keep_read(options);

    if (foreign_is_unindexed(creation->collection))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "the collection's indexing mode is none, and a default time to live, "
                            "which the index on _ts is, needs consistent or lazy");

    TRY(index_spec_row(command->arena, spec, &keep.stamp_index));
    change->sets_default_ttl = true;
    change->default_ttl = spec->expire_after_s;
    change->sets_options = true;
    return keep_write(command->arena, options, &keep, &change->options);
}

static status apply(struct command *command, const struct creation *creation)
{
    const struct collection_definition *definition = &creation->collection->definition;
    struct collection_change change = { .if_version = creation->collection->version };
    struct index_definition *adds;

    TRY(ARENA_NEW(command->arena, creation->spec_count, &adds));
    for (size_t i = creation->there_count; i < creation->spec_count; i++) {
        const struct index_spec *spec = &creation->specs[i];
        if (spec->kind == INDEX_SPEC_STAMP)
            TRY(set_default_ttl(command, creation, spec, &change));
        else
            TRY(index_spec_define(command, spec, &adds[change.add_count++]));
    }
    change.adds = adds;
    status s = collection_change(command->face->engine, command->arena, definition->database,
                                 definition->name, &change);
    if (s.code == TOO_LARGE || s.code == INVALID || s.code == UNSUPPORTED)
        return command_fail(command, ERROR_CannotCreateIndex, "%s", s.message);
    return s;
}

/* Somebody else may create the same at the same time: then it is looked at again. */
static status create_missing(struct command *command, struct creation *creation)
{
    status s = STATUS_OK;

    for (int i = 0; i < TRIES_MAX; i++) {
        TRY(command_need(command, creation->name, &creation->collection));
        for (size_t j = 0; j < creation->wanted_count; j++)
            TRY(index_spec_inherit(command, creation->collection, &creation->wanted[j]));
        TRY(look(command, creation));
        if (creation->spec_count == creation->there_count)
            return STATUS_OK;
        s = apply(command, creation);
        if (s.code != EXISTS && s.code != CONFLICT)
            return s;
        TRY(command_renew(command));
    }
    return s;
}

static status await_all(struct command *command, const struct creation *creation)
{
    for (size_t i = 0; i < creation->wanted_count; i++) {
        const struct index_spec *spec = &creation->wanted[i];
        if (spec->kind != INDEX_SPEC_ID && spec->kind != INDEX_SPEC_STAMP)
            TRY(index_build_await(command, creation->name, spec->name));
    }
    return STATUS_OK;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static status take_specs(struct command *command, struct creation *creation)
{
    struct argument_list list;
    size_t count;
    bytes given;
    bool has;

    TRY(command_list(command, "indexes", &list, &count));
    if (count == 0)
        return command_fail(command, ERROR_BadValue, "Must specify at least one index to create");
    TRY(ARENA_NEW(command->arena, count, &creation->wanted));
    while (creation->wanted_count < count) {
        TRY(command_list_next(command, &list, &given, &has));
        if (!has)
            break;
        TRY(index_spec_parse(command, given, &creation->wanted[creation->wanted_count++]));
    }
    return STATUS_OK;
}

/* What a client should know about what it has got. */
static const char *note_of(const struct creation *creation)
{
    for (size_t i = 0; i < creation->wanted_count; i++) {
        if (index_spec_never_expires(&creation->wanted[i]))
            return "a TTL index of type hashed, text, 2d or 2dsphere will never expire anything, "
                   "because it holds no dates; create an ascending index on a field with a date";
    }
    if (creation->spec_count == creation->there_count)
        return "all indexes already exist";
    return NULL;
}

status serve_create_indexes(struct command *command)
{
    static const struct argument table[] = {
        {"indexes",                    ARGUMENT_LIST,    true },
        { "commitQuorum",              ARGUMENT_IGNORED, false},
        { "ignoreUnknownIndexOptions", ARGUMENT_IGNORED, false},
    };
    struct value given[ARRAY_COUNT(table)];
    struct creation creation = { 0 };
    struct buffer *out = &command->reply;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &creation.name));
    TRY(take_specs(command, &creation));
    TRY(command_find_stored(command, creation.name, &creation.collection));
    bool is_new = creation.collection == NULL;
    TRY(create_missing(command, &creation));
    TRY(await_all(command, &creation));
    const char *note = note_of(&creation);
    reply_int32(out, "numIndexesBefore", (int32_t)creation.before_count);
    reply_int32(out, "numIndexesAfter", (int32_t)creation.spec_count);
    reply_bool(out, "createdCollectionAutomatically", is_new);
    if (note)
        reply_text(out, "note", note);
    return STATUS_OK;
}

/* Index list: listIndexes and dropIndexes.
 *
 * Dropping the index on _ts switches the collection's time to live off, because the two are one. All indexes
 * of one command go in one durable step.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"

static status need_collection(struct command *command, bytes *name_out,
                              const struct collection **out)
{
    TRY(command_collection_name(command, name_out));
    TRY(command_find_stored(command, *name_out, out));
    bytes namespace = command_namespace(command, *name_out);
    if (!*out)
        return command_fail(command, ERROR_NamespaceNotFound, "ns does not exist: %.*s",
                            (int)namespace.len, (const char *)namespace.data);
    return STATUS_OK;
}

/* ---- list ------------------------------------------------------------------------------------------- */

status serve_list_indexes(struct command *command)
{
    static const struct argument table[] = {
        {"cursor",                 ARGUMENT_DOCUMENT, false},
        { "includeBuildUUIDs",     ARGUMENT_IGNORED,  false},
        { "includeIndexBuildInfo", ARGUMENT_IGNORED,  false},
    };
    struct value given[ARRAY_COUNT(table)];
    struct buffer *out = &command->reply;
    const struct collection *collection;
    struct index_spec *specs;
    char room[REPLY_INDEX_BYTES];
    size_t count;
    bytes name;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(need_collection(command, &name, &collection));
    TRY(index_spec_list(command, collection, &specs, &count));
    size_t cursor = reply_begin(out, "cursor");
    reply_int64(out, "id", 0);
    reply_bytes(out, "ns", command_namespace(command, name));
    size_t list = reply_begin_array(out, "firstBatch");
    for (size_t i = 0; i < count; i++) {
        size_t row = reply_begin(out, reply_index(i, room));
        index_spec_append(out, &specs[i]);
        document_end(out, row);
    }
    document_end(out, list);
    document_end(out, cursor);
    return STATUS_OK;
}

/* ---- drop ------------------------------------------------------------------------------------------- */

struct removal {
    const struct collection *collection;
    struct index_spec *specs;
    size_t count;
    bytes *drops;
    struct collection_change change;
};

static status choose(struct command *command, struct removal *removal,
                     const struct index_spec *spec)
{
    struct collection_change *change = &removal->change;
    bytes options = removal->collection->definition.options;
    struct keep keep = keep_read(options);

    if (spec->kind == INDEX_SPEC_ID)
        return command_fail(command, ERROR_InvalidOptions, "cannot drop _id index");
    if (spec->kind != INDEX_SPEC_STAMP) {
        for (size_t i = 0; i < change->drop_count; i++) {
            if (bytes_equal(removal->drops[i], spec->name))
                return STATUS_OK;
        }
        removal->drops[change->drop_count++] = spec->name;
        return STATUS_OK;
    }
    keep.stamp_index = BYTES_NONE;
    change->sets_default_ttl = true;
    change->default_ttl = TTL_OFF;
    change->sets_options = true;
    return keep_write(command->arena, options, &keep, &change->options);
}

static status choose_by_name(struct command *command, struct removal *removal, struct value value)
{
    if (value.type != VALUE_STRING)
        return command_fail(command, ERROR_TypeMismatch,
                            "dropIndexes needs names of indexes as strings, but got %s",
                            value_type_name(value.type));
    bytes name = value_text(value);
    for (size_t i = 0; i < removal->count; i++) {
        if (bytes_equal(removal->specs[i].name, name))
            return choose(command, removal, &removal->specs[i]);
    }
    return command_fail(command, ERROR_IndexNotFound, "index not found with name [%.*s]",
                        (int)name.len, (const char *)name.data);
}

static status choose_by_key(struct command *command, struct removal *removal, bytes key)
{
    const struct index_spec *found = NULL;
    struct buffer shown = buffer_in(command->arena);

    json_write(&shown, key);
    for (size_t i = 0; i < removal->count; i++) {
        if (document_compare(removal->specs[i].key, key) != 0)
            continue;
        if (found)
            return command_fail(command, ERROR_AmbiguousIndexKeyPattern,
                                "%zu indexes found for key: %.*s, identify by name instead: "
                                "'%.*s', '%.*s'",
                                (size_t)2, (int)shown.len, (const char *)shown.data,
                                (int)found->name.len, (const char *)found->name.data,
                                (int)removal->specs[i].name.len,
                                (const char *)removal->specs[i].name.data);
        found = &removal->specs[i];
    }
    if (!found)
        return command_fail(command, ERROR_IndexNotFound, "can't find index with key: %.*s",
                            (int)shown.len, (const char *)shown.data);
    return choose(command, removal, found);
}

static status choose_all(struct command *command, struct removal *removal)
{
    for (size_t i = 0; i < removal->count; i++) {
        if (removal->specs[i].kind != INDEX_SPEC_ID)
            TRY(choose(command, removal, &removal->specs[i]));
    }
    return STATUS_OK;
}

static status choose_wanted(struct command *command, struct removal *removal, struct value wanted)
{
    struct field field;

    if (wanted.type == VALUE_STRING && bytes_equal(value_text(wanted), BYTES_LITERAL("*")))
        return choose_all(command, removal);
    if (wanted.type == VALUE_DOCUMENT)
        return choose_by_key(command, removal, value_document(wanted));
    if (wanted.type != VALUE_ARRAY)
        return choose_by_name(command, removal, wanted);
    struct document_walk walk = document_fields(value_document(wanted));
    while (document_next(&walk, &field))
        TRY(choose_by_name(command, removal, field.value));
    return STATUS_OK;
}

/* CONFLICT: somebody else has changed the collection meanwhile. */
static status drop_chosen(struct command *command, struct value wanted, size_t *count_out)
{
    struct removal removal = { 0 };
    bytes name;

    TRY(need_collection(command, &name, &removal.collection));
    TRY(index_spec_list(command, removal.collection, &removal.specs, &removal.count));
    TRY(ARENA_NEW(command->arena, removal.count, &removal.drops));
    TRY(choose_wanted(command, &removal, wanted));
    removal.change.drops = removal.drops;
    removal.change.if_version = removal.collection->version;
    if (removal.change.drop_count > 0 || removal.change.sets_default_ttl) {
        status s = collection_change(command->face->engine, command->arena, command->database, name,
                                     &removal.change);
        if (s.code == NOT_FOUND)
            return command_fail(command, ERROR_IndexNotFound, "%s", s.message);
        TRY(s);
    }
    *count_out = removal.count;
    return STATUS_OK;
}

status serve_drop_indexes(struct command *command)
{
    static const struct argument table[] = {
        {"index", ARGUMENT_ANY, true},
    };
    struct value given[ARRAY_COUNT(table)];
    size_t count = 0;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    status s = drop_chosen(command, given[0], &count);
    for (int i = 0; i < COMMAND_CHANGE_TRIES && s.code == CONFLICT; i++) {
        TRY(command_renew(command));
        s = drop_chosen(command, given[0], &count);
    }
    TRY(s);
    reply_int32(&command->reply, "nIndexesWas", (int32_t)count);
    return STATUS_OK;
}

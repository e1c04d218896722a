/* Container definition: from what a client sends to what is stored, one property after the other.
 *
 * A table has a row per property: its type, and, where there is more to it than to keep and show it, a function
 * that checks it, fills in defaults and says what it means to the engine. A replace takes what it does not
 * mention from the old definition (C-8); the partition key and unique keys never change.
 *
 * Keeps: nothing is changed by reading, so a bad definition leaves everything as it was.
 * Pure apart from the call. Start reading at container_definition_read(). */
#include <inttypes.h>
#include <stdio.h>

#include "front/cosmos/container.h"
#include "front/cosmos/container_path.h"
#include "front/cosmos/stored.h"

struct definition_reader {
    struct call *call;
    bytes old; /* document of the old definition; empty if there is none */
    struct buffer out;
    struct container_definition *definition;
};

/* ---- small things ----------------------------------------------------------------------------------- */

static struct value find_set(bytes document, const char *name)
{
    struct value value = { .type = VALUE_MISSING };

    if (document.len == 0 || !document_find(document, name, &value) || value.type == VALUE_NULL)
        return (struct value){ .type = VALUE_MISSING };
    return value;
}

static bool is_text(struct value value, const char *text)
{
    return value.type == VALUE_STRING && bytes_equal(value_text(value), bytes_of_text(text));
}

/* Paths of a list as dotted texts; `what` begins the sentence about a bad one. */
struct path_rule {
    const char *what;
    size_t count_max;
};

static status read_paths(struct call *call, struct value list, const struct path_rule *rule,
                         bytes *out, size_t *count_out)
{
    struct field element;

    *count_out = 0;
    if (list.type != VALUE_ARRAY)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The property 'paths' of the %s must be an array of paths, such as "
                         "[\"/id\"].",
                         rule->what);
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &element)) {
        bytes text = element.value.type == VALUE_STRING ? value_text(element.value) : BYTES_NONE;
        struct path_fault fault;
        if (*count_out == rule->count_max)
            return call_fail(call, FAIL_BAD_REQUEST, "The %s has more than %zu paths.", rule->what,
                             rule->count_max);
        TRY(container_path_read(call->arena, text, PATH_PROPERTY, &out[*count_out], &fault));
        if (fault.why)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The %s component definition path '%.*s' could not be accepted, "
                             "failed near position '%zu': %s.",
                             rule->what, (int)text.len, (const char *)text.data, fault.position,
                             fault.why);
        for (size_t i = 0; i < *count_out; i++) {
            if (bytes_equal(out[i], out[*count_out]))
                return call_fail(call, FAIL_BAD_REQUEST, "The %s has the path '%.*s' twice.",
                                 rule->what, (int)text.len, (const char *)text.data);
        }
        ++*count_out;
    }
    if (*count_out == 0)
        return call_fail(call, FAIL_BAD_REQUEST, "The %s has no paths.", rule->what);
    return STATUS_OK;
}

/* ---- partition key ---------------------------------------------------------------------------------- */

/* What a container without a partition key is shown with, so that clients know that they need none. */
static void append_system_key(struct buffer *out)
{
    size_t begun = document_begin_inner(out, VALUE_DOCUMENT, BYTES_LITERAL("partitionKey"));
    size_t paths = document_begin_inner(out, VALUE_ARRAY, BYTES_LITERAL("paths"));

    document_append_text(out, "0", BYTES_LITERAL("/_partitionKey"));
    document_end(out, paths);
    document_append_text(out, "kind", BYTES_LITERAL("Hash"));
    document_append_bool(out, "systemKey", true);
    document_end(out, begun);
}

static status read_kind(struct call *call, bytes key, bool *is_multiple_out)
{
    struct value kind = find_set(key, "kind");

    *is_multiple_out = is_text(kind, "MultiHash");
    if (kind.type == VALUE_MISSING || is_text(kind, "Hash") || *is_multiple_out)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The 'kind' of the partition key must be \"Hash\" or \"MultiHash\".");
}

/* 0: not said. Several paths are only known to version 2. */
static status read_version(struct call *call, bytes key, bool is_multiple, int64_t *out)
{
    struct value version = find_set(key, "version");

    *out = is_multiple ? 2 : 0;
    if (version.type == VALUE_MISSING)
        return STATUS_OK;
    if (!value_as_int64(version, out) || *out < 1 || *out > 2 || (is_multiple && *out != 2))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'version' of the partition key must be 1 or 2, and 2 with "
                         "\"MultiHash\".");
    return STATUS_OK;
}

static status append_partition_key(struct definition_reader *r, bytes key)
{
    struct container_definition *definition = r->definition;
    struct path_rule rule = { "partition key", 1 };
    struct value paths = find_set(key, "paths"), system = find_set(key, "systemKey");
    bool is_multiple;
    int64_t version;

    TRY(read_kind(r->call, key, &is_multiple));
    TRY(read_version(r->call, key, is_multiple, &version));
    if (is_multiple)
        rule.count_max = LIMIT_PARTITION_KEY_PATHS;
    TRY(read_paths(r->call, paths, &rule, definition->partition_paths,
                   &definition->partition_path_count));
    if (system.type == VALUE_BOOL && system.raw.data[0] != 0) {
        definition->partition_path_count = 0;
        append_system_key(&r->out);
        return STATUS_OK;
    }
    size_t begun = document_begin_inner(&r->out, VALUE_DOCUMENT, BYTES_LITERAL("partitionKey"));
    document_append(&r->out, BYTES_LITERAL("paths"), paths);
    document_append_text(&r->out, "kind", bytes_of_text(is_multiple ? "MultiHash" : "Hash"));
    if (version)
        document_append_int64(&r->out, "version", version);
    document_end(&r->out, begun);
    return STATUS_OK;
}

/* Does the client mean the partition key that the container has? What it leaves out does not differ. */
static bool is_same_key(bytes given, bytes old)
{
    struct value paths = find_set(given, "paths"), kind = find_set(given, "kind");
    struct value version = find_set(given, "version");
    int64_t number = 0, old_number = 1;

    if (paths.type != VALUE_MISSING && value_compare(paths, find_set(old, "paths")) != 0)
        return false;
    if (kind.type != VALUE_MISSING && value_compare(kind, find_set(old, "kind")) != 0)
        return false;
    (void)value_as_int64(find_set(old, "version"), &old_number);
    return version.type == VALUE_MISSING ||
           (value_as_int64(version, &number) && number == old_number);
}

static status read_partition_key(struct definition_reader *r, struct value given)
{
    struct value old = find_set(r->old, "partitionKey");

    if (old.type == VALUE_DOCUMENT) {
        if (!is_same_key(value_document(given), value_document(old)))
            return call_fail(r->call, FAIL_BAD_REQUEST,
                             "The partition key of a container cannot be changed; create another "
                             "container.");
        return append_partition_key(r, value_document(old));
    }
    if (given.type == VALUE_MISSING) {
        append_system_key(&r->out);
        return STATUS_OK;
    }
    return append_partition_key(r, value_document(given));
}

/* ---- unique keys ------------------------------------------------------------------------------------ */

static status read_unique_key(struct definition_reader *r, struct value element)
{
    struct container_definition *definition = r->definition;
    static const struct path_rule rule = { "unique key", UNIQUE_KEY_PATHS_MAX };

    if (element.type != VALUE_DOCUMENT)
        return call_fail(r->call, FAIL_BAD_REQUEST,
                         "Each of the 'uniqueKeys' must be an object {\"paths\": [...]}.");
    if (definition->unique_key_count == UNIQUE_KEYS_MAX)
        return call_fail(r->call, FAIL_BAD_REQUEST, "A container has at most %d unique keys.",
                         UNIQUE_KEYS_MAX);
    struct unique_key *key = &definition->unique_keys[definition->unique_key_count++];
    return read_paths(r->call, find_set(value_document(element), "paths"), &rule, key->paths,
                      &key->count);
}

/* Missing and empty lists are the same. */
static bool is_same_list(struct value a, struct value b)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    struct value empty = { VALUE_ARRAY, bytes_of(nothing, sizeof(nothing)) };

    return value_compare(a.type == VALUE_MISSING ? empty : a,
                         b.type == VALUE_MISSING ? empty : b) == 0;
}

static status read_unique_keys(struct definition_reader *r, struct value given)
{
    struct value old = find_set(r->old, "uniqueKeyPolicy");
    struct value keys = { .type = VALUE_MISSING }, old_keys = keys;
    struct field element;

    if (given.type != VALUE_MISSING)
        keys = find_set(value_document(given), "uniqueKeys");
    if (old.type == VALUE_DOCUMENT)
        old_keys = find_set(value_document(old), "uniqueKeys");
    if (keys.type != VALUE_MISSING && keys.type != VALUE_ARRAY)
        return call_fail(r->call, FAIL_BAD_REQUEST,
                         "The property 'uniqueKeys' of the unique key policy must be an array.");
    if (r->old.len > 0 && given.type != VALUE_MISSING && !is_same_list(keys, old_keys))
        return call_fail(r->call, FAIL_BAD_REQUEST,
                         "The unique keys of a container cannot be changed; create another "
                         "container.");
    if (keys.type == VALUE_ARRAY) {
        struct document_walk walk = document_fields(value_document(keys));
        while (document_next(&walk, &element))
            TRY(read_unique_key(r, element.value));
    }
    document_append(&r->out, BYTES_LITERAL("uniqueKeyPolicy"), given);
    return STATUS_OK;
}

/* ---- the others ------------------------------------------------------------------------------------- */

static status read_policy(struct definition_reader *r, struct value given)
{
    return indexing_policy_read(r->call, given, &r->out, &r->definition->policy);
}

static status read_conflict_policy(struct definition_reader *r, struct value given)
{
    if (given.type == VALUE_DOCUMENT) {
        const struct value mode = find_set(value_document(given), "mode");
        if (mode.type != VALUE_MISSING && !is_text(mode, "LastWriterWins") &&
            !is_text(mode, "Custom"))
            return call_fail(r->call, FAIL_BAD_REQUEST,
                             "The 'mode' of the conflict resolution policy must be "
                             "\"LastWriterWins\" or \"Custom\".");
        document_append(&r->out, BYTES_LITERAL("conflictResolutionPolicy"), given);
        return STATUS_OK;
    }
    size_t begun = document_begin_inner(&r->out, VALUE_DOCUMENT,
                                        BYTES_LITERAL("conflictResolutionPolicy"));
    document_append_text(&r->out, "mode", BYTES_LITERAL("LastWriterWins"));
    document_append_text(&r->out, "conflictResolutionPath", BYTES_LITERAL("/_ts"));
    document_append_text(&r->out, "conflictResolutionProcedure", BYTES_LITERAL(""));
    document_end(&r->out, begun);
    return STATUS_OK;
}

static status read_geospatial(struct definition_reader *r, struct value given)
{
    struct value type = { .type = VALUE_MISSING };

    if (given.type == VALUE_DOCUMENT)
        type = find_set(value_document(given), "type");
    if (type.type != VALUE_MISSING && !is_text(type, "Geography") && !is_text(type, "Geometry"))
        return call_fail(r->call, FAIL_BAD_REQUEST,
                         "The 'type' of the geospatial configuration must be \"Geography\" or "
                         "\"Geometry\".");
    size_t begun = document_begin_inner(&r->out, VALUE_DOCUMENT, BYTES_LITERAL("geospatialConfig"));
    document_append_text(&r->out, "type",
                         bytes_of_text(is_text(type, "Geometry") ? "Geometry" : "Geography"));
    document_end(&r->out, begun);
    return STATUS_OK;
}

static status read_analytical_ttl(struct definition_reader *r, struct value given)
{
    int64_t seconds;

    if (given.type == VALUE_MISSING)
        return STATUS_OK;
    if (!value_as_int64(given, &seconds) || seconds < -1 || seconds > LIMIT_TTL_SECONDS)
        return call_fail(r->call, FAIL_BAD_REQUEST,
                         "The property 'analyticalStorageTtl' must be -1, 0 or a whole number up "
                         "to %d.",
                         LIMIT_TTL_SECONDS);
    document_append_int64(&r->out, "analyticalStorageTtl", seconds);
    return STATUS_OK;
}

static status read_computed(struct definition_reader *r, struct value given)
{
    if (given.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(container_computed_check(r->call, given));
    document_append(&r->out, BYTES_LITERAL("computedProperties"), given);
    return STATUS_OK;
}

/* ---- the table -------------------------------------------------------------------------------------- */

struct property {
    const char *name;
    enum value_type type; /* VALUE_MISSING: the function says */
    /* Appends it to r->out; `given` is of the type, or VALUE_MISSING. NULL: kept and shown as it is. */
    status (*read)(struct definition_reader *r, struct value given);
};

static const struct property properties[] = {
    {"indexingPolicy",              VALUE_DOCUMENT, read_policy         },
    { "partitionKey",               VALUE_DOCUMENT, read_partition_key  },
    { "uniqueKeyPolicy",            VALUE_DOCUMENT, read_unique_keys    },
    { "conflictResolutionPolicy",   VALUE_DOCUMENT, read_conflict_policy},
    { "geospatialConfig",           VALUE_DOCUMENT, read_geospatial     },
    { "analyticalStorageTtl",       VALUE_MISSING,  read_analytical_ttl },
    { "changeFeedPolicy",           VALUE_DOCUMENT, NULL                },
    { "clientEncryptionPolicy",     VALUE_DOCUMENT, NULL                },
    { "computedProperties",         VALUE_ARRAY,    read_computed       },
    { "dataMaskingPolicy",          VALUE_DOCUMENT, NULL                },
    { "fullTextPolicy",             VALUE_DOCUMENT, NULL                },
    { "materializedViewDefinition", VALUE_DOCUMENT, NULL                },
    { "vectorEmbeddingPolicy",      VALUE_DOCUMENT, NULL                },
};

static status read_property(struct definition_reader *r, bytes body, const struct property *row)
{
    struct value given = find_set(body, row->name);

    if (given.type == VALUE_MISSING)
        given = find_set(r->old, row->name);
    if (given.type != VALUE_MISSING && row->type != VALUE_MISSING && given.type != row->type)
        return call_fail(r->call, FAIL_BAD_REQUEST, "The property '%s' must be an %s.", row->name,
                         row->type == VALUE_ARRAY ? "array" : "object");
    if (row->read)
        return row->read(r, given);
    document_append(&r->out, bytes_of_text(row->name), given);
    return STATUS_OK;
}

status container_definition_read(struct call *call, bytes body, bytes old,
                                 struct container_definition *out)
{
    struct definition_reader reader = {
        .call = call, .old = old, .out = buffer_in(call->arena), .definition = out
    };

    *out = (struct container_definition){ 0 };
    size_t begun = document_begin(&reader.out);
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        TRY(read_property(&reader, body, &properties[i]));
    document_end(&reader.out, begun);
    TRY(buffer_finish(&reader.out, &out->document));
    return container_vectors_check(call, out->document, old);
}

/* ---- what another face has made --------------------------------------------------------------------- */

static void append_path(struct buffer *out, size_t place, bytes dotted)
{
    const char *name = arena_format(out->arena, "%zu", place);
    struct buffer path = buffer_in(out->arena);
    bytes text;

    buffer_append_byte(&path, '/');
    for (size_t i = 0; i < dotted.len; i++)
        buffer_append_byte(&path, dotted.data[i] == '.' ? '/' : dotted.data[i]);
    if (!name || buffer_finish(&path, &text).code != OK)
        out->is_failed = true;
    else
        document_append_text(out, name, text);
}

static status default_body(struct call *call, const struct collection *collection, bytes *out)
{
    size_t count = collection->definition.partition_path_count;
    struct buffer body = buffer_in(call->arena);
    size_t begun = document_begin(&body);

    if (count > 0) {
        size_t key = document_begin_inner(&body, VALUE_DOCUMENT, BYTES_LITERAL("partitionKey"));
        size_t paths = document_begin_inner(&body, VALUE_ARRAY, BYTES_LITERAL("paths"));
        for (size_t i = 0; i < count; i++)
            append_path(&body, i, collection->definition.partition_paths[i]);
        document_end(&body, paths);
        document_append_text(&body, "kind", bytes_of_text(count > 1 ? "MultiHash" : "Hash"));
        document_end(&body, key);
    }
    document_end(&body, begun);
    return buffer_finish(&body, out);
}

status container_definition_of(struct call *call, const struct collection *collection, bytes *out)
{
    struct container_definition definition;
    bytes body;

    *out = stored_definition(collection->definition.options);
    if (out->len > 0)
        return STATUS_OK;
    TRY(default_body(call, collection, &body));
    TRY(container_definition_read(call, body, BYTES_NONE, &definition));
    *out = definition.document;
    return STATUS_OK;
}

/* ---- time to live ----------------------------------------------------------------------------------- */

status container_default_ttl(struct call *call, bytes body, int32_t *out)
{
    struct value given = find_set(body, "defaultTtl");
    struct buffer text = buffer_in(call->arena);
    int64_t seconds;

    *out = TTL_OFF;
    if (given.type == VALUE_MISSING)
        return STATUS_OK;
    if (value_as_int64(given, &seconds) &&
        (seconds == TTL_NEVER || (seconds >= 1 && seconds <= LIMIT_TTL_SECONDS))) {
        *out = (int32_t)seconds;
        return STATUS_OK;
    }
    json_write_value(&text, given);
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The input defaultTtl '%.*s' is invalid. Ensure to provide a nonzero positive "
                     "integer less than or equal to '%d', or '-1' which means never expire.",
                     (int)text.len, (const char *)text.data, LIMIT_TTL_SECONDS);
}

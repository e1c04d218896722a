/* Index spec: indexes between clients and the engine.
 *
 * The engine keeps fields, uniqueness, sparseness, a predicate and an expiry; everything else that a client
 * said is kept in the options of the index and listed again; what its kind means stands in index_kind.c. An expiry
 * on an index that is not of plain values is kept with the options too, because it never ends a document (M-13).
 *
 * The index on _ts with an expiry is not an index of the engine: it is the collection's default time to live.
 * Its name is kept in the options of the collection (keep.c).
 *
 * Threads: the command's. Start reading at index_spec_list(). */
#include "front/mongo/index_spec.h"

#include "front/mongo/filter.h"
#include "front/mongo/index_kind.h"
#include "front/mongo/keep.h"

#define OWN_KEY "mongo"
bool mongo_index_predicate(void *context, bytes predicate, bytes document)
{
    return filter_predicate(context, predicate, document);
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static bool has_one_field(bytes key, struct field *out)
{
    struct document_walk walk = document_fields(key);
    struct field second;

    return document_next(&walk, out) && !document_next(&walk, &second);
}

bool index_spec_is_on_stamp(bytes key)
{
    struct field field;

    return has_one_field(key, &field) && bytes_equal(field.name, BYTES_LITERAL("_ts")) &&
           value_is_number(field.value);
}

bool index_spec_is_single(const struct index_spec *spec)
{
    struct field field;

    return spec->kind != INDEX_SPEC_ID && has_one_field(spec->key, &field);
}

bool index_spec_never_expires(const struct index_spec *spec)
{
    return spec->has_expiry && (spec->kind == INDEX_SPEC_HASHED || spec->kind == INDEX_SPEC_TEXT ||
                                spec->kind == INDEX_SPEC_PLACES || spec->kind == INDEX_SPEC_IDLE);
}

static bool same_document(bytes a, bytes b)
{
    if (a.len == 0 || b.len == 0)
        return a.len == b.len;
    return document_compare(a, b) == 0;
}

/* Options that make an index another one. */
static bool has_same_others(const struct index_spec *a, const struct index_spec *b)
{
    static const char *const names[] = { "wildcardProjection", "weights", "default_language",
                                         "language_override" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct value of_a = { 0 }, of_b = { 0 };
        if (a->others.len)
            document_find(a->others, names[i], &of_a);
        if (b->others.len)
            document_find(b->others, names[i], &of_b);
        if (value_compare(of_a, of_b) != 0)
            return false;
    }
    return true;
}

bool index_spec_is_same(struct arena *arena, const struct index_spec *a, const struct index_spec *b)
{
    return same_document(a->key, b->key) && a->is_unique == b->is_unique &&
           a->is_sparse == b->is_sparse && same_document(a->collation, b->collation) &&
           filter_is_same(arena, a->partial, b->partial) && has_same_others(a, b);
}

bool index_spec_has_same_options(const struct index_spec *a, const struct index_spec *b)
{
    return a->has_expiry == b->has_expiry &&
           (!a->has_expiry || a->expire_after_s == b->expire_after_s);
}

/* ---- from the catalog ------------------------------------------------------------------------------- */

static bool find_flag(bytes row, const char *name)
{
    struct value value;

    return document_find(row, name, &value) && argument_flag(value, false);
}

static bytes find_inner(bytes row, const char *name)
{
    struct value value;

    return document_find(row, name, &value) && value.type == VALUE_DOCUMENT ? value_document(value)
                                                                            : BYTES_NONE;
}

bool index_spec_is_wildcard(const struct index_spec *spec)
{
    return spec->kind == INDEX_SPEC_WILDCARD;
}

static bool is_told_apart(bytes name)
{
    static const char *const names[] = { "v",
                                         "key",
                                         "name",
                                         "unique",
                                         "sparse",
                                         "hidden",
                                         "partialFilterExpression",
                                         "collation",
                                         "expireAfterSeconds" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    }
    return false;
}

static status take_others(struct arena *arena, bytes row, bytes *out)
{
    struct document_walk walk = document_fields(row);
    struct buffer others = buffer_in(arena);
    size_t begun = document_begin(&others), count = 0;
    struct field field;

    *out = BYTES_NONE;
    while (document_next(&walk, &field)) {
        if (is_told_apart(field.name))
            continue;
        document_append(&others, field.name, field.value);
        count++;
    }
    document_end(&others, begun);
    return count > 0 ? buffer_finish(&others, out) : STATUS_OK;
}

/* A row as index_spec_append has written it. */
static status read_row(struct arena *arena, bytes row, struct index_spec *out)
{
    struct value value;
    int64_t number;

    *out = (struct index_spec){ .key = find_inner(row, "key"),
                                .version = 2,
                                .is_unique = find_flag(row, "unique"),
                                .is_sparse = find_flag(row, "sparse"),
                                .is_hidden = find_flag(row, "hidden"),
                                .partial = find_inner(row, "partialFilterExpression"),
                                .collation = find_inner(row, "collation") };
    if (document_find(row, "name", &value) && value.type == VALUE_STRING)
        out->name = value_text(value);
    if (document_find(row, "v", &value) && value_as_int64(value, &number))
        out->version = (int32_t)number;
    if (document_find(row, "expireAfterSeconds", &value) && value_as_int64(value, &number)) {
        out->has_expiry = true;
        out->expire_after_s = (int32_t)number;
    }
    out->kind = index_kind_of(out->key);
    return take_others(arena, row, &out->others);
}

static bytes row_of(const struct index *index)
{
    bytes options = index->definition.options;

    return options.len > 0 ? find_inner(options, OWN_KEY) : BYTES_NONE;
}

bytes index_key_pattern(const struct index *index)
{
    bytes row = row_of(index);

    return row.len > 0 ? find_inner(row, "key") : BYTES_NONE;
}

bool index_is_usable(const struct index *index)
{
    bytes row = row_of(index);

    if (index->state != INDEX_READY)
        return false;
    return row.len == 0 ||
           (!find_flag(row, "hidden") &&
            !bytes_equal(index->definition.predicate, BYTES_LITERAL(INDEX_NO_DOCUMENT)));
}

static status read_index(struct arena *arena, const struct index *index, struct index_spec *out)
{
    TRY(read_row(arena, row_of(index), out));
    out->index = index;
    if (index->definition.expire_after_s != INDEX_NO_EXPIRY) {
        out->has_expiry = true;
        out->expire_after_s = index->definition.expire_after_s;
    }
    return STATUS_OK;
}

static status make_key(struct arena *arena, const char *name, bytes *out)
{
    struct buffer key = buffer_in(arena);
    size_t begun = document_begin(&key);

    reply_int32(&key, name, 1);
    document_end(&key, begun);
    return buffer_finish(&key, out);
}

/* One that another face has switched on has no row. */
static status read_stamp(struct arena *arena, const struct collection *collection,
                         struct index_spec *out)
{
    bytes row = keep_read(collection->definition.options).stamp_index;

    if (row.len > 0) {
        TRY(read_row(arena, row, out));
    } else {
        *out = (struct index_spec){ .name = BYTES_LITERAL("_ts_1"), .version = 2 };
        TRY(make_key(arena, "_ts", &out->key));
    }
    out->kind = INDEX_SPEC_STAMP;
    out->has_expiry = true;
    out->expire_after_s = collection->definition.default_ttl;
    return STATUS_OK;
}

status index_spec_list(struct command *command, const struct collection *collection,
                       struct index_spec **out, size_t *count_out)
{
    struct arena *arena = command->arena;
    size_t count = 0;

    TRY(ARENA_NEW(arena, collection->index_count + 2, out));
    struct index_spec *specs = *out;
    if (keep_option(collection, "timeseries").type == VALUE_MISSING) {
        specs[count] = (struct index_spec){ .kind = INDEX_SPEC_ID,
                                            .name = BYTES_LITERAL("_id_"),
                                            .version = 2 };
        if (collection->definition.collation)
            specs[count].collation = collation_document(collection->definition.collation);
        TRY(make_key(arena, "_id", &specs[count].key));
        specs[count++].others = keep_read(collection->definition.options).id_index;
    }
    if (collection->definition.default_ttl != TTL_OFF)
        TRY(read_stamp(arena, collection, &specs[count++]));
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (row_of(index).len > 0 && index->state != INDEX_FAILED)
            TRY(read_index(arena, index, &specs[count++]));
    }
    *count_out = count;
    return STATUS_OK;
}

/* ---- to the client ---------------------------------------------------------------------------------- */

void index_spec_append(struct buffer *out, const struct index_spec *spec)
{
    struct field field;

    reply_int32(out, "v", spec->version);
    reply_document(out, "key", spec->key);
    reply_bytes(out, "name", spec->name);
    if (spec->is_unique)
        reply_bool(out, "unique", true);
    if (spec->is_sparse)
        reply_bool(out, "sparse", true);
    if (spec->partial.len > 0)
        reply_document(out, "partialFilterExpression", spec->partial);
    if (spec->has_expiry)
        reply_int32(out, "expireAfterSeconds", spec->expire_after_s);
    if (spec->collation.len > 0)
        reply_document(out, "collation", spec->collation);
    if (spec->is_hidden)
        reply_bool(out, "hidden", true);
    if (spec->others.len == 0)
        return;
    struct document_walk walk = document_fields(spec->others);
    while (document_next(&walk, &field))
        document_append(out, field.name, field.value);
}

static status write_row(struct arena *arena, const struct index_spec *spec, bytes *out)
{
    struct buffer row = buffer_in(arena);
    size_t begun = document_begin(&row);

    index_spec_append(&row, spec);
    document_end(&row, begun);
    return buffer_finish(&row, out);
}

const char *index_spec_text(struct command *command, const struct index_spec *spec)
{
    struct buffer text = buffer_in(command->arena);
    bytes row, line;

    if (write_row(command->arena, spec, &row).code != OK)
        return spec->name.len ? "an index" : "";
    json_write(&text, row);
    buffer_append_byte(&text, 0);
    return buffer_finish(&text, &line).code == OK ? (const char *)line.data : "an index";
}

/* ---- to the engine ---------------------------------------------------------------------------------- */

status index_spec_options(struct arena *arena, const struct index_spec *spec, bytes *out)
{
    struct index_spec kept = *spec;
    struct buffer options = buffer_in(arena);
    size_t begun = document_begin(&options);

    kept.has_expiry = index_spec_never_expires(spec); /* otherwise the engine knows it */
    size_t row = reply_begin(&options, OWN_KEY);
    index_spec_append(&options, &kept);
    document_end(&options, row);
    document_end(&options, begun);
    return buffer_finish(&options, out);
}

status index_spec_row(struct arena *arena, const struct index_spec *spec, bytes *out)
{
    return write_row(arena, spec, out);
}

status index_spec_define(struct command *command, const struct index_spec *spec,
                         struct index_definition *out)
{
    *out = (struct index_definition){
        .name = spec->name,
        .kind = INDEX_FIELDS,
        .is_unique = spec->is_unique,
        .is_sparse = spec->is_sparse,
        .is_partial = spec->partial.len > 0,
        .predicate = spec->partial,
        .collation = spec->kind == INDEX_SPEC_IDLE ? NULL : spec->by,
        .is_missing_null = true,
        .expire_after_s = spec->has_expiry && !index_spec_never_expires(spec) ? spec->expire_after_s
                                                                              : INDEX_NO_EXPIRY,
    };
    TRY(index_kind_define(command, spec, out));
    return index_spec_options(command->arena, spec, &out->options);
}

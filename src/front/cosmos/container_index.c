/* Container index: what an indexing policy and unique keys are in the engine.
 *
 * One index over path patterns stands for the policy, one ranked index for each composite one, and one unique index
 * within each partition key for each unique key. Their names begin with a dollar sign, which no client's index
 * has. An index is built anew only if its patterns or its mode change, or if that is asked for. The name of a
 * composite index says what it holds, so that one which stays in the policy stays as it is.
 *
 * Pure apart from the call. */
#include <inttypes.h>

#include "base/limits.h"
#include "front/cosmos/container.h"

#define PATHS_INDEX "$paths"
#define UNIQUE_INDEX "$unique%zu"
#define COMPOSITE_INDEX "$composite"

const struct index *container_path_index(const struct collection *collection)
{
    return collection_index(collection, BYTES_LITERAL(PATHS_INDEX));
}

static struct index_definition paths_definition(const struct indexing_policy *policy)
{
    return (struct index_definition){
        .name = BYTES_LITERAL(PATHS_INDEX),
        .kind = INDEX_PATHS,
        .is_lazy = policy->mode == INDEXING_LAZY,
        .is_shaped = true,
        .expire_after_s = INDEX_NO_EXPIRY,
        .included = policy->included,
        .included_count = policy->included_count,
        .excluded = policy->excluded,
        .excluded_count = policy->excluded_count,
    };
}

static status unique_definition(struct call *call, const struct unique_key *key, size_t number,
                                struct index_definition *out)
{
    const char *name = arena_format(call->arena, UNIQUE_INDEX, number);
    struct index_field *fields;

    if (!name)
        return arena_exhausted(call->arena);
    TRY(ARENA_NEW(call->arena, key->count, &fields));
    for (size_t i = 0; i < key->count; i++)
        fields[i] = (struct index_field){ .path = key->paths[i], .order = KEY_ASCENDING };
    *out = (struct index_definition){
        .name = bytes_of_text(name),
        .kind = INDEX_FIELDS,
        .is_unique = true,
        .is_per_partition = true,
        .is_missing_null = true,
        .expire_after_s = INDEX_NO_EXPIRY,
        .field_count = key->count,
        .fields = fields,
    };
    return STATUS_OK;
}

/* A hash stands for paths that are too long for a name. */
static status composite_name(struct call *call, const struct composite_index *composite, bytes *out)
{
    struct buffer name = buffer_in(call->arena);
    const size_t room = LIMIT_NAME_BYTES - 64;

    buffer_append_text(&name, COMPOSITE_INDEX);
    for (size_t i = 0; i < composite->count; i++) {
        buffer_append_text(&name, composite->is_descending[i] ? " -" : " +");
        buffer_append(&name, composite->paths[i]);
    }
    TRY(buffer_finish(&name, out));
    if (out->len <= room)
        return STATUS_OK;
    uint64_t hash = bytes_hash(*out, 1);
    name.len = room;
    buffer_append_format(&name, " %" PRIx64 "%" PRIx64, hash, bytes_hash(*out, hash));
    return buffer_finish(&name, out);
}

static status composite_definition(struct call *call, const struct indexing_policy *policy,
                                   const struct composite_index *composite,
                                   struct index_definition *out)
{
    struct index_field *fields;

    *out = (struct index_definition){
        .kind = INDEX_FIELDS,
        .is_ranked = true,
        .is_lazy = policy->mode == INDEXING_LAZY,
        .expire_after_s = INDEX_NO_EXPIRY,
        .field_count = composite->count,
    };
    TRY(ARENA_NEW(call->arena, composite->count, &fields));
    for (size_t i = 0; i < composite->count; i++)
        fields[i] = (struct index_field){
            .path = composite->paths[i],
            .order = composite->is_descending[i] ? KEY_DESCENDING : KEY_ASCENDING,
        };
    out->fields = fields;
    return composite_name(call, composite, &out->name);
}

/* The policy's indexes: that over its paths, and the composite ones, each once. */
static status policy_definitions(struct call *call, const struct indexing_policy *policy,
                                 struct container_indexes *out)
{
    if (policy->mode == INDEXING_NONE)
        return STATUS_OK;
    out->definitions[out->count++] = paths_definition(policy);
    for (size_t i = 0; i < policy->composite_count; i++) {
        struct index_definition *fresh = &out->definitions[out->count];
        bool is_twice = false;
        TRY(composite_definition(call, policy, &policy->composites[i], fresh));
        for (size_t j = 0; j < out->count; j++)
            is_twice |= bytes_equal(out->definitions[j].name, fresh->name);
        out->count += !is_twice;
    }
    return STATUS_OK;
}

status container_indexes_make(struct call *call, const struct container_definition *definition,
                              struct container_indexes *out)
{
    *out = (struct container_indexes){ 0 };
    TRY(policy_definitions(call, &definition->policy, out));
    for (size_t i = 0; i < definition->unique_key_count; i++)
        TRY(unique_definition(call, &definition->unique_keys[i], i,
                              &out->definitions[out->count++]));
    return STATUS_OK;
}

static bool same_patterns(const bytes *a, const bytes *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!bytes_equal(a[i], b[i]))
            return false;
    }
    return true;
}

static bool is_same_index(const struct index_definition *a, const struct index_definition *b)
{
    return a->is_lazy == b->is_lazy && a->is_shaped == b->is_shaped &&
           a->included_count == b->included_count && a->excluded_count == b->excluded_count &&
           same_patterns(a->included, b->included, a->included_count) &&
           same_patterns(a->excluded, b->excluded, a->excluded_count);
}

/* Is it an index of the policy, and not of a unique key? */
static bool is_of_policy(const struct index *index)
{
    return bytes_equal(index->definition.name, BYTES_LITERAL(PATHS_INDEX)) ||
           bytes_starts_with(index->definition.name, BYTES_LITERAL(COMPOSITE_INDEX));
}

static const struct index_definition *find_wanted(const struct container_indexes *wanted,
                                                  bytes name)
{
    for (size_t i = 0; i < wanted->count; i++) {
        if (bytes_equal(wanted->definitions[i].name, name))
            return &wanted->definitions[i];
    }
    return NULL;
}

static bool stays(const struct index *old, const struct index_definition *fresh, bool wants_rebuild)
{
    return fresh && !wants_rebuild && old->state != INDEX_FAILED &&
           is_same_index(&old->definition, fresh);
}

status container_indexes_change(struct call *call, const struct container_definition *definition,
                                bool wants_rebuild, struct collection_change *change)
{
    const struct collection *collection = call->collection;
    struct container_indexes *wanted;
    struct index_definition *adds;
    bytes *drops;

    TRY(ARENA_NEW(call->arena, 1, &wanted));
    TRY(policy_definitions(call, &definition->policy, wanted));
    TRY(ARENA_NEW(call->arena, wanted->count, &adds));
    TRY(ARENA_NEW(call->arena, collection->index_count, &drops));
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *old = &collection->indexes[i];
        if (is_of_policy(old) &&
            !stays(old, find_wanted(wanted, old->definition.name), wants_rebuild))
            drops[change->drop_count++] = old->definition.name;
    }
    for (size_t i = 0; i < wanted->count; i++) {
        const struct index *old = collection_index(collection, wanted->definitions[i].name);
        if (!old || !stays(old, &wanted->definitions[i], wants_rebuild))
            adds[change->add_count++] = wanted->definitions[i];
    }
    change->drops = drops;
    change->adds = adds;
    return STATUS_OK;
}

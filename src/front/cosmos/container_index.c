/* Container index: what an indexing policy and unique keys are in the engine.
 *
 * One index over path patterns stands for the policy, and one unique index within each partition key for each
 * unique key. Their names begin with a dollar sign, which no client's index has. An index is built anew only if
 * its patterns or its mode change, or if that is asked for.
 *
 * Pure apart from the call. */
#include "front/cosmos/container.h"

#define PATHS_INDEX "$paths"
#define UNIQUE_INDEX "$unique%zu"

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

status container_indexes_make(struct call *call, const struct container_definition *definition,
                              struct container_indexes *out)
{
    *out = (struct container_indexes){ 0 };
    if (definition->policy.mode != INDEXING_NONE)
        out->definitions[out->count++] = paths_definition(&definition->policy);
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

status container_indexes_change(struct call *call, const struct container_definition *definition,
                                bool wants_rebuild, struct collection_change *change)
{
    const struct index *old = container_path_index(call->collection);
    bool is_wanted = definition->policy.mode != INDEXING_NONE;
    struct index_definition fresh = paths_definition(&definition->policy), *add;
    bytes *drop;

    if (old && is_wanted && !wants_rebuild && old->state != INDEX_FAILED &&
        is_same_index(&old->definition, &fresh))
        return STATUS_OK;
    TRY(ARENA_NEW(call->arena, 1, &add));
    TRY(ARENA_NEW(call->arena, 1, &drop));
    *drop = BYTES_LITERAL(PATHS_INDEX);
    *add = fresh;
    change->drops = drop;
    change->drop_count = old ? 1 : 0;
    change->adds = add;
    change->add_count = is_wanted ? 1 : 0;
    return STATUS_OK;
}

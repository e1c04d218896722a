/* Set: byte strings, each once, found by hash.
 *
 * Open addressing over a table of numbers that doubles before it is three quarters full; what was outgrown
 * stays in the arena, which at most doubles what the set takes. Half of a hash stands beside each number, so that what is
 * no member is told without a look at those that are.
 *
 * Threads: belongs to its request. */
#include "query/set.h"

enum { FIRST_SLOTS = 64 };

static uint64_t slot_for(uint64_t hash, size_t number)
{
    return (hash & UINT64_C(0xFFFFFFFF00000000)) | (uint64_t)(number + 1);
}

static size_t number_in(uint64_t slot)
{
    return (size_t)(slot & UINT32_MAX) - 1;
}

struct set set_in(struct arena *arena)
{
    return (struct set){ .arena = arena, .salt = random_salt() };
}

/* The slot of the key, or the free one where it belongs. */
static size_t slot_of(const struct set *set, bytes key, uint64_t hash)
{
    size_t at = (size_t)hash & (set->slot_count - 1);

    while (set->slots[at]) {
        if ((set->slots[at] ^ hash) >> 32 == 0) {
            const struct set_member *member = &set->members[number_in(set->slots[at])];
            if (member->hash == hash && bytes_equal(member->key, key))
                return at;
        }
        at = (at + 1) & (set->slot_count - 1);
    }
    return at;
}

static status grow(struct set *set)
{
    size_t count = set->slot_count ? set->slot_count * 2 : FIRST_SLOTS;

    TRY(ARENA_NEW(set->arena, count, &set->slots));
    set->slot_count = count;
    for (size_t i = 0; i < set->count; i++)
        set->slots[slot_of(set, set->members[i].key, set->members[i].hash)] =
            slot_for(set->members[i].hash, i);
    size_t room = count / 4 * 3;
    struct set_member *members;
    TRY(ARENA_NEW(set->arena, room, &members));
    if (set->count)
        memcpy(members, set->members, set->count * sizeof(*members));
    set->members = members;
    set->room = room;
    return STATUS_OK;
}

status set_add(struct set *set, bytes key, size_t *number_out, bool *is_new_out)
{
    uint64_t hash = bytes_hash(key, set->salt);

    *is_new_out = false;
    *number_out = 0;
    if (set->count == LIMIT_QUERY_SET_MEMBERS)
        return status_fail(
            set->arena, TOO_LARGE,
            "the query would have to remember more than %d different values, the limit",
            LIMIT_QUERY_SET_MEMBERS);
    if (set->count == set->room)
        TRY(grow(set));
    size_t slot = slot_of(set, key, hash);
    if (!set->slots[slot]) {
        TRY(arena_copy(set->arena, key, &key));
        set->slots[slot] = slot_for(hash, set->count);
        set->members[set->count++] = (struct set_member){ key, hash };
        *is_new_out = true;
    }
    *number_out = number_in(set->slots[slot]);
    return STATUS_OK;
}

bool set_find(const struct set *set, bytes key, size_t *number_out)
{
    if (set->count == 0)
        return false;
    size_t slot = slot_of(set, key, bytes_hash(key, set->salt));
    *number_out = number_in(set->slots[slot]);
    return set->slots[slot] != 0;
}

/* Names: a few things in a row, many found by hash.
 *
 * The hash is one of open addressing, over a table of pointers that doubles before it is half full; what was outgrown
 * stays in the arena, which at most doubles what the table takes.
 *
 * Threads: belongs to its request while things are added; then every thread may ask. */
#include "query/names.h"

enum { FIRST_ROOM = 4, FIRST_SLOTS = 64 };

struct names {
    void **slots; /* NULL: free */
    size_t slot_count, count;
    uint64_t salt;
    void *first[FIRST_ROOM]; /* the first row of slots */
};

static bytes name_of(const void *thing)
{
    return *(const bytes *)thing;
}

static bool is_hashed(const struct names *names)
{
    return names->slot_count > NAMES_FEW;
}

/* The slot of the name, or the free one where it belongs; in a full row the end. */
static size_t slot_of(const struct names *names, bytes name)
{
    size_t at = 0, mask = names->slot_count - 1;

    if (!is_hashed(names)) {
        while (at < names->count && !bytes_equal(name_of(names->slots[at]), name))
            at++;
        return at;
    }
    at = (size_t)bytes_hash(name, names->salt) & mask;
    while (names->slots[at] && !bytes_equal(name_of(names->slots[at]), name))
        at = (at + 1) & mask;
    return at;
}

static void put(struct names *names, void *thing)
{
    names->slots[slot_of(names, name_of(thing))] = thing;
    names->count++;
}

static status grow(struct names *names, struct arena *arena)
{
    void **old = names->slots;
    size_t old_count = names->slot_count;

    names->slot_count = old_count == NAMES_FEW ? FIRST_SLOTS : old_count * 2;
    names->count = 0;
    TRY(ARENA_NEW(arena, names->slot_count, &names->slots));
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            put(names, old[i]);
    }
    return STATUS_OK;
}

status names_add(struct names **names, struct arena *arena, void *thing)
{
    if (!*names) {
        TRY(ARENA_NEW(arena, 1, names));
        (*names)->salt = random_salt();
        (*names)->slots = (*names)->first;
        (*names)->slot_count = FIRST_ROOM;
    }
    if ((*names)->count >= (*names)->slot_count / (is_hashed(*names) ? 2 : 1))
        TRY(grow(*names, arena));
    put(*names, thing);
    return STATUS_OK;
}

void *names_find(const struct names *names, bytes name)
{
    size_t at = names ? slot_of(names, name) : 0;

    return names && at < names->slot_count ? names->slots[at] : NULL;
}

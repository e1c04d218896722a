/* RocksDB, steps: what a batch does, kept until the commit and then handed over in the order of keys.
 *
 * RocksDB puts every row into a skip list. It remembers where it put the last one, and a row beside that one costs a
 * few comparisons instead of a search through the whole list. The rows of a document lie far from each other (body,
 * locator, index rows), and so do the documents of a group; sorted, the rows of each kind come one behind the other.
 *
 * Keeps: steps on one key stay in the order in which they came. A range delete concerns many keys, so nothing
 * changes places with it: it begins a section, and so does what follows.
 * Threads: belongs to a batch, see rocksdb_write.c. */
#include "storage/rocksdb_steps.h"

#include <endian.h>

enum {
    ITEMS_FIRST = 64,
    DATA_FIRST_BYTES = 16 << 10,
    /* More is given back after a commit. */
    DATA_KEPT_BYTES = 1 << 20,
    /* What RocksDB writes for a step beside key and value: its kind, its space, two lengths. */
    STEP_HEAD_BYTES = 6,
};

static void make_room(struct steps *steps, size_t size)
{
    if (steps->count == steps->item_room) {
        steps->item_room = steps->item_room ? 2 * steps->item_room : ITEMS_FIRST;
        steps->items = memory_resize(steps->items, steps->item_room * sizeof(*steps->items));
        steps->places = memory_resize(steps->places, 2 * steps->item_room * sizeof(*steps->places));
        ASSERT(steps->items != NULL);
        ASSERT(steps->places != NULL);
    }
    if (steps->used + size > steps->data_room) {
        const size_t doubled = steps->data_room ? 2 * steps->data_room : DATA_FIRST_BYTES;
        steps->data_room = steps->used + size > doubled ? steps->used + size : doubled;
        steps->data = memory_resize(steps->data, steps->data_room);
        ASSERT(steps->data != NULL);
    }
}

static void copy(struct steps *steps, bytes from)
{
    if (from.len > 0)
        memcpy(steps->data + steps->used, from.data, from.len);
    steps->used += from.len;
}

void steps_add(struct steps *steps, enum step_kind kind, enum storage_space space, bytes key,
               bytes value)
{
    make_room(steps, key.len + value.len);
    steps->section += kind == STEP_DELETE_RANGE;
    steps->items[steps->count] = (struct step){ .kind = kind,
                                                .space = space,
                                                .section = steps->section,
                                                .at = steps->used,
                                                .key_len = key.len,
                                                .value_len = value.len };
    steps->count++;
    steps->section += kind == STEP_DELETE_RANGE;
    copy(steps, key);
    copy(steps, value);
}

/* ---- handing over ---------------------------------------------------------------------------------- */

static size_t shared_len(const struct step *step, bytes first)
{
    const size_t len = step->key_len < first.len ? step->key_len : first.len;
    size_t at = 0;

    while (at < len && step->key[at] == first.data[at])
        at++;
    return at;
}

/* How many bytes all keys of each space begin with. */
static void find_shared(const struct steps *steps, size_t shared_out[SPACE_COUNT])
{
    bytes first[SPACE_COUNT] = { 0 };

    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->items[i];
        if (first[step->space].data == NULL)
            first[step->space] = bytes_of(step->key, step->key_len);
        else
            first[step->space].len = shared_len(step, first[step->space]);
    }
    for (int i = 0; i < SPACE_COUNT; i++)
        shared_out[i] = first[i].len;
}

/* The next eight bytes as a number that sorts like them. */
static uint64_t word_at(const struct step *step, size_t at)
{
    uint8_t word[8] = { 0 };
    const size_t left = step->key_len - at;
    uint64_t number;

    memcpy(word, step->key + at, left < sizeof(word) ? left : sizeof(word));
    memcpy(&number, word, sizeof(number));
    return be64toh(number);
}

static bool is_before(const struct step_place *a, const struct step_place *b)
{
    if (a->group != b->group)
        return a->group < b->group;
    if (a->word != b->word)
        return a->word < b->word;
    const int order = bytes_compare(bytes_of(a->step->key, a->step->key_len),
                                    bytes_of(b->step->key, b->step->key_len));
    return order != 0 ? order < 0 : a->step < b->step;
}

static void sort_few(struct step_place *places, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct step_place moved = places[i];
        size_t at = i;
        for (; at > 0 && is_before(&moved, &places[at - 1]); at--)
            places[at] = places[at - 1];
        places[at] = moved;
    }
}

/* Two sorted stretches become one; often the second one already lies behind the first. */
static void merge(const struct step_place *left, size_t left_count, size_t right_count,
                  struct step_place *out)
{
    const struct step_place *right = left + left_count, *end = right + right_count;
    const struct step_place *middle = right;

    if (right_count > 0 && is_before(right, middle - 1)) {
        while (left < middle && right < end)
            *out++ = is_before(right, left) ? *right++ : *left++;
    }
    for (; left < middle; left++)
        *out++ = *left;
    for (; right < end; right++)
        *out++ = *right;
}

/* By merging, because rows of a kind come mostly in order. Where the sorted ones are: in `places` or in `spare`. */
static struct step_place *sort_places(struct step_place *places, struct step_place *spare,
                                      size_t count)
{
    enum { FEW = 8 };

    for (size_t at = 0; at < count; at += FEW)
        sort_few(places + at, count - at < FEW ? count - at : FEW);
    for (size_t len = FEW; len < count; len *= 2) {
        for (size_t at = 0; at < count; at += 2 * len) {
            const size_t left = count - at < len ? count - at : len,
                         right = count - at - left < len ? count - at - left : len;
            merge(places + at, left, right, spare + at);
        }
        struct step_place *sorted = spare;
        spare = places;
        places = sorted;
    }
    return places;
}

/* What is compared lies together, so that most comparisons look at nothing else. */
static const struct step_place *sort(struct steps *steps)
{
    size_t shared[SPACE_COUNT];

    find_shared(steps, shared);
    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->items[i];
        steps->places[i] = (struct step_place){ .group = step->section * SPACE_COUNT + step->space,
                                                .word = word_at(step, shared[step->space]),
                                                .step = step };
    }
    return sort_places(steps->places, steps->places + steps->item_room, steps->count);
}

static void hand_over(const struct step *step, rocksdb_column_family_handle_t *space,
                      rocksdb_writebatch_t *batch)
{
    const char *key = (const char *)step->key, *value = key + step->key_len;

    switch (step->kind) {
    case STEP_PUT:
        rocksdb_writebatch_put_cf(batch, space, key, step->key_len, value, step->value_len);
        return;
    case STEP_DELETE:
        rocksdb_writebatch_delete_cf(batch, space, key, step->key_len);
        return;
    case STEP_DELETE_RANGE:
        rocksdb_writebatch_delete_range_cf(batch, space, key, step->key_len, value,
                                           step->value_len);
        return;
    case STEP_ADD:
        rocksdb_writebatch_merge_cf(batch, space, key, step->key_len, value, step->value_len);
        return;
    }
}

void steps_hand_over(struct steps *steps, const struct rocksdb_storage *rocks,
                     rocksdb_writebatch_t *batch)
{
    for (size_t i = 0; i < steps->count; i++)
        steps->items[i].key = steps->data + steps->items[i].at;
    const struct step_place *sorted = sort(steps);
    for (size_t i = 0; i < steps->count; i++)
        hand_over(sorted[i].step, rocks->spaces[sorted[i].step->space], batch);
}

size_t steps_bytes(const struct steps *steps)
{
    return steps->used + STEP_HEAD_BYTES * steps->count;
}

/* ---- life ------------------------------------------------------------------------------------------ */

void steps_clear(struct steps *steps)
{
    if (steps->data_room > DATA_KEPT_BYTES)
        steps_release(steps);
    steps->used = steps->count = 0;
    steps->section = 0;
}

void steps_release(struct steps *steps)
{
    memory_give(steps->data);
    memory_give(steps->items);
    memory_give(steps->places);
    *steps = (struct steps){ 0 };
}

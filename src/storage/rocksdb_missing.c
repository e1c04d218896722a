/* RocksDB, missing rows: which of many rows are not there, asked at once.
 *
 * Whoever inserts many documents looks for each of them first, and finds none. Most of such a get is waiting for memory:
 * the filter of each memory table and each file is one place, far from the place for the key before. RocksDB asks for those of
 * 32 keys at a time before it looks at the first of them, if it gets the keys together.
 *
 * RocksDB wants them in order. Keys that are sorted here begin with the same bytes mostly; of what follows, eight bytes as a number
 * decide nearly all comparisons.
 *
 * Threads: any. */
#include <endian.h>
#include <stdlib.h>

#include "storage/rocksdb_backend.h"

struct wanted {
    bytes key;
    uint64_t word;
    size_t number; /* in the caller's list */
};

/* What RocksDB takes and gives, one of each for a key. */
struct question {
    struct wanted *wanted;
    const char **keys;
    size_t *lens;
    rocksdb_pinnableslice_t **values;
    char **errors;
};

static status question_take(struct arena *arena, size_t count, struct question *out)
{
    TRY(ARENA_NEW(arena, count, &out->wanted));
    TRY(ARENA_NEW(arena, count, &out->keys));
    TRY(ARENA_NEW(arena, count, &out->lens));
    TRY(ARENA_NEW(arena, count, &out->values));
    return ARENA_NEW(arena, count, &out->errors);
}

static status take_full_key(struct arena *arena, partition_id partition, bytes key, bytes *out)
{
    struct full_key full;

    full_key_make(&full, partition, key);
    const status s = arena_copy(arena, full_key_bytes(&full), out);
    full_key_release(&full);
    return s;
}

static size_t shared_len(bytes a, bytes b)
{
    const size_t len = a.len < b.len ? a.len : b.len;
    size_t at = 0;

    while (at < len && a.data[at] == b.data[at])
        at++;
    return at;
}

/* Eight bytes of the key from there on, as a number that sorts like them. */
static uint64_t word_at(bytes key, size_t at)
{
    const bytes rest = bytes_from(key, at);
    uint64_t word = 0;

    memcpy(&word, rest.data, rest.len < sizeof(word) ? rest.len : sizeof(word));
    return be64toh(word);
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *left = a, *right = b;

    if (left->word != right->word)
        return left->word < right->word ? -1 : 1;
    return bytes_compare(left->key, right->key);
}

static status sort_keys(struct arena *arena, partition_id partition, const bytes *keys,
                        size_t count, struct wanted *out)
{
    size_t shared = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        out[i].number = i;
        TRY(take_full_key(arena, partition, keys[i], &out[i].key));
        const size_t len = shared_len(out[0].key, out[i].key);
        shared = len < shared ? len : shared;
    }
    for (size_t i = 0; i < count; i++)
        out[i].word = word_at(out[i].key, shared);
    qsort(out, count, sizeof(*out), compare_wanted);
    return STATUS_OK;
}

static void ask(struct rocksdb_storage *rocks, enum storage_space space, struct question *question,
                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        question->keys[i] = (const char *)question->wanted[i].key.data;
        question->lens[i] = question->wanted[i].key.len;
    }
    /* Whatever comes of it cannot be written any more if a sync has failed. */
    rocksdb_batched_multi_get_cf(rocks->db, rocks->read_newest, rocks->spaces[space], count,
                                 question->keys, question->lens, question->values, question->errors,
                                 true);
}

/* A row that could not be read is there as far as anybody knows; who gets it hears why. */
void rocks_find_missing(struct storage *storage, struct row_address where, const bytes *keys,
                        size_t count, struct arena *arena, bool *is_missing_out)
{
    struct question question;

    if (question_take(arena, count, &question).code != OK ||
        sort_keys(arena, where.partition, keys, count, question.wanted).code != OK)
        return;
    ask(rocksdb_of(storage), where.space, &question, count);
    for (size_t i = 0; i < count; i++) {
        is_missing_out[question.wanted[i].number] = question.values[i] == NULL &&
                                                    question.errors[i] == NULL;
        if (question.values[i] != NULL)
            rocksdb_pinnableslice_destroy(question.values[i]);
        if (question.errors[i] != NULL)
            rocksdb_free(question.errors[i]);
    }
}

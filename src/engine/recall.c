/* Recall: documents that were read lately.
 *
 * A read looks up two rows, the locator and the body that it leads to, and in the memory tables of the
 * storage each lookup is a walk over some thirty keys that lie all over memory. So the body rows that were
 * read last, if they are small, stand here, in a table of pairs of places: a key has its pair.
 *
 * Whoever changes a document holds the latch of its key from before it looks until the change can be seen,
 * and a latch counts its turns: odd while it is held. A row is kept together with the turn that was read
 * before the row, and is valid as long as that is the turn, and even. So nobody has to find and remove what
 * has changed, and a row that was read too early is never valid. Whether a document is dead is not kept: the
 * row has its stamp, which is judged anew by every reader, so it does not matter here when the dead are
 * purged. A change of policy raises the version of the collection, which is part of the question.
 *
 * A scan knows more than a key: its rows say by which write a document came to be, in the instant that the scan
 * sees. What a write has made of a document never changes, so the row of a write needs no turn; it is
 * kept under the number of the write, where no question about a key finds it. Most documents that scans
 * meet are never met again, so one is kept when it is met a second time.
 *
 * A place is written by one thread at a time, which makes its `writing` odd; whoever finds it odd leaves it.
 * Who reads looks at `writing` before and after, and the words in between are atomic, because they may
 * change under its eyes.
 *
 * Keeps: an answer is the row as the storage had it at some moment after the question was asked, or at the
 * moment itself; about a write, the row that this write has made. Threads: any; no locks, nobody waits. */
#include "engine/recall.h"

enum { PAIRS = 8192, WORDS = RECALL_BYTES / 8 };
/* Odd: a latch that is held, which no question is asked under. */
#define TURN_OF_WRITES UINT64_MAX

_Static_assert(RECALL_BYTES % 8 == 0, "rows are kept in whole words");

struct place {
    _Atomic uint64_t writing;
    _Atomic uint64_t turn;
    _Atomic uint64_t hash;
    _Atomic uint64_t collection_id; /* 0: empty */
    _Atomic uint64_t version;       /* of the collection */
    _Atomic uint64_t len;           /* of the row */
    _Atomic uint64_t words[WORDS];
};

_Static_assert(sizeof(struct place) == 1024, "a place begins with a cache line");

struct recall {
    struct place pairs[PAIRS][2];
    _Atomic uint64_t met[PAIRS]; /* hashes of writes that scans have met last */
};

struct recall *recall_open(void)
{
    return memory_take_untouched(sizeof(struct recall));
}

void recall_close(struct recall *recall)
{
    memory_give_untouched(recall, sizeof(*recall));
}

struct recall_question recall_ask(const struct latches *latches,
                                  const struct collection *collection, bytes key)
{
    struct recall_question question = { .collection = collection, .key = key };

    question.hash = bytes_hash(key, collection->id);
    question.turn = latch_turn(latches, latch_stripe(question.hash));
    return question;
}

/* The upper bits: the lower ones choose the stripe. */
static size_t pair_of(uint64_t hash)
{
    return (size_t)(hash >> 32) % PAIRS;
}

/* Whoever sees a word that is being written sees `writing` odd, or later, when it looks again. */
static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- finding ---------------------------------------------------------------------------------------- */

/* What the place says may be torn; then `writing` has changed. */
static bool is_answer(const struct place *place, const struct recall_question *question)
{
    return get(&place->hash) == question->hash && get(&place->turn) == question->turn &&
           get(&place->collection_id) == question->collection->id &&
           get(&place->version) == question->collection->version;
}

/* Two keys may have the same hash. */
static bool is_row_of(bytes row, bytes locator_key)
{
    struct row_body body;
    bool is_sound = row_read_body(row, &body);

    ASSERT(is_sound);
    return bytes_equal(body.key, bytes_from(locator_key, 1));
}

/* False if the place was written since `before`. */
static bool copy_row(const struct place *place, uint64_t before, struct arena *arena,
                     bytes *row_out)
{
    size_t len = get(&place->len);
    uint8_t *row = len <= RECALL_BYTES ? arena_try_take(arena, len + 7) : NULL;

    if (!row)
        return false;
    for (size_t i = 0; i < (len + 7) / 8; i++) {
        uint64_t word = get(&place->words[i]);
        memcpy(row + 8 * i, &word, 8);
    }
    *row_out = bytes_of(row, len);
    return get(&place->writing) == before;
}

static bool find_in(const struct place *place, const struct recall_question *question,
                    struct arena *arena, bytes *row_out)
{
    uint64_t before = get(&place->writing);

    return before % 2 == 0 && is_answer(place, question) &&
           copy_row(place, before, arena, row_out) && is_row_of(*row_out, question->key);
}

bool recall_find(const struct recall *recall, const struct recall_question *question,
                 struct arena *arena, bytes *row_out)
{
    const struct place *pair = recall->pairs[pair_of(question->hash)];

    *row_out = BYTES_NONE;
    return question->turn % 2 == 0 && (find_in(&pair[0], question, arena, row_out) ||
                                       find_in(&pair[1], question, arena, row_out));
}

static uint64_t hash_of_write(const struct collection *collection, uint64_t seq)
{
    return bytes_hash(bytes_of(&seq, sizeof(seq)), collection->id);
}

static bool find_write_in(const struct place *place, const struct collection *collection,
                          uint64_t seq, struct arena *arena, struct row_body *out)
{
    uint64_t before = get(&place->writing);
    bytes row;

    if (before % 2 == 1 || get(&place->collection_id) != collection->id ||
        !copy_row(place, before, arena, &row))
        return false;
    bool is_sound = row_read_body(row, out);
    ASSERT(is_sound);
    return out->stamp.seq == seq;
}

bool recall_find_write(const struct recall *recall, const struct collection *collection,
                       uint64_t seq, struct arena *arena, struct row_body *out)
{
    uint64_t hash = hash_of_write(collection, seq);
    const struct place *pair = recall->pairs[pair_of(hash)];

    for (size_t i = 0; i < 2; i++) {
        if (get(&pair[i].hash) == hash && find_write_in(&pair[i], collection, seq, arena, out))
            return true;
    }
    return false;
}

/* ---- keeping ---------------------------------------------------------------------------------------- */

/* The place that the same key has already, else one that is empty, else the two in turns. */
static struct place *choose(struct place *pair, uint64_t hash)
{
    for (size_t i = 0; i < 2; i++) {
        if (get(&pair[i].hash) == hash || get(&pair[i].collection_id) == 0)
            return &pair[i];
    }
    return &pair[(get(&pair[0].writing) + get(&pair[1].writing)) / 2 % 2];
}

static void put_words(struct place *place, bytes row)
{
    for (size_t at = 0; at < row.len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, row.data + at, row.len - at < 8 ? row.len - at : 8);
        set(&place->words[at / 8], word);
    }
}

static void keep(struct recall *recall, const struct recall_question *question, bytes row)
{
    struct place *place = choose(recall->pairs[pair_of(question->hash)], question->hash);
    uint64_t before = get(&place->writing);

    if (before % 2 == 1 || !atomic_compare_exchange_strong(&place->writing, &before, before + 1))
        return;
    set(&place->turn, question->turn);
    set(&place->hash, question->hash);
    set(&place->collection_id, question->collection->id);
    set(&place->version, question->collection->version);
    set(&place->len, row.len);
    put_words(place, row);
    set(&place->writing, before + 2);
}

void recall_keep(struct recall *recall, const struct recall_question *question, bytes row)
{
    if (question->turn % 2 == 0 && row.len <= RECALL_BYTES)
        keep(recall, question, row);
}

void recall_keep_write(struct recall *recall, const struct collection *collection, uint64_t seq,
                       bytes row)
{
    const struct recall_question question = { .collection = collection,
                                              .hash = hash_of_write(collection, seq),
                                              .turn = TURN_OF_WRITES };
    _Atomic uint64_t *met = &recall->met[pair_of(question.hash)];

    if (row.len > RECALL_BYTES)
        return;
    if (get(met) == question.hash)
        keep(recall, &question, row);
    else
        set(met, question.hash);
}

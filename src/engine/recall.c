/* Recall: where documents were found lately.
 *
 * A read looks up two rows, the locator and the body that it leads to, and in the memory tables of the
 * storage each lookup is a walk over some thirty keys that lie all over memory. So the locator rows that
 * were read last stand here, in a table in which each key has one place.
 *
 * Whoever changes a locator row holds the latch of its key from before it looks until the change can be
 * seen, and a latch counts its turns: odd while it is held. A row is kept together with the turn that was
 * read before the row, and is valid as long as that is the turn, and even. So nobody has to find and
 * remove what has changed, and a row that was read too early is never valid. Rows that the sweep drops were
 * dead, and their stamp still says so here; a change of policy raises the version of the collection, which is
 * part of the question.
 *
 * A place is written by one thread at a time, which makes its `writing` odd; whoever finds it odd leaves it.
 * Who reads looks at `writing` before and after, and the words in between are atomic, because they may
 * change under its eyes.
 *
 * Keeps: an answer is the row as the storage had it at some moment after the question was asked, or at the
 * moment itself. Threads: any; no locks, nobody waits. */
#include "engine/recall.h"

enum { PLACES = 32768, WORDS = RECALL_BYTES / 8 };

_Static_assert(RECALL_BYTES % 8 == 0, "key and value are kept in whole words");

/* Three cache lines; the first alone tells most questions that the answer is not here. */
struct place {
    _Atomic uint64_t writing;
    _Atomic uint64_t turn;
    _Atomic uint64_t hash;
    _Atomic uint64_t collection_id; /* 0: empty */
    _Atomic uint64_t version;       /* of the collection */
    _Atomic uint64_t key_len;
    _Atomic uint64_t value_len;
    _Atomic uint64_t words[WORDS]; /* the key, then the value */
};

_Static_assert(sizeof(struct place) <= 192, "a place has three cache lines");

struct recall {
    struct place places[PLACES];
};

struct recall *recall_open(void)
{
    return memory_take_zeroed(1, sizeof(struct recall));
}

void recall_close(struct recall *recall)
{
    memory_give(recall);
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
static size_t place_of(uint64_t hash)
{
    return (size_t)(hash >> 32) % PLACES;
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

/* What the place says may be torn; then `writing` has changed. */
static bool is_answer(const struct place *place, const struct recall_question *question)
{
    return get(&place->hash) == question->hash && get(&place->turn) == question->turn &&
           get(&place->collection_id) == question->collection->id &&
           get(&place->version) == question->collection->version &&
           get(&place->key_len) == question->key.len;
}

bool recall_find(const struct recall *recall, const struct recall_question *question,
                 uint8_t place_out[RECALL_BYTES], bytes *value_out)
{
    const struct place *place = &recall->places[place_of(question->hash)];
    uint64_t before = get(&place->writing);

    *value_out = BYTES_NONE;
    if (before % 2 == 1 || question->turn % 2 == 1 || !is_answer(place, question))
        return false;
    size_t key_len = question->key.len;
    size_t len = key_len + get(&place->value_len);
    for (size_t i = 0; i < (len + 7) / 8 && i < WORDS; i++) {
        uint64_t word = get(&place->words[i]);
        memcpy(place_out + 8 * i, &word, 8);
    }
    if (get(&place->writing) != before)
        return false;
    ASSERT(len <= RECALL_BYTES);
    if (!bytes_equal(bytes_of(place_out, key_len), question->key))
        return false;
    *value_out = bytes_of(place_out + key_len, len - key_len);
    return true;
}

static void put_words(struct place *place, bytes key, bytes value)
{
    uint8_t joined[RECALL_BYTES] = { 0 };

    memcpy(joined, key.data, key.len);
    memcpy(joined + key.len, value.data, value.len);
    for (size_t i = 0; i < (key.len + value.len + 7) / 8; i++) {
        uint64_t word;
        memcpy(&word, joined + 8 * i, 8);
        set(&place->words[i], word);
    }
}

void recall_keep(struct recall *recall, const struct recall_question *question, bytes value)
{
    struct place *place = &recall->places[place_of(question->hash)];
    uint64_t before = get(&place->writing);
    bytes key = question->key;

    if (question->turn % 2 == 1 || key.len > RECALL_BYTES || value.len > RECALL_BYTES - key.len)
        return;
    if (before % 2 == 1 || !atomic_compare_exchange_strong(&place->writing, &before, before + 1))
        return;
    set(&place->turn, question->turn);
    set(&place->hash, question->hash);
    set(&place->collection_id, question->collection->id);
    set(&place->version, question->collection->version);
    set(&place->key_len, key.len);
    set(&place->value_len, value.len);
    put_words(place, key, value);
    set(&place->writing, before + 2);
}

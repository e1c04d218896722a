/* Recall: documents that were read lately.
 *
 * A read looks up two rows, the locator and the body that it leads to, and in the memory tables of the
 * storage each lookup is a walk over some thirty keys that lie all over memory. So the body rows that were
 * read last, if they are small, stand here, one behind the other (base/trail.c).
 *
 * Whoever changes a document holds the latch of its key from before it looks until the change can be seen,
 * and a latch has a turn: odd while it, or another one that shares its turn, is held. A row is kept together with the turn that was read
 * before the row, and is valid as long as that is the turn, and even. So nobody has to find and remove what
 * has changed, and a row that was read too early is never valid. Whether a document is dead is not kept: the
 * row has its stamp, which is judged anew by every reader, so it does not matter here when the dead are
 * purged. A change of policy raises the version of the collection, which is part of the question. Where there is no
 * room a row is kept when it is read a second time.
 *
 * A scan knows more than a key: its rows say by which write a document came to be, in the instant that the scan
 * sees. What a write has made of a document never changes, so the row of a write needs no turn; it is
 * kept under the number of the write, where no question about a key finds it. Most documents that scans
 * meet are never met again, so one is kept when it is met a second time.
 *
 * Keeps: an answer is the row as the storage had it at some moment after the question was asked, or at the
 * moment itself; about a write, the row that this write has made. Threads: any; no locks, nobody waits. */
#include "engine/recall.h"

#include "base/trail.h"

/* Some 56,000 rows with documents of 500 bytes; a bucket has places for four. */
enum { USUAL_BYTES = 32 << 20, LEAST_BYTES = 64 << 10, BYTES_PER_BUCKET = 1024 };
/* Odd: a latch that is held, which no question is asked under. */
#define TURN_OF_WRITES UINT64_MAX

_Static_assert((int)RECALL_BYTES == (int)TRAIL_BYTES, "every row that is short enough is kept");

struct recall {
    struct trail *rows;
};

static size_t power_of_two_within(size_t most)
{
    size_t power = LEAST_BYTES;

    while (power <= most / 2)
        power *= 2;
    return power;
}

struct recall *recall_open(size_t bytes_most)
{
    const size_t room = power_of_two_within(bytes_most ? bytes_most : USUAL_BYTES);
    struct recall *recall = bytes_most && bytes_most < LEAST_BYTES ? NULL
                                                                   : memory_take(sizeof(*recall));

    if (recall)
        recall->rows = trail_open(room / 8, room / BYTES_PER_BUCKET);
    if (recall && recall->rows)
        return recall;
    memory_give(recall);
    return NULL;
}

void recall_close(struct recall *recall)
{
    if (recall)
        trail_close(recall->rows);
    memory_give(recall);
}

struct recall_question recall_ask(const struct latches *latches,
                                  const struct collection *collection, bytes key)
{
    struct recall_question question = { .collection = collection, .key = key };

    question.hash = latch_hash_of_document(collection->id, key);
    question.turn = latch_turn(latches, question.hash);
    return question;
}

/* ---- by key ----------------------------------------------------------------------------------------- */

static struct memo_key key_of(const struct recall_question *question)
{
    return (struct memo_key){
        {question->hash, question->turn, question->collection->id, question->collection->version}
    };
}

/* Two keys may have the same hash. */
static bool is_row_of(bytes row, bytes locator_key)
{
    struct row_body body;
    bool is_sound = row_read_body(row, &body);

    ASSERT(is_sound);
    return bytes_equal(body.key, bytes_from(locator_key, 1));
}

bool recall_find(const struct recall *recall, const struct recall_question *question,
                 struct arena *arena, bytes *row_out)
{
    const struct memo_key key = key_of(question);

    *row_out = BYTES_NONE;
    return question->turn % 2 == 0 && trail_find(recall->rows, &key, arena, row_out) &&
           is_row_of(*row_out, question->key);
}

void recall_keep(struct recall *recall, const struct recall_question *question, bytes row)
{
    const struct memo_key key = key_of(question);

    if (question->turn % 2 == 0 && row.len <= RECALL_BYTES &&
        trail_wants(recall->rows, key.words[0]))
        trail_keep(recall->rows, &key, row);
}

/* ---- by write --------------------------------------------------------------------------------------- */

static struct memo_key key_of_write(const struct collection *collection, uint64_t seq)
{
    return (struct memo_key){
        {bytes_hash(bytes_of(&seq, sizeof(seq)), collection->id), TURN_OF_WRITES, collection->id,
         seq}
    };
}

bool recall_find_write(const struct recall *recall, const struct collection *collection,
                       uint64_t seq, struct arena *arena, struct row_body *out)
{
    const struct memo_key key = key_of_write(collection, seq);
    bytes row;

    if (!trail_find(recall->rows, &key, arena, &row))
        return false;
    bool is_sound = row_read_body(row, out);
    ASSERT(is_sound);
    ASSERT(out->stamp.seq == seq);
    return true;
}

bool recall_may_have_write(const struct recall *recall, const struct collection *collection,
                           uint64_t seq)
{
    return trail_may_have(recall->rows, key_of_write(collection, seq).words[0]);
}

void recall_expect_write(const struct recall *recall, const struct collection *collection,
                         uint64_t seq)
{
    trail_expect(recall->rows, key_of_write(collection, seq).words[0]);
}

void recall_keep_write(struct recall *recall, const struct collection *collection, uint64_t seq,
                       bytes row)
{
    const struct memo_key key = key_of_write(collection, seq);

    if (row.len <= RECALL_BYTES && trail_has_met(recall->rows, key.words[0]))
        trail_keep(recall->rows, &key, row);
}

/* The steps of a batch on their way to RocksDB, in the order of their keys; see rocksdb_steps.c. */
#ifndef STORAGE_ROCKSDB_STEPS_H
#define STORAGE_ROCKSDB_STEPS_H

#include "storage/rocksdb_backend.h"

enum step_kind { STEP_PUT, STEP_DELETE, STEP_DELETE_RANGE, STEP_ADD };

struct step {
    enum step_kind kind;
    enum storage_space space;
    uint32_t section; /* steps of one section may change places */
    size_t at;        /* of the key; the value, or the end of a range, lies behind it */
    size_t key_len, value_len;
    const uint8_t *key; /* while they are sorted and handed over */
};

/* Where a step goes when they are sorted. */
struct step_place {
    uint64_t group, word; /* the section and the space; what tells its key from most others there */
    const struct step *step;
};

/* Owner: handle, given back by steps_release(). One thread at a time. */
struct steps {
    uint8_t *data;
    size_t used, data_room;
    struct step *items;
    struct step_place *places; /* room for all of them, twice */
    size_t count, item_room;
    uint32_t section;
};

void steps_add(struct steps *steps, enum step_kind kind, enum storage_space space, bytes key,
               bytes value);
/* Hands them over, sorted; `batch` is empty before. */
void steps_hand_over(struct steps *steps, const struct rocksdb_storage *rocks,
                     rocksdb_writebatch_t *batch);
/* About what they take in a batch of RocksDB. */
size_t steps_bytes(const struct steps *steps);
void steps_clear(struct steps *steps);
void steps_release(struct steps *steps);

#endif

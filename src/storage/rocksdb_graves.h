/* Keys of rows that were deleted lately, for whoever reads RocksDB's files without RocksDB. Private to the backend. */
#ifndef STORAGE_ROCKSDB_GRAVES_H
#define STORAGE_ROCKSDB_GRAVES_H

#include "base/base.h"

struct graves;

/* A deletion that is about to be committed. */
struct grave {
    uint64_t hash; /* of a key, see grave_hash(); 0: a range */
    bytes start, end;
};
uint64_t grave_hash(bytes key);

/* Owner: handle. `is_complete`: nothing that was deleted before is left in memory tables. */
struct graves *graves_open(bool is_complete);
void graves_close(struct graves *graves);

/* Before the commit, by the one thread that commits. */
void graves_add(struct graves *graves, const struct grave *grave);
/* Everything that was added before the last turn is in files by now: forgets it, and begins another turn. */
void graves_turn(struct graves *graves);

/* What is known at this moment, and what is added until the next turn. Owner: handle. NULL: not everything is known. */
struct graves_seen;
struct graves_seen *graves_look(struct graves *graves);
void graves_look_away(struct graves *graves, struct graves_seen *seen);
/* Does it still have everything that was added before this call? */
bool graves_are_fresh(struct graves *graves, const struct graves_seen *seen);
/* May the key have been deleted lately? */
bool graves_suspect(const struct graves_seen *seen, bytes key);
/* That will be asked soon: what it looks at is fetched from memory meanwhile. */
void graves_expect(const struct graves_seen *seen, bytes key);

#endif

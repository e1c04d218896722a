/* A place in an order of byte strings, in few bytes however long the string is. Private to this room. */
#ifndef QUERY_PLACE_H
#define QUERY_PLACE_H

#include "base/base.h"

/* A string in two parts; the bytes of the second may count the other way round. */
struct place_key {
    bytes first;
    bytes second;
    bool is_second_reversed;
};

/* As it was read; borrows from what was written. */
struct place {
    bytes front;
    bool is_whole;  /* `front` is all there is */
    bytes branches; /* otherwise: where other strings part from it behind the front, see place.c */
    uint64_t digests[2];
};

/* One while it is made. */
struct place_maker {
    bytes key;
    size_t front;   /* so many bytes are written as they are */
    uint8_t *noted; /* for each byte of the key: some other string parts from it there */
};

/* How a string stands to a place, where they part. */
struct place_parting {
    size_t depth;
    int byte; /* the place's; -1: it is not known */
};

/* The string as it is; `key` is borrowed. */
struct place place_of(bytes key);
/* Appends the whole key. */
void place_write_whole(struct buffer *out, const struct place_key *key);

/* To write a place for the key in about `room` bytes. */
MUST_USE status place_begin(struct arena *arena, const struct place_key *key, size_t room,
                            struct place_maker *out);
/* Another string that has to be told from the key later on. Returns the number of bytes they begin with alike. */
size_t place_note(struct place_maker *maker, const struct place_key *other);
/* TOO_LARGE if too many strings part from it at too many places. */
MUST_USE status place_finish(const struct place_maker *maker, struct arena *arena, size_t room,
                             bytes *out);

/* INVALID. */
MUST_USE status place_read(bytes written, struct place *out);
/* Negative: in front of it; positive: behind it; 0: it is the string itself, or one that came later and cannot be told.
 * Right for every string that was noted. `parting` may be NULL. */
int place_compare(const struct place *place, const struct place_key *key,
                  struct place_parting *parting);
/* Is it the very string? */
bool place_is(const struct place *place, bytes key);

#endif

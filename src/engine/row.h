/* Every stored layout: keys and values of all rows, byte by byte, and nothing else. Keys contain no NUL
 * byte: numbers inside keys are written seven bits to a byte with the top bit set, so fixed width keeps
 * order. docs/stored-format.md describes the same for people. */
#ifndef ENGINE_ROW_H
#define ENGINE_ROW_H

#include "engine/document.h"
#include "engine/expiry_rule.h"
#include "storage/storage.h"

enum { ROW_FORMAT_VERSION = 1 };

/* The catalog's own partition; collections have partitions of their own. */
enum { ROW_CATALOG_PARTITION = 0 };
partition_id row_partition(uint32_t collection_id);
bool row_collection_of(partition_id partition, uint32_t *out);

enum {
    ROW_STAMP_BYTES_MIN = 22,
    ROW_STAMP_BYTES_MAX = ROW_STAMP_BYTES_MIN + 4 + LIMIT_DATE_RULES * STAMP_DATE_BYTES,
    ROW_SLOT_BYTES = 1 + 10 + 9,
    ROW_MANY_BYTES = 1 + 5,
};

/* ---- keys in SPACE_META, catalog partition ----------------------------------------------------------- */
void row_key_format(struct buffer *out);
void row_key_state(struct buffer *out);
void row_key_database(struct buffer *out, bytes name);
void row_key_collection(struct buffer *out, uint32_t id);
void row_key_dropped(struct buffer *out, uint32_t id);
/* The id in a collection or dropped key. */
bool row_id_of(bytes key, uint32_t *out);
MUST_USE status row_database_name(struct arena *arena, bytes key, bytes *out);

enum {
    ROW_TAG_FORMAT = 'F',
    ROW_TAG_ARRAYS = 'A',
    ROW_TAG_STATE = 'S',
    ROW_TAG_DATABASE = 'd',
    ROW_TAG_COLLECTION = 'c',
    ROW_TAG_DROPPED = 'x'
};

/* ---- keys in SPACE_META, a collection's partition ------------------------------------------------------ */
enum {
    ROW_TAG_SLICE = 'n',
    ROW_TAG_TOTAL = 't',
    ROW_TAG_CUT = 'h',
    ROW_TAG_BUILD = 'b',
    ROW_TAG_MANY = 'm',
    ROW_TAG_NOTE = 'w'
};
/* Counters (documents, bytes) of the documents whose order falls into one second. */
void row_key_slice(struct buffer *out, unsigned lane, int64_t second);
bool row_slice_of(bytes key, unsigned *lane_out, int64_t *second_out);
/* The first order of a second, as far as time reaches. */
time_ms row_second_start(int64_t second);
/* Its last moment. */
time_ms row_second_end(int64_t second);
void row_key_total(struct buffer *out, unsigned lane);
void row_key_cut(struct buffer *out, unsigned lane);
void row_key_build(struct buffer *out, uint32_t index_id);
/* There when a document has had several entries in an index over fields. */
void row_key_many(uint8_t out[ROW_MANY_BYTES], uint32_t index_id);

/* Values of an entry in an index by arrival, which stand behind ROW_INDEX_HEAD_BYTES in the key of its row. */
enum { ROW_INDEX_HEAD_BYTES = 6, ROW_ARRIVAL_BYTES = 9 };
void row_write_arrival(uint8_t out[ROW_ARRIVAL_BYTES], uint64_t birth_seq);
uint64_t row_read_arrival(const uint8_t values[ROW_ARRIVAL_BYTES]);

/* Start of all notes from a stretch of time on. */
void row_key_notes(struct buffer *out, uint32_t stretch);
/* Start of the notes of one key in it; the part follows. */
void row_key_notes_of(struct buffer *out, uint32_t stretch, bytes key);
void row_key_note(struct buffer *out, uint32_t stretch, bytes key, uint32_t part);
bool row_note_stretch_of(bytes key, uint32_t *out);
bool row_note_part_of(bytes key, uint32_t *out);
/* The key that the note was put under, in the arena; CORRUPT. */
MUST_USE status row_note_key_of(struct arena *arena, bytes key, bytes *out);

/* ---- keys in SPACE_ROWS --------------------------------------------------------------------------------- */
enum { ROW_TAG_LOCATOR = 'L', ROW_TAG_INDEX = 'I', ROW_TAG_BACKLOG = 'Q' };
void row_key_locator(struct buffer *out, struct document_key key);
/* Start of all rows of an index; the encoded values and the document key follow. */
void row_key_index(struct buffer *out, uint32_t index_id);
bool row_index_id_of(bytes key, uint32_t *id_out, bytes *rest_out);
/* Start of all backlog rows of a lazy index; the number of the write and the document key follow. */
void row_key_backlog(struct buffer *out, uint32_t index_id);
/* The same with the document key; the number of the write is set when it is known. */
void row_key_backlog_of(struct buffer *out, uint32_t index_id, bytes document_key);
void row_set_backlog_seq(uint8_t *key, uint64_t seq);
struct row_backlog {
    uint32_t index_id;
    uint64_t seq;
    bytes key; /* joined document key */
};
bool row_read_backlog(bytes key, struct row_backlog *out);
/* What follows the index in the key. */
bytes row_backlog_position(bytes key);

/* ---- keys in SPACE_BODIES --------------------------------------------------------------------------------- */
void row_key_slot(uint8_t out[ROW_SLOT_BYTES], unsigned lane, time_ms order, uint64_t seq);
bool row_slot_of(bytes key, unsigned *lane_out, time_ms *order_out, uint64_t *seq_out);
/* First key of a lane, or of a lane from an order on. */
void row_key_lane(struct buffer *out, unsigned lane);
void row_key_lane_from(struct buffer *out, unsigned lane, time_ms order);

/* ---- values ------------------------------------------------------------------------------------------------ */
/* A fixed-width number, most significant byte first. */
void row_put_number(uint8_t *out, uint64_t number, size_t width);
/* Length of a stamp's encoding; it depends only on own ttl and number of dates. */
size_t row_stamp_len(const struct stamp *stamp);
void row_write_stamp(uint8_t *out, const struct stamp *stamp);
/* Reads a stamp at the front of `value`; `dates` stays borrowed. */
bool row_read_stamp(bytes value, struct stamp *out, bytes *rest_out);

/* Locator: stamp, birth. */
bool row_read_locator(bytes value, struct stamp *out, uint64_t *birth_out);
/* Index row: stamp, length of the encoded values in the key (the rest of the key is the document's). */
bool row_read_index(bytes value, struct stamp *out, size_t *values_len_out);
/* The stamp of either. */
bool row_read_any_stamp(bytes key, bytes value, struct stamp *out);
/* Body: stamp, birth, document key, document. */
struct row_body {
    struct stamp stamp;
    uint64_t birth_seq;
    bytes key;
    bytes document;
};
bool row_read_body(bytes value, struct row_body *out);
size_t row_body_head_len(const struct stamp *stamp, size_t key_len);
void row_write_body_head(uint8_t *out, const struct stamp *stamp, uint64_t birth_seq, bytes key);

void row_write_database(struct buffer *out, uint32_t id, bytes options);
/* `options_out` stays borrowed. */
bool row_read_database(bytes value, uint32_t *id_out, bytes *options_out);

struct row_state {
    uint64_t last_seq;
    time_ms clock_mark;
    bool is_leap_pending;
    bool are_date_rules_off;
    uint32_t next_id;
};
void row_write_state(struct buffer *out, const struct row_state *state);
bool row_read_state(bytes value, struct row_state *out);

/* The catalog entry of one collection; everything read is in `memory`. */
void row_write_collection(struct buffer *out, const struct collection *collection);
MUST_USE status row_read_collection(struct arena *memory, struct collations *collations,
                                    bytes value, struct collection *out);

#endif

/* Values for tests: made by hand, read from JSON, or random. Random ones come from small pools around
 * the places where representations change, so that two of them are often equal or neighbours. */
#ifndef TESTS_UNIT_VALUE_SAMPLES_H
#define TESTS_UNIT_VALUE_SAMPLES_H

#include "value/value.h"

/* Ends the test without memory. All values live in the arena. */
struct value sample_raw(struct arena *arena, enum value_type type, bytes raw);
struct value sample_double(struct arena *arena, double real);
struct value sample_int32(struct arena *arena, int32_t integer);
struct value sample_int64(struct arena *arena, int64_t integer);
/* VALUE_INT64, VALUE_DATE or VALUE_TIMESTAMP. */
struct value sample_word(struct arena *arena, enum value_type type, uint64_t word);
struct value sample_decimal(struct arena *arena, const char *text);
struct value sample_bool(struct arena *arena, bool is_true);
/* VALUE_STRING, VALUE_SYMBOL or VALUE_CODE. */
struct value sample_text(struct arena *arena, enum value_type type, bytes text);
struct value sample_binary(struct arena *arena, uint8_t subtype, bytes content);
struct value sample_regex(struct arena *arena, const char *pattern, const char *options);
struct value sample_db_pointer(struct arena *arena, bytes collection, const uint8_t id[12]);
struct value sample_scoped_code(struct arena *arena, bytes code, bytes scope);
struct value sample_nothing(enum value_type type);

/* A document is written field by field between begin and end. */
struct sample_writer {
    struct buffer out;
};
struct sample_writer sample_begin(struct arena *arena);
void sample_field(struct sample_writer *writer, bytes name, struct value value);
bytes sample_end(struct sample_writer *writer);

/* The document that a JSON text stands for; single quotes may stand for double ones. */
bytes sample_json(struct arena *arena, const char *text);
/* The value of the field "v" of such a document. */
struct value sample_json_value(struct arena *arena, const char *text);

struct value sample_random_number(struct random *random, struct arena *arena);
/* Any type, at most `depth` levels of documents and arrays. Never VALUE_MISSING. */
struct value sample_random(struct random *random, struct arena *arena, unsigned depth);
bytes sample_random_document(struct random *random, struct arena *arena, unsigned depth);
/* Any double: all images are possible. */
double sample_random_double(struct random *random);

/* For messages: the value as JSON, or its type. */
const char *sample_show(struct arena *arena, struct value value);

#endif

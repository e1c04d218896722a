/* One document value. BSON is the canonical form; a `value` is a borrowed view of one BSON value inside a document. This
 * room validates and walks documents, turns JSON into BSON and back, compares values in BSON order, follows dotted paths
 * through arrays, and encodes values as keys whose byte order is the values'. Pure; callable from every thread. */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include "base/base.h"
#include "value/collation.h"

/* BSON's own type bytes; VALUE_MISSING is not a BSON type and stands for "not there". */
enum value_type {
    VALUE_MISSING = 0x00,
    VALUE_DOUBLE = 0x01,
    VALUE_STRING = 0x02,
    VALUE_DOCUMENT = 0x03,
    VALUE_ARRAY = 0x04,
    VALUE_BINARY = 0x05,
    VALUE_UNDEFINED = 0x06,
    VALUE_OBJECT_ID = 0x07,
    VALUE_BOOL = 0x08,
    VALUE_DATE = 0x09,
    VALUE_NULL = 0x0A,
    VALUE_REGEX = 0x0B,
    VALUE_DB_POINTER = 0x0C,
    VALUE_CODE = 0x0D,
    VALUE_SYMBOL = 0x0E,
    VALUE_CODE_WITH_SCOPE = 0x0F,
    VALUE_INT32 = 0x10,
    VALUE_TIMESTAMP = 0x11,
    VALUE_INT64 = 0x12,
    VALUE_DECIMAL128 = 0x13,
    VALUE_MIN_KEY = 0xFF,
    VALUE_MAX_KEY = 0x7F,
};

/* Borrowed from the document: `raw` is the value's BSON bytes without type byte and name. */
struct value {
    enum value_type type;
    bytes raw;
};

struct field {
    bytes name; /* without the NUL */
    struct value value;
};

/* ---- documents ---------------------------------------------------------------------------------- */

/* Untrusted bytes: lengths, nesting, UTF-8, known types, size. INVALID or TOO_LARGE with the offset
 * and the name of the field. Everything below expects documents that passed this check. */
MUST_USE status document_check(struct arena *arena, bytes document);
/* The same for what is not stored and may be larger, such as a message; sooner for what was built of checked values. */
MUST_USE status document_check_upto(struct arena *arena, bytes document, size_t bytes_max);
MUST_USE status document_check_built(struct arena *arena, bytes document);

/* Walks the fields of a checked document or array in stored order. */
struct document_walk {
    bytes rest;
};
struct document_walk document_fields(bytes document);
bool document_next(struct document_walk *walk, struct field *out);
/* How many fields a checked document has, or elements an array. */
size_t document_field_count(bytes document);
/* A top-level field by exact name; false and VALUE_MISSING if there is none. */
bool document_find(bytes document, const char *name, struct value *out);
bool document_find_bytes(bytes document, bytes name, struct value *out);
/* The document or array inside a VALUE_DOCUMENT or VALUE_ARRAY. */
bytes value_document(struct value value);
/* The text of a string, symbol or code, without the NUL. */
bytes value_text(struct value value);
/* Milliseconds of a VALUE_DATE. */
int64_t value_date_ms(struct value value);
/* Content of a VALUE_BINARY. */
struct value_binary {
    uint8_t subtype;
    bytes content; /* for the old subtype 2 with its inner length */
};
struct value_binary value_binary(struct value value);
/* Content of a VALUE_REGEX, both without their NULs. */
struct value_regex {
    bytes pattern;
    bytes options;
};
struct value_regex value_regex(struct value value);
/* A type as people know it: "string", "objectId" ... */
const char *value_type_name(enum value_type type);
bool value_is_number(struct value value);
/* A number of any type that is a whole number in the range of int64; false otherwise. */
bool value_as_int64(struct value value, int64_t *out);
/* The same cut toward zero; false beyond int64, and for what is no number. */
bool value_cut_to_int64(struct value value, int64_t *out);
/* A number of any type as a double; what does not fit is rounded or cut. */
double value_as_double(struct value value);

/* Building: begin, append fields in order, end with what begin gave. Documents and arrays inside are
 * begun with their name. Failures stick to the buffer. Names contain no NUL. */
size_t document_begin(struct buffer *out);
size_t document_begin_inner(struct buffer *out, enum value_type type, bytes name);
void document_end(struct buffer *out, size_t begun);
/* Nothing is appended for VALUE_MISSING. */
void document_append(struct buffer *out, bytes name, struct value value);
void document_append_text(struct buffer *out, const char *name, bytes text);
void document_append_int64(struct buffer *out, const char *name, int64_t number);
void document_append_bool(struct buffer *out, const char *name, bool is_true);
/* Values of their own, in the arena. OUT_OF_MEMORY. */
MUST_USE status value_of_text(struct arena *arena, bytes text, struct value *out);
MUST_USE status value_of_double(struct arena *arena, double number, struct value *out);
MUST_USE status value_of_int64(struct arena *arena, int64_t number, struct value *out);
/* The same in exactly this type: VALUE_INT32, VALUE_INT64, VALUE_DATE or VALUE_TIMESTAMP. */
MUST_USE status value_of_integer(struct arena *arena, enum value_type type, int64_t number,
                                 struct value *out);

/* ---- JSON --------------------------------------------------------------------------------------- */

/* One JSON text (UTF-8, top level must be an object) as a BSON document: integers without fraction or
 * exponent become int32 or int64 while they fit, all other numbers doubles; order and duplicates stay
 * as written. INVALID with the offset and what was expected, TOO_LARGE past a limit. */
MUST_USE status json_read(struct arena *arena, bytes text, bytes *document_out);
/* The same for a text whose top level is an array; the result is a BSON array. */
MUST_USE status json_read_array(struct arena *arena, bytes text, bytes *array_out);
/* The same with objects such as {"$oid":"..."} for what JSON lacks, as json_write() has them. */
MUST_USE status json_read_extended(struct arena *arena, bytes text, bytes *document_out);
/* A document as JSON: doubles in their shortest form that reads back the same, types that JSON does
 * not know in extended notation (relaxed), e.g. {"$oid":"..."}. */
void json_write(struct buffer *out, bytes document);
void json_write_value(struct buffer *out, struct value value);
void json_write_field(struct buffer *out, const struct field *field); /* "name":value */

/* Bytes from outside that should be text: shortest forms only, no surrogates, nothing past U+10FFFF. */
bool text_is_utf8(bytes text);
size_t text_character_count(bytes text); /* of a text that is UTF-8 */

/* ---- order -------------------------------------------------------------------------------------- */

/* Negative, zero, positive in BSON order across types: MinKey, undefined/missing, null, numbers,
 * strings and symbols, documents, arrays, binary, ObjectId, bool, date, timestamp, regex, DBPointer,
 * code, code with scope, MaxKey. Numbers of all types compare by their exact mathematical value
 * (NaN below all, -0 equals 0, decimal128 included). Missing sorts with undefined, below null. */
int value_compare(struct value a, struct value b);
int document_compare(bytes a, bytes b);
/* One number for a value, the same for equal values; others may share it, because fractions are cut off. */
MUST_USE status value_digest(struct arena *arena, struct value value, int64_t *out);
/* Strings and symbols, however deep, by a collation. */
int value_compare_by(const struct collation *by, struct value a, struct value b);

/* ---- arithmetic --------------------------------------------------------------------------------- */

enum number_operation {
    NUMBER_ADD,
    NUMBER_SUBTRACT,
    NUMBER_MULTIPLY,
    NUMBER_DIVIDE,
    NUMBER_MODULO
};

/* Two numbers, in the widest of their types: int32, int64, double, decimal128. What does not fit in int32
 * becomes int64. *out is VALUE_MISSING where int64 overflows or integers are divided by zero (or, for
 * NUMBER_DIVIDE, always for integers: convert one of them first). */
MUST_USE status number_calculate(struct arena *arena, enum number_operation operation,
                                 struct value a, struct value b, struct value *out);
/* Functions of one number: a double, or a decimal for a decimal. Outside of their domain the result is NaN or
 * an infinity. */
enum number_function {
    NUMBER_ACOS,
    NUMBER_ACOSH,
    NUMBER_ASIN,
    NUMBER_ASINH,
    NUMBER_ATAN,
    NUMBER_ATANH,
    NUMBER_CEILING,
    NUMBER_COS,
    NUMBER_COSH,
    NUMBER_DEGREES, /* of radians */
    NUMBER_EXP,
    NUMBER_FLOOR,
    NUMBER_LN,
    NUMBER_LOG10,
    NUMBER_RADIANS, /* of degrees */
    NUMBER_SIN,
    NUMBER_SINH,
    NUMBER_SQRT,
    NUMBER_TAN,
    NUMBER_TANH,
    NUMBER_FUNCTIONS
};
MUST_USE status number_apply(struct arena *arena, enum number_function function,
                             struct value number, struct value *out);
/* Of two numbers: the angle of (b, a), a to the power of b, the logarithm of a to the base b. */
enum number_pair { NUMBER_ATAN2, NUMBER_POW, NUMBER_LOG };
MUST_USE status number_pair(struct arena *arena, enum number_pair pair, struct value a,
                            struct value b, struct value *out);
/* A decimal with so many places behind the point (before it if negative), half to even or cut. */
MUST_USE status number_round_decimal(struct arena *arena, struct value number, int places,
                                     bool is_cut, struct value *out);
/* A number as decimal128; doubles by their first 15 digits. */
MUST_USE status number_to_decimal(struct arena *arena, struct value number, struct value *out);
/* False if the text is not one number and nothing else. */
bool number_decimal_of_text(bytes text, uint8_t raw_out[16]);

/* ---- paths -------------------------------------------------------------------------------------- */

/* A parsed dotted path, in the arena. */
struct path {
    size_t count;
    bytes parts[];
};

/* INVALID for an empty path, an empty part, a NUL byte, or past a limit. */
MUST_USE status path_parse(struct arena *arena, bytes dotted, const struct path **out);

/* What a path reaches, as an index sees it: arrays on the way are entered element by element, an array
 * at the end gives its elements (an empty one gives VALUE_UNDEFINED); an element that leads nowhere
 * gives VALUE_MISSING once; a numeric part may be an array position or a field name. */
struct path_values {
    struct value *items;
    size_t count; /* at least 1 */
    bool is_through_array;
};
MUST_USE status path_collect(struct arena *arena, const struct path *path, bytes document,
                             struct path_values *out);

/* ---- keys --------------------------------------------------------------------------------------- */

enum key_order { KEY_ASCENDING, KEY_DESCENDING };

/* Appends bytes whose order (memcmp) is value_compare's order, or its reverse; equal values, whatever their number
 * types, give equal bytes. No NUL byte occurs, and no encoding is a proper prefix of another one, so they may be put
 * one behind the other. VALUE_MISSING and VALUE_UNDEFINED have encodings of their own class; every type has one. */
void key_append_value(struct buffer *out, struct value value, enum key_order order);
void key_append_value_by(struct buffer *out, const struct collation *by, struct value value,
                         enum key_order order);
/* The same for a plain byte string that is not a value (names, paths, ids): escaped and terminated. */
void key_append_bytes(struct buffer *out, bytes plain);
/* Reads back what key_append_bytes wrote; CORRUPT otherwise. Advances `key` behind it. */
MUST_USE status key_take_bytes(struct arena *arena, bytes *key, bytes *plain_out);
/* How long the encoding of one value at the front of `key` is; 0 if it is not one. */
size_t key_value_length(bytes key, enum key_order order);
/* The value at the front of `key`, which moves behind it. False if the key does not keep all of it: it does so of
 * strings (a symbol comes back as one), ObjectIds, bools and dates, but numbers have lost their types. In `arena`. */
MUST_USE status key_take_value(struct arena *arena, bytes *key, enum key_order order,
                               struct value *out, bool *is_kept_out);
/* One end of a stretch of encoded values: empty is no bound; one byte alone, no point, is where a kind begins, or the next. */
struct key_bound {
    bytes key;
    bool is_end, is_point, is_collated; /* not the start; a value; texts are keys of a collation */
};
/* As people read it: 5, "abc", new Date(0), MinKey. */
void key_write_bound(struct buffer *out, const struct key_bound *bound, enum key_order order);

#endif

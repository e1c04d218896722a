/* Compare: BSON order over values of all types.
 *
 * First by class (all number types are one class, strings and symbols another), then inside the class.
 * Documents compare field by field: class of the value, name, value; the one that ends first is less.
 * Arrays the same without names. value/key.c writes the same order as bytes and takes the classes from
 * here. A collation decides between strings and symbols, however deep they lie; names of fields and code
 * always compare by their bytes.
 *
 * Pure; callable from every thread. Recursion is bounded, because checked documents are. */
#include "value/class.h"

#include "value/number.h"
#include "value/parts.h"
#include "value/raw.h"

static int compare_in_class(const struct collation *by, struct value a, struct value b);
static int compare_fields(const struct collation *by, bytes a, bytes b, bool with_names);

enum value_class value_class_of(enum value_type type)
{
    switch (type) {
    case VALUE_MIN_KEY:
        return CLASS_MIN_KEY;
    case VALUE_MISSING:
    case VALUE_UNDEFINED:
        return CLASS_UNDEFINED;
    case VALUE_NULL:
        return CLASS_NULL;
    case VALUE_DOUBLE:
    case VALUE_INT32:
    case VALUE_INT64:
    case VALUE_DECIMAL128:
        return CLASS_NUMBER;
    case VALUE_STRING:
    case VALUE_SYMBOL:
        return CLASS_STRING;
    case VALUE_DOCUMENT:
        return CLASS_DOCUMENT;
    case VALUE_ARRAY:
        return CLASS_ARRAY;
    case VALUE_BINARY:
        return CLASS_BINARY;
    case VALUE_OBJECT_ID:
        return CLASS_OBJECT_ID;
    case VALUE_BOOL:
        return CLASS_BOOL;
    case VALUE_DATE:
        return CLASS_DATE;
    case VALUE_TIMESTAMP:
        return CLASS_TIMESTAMP;
    case VALUE_REGEX:
        return CLASS_REGEX;
    case VALUE_DB_POINTER:
        return CLASS_DB_POINTER;
    case VALUE_CODE:
        return CLASS_CODE;
    case VALUE_CODE_WITH_SCOPE:
        return CLASS_CODE_WITH_SCOPE;
    case VALUE_MAX_KEY:
        return CLASS_MAX_KEY;
    }
    check_failed("a value has a known type", __FILE__, __LINE__);
}

int value_compare(struct value a, struct value b)
{
    return value_compare_by(NULL, a, b);
}

int value_compare_by(const struct collation *by, struct value a, struct value b)
{
    enum value_class class_a = value_class_of(a.type);
    enum value_class class_b = value_class_of(b.type);

    if (class_a != class_b)
        return class_a < class_b ? -1 : 1;
    return compare_in_class(by, a, b);
}

int document_compare(bytes a, bytes b)
{
    return compare_fields(NULL, a, b, true);
}

static int compare_fields(const struct collation *by, bytes a, bytes b, bool with_names)
{
    struct document_walk walk_a = document_fields(a);
    struct document_walk walk_b = document_fields(b);
    struct field left;
    struct field right;

    for (;;) {
        bool has_left = document_next(&walk_a, &left);
        bool has_right = document_next(&walk_b, &right);
        if (!has_left || !has_right)
            return (int)has_left - (int)has_right;
        enum value_class class_left = value_class_of(left.value.type);
        enum value_class class_right = value_class_of(right.value.type);
        if (class_left != class_right)
            return class_left < class_right ? -1 : 1;
        int order = with_names ? bytes_compare(left.name, right.name) : 0;
        if (order == 0)
            order = compare_in_class(by, left.value, right.value);
        if (order != 0)
            return order;
    }
}

static int compare_binary(struct value a, struct value b)
{
    struct value_binary left = value_binary(a);
    struct value_binary right = value_binary(b);

    if (left.content.len != right.content.len)
        return left.content.len < right.content.len ? -1 : 1;
    if (left.subtype != right.subtype)
        return left.subtype < right.subtype ? -1 : 1;
    return bytes_compare(left.content, right.content);
}

static int compare_date(struct value a, struct value b)
{
    int64_t left = raw_int64(a.raw.data);
    int64_t right = raw_int64(b.raw.data);

    return (left > right) - (left < right);
}

static int compare_timestamp(struct value a, struct value b)
{
    uint64_t left = raw_u64(a.raw.data);
    uint64_t right = raw_u64(b.raw.data);

    return (left > right) - (left < right);
}

static int compare_regex(struct value a, struct value b)
{
    struct value_regex left = value_regex(a);
    struct value_regex right = value_regex(b);
    int order = bytes_compare(left.pattern, right.pattern);

    return order != 0 ? order : bytes_compare(left.options, right.options);
}

static int compare_db_pointer(struct value a, struct value b)
{
    struct value_db_pointer left = value_db_pointer(a);
    struct value_db_pointer right = value_db_pointer(b);

    if (left.collection.len != right.collection.len)
        return left.collection.len < right.collection.len ? -1 : 1;
    int order = bytes_compare(left.collection, right.collection);
    return order != 0 ? order : bytes_compare(left.id, right.id);
}

static int compare_scoped_code(struct value a, struct value b)
{
    struct value_scoped_code left = value_scoped_code(a);
    struct value_scoped_code right = value_scoped_code(b);
    int order = bytes_compare(left.code, right.code);

    return order != 0 ? order : document_compare(left.scope, right.scope);
}

static int compare_text(const struct collation *by, bytes a, bytes b)
{
    return by ? collation_compare(by, a, b) : bytes_compare(a, b);
}

static int compare_in_class(const struct collation *by, struct value a, struct value b)
{
    switch (value_class_of(a.type)) {
    case CLASS_MIN_KEY:
    case CLASS_UNDEFINED:
    case CLASS_NULL:
    case CLASS_MAX_KEY:
        return 0;
    case CLASS_NUMBER:
        return number_compare(a, b);
    case CLASS_STRING:
        return compare_text(by, value_text(a), value_text(b));
    case CLASS_CODE:
        return bytes_compare(value_text(a), value_text(b));
    case CLASS_DOCUMENT:
        return compare_fields(by, a.raw, b.raw, true);
    case CLASS_ARRAY:
        return compare_fields(by, a.raw, b.raw, false);
    case CLASS_BINARY:
        return compare_binary(a, b);
    case CLASS_OBJECT_ID:
    case CLASS_BOOL:
        return bytes_compare(a.raw, b.raw);
    case CLASS_DATE:
        return compare_date(a, b);
    case CLASS_TIMESTAMP:
        return compare_timestamp(a, b);
    case CLASS_REGEX:
        return compare_regex(a, b);
    case CLASS_DB_POINTER:
        return compare_db_pointer(a, b);
    case CLASS_CODE_WITH_SCOPE:
        return compare_scoped_code(a, b);
    }
    check_failed("a value has a class", __FILE__, __LINE__);
}

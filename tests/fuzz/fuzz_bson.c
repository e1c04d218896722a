/* Fuzz BSON: any bytes into the check; what it accepts must survive everything else in the room.
 *
 * An accepted document is walked to its leaves, written as JSON that reads back, compared with
 * itself, and every field is encoded as a key whose length is found again. */
#include "value/value.h"

enum { BUDGET = 512 * 1024 * 1024, INPUT_BYTES_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(bytes document)
{
    struct document_walk fields = document_fields(document);
    struct field field;
    int64_t integer;

    while (document_next(&fields, &field)) {
        if (field.value.type == VALUE_DOCUMENT || field.value.type == VALUE_ARRAY)
            walk(value_document(field.value));
        value_as_int64(field.value, &integer);
    }
}

static void check_keys(struct arena *arena, bytes document)
{
    struct document_walk fields = document_fields(document);
    struct field field;

    while (document_next(&fields, &field)) {
        for (int order = KEY_ASCENDING; order <= KEY_DESCENDING; order++) {
            struct buffer key = buffer_in(arena);
            key_append_value(&key, field.value, (enum key_order)order);
            ASSERT(!key.is_failed);
            ASSERT(memchr(key.data, 0, key.len) == NULL);
            bytes whole = bytes_of(key.data, key.len);
            ASSERT(key_value_length(whole, (enum key_order)order) == key.len);
        }
    }
}

static void check_json(struct arena *arena, bytes document)
{
    struct buffer text = buffer_in(arena);
    bytes back;

    json_write(&text, document);
    ASSERT(!text.is_failed);
    status s = json_read(arena, bytes_of(text.data, text.len), &back);
    /* Extended notation nests deeper than the document did. */
    ASSERT(s.code == OK || s.code == TOO_LARGE);
}

static void check_path(struct arena *arena, bytes document)
{
    struct document_walk fields = document_fields(document);
    struct path_values values;
    const struct path *path;
    struct field field;

    while (document_next(&fields, &field)) {
        if (path_parse(arena, field.name, &path).code != OK)
            continue;
        status s = path_collect(arena, path, document, &values);
        ASSERT(s.code == TOO_LARGE || (s.code == OK && values.count > 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes document = bytes_of(data, size);

    if (size <= INPUT_BYTES_MAX && document_check(arena, document).code == OK) {
        walk(document);
        ASSERT(document_compare(document, document) == 0);
        check_json(arena, document);
        check_keys(arena, document);
        check_path(arena, document);
    }
    arena_close(arena);
    return 0;
}

/* Fuzz: edits of documents. The input is a JSON object, a path and a value, one per line. Whatever
 * the path says, the original stays as it is; a result passes the check, and what was set or added at a
 * path in an object can be removed again. */
#include <stdlib.h>

#include "front/cosmos/item_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static bytes next_line(bytes *rest)
{
    const uint8_t *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    bytes line = bytes_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);

    *rest = bytes_from(*rest, line.len + 1);
    return line;
}

static bool read_value(struct arena *arena, bytes text, struct value *out)
{
    struct buffer list = buffer_in(arena);
    struct document_walk walk;
    struct field field;
    bytes array;

    buffer_append_text(&list, "[");
    buffer_append(&list, text);
    buffer_append_text(&list, "]");
    if (json_read_array(arena, bytes_of(list.data, list.len), &array).code != OK)
        return false;
    walk = document_fields(array);
    bool has_one = document_next(&walk, &field);
    *out = field.value;
    return has_one;
}

static void edit_all_ways(struct arena *arena, bytes document, struct edit *edit)
{
    bytes out, back;

    for (edit->kind = EDIT_ADD; edit->kind <= EDIT_MOVE; edit->kind++) {
        if (edit->kind == EDIT_INCREMENT && !value_is_number(edit->value))
            continue;
        edit->from = edit->path;
        status s = edit_document(arena, edit, document, &out);
        need(s.code == OK || (s.code == INVALID && s.message[0]));
        if (s.code != OK)
            continue;
        s = document_check(arena, out);
        need(s.code == OK || s.code == TOO_LARGE); /* nested deeper by the value */
        if (edit->kind == EDIT_REPLACE) {
            struct edit removal = { .kind = EDIT_REMOVE, .path = edit->path };
            need(edit_document(arena, &removal, out, &back).code == OK);
            need(back.len < out.len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(256 * 1024 * 1024);
    bytes rest = bytes_of(data, size), document, copy;
    struct edit edit = { .kind = EDIT_ADD };

    need(arena != NULL);
    bytes text = next_line(&rest);
    bytes path = next_line(&rest);
    /* Paths are strings of a JSON text, so they are UTF-8. */
    if (text_is_utf8(path) && json_read(arena, text, &document).code == OK &&
        edit_path_parse(arena, path, &edit.path).code == OK &&
        read_value(arena, next_line(&rest), &edit.value)) {
        need(arena_copy(arena, document, &copy).code == OK);
        edit_all_ways(arena, document, &edit);
        need(bytes_equal(document, copy));
    }
    arena_close(arena);
    return 0;
}

/* Fuzz JSON: any bytes into the readers; what they accept passes the check, and written as JSON again it
 * reads as an equal document whose text does not change any more. */
#include "value/value.h"

enum { BUDGET = 256 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bytes written(struct arena *arena, bytes document)
{
    struct buffer out = buffer_in(arena);

    json_write(&out, document);
    ASSERT(!out.is_failed);
    return bytes_of(out.data, out.len);
}

static void check_extended(struct arena *arena, bytes text)
{
    bytes document, again;

    if (json_read_extended(arena, text, &document).code != OK)
        return;
    ASSERT(document_check(arena, document).code == OK);
    bytes shown = written(arena, document);
    ASSERT(json_read_extended(arena, shown, &again).code == OK);
    ASSERT(bytes_equal(shown, written(arena, again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes document;
    bytes again;

    status s = json_read(arena, bytes_of(data, size), &document);
    if (s.code == OK) {
        ASSERT(document_check(arena, document).code == OK);
        bytes text = written(arena, document);
        ASSERT(json_read(arena, text, &again).code == OK);
        ASSERT(document_compare(document, again) == 0);
        ASSERT(bytes_equal(text, written(arena, again)));
        check_extended(arena, bytes_of(data, size));
    } else {
        ASSERT(s.code == INVALID || s.code == TOO_LARGE);
        ASSERT(s.message[0] != 0);
    }
    arena_close(arena);
    return 0;
}

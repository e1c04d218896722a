/* Fuzz: the list of checksums in a backup. Any bytes are refused or are lines whose names stay inside a
 * directory, and every line makes the rest shorter. */
#include "base/base.h"
#include "server/copy.h"

enum { BUDGET = 8 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes rest = bytes_of(data, size);
    struct copy_line line;
    bytes lines;
    bool has_line = true;

    ASSERT(arena != NULL);
    ASSERT(copy_open_list(arena, rest, &lines).code != OK || lines.len < size);
    while (has_line) {
        size_t before = rest.len;
        if (copy_take_line(arena, &rest, &line, &has_line).code != OK)
            break;
        ASSERT(!has_line || rest.len < before);
        ASSERT(!has_line || (line.name.len > 0 && !memchr(line.name.data, '/', line.name.len)));
    }
    arena_close(arena);
    return 0;
}

/* Memory: the only file that calls the system's allocator.
 *
 * Long-lived handles (engine, catalog entries, connections) come from here; everything that belongs
 * to a request comes from its arena. Callable from every thread. */
#include "base/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* What a thread keeps for its next request, and what is taken from the system one by one. */
enum { KEPT_BYTES = 4 << 20, APART_BYTES = 4 << 20 };

void memory_prepare(void)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, APART_BYTES);
}

void *memory_take(size_t size)
{
    return malloc(size ? size : 1);
}

void *memory_take_zeroed(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *memory_take_aligned(size_t alignment, size_t size)
{
    void *piece = aligned_alloc(alignment, size);

    if (piece)
        memset(piece, 0, size);
    return piece;
}

void *memory_resize(void *piece, size_t size)
{
    return realloc(piece, size ? size : 1);
}

void memory_give(void *piece)
{
    free(piece);
}

/* Memory: the only file that calls the system's allocator.
 *
 * Long-lived handles (engine, catalog entries, connections) come from here; everything that belongs
 * to a request comes from its arena. Callable from every thread. */
#include "base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a thread keeps for its next request, and what is taken from the system one by one. */
enum {
    KEPT_BYTES = 4 << 20,
    APART_BYTES = 2 << 20,
    LARGE_PAGE_BYTES = MEMORY_BLOCK_BYTES,
    AHEAD_BYTES = 1 << 20,
    BLOCKS_KEPT = 24
};

/* The allocator makes heaps so that threads do not wait for each other, by default eight for each processor. Every one
 * keeps KEPT_BYTES, and what is free in one serves no other: under a steady load that was a third of all memory, and
 * would be gigabytes on a large machine. More heaps than threads that run at once help nobody. */
enum { HEAPS_PER_PROCESSOR = 2, HEAPS_MORE = 4 };

void memory_prepare(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    mallopt(M_ARENA_MAX, HEAPS_PER_PROCESSOR * (int)(processors > 0 ? processors : 1) + HEAPS_MORE);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, APART_BYTES);
}

/* What is given back stays with the thread: it is less than KEPT_BYTES. */
void memory_ahead(void)
{
    volatile char *piece = malloc(AHEAD_BYTES);

    if (piece)
        *piece = 0; /* so that it is not left out */
    free((void *)piece);
}

/* A large piece comes from the system page by page as it is touched, so it is asked for in large pages. */
static void *take_apart(size_t size)
{
    void *piece;

    /* Unlike aligned_alloc() it takes sizes that are no multiple of the alignment. */
    if (posix_memalign(&piece, LARGE_PAGE_BYTES, size) != 0)
        return NULL;
    (void)madvise(piece, size, MADV_HUGEPAGE);
    return piece;
}

void *memory_take(size_t size)
{
    return size >= APART_BYTES ? take_apart(size) : malloc(size ? size : 1);
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
    return piece ? realloc(piece, size ? size : 1) : memory_take(size);
}

void memory_give(void *piece)
{
    free(piece);
}

void memory_give_wiping(void *piece)
{
    if (piece)
        explicit_bzero(piece, malloc_usable_size(piece));
    free(piece);
}

void *memory_resize_wiping(void *piece, size_t size)
{
    const size_t before = piece ? malloc_usable_size(piece) : 0;
    void *fresh = memory_take(size);

    if (!fresh)
        return NULL;
    if (before > 0)
        memcpy(fresh, piece, before < size ? before : size);
    memory_give_wiping(piece);
    return fresh;
}

/* Not calloc: what it takes from memory that was given back before, it fills with zeros at once. */
void *memory_take_untouched(size_t size)
{
    void *piece = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return piece == MAP_FAILED ? NULL : piece;
}

/* From the boundary of a large page on; what lies around it goes back. */
void *memory_take_untouched_large(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    uint8_t *all = memory_take_untouched(whole + LARGE_PAGE_BYTES);

    if (!all)
        return NULL;
    const size_t before = (LARGE_PAGE_BYTES - (uintptr_t)all % LARGE_PAGE_BYTES) % LARGE_PAGE_BYTES;
    uint8_t *piece = all + before;
    if (before > 0)
        munmap(all, before);
    munmap(piece + whole, LARGE_PAGE_BYTES - before);
    (void)madvise(piece, whole, MADV_HUGEPAGE);
    return piece;
}

void memory_give_untouched(void *piece, size_t size)
{
    if (piece)
        munmap(piece, size);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

/* tidy: global because it is a part of the system's allocator, which is one for all. */
static struct {
    pthread_mutex_t lock;
    size_t count, least; /* now, and since they were tended to */
    void *kept[BLOCKS_KEPT];
} blocks = { .lock = PTHREAD_MUTEX_INITIALIZER };

void *memory_take_block(void)
{
    void *block = NULL;

    pthread_mutex_lock(&blocks.lock);
    if (blocks.count > 0)
        block = blocks.kept[--blocks.count];
    if (blocks.count < blocks.least)
        blocks.least = blocks.count;
    pthread_mutex_unlock(&blocks.lock);
    return block ? block : take_apart(MEMORY_BLOCK_BYTES);
}

void memory_give_block(void *block)
{
    pthread_mutex_lock(&blocks.lock);
    if (block && blocks.count < BLOCKS_KEPT) {
        blocks.kept[blocks.count++] = block;
        block = NULL;
    }
    pthread_mutex_unlock(&blocks.lock);
    free(block);
}

void memory_tend_blocks(void)
{
    void *unwanted[BLOCKS_KEPT];

    pthread_mutex_lock(&blocks.lock);
    const size_t count = blocks.least;
    blocks.count -= count;
    memcpy(unwanted, blocks.kept + blocks.count, count * sizeof(*unwanted));
    blocks.least = blocks.count;
    pthread_mutex_unlock(&blocks.lock);
    for (size_t i = 0; i < count; i++)
        free(unwanted[i]);
}

/* ---- heaps ---------------------------------------------------------------------------------------- */

void memory_tend_heaps(void)
{
    (void)malloc_trim(KEPT_BYTES);
}

/* ---- secrets -------------------------------------------------------------------------------------- */

void *memory_take_secret(size_t size)
{
    void *piece = memory_take_untouched(size);

    if (piece) {
        (void)madvise(piece, size, MADV_DONTDUMP);
        (void)mlock(piece, size); /* a limit of the system may be in the way */
    }
    return piece;
}

void memory_give_secret(void *piece, size_t size)
{
    if (!piece)
        return;
    explicit_bzero(piece, size);
    munmap(piece, size);
}

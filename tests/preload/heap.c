/* Heap: how much memory of which age a program holds, for finding what it never gives back.
 *
 *     HEAP_FILE=path LD_PRELOAD=.../heap.so mayfly serve ...
 *
 * Resident memory says little about a leak: caches fill up, the allocator keeps what was given back, and tables are
 * written into memory until they are flushed. But all of these are replaced in time, and what leaks is not. So each
 * piece is born in a generation, and the file says for every generation how many of its bytes are still held.
 * Whoever watches the program writes the number of the generation into the file, and later reads there what is left of it.
 *
 * The file, in numbers of 8 bytes: the generation; then for each generation HEAP_SHARDS counters whose sum counts.
 * Each piece has a head in front of it. Threads: any; the counters are atomic, several of each so that threads seldom meet. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAP_GENERATIONS = 4096, HEAP_SHARDS = 8 };

struct heap_file {
    _Atomic int64_t generation;
    _Atomic int64_t held[HEAP_GENERATIONS][HEAP_SHARDS];
};

/* In front of each piece; 16 bytes, which is the alignment of every piece. */
struct head {
    uint64_t size;
    uint32_t generation;
    uint32_t before; /* bytes from where the allocator's own piece begins to this head */
};

/* The allocator behind this library, as glibc names it. */
void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *piece);

/* Used until the file is there, and if there is none. */
static struct heap_file unwatched;
static _Atomic(struct heap_file *) watched = &unwatched;

__attribute__((constructor)) static void watch(void)
{
    const char *path = getenv("HEAP_FILE");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *file = fd < 0 || ftruncate(fd, sizeof(struct heap_file)) != 0
                     ? MAP_FAILED
                     : mmap(NULL, sizeof(struct heap_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                            0);

    if (file != MAP_FAILED)
        atomic_store(&watched, file);
    if (fd >= 0)
        close(fd);
}

static void count(uint32_t generation, int64_t bytes)
{
    struct heap_file *file = atomic_load_explicit(&watched, memory_order_relaxed);
    const size_t shard = ((uintptr_t)pthread_self() >> 12) % HEAP_SHARDS;

    atomic_fetch_add_explicit(&file->held[generation][shard], bytes, memory_order_relaxed);
}

static void *take(size_t alignment, size_t size)
{
    const size_t room = alignment > sizeof(struct head) ? alignment : sizeof(struct head);
    struct heap_file *file = atomic_load_explicit(&watched, memory_order_relaxed);
    char *base = NULL;

    if (size <= SIZE_MAX - room)
        base = room > sizeof(struct head) ? __libc_memalign(alignment, size + room)
                                          : __libc_malloc(size + room);
    if (!base) {
        errno = ENOMEM;
        return NULL;
    }
    struct head *head = (struct head *)(void *)(base + room) - 1;
    *head = (struct head){ .size = size,
                           .generation = (uint32_t)atomic_load_explicit(&file->generation,
                                                                        memory_order_relaxed) %
                                         HEAP_GENERATIONS,
                           .before = (uint32_t)(room - sizeof(struct head)) };
    count(head->generation, (int64_t)size);
    return head + 1;
}

void *malloc(size_t size)
{
    return take(sizeof(struct head), size);
}

void free(void *piece)
{
    struct head *head = (struct head *)piece - 1;

    if (!piece)
        return;
    count(head->generation, -(int64_t)head->size);
    __libc_free((char *)head - head->before);
}

void *calloc(size_t count_of, size_t size)
{
    size_t sum;

    if (__builtin_mul_overflow(count_of, size, &sum)) {
        errno = ENOMEM;
        return NULL;
    }
    void *piece = take(sizeof(struct head),
                       sum); /* not malloc: the compiler would make a calloc of it */
    return piece ? memset(piece, 0, sum) : NULL;
}

/* What grows is as old as its last growth: a buffer that was doubled once more is no leak. */
void *realloc(void *piece, size_t size)
{
    if (!piece)
        return malloc(size);
    if (size == 0) {
        free(piece);
        return NULL;
    }
    void *fresh = malloc(size);
    if (!fresh)
        return NULL;
    const size_t before = ((struct head *)piece - 1)->size;
    memcpy(fresh, piece, before < size ? before : size);
    free(piece);
    return fresh;
}

void *memalign(size_t alignment, size_t size)
{
    return take(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return take(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = take(alignment, size);
    return *out ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *piece)
{
    return piece ? ((struct head *)piece - 1)->size : 0;
}

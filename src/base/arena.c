/* Arena: memory of one request, with a byte budget.
 *
 * A chain of blocks, newest first; pieces are cut from the newest one. Blocks double in size up to those
 * that are kept for whoever needs one next (base/memory.h); a larger piece gets a block of its own. The budget counts the bytes of pieces, not of blocks.
 * Memory that was given back is poisoned under AddressSanitizer, so a stale pointer is found.
 *
 * Threads: none of its own; an arena belongs to one request at a time. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>

#include "base/check.h"
#include "base/memory.h"

/* gcc defines a name, clang answers a question. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_POISONING 1
#elif defined(__has_feature)
#define IS_POISONING __has_feature(address_sanitizer)
#else
#define IS_POISONING 0
#endif

#if IS_POISONING
#include <sanitizer/asan_interface.h>
#define POISON(data, len) ASAN_POISON_MEMORY_REGION((data), (len))
#define UNPOISON(data, len) ASAN_UNPOISON_MEMORY_REGION((data), (len))
#else
#define POISON(data, len) ((void)(data), (void)(len))
#define UNPOISON(data, len) ((void)(data), (void)(len))
#endif

enum {
    BLOCK_BYTES_FIRST = 4096,
    ALIGNMENT = 16,
};

struct block {
    struct block *older;
    size_t size;
    _Alignas(ALIGNMENT) uint8_t data[];
};

struct arena {
    struct block *newest;
    size_t used;  /* in the newest block */
    size_t taken; /* over all blocks, against the budget */
    size_t budget_bytes;
};

enum { BLOCK_BYTES_MAX = MEMORY_BLOCK_BYTES - (int)sizeof(struct block) };

static struct block *block_open(struct block *older, size_t size)
{
    struct block *block = size == BLOCK_BYTES_MAX ? memory_take_block()
                                                  : memory_take(sizeof(*block) + size);

    if (!block)
        return NULL;
    block->older = older;
    block->size = size;
    POISON(block->data, size);
    return block;
}

static void block_close(struct block *block)
{
    UNPOISON(block->data, block->size);
    if (block->size == BLOCK_BYTES_MAX)
        memory_give_block(block);
    else
        memory_give(block);
}

struct arena *arena_open(size_t budget_bytes)
{
    struct arena *arena = memory_take(sizeof(*arena));

    if (!arena)
        return NULL;
    *arena = (struct arena){ .budget_bytes = budget_bytes };
    return arena;
}

static void close_newer_than(struct arena *arena, struct block *keep)
{
    while (arena->newest != keep) {
        struct block *older = arena->newest->older;
        block_close(arena->newest);
        arena->newest = older;
    }
}

void arena_close(struct arena *arena)
{
    if (!arena)
        return;
    close_newer_than(arena, NULL);
    memory_give(arena);
}

void arena_reset(struct arena *arena)
{
    struct block *oldest = arena->newest;

    while (oldest && oldest->older)
        oldest = oldest->older;
    close_newer_than(arena, oldest);
    arena->used = 0;
    arena->taken = 0;
    if (oldest)
        POISON(oldest->data, oldest->size);
}

static size_t next_block_size(const struct arena *arena, size_t piece)
{
    size_t size = arena->newest ? arena->newest->size * 2 : BLOCK_BYTES_FIRST;

    if (size > BLOCK_BYTES_MAX)
        size = BLOCK_BYTES_MAX;
    return piece > size ? piece : size;
}

void *arena_try_take(struct arena *arena, size_t size)
{
    size_t rounded;

    if (!size_add(size, ALIGNMENT - 1, &rounded))
        return NULL;
    rounded &= ~(size_t)(ALIGNMENT - 1);
    if (rounded > arena->budget_bytes - arena->taken)
        return NULL;
    if (!arena->newest || rounded > arena->newest->size - arena->used) {
        struct block *block = block_open(arena->newest, next_block_size(arena, rounded));
        if (!block)
            return NULL;
        arena->newest = block;
        arena->used = 0;
    }
    uint8_t *piece = arena->newest->data + arena->used;
    arena->used += rounded;
    arena->taken += rounded;
    UNPOISON(piece, size);
    return piece;
}

bool arena_try_extend(struct arena *arena, void *piece, size_t old_size, size_t new_size)
{
    size_t rounded_old = (old_size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    size_t rounded_new;

    if (!arena->newest || (uint8_t *)piece + rounded_old != arena->newest->data + arena->used)
        return false;
    if (!size_add(new_size, ALIGNMENT - 1, &rounded_new))
        return false;
    rounded_new &= ~(size_t)(ALIGNMENT - 1);
    ASSERT(rounded_new >= rounded_old);
    size_t more = rounded_new - rounded_old;
    if (more > arena->newest->size - arena->used || more > arena->budget_bytes - arena->taken)
        return false;
    arena->used += more;
    arena->taken += more;
    UNPOISON(piece, new_size);
    return true;
}

const char *arena_why_exhausted(const struct arena *arena)
{
    return arena->taken > arena->budget_bytes / 2
               ? "the request needs more memory than its budget allows; ask for less"
               : "the request needs one piece of memory larger than its budget";
}

status arena_take(struct arena *arena, size_t size, void **out)
{
    *out = arena_try_take(arena, size);
    return *out ? STATUS_OK : arena_exhausted(arena);
}

status arena_take_array(struct arena *arena, size_t count, size_t size, void **out)
{
    size_t total;

    *out = NULL;
    if (!size_mul(count, size, &total))
        return arena_exhausted(arena);
    TRY(arena_take(arena, total, out));
    memset(*out, 0, total);
    return STATUS_OK;
}

status arena_copy(struct arena *arena, bytes source, bytes *out)
{
    void *data;

    *out = BYTES_NONE;
    TRY(arena_take(arena, source.len, &data));
    if (source.len)
        memcpy(data, source.data, source.len);
    *out = bytes_of(data, source.len);
    return STATUS_OK;
}

status arena_join(struct arena *arena, bytes front, bytes back, bytes *out)
{
    void *data;

    *out = BYTES_NONE;
    TRY(arena_take(arena, front.len + back.len, &data));
    if (front.len)
        memcpy(data, front.data, front.len);
    if (back.len)
        memcpy((uint8_t *)data + front.len, back.data, back.len);
    *out = bytes_of(data, front.len + back.len);
    return STATUS_OK;
}

const char *arena_format_args(struct arena *arena, const char *format, va_list args)
{
    va_list again;

    if (!arena)
        return NULL;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = len < 0 ? NULL : arena_try_take(arena, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, format, args);
    return text;
}

const char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *text = arena_format_args(arena, format, args);
    va_end(args);
    return text;
}

arena_position arena_mark(const struct arena *arena)
{
    return (arena_position){ .block = arena->newest, .used = arena->used, .taken = arena->taken };
}

void arena_release(struct arena *arena, arena_position mark)
{
    close_newer_than(arena, mark.block);
    arena->used = mark.used;
    arena->taken = mark.taken;
    if (arena->newest)
        POISON(arena->newest->data + mark.used, arena->newest->size - mark.used);
}

size_t arena_used_bytes(const struct arena *arena)
{
    return arena->taken;
}

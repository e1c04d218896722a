/* The system's allocator, for long-lived handles only; request data comes from arenas. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* Once at the start: the allocator gives memory back to the system in large pieces only. By default each request that
 * takes a little more than the one before pays for it with calls to the system and page faults, over and over. */
void memory_prepare(void);
/* Now and then by a thread that serves requests: makes room for what is still to come. Otherwise the memory of a thread
 * grows page by page, with a call to the system for each. */
void memory_ahead(void);
/* Uninitialised, NULL without memory. */
void *memory_take(size_t size);
/* Zeroed; NULL without memory or on overflow. */
void *memory_take_zeroed(size_t count, size_t size);
/* Zeroed, for structures that must not share a cache line; size is a multiple of the alignment. */
void *memory_take_aligned(size_t alignment, size_t size);
/* As realloc; the old piece stays valid on failure. */
void *memory_resize(void *piece, size_t size);
void memory_give(void *piece);
/* The same for what may be secret: it is overwritten before it is given back, and where a piece moves. */
void *memory_resize_wiping(void *piece, size_t size);
void memory_give_wiping(void *piece);
/* Zeroed memory for a large table that fills bit by bit: what was never touched costs nothing. */
void *memory_take_untouched(size_t size);
/* The same in large pages, where the system has them, which the processor finds sooner: for what is touched from its beginning on, or all over. */
void *memory_take_untouched_large(size_t size);
void memory_give_untouched(void *piece, size_t size);
/* Blocks of MEMORY_BLOCK_BYTES, aligned to that, each a large page if the system has some. What is given back is kept for
 * the next one, up to a bound, because a fresh block is filled with zeros by the system first. NULL without memory. */
enum { MEMORY_BLOCK_BYTES = 2 << 20 };
void *memory_take_block(void);
void memory_give_block(void *block);
/* Now and then: blocks that nobody has wanted since the last time go back to the system. */
void memory_tend_blocks(void);
/* When writers rest: what is free between pieces that are in use goes back to the system. Takes milliseconds, tens of them where heaps are
 * large, a part for each heap; who wants memory from that one waits. */
void memory_tend_heaps(void);
/* Zeroed memory for a few secrets that live long, in pages of its own: no core dump has it, and it goes to no swap where
 * the system allows that. NULL without memory. Giving it back overwrites it. */
void *memory_take_secret(size_t size);
void memory_give_secret(void *piece, size_t size);

#endif

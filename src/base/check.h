/* Assertions and checked arithmetic. ASSERT states what only a programmer's mistake can break; it is
 * always on and ends the process. ASSERT_SLOW is for checks that cost real time: only in builds with
 * MAYFLY_SLOW_CHECKS. The arithmetic helpers return false on overflow and leave `out` untouched. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void check_failed(const char *claim, const char *file, int line);

#define ASSERT(claim) ((claim) ? (void)0 : check_failed(#claim, __FILE__, __LINE__))

#ifdef MAYFLY_SLOW_CHECKS
#define ASSERT_SLOW(claim) ASSERT(claim)
#else
#define ASSERT_SLOW(claim) ((void)sizeof(claim))
#endif

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline bool size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool int64_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* Sum that stays at INT64_MIN or INT64_MAX instead of wrapping. */
static inline int64_t int64_add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Difference that stays at INT64_MIN or INT64_MAX instead of wrapping. */
static inline int64_t int64_sub_saturating(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

#endif

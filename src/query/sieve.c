/* Sieve: one bit for each value that may pass, at a place that follows from the value.
 *
 * A table of sixteen to thirty-two bits for each value is small enough to stay near the processor while many documents
 * are looked at. The place is a hash of what the value is, without encoding it: numbers as doubles, since equal numbers
 * are equal doubles whatever their types, and what is compared byte by byte as its bytes. Of other values, such as
 * decimals, documents or texts under a collation, it cannot tell and lets them pass; if one of them is added,
 * everything passes.
 *
 * Keeps: what equals a value that was added passes.
 * Threads: belongs to its request until everything is added; then many may ask. */
#include "query/sieve.h"

enum { BITS_PER_VALUE = 16, BITS_PER_WORD = 64 };

status sieve_open(struct arena *arena, const struct collation *by, size_t count, struct sieve *out)
{
    size_t bits = BITS_PER_WORD;

    while (bits / BITS_PER_VALUE < count)
        bits *= 2;
    *out = (struct sieve){ .by = by, .mask = bits - 1 };
    return ARENA_NEW(arena, bits / BITS_PER_WORD, &out->bits);
}

/* False: there is none for such values. */
static bool place_of(const struct sieve *sieve, struct value value, size_t *out)
{
    bytes what = value.raw;
    double number;

    switch (value.type) {
    case VALUE_INT32:
    case VALUE_INT64:
    case VALUE_DOUBLE:
        number = value_as_double(value);
        if (number != number)
            return false;
        if (number == 0)
            number = 0; /* of two zeros one has a sign */
        what = bytes_of(&number, sizeof(number));
        break;
    case VALUE_STRING:
    case VALUE_SYMBOL:
        if (sieve->by)
            return false;
        what = value_text(value);
        break;
    case VALUE_OBJECT_ID:
    case VALUE_NULL:
    case VALUE_DATE:
        break;
    case VALUE_MISSING:
    case VALUE_DOCUMENT:
    case VALUE_ARRAY:
    case VALUE_BINARY:
    case VALUE_UNDEFINED:
    case VALUE_BOOL:
    case VALUE_REGEX:
    case VALUE_DB_POINTER:
    case VALUE_CODE:
    case VALUE_CODE_WITH_SCOPE:
    case VALUE_TIMESTAMP:
    case VALUE_DECIMAL128:
    case VALUE_MIN_KEY:
    case VALUE_MAX_KEY:
        return false;
    }
    *out = (size_t)bytes_hash(what, 0) & sieve->mask;
    return true;
}

void sieve_add(struct sieve *sieve, struct value value)
{
    size_t at;

    if (!place_of(sieve, value, &at))
        sieve->is_blind = true;
    else
        sieve->bits[at / BITS_PER_WORD] |= UINT64_C(1) << at % BITS_PER_WORD;
}

bool sieve_passes(const struct sieve *sieve, struct value value)
{
    size_t at;

    return !sieve->bits || sieve->is_blind || !place_of(sieve, value, &at) ||
           (sieve->bits[at / BITS_PER_WORD] >> at % BITS_PER_WORD & 1) != 0;
}

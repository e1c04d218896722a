/* The documents of the measurements: 500 bytes of BSON, made from a number, with ids in no order. */
#ifndef BENCH_DOCUMENTS_H
#define BENCH_DOCUMENTS_H

#include "value/value.h"

enum { BENCH_ID_LEN = 16, BENCH_DOCUMENT_BYTES = 500 };

/* One to one, so that ids are unique and in no order. */
static inline uint64_t bench_mix(uint64_t n)
{
    n = (n ^ (n >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    n = (n ^ (n >> 27)) * UINT64_C(0x94D049BB133111EB);
    return n ^ (n >> 31);
}

static inline void bench_hex(uint8_t out[BENCH_ID_LEN], uint64_t number)
{
    for (int i = 0; i < BENCH_ID_LEN; i++)
        out[i] = (uint8_t) "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

/* BSON {_id: <16 characters>, text: <words and numbers>} of 500 bytes; LZ4 makes about 60 % of it. */
static inline bytes bench_document(uint8_t out[BENCH_DOCUMENT_BYTES], uint64_t n)
{
    static const char words[] = "\",\"temperature\":";
    enum { ID_AT = 13, TEXT_AT = ID_AT + BENCH_ID_LEN + 1 + 10, STEP = 32 };
    const uint32_t size = BENCH_DOCUMENT_BYTES, id_size = BENCH_ID_LEN + 1;
    const uint32_t text_size = BENCH_DOCUMENT_BYTES - TEXT_AT - 1;

    memcpy(out, &size, 4);
    memcpy(out + 4, "\x02_id", 5);
    memcpy(out + 9, &id_size, 4);
    bench_hex(out + ID_AT, bench_mix(n));
    out[ID_AT + BENCH_ID_LEN] = 0;
    memcpy(out + ID_AT + BENCH_ID_LEN + 1, "\x02text", 6);
    memcpy(out + TEXT_AT - 4, &text_size, 4);
    memset(out + TEXT_AT, '.', text_size - 1);
    for (uint32_t at = 0; at + STEP < text_size; at += STEP) {
        memcpy(out + TEXT_AT + at, words, sizeof(words) - 1);
        bench_hex(out + TEXT_AT + at + BENCH_ID_LEN, bench_mix(n * 31 + at));
    }
    out[size - 2] = out[size - 1] = 0;
    return bytes_of(out, size);
}

/* The id as a BSON string value, in memory that lives long enough. */
struct bench_id {
    uint8_t raw[4 + BENCH_ID_LEN + 1];
};
static inline struct value bench_id_value(struct bench_id *id, uint64_t n)
{
    const uint32_t len = BENCH_ID_LEN + 1;

    memcpy(id->raw, &len, 4);
    bench_hex(id->raw + 4, bench_mix(n));
    id->raw[4 + BENCH_ID_LEN] = 0;
    return (struct value){ .type = VALUE_STRING, .raw = bytes_of(id->raw, sizeof(id->raw)) };
}

#endif

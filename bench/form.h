/* Forms: requests of any protocol, made once, with places that differ from request to request. Filling one is a copy and
 * a few bytes at each place, so that a request costs the same little whichever protocol it speaks. The documents in
 * them have 500 bytes each, about the same in BSON and JSON: an id, a user, a number, and text of which LZ4 makes
 * some 60 %. */
#ifndef BENCH_FORM_H
#define BENCH_FORM_H

#include "bench/bench.h"
#include "bench/documents.h"

enum {
    FORM_BYTES = 2048,
    FORM_PLACES = 12,
    FORM_TEXTS = 4096,
    FORM_TEXT_BYTES = 512,
    FORM_USER_LEN = 8,
    FORM_NUMBER_LEN = 8,
    FORM_DEADLINE_LEN = 13,
};

enum place_kind {
    PLACE_ID,           /* 16 hexadecimal digits */
    PLACE_USER,         /* 8 digits; every ten documents have one in common */
    PLACE_NUMBER,       /* 8 digits, none of them leading zeros */
    PLACE_NUMBER_RAW,   /* the same in 4 bytes, little-endian */
    PLACE_TEXT,         /* fills up */
    PLACE_DEADLINE,     /* the deadline in milliseconds, 13 digits */
    PLACE_DEADLINE_RAW, /* the same in 8 bytes, little-endian */
    PLACE_DEADLINE_BIG, /* the deadline in microseconds since 2000, 8 bytes, big-endian */
    PLACE_TURN_RAW,     /* the number of the request on its connection, 8 bytes, little-endian */
    PLACE_SESSION,      /* the number of its connection, 4 bytes */
    PLACE_SIGNATURE,    /* see rival_cosmos.h */
};

/* What is filled in. */
struct filling {
    uint64_t n; /* of the document */
    int64_t deadline_ms;
    uint64_t turn;
    uint32_t session;
    const char *signature;
};

struct form {
    size_t len, place_count;
    struct {
        enum place_kind kind;
        size_t at, len;
    } places[FORM_PLACES];
    char data[FORM_BYTES];
};

/* Texts that all documents draw from; far more than fit into a block of any storage. */
struct texts {
    char text[FORM_TEXTS][FORM_TEXT_BYTES];
};

static inline void texts_make(struct texts *texts)
{
    static const char words[] = " a temperature, ";
    enum { WORDS_LEN = sizeof(words) - 1, STEP = WORDS_LEN + BENCH_ID_LEN };

    for (uint64_t t = 0; t < FORM_TEXTS; t++) {
        for (uint64_t at = 0; at < FORM_TEXT_BYTES; at += STEP) {
            memcpy(texts->text[t] + at, words, WORDS_LEN);
            bench_hex((uint8_t *)texts->text[t] + at + WORDS_LEN, bench_mix(t * 1009 + at));
        }
    }
}

/* ---- making ------------------------------------------------------------------------------------------ */

static inline void form_put(struct form *form, const void *data, size_t len)
{
    BENCH_CLAIM(form->len + len <= FORM_BYTES);
    memcpy(form->data + form->len, data, len);
    form->len += len;
}

static inline void form_text(struct form *form, const char *text)
{
    form_put(form, text, strlen(text));
}

static inline void form_number(struct form *form, uint64_t number, size_t len)
{
    form_put(form, &number, len);
}

/* The same with the high byte in front. */
static inline void form_number_big(struct form *form, uint64_t number, size_t len)
{
    const uint64_t turned = __builtin_bswap64(number);

    form_put(form, (const char *)&turned + 8 - len, len);
}

static inline void form_place(struct form *form, enum place_kind kind, size_t len)
{
    static const char nothing[FORM_TEXT_BYTES];

    BENCH_CLAIM(form->place_count < FORM_PLACES && len <= sizeof(nothing));
    form->places[form->place_count].kind = kind;
    form->places[form->place_count].at = form->len;
    form->places[form->place_count++].len = len;
    form_put(form, nothing, len);
}

/* ---- filling ----------------------------------------------------------------------------------------- */

static inline void digits_put(char *at, uint64_t n, size_t count)
{
    for (size_t i = count; i > 0; i--, n /= 10)
        at[i - 1] = (char)('0' + n % 10);
}

/* Never with a zero in front. */
static inline uint64_t document_number(uint64_t n)
{
    return 10000000 + n % 90000000;
}

static inline void place_fill(char *at, enum place_kind kind, size_t len, const struct texts *texts,
                              const struct filling *f)
{
    static const int64_t year_2000_ms = INT64_C(946684800000);
    uint64_t number;

    switch (kind) {
    case PLACE_ID:
        bench_hex((uint8_t *)at, bench_mix(f->n));
        return;
    case PLACE_USER:
        digits_put(at, f->n / 10, len);
        return;
    case PLACE_NUMBER:
        digits_put(at, document_number(f->n), len);
        return;
    case PLACE_NUMBER_RAW:
        number = document_number(f->n);
        break;
    case PLACE_TEXT:
        memcpy(at, texts->text[bench_mix(f->n) % FORM_TEXTS], len);
        return;
    case PLACE_DEADLINE:
        digits_put(at, (uint64_t)f->deadline_ms, len);
        return;
    case PLACE_DEADLINE_RAW:
        number = (uint64_t)f->deadline_ms;
        break;
    case PLACE_DEADLINE_BIG:
        number = __builtin_bswap64((uint64_t)((f->deadline_ms - year_2000_ms) * 1000));
        break;
    case PLACE_TURN_RAW:
        number = f->turn;
        break;
    case PLACE_SESSION:
        number = f->session;
        break;
    case PLACE_SIGNATURE:
        if (f->signature) /* else it was written into the form */
            memcpy(at, f->signature, len);
        return;
    }
    memcpy(at, &number, len);
}

/* Returns the length. */
static inline size_t form_fill(const struct form *form, const struct texts *texts,
                               const struct filling *filling, char *out)
{
    memcpy(out, form->data, form->len);
    for (size_t i = 0; i < form->place_count; i++)
        place_fill(out + form->places[i].at, form->places[i].kind, form->places[i].len, texts,
                   filling);
    return form->len;
}

/* ---- documents --------------------------------------------------------------------------------------- */

/* 500 bytes of JSON. */
static inline void form_json(struct form *form)
{
    const size_t start = form->len;

    form_text(form, "{\"id\":\"");
    form_place(form, PLACE_ID, BENCH_ID_LEN);
    form_text(form, "\",\"user\":\"");
    form_place(form, PLACE_USER, FORM_USER_LEN);
    form_text(form, "\",\"n\":");
    form_place(form, PLACE_NUMBER, FORM_NUMBER_LEN);
    form_text(form, ",\"text\":\"");
    form_place(form, PLACE_TEXT, BENCH_DOCUMENT_BYTES - 2 - (form->len - start));
    form_text(form, "\"}");
}

static inline size_t form_bson_begin(struct form *form)
{
    form_number(form, 0, 4);
    return form->len - 4;
}

static inline void form_bson_end(struct form *form, size_t start)
{
    form_number(form, 0, 1);
    const uint32_t len = (uint32_t)(form->len - start);
    memcpy(form->data + start, &len, 4);
}

/* The head of a field: its type and its name with the zero behind. */
static inline void form_field(struct form *form, char type, const char *name)
{
    form_put(form, &type, 1);
    form_put(form, name, strlen(name) + 1);
}

static inline void form_field_text(struct form *form, const char *name, const char *text)
{
    form_field(form, 2, name);
    form_number(form, strlen(text) + 1, 4);
    form_put(form, text, strlen(text) + 1);
}

static inline void form_field_place(struct form *form, const char *name, enum place_kind kind,
                                    size_t len)
{
    form_field(form, 2, name);
    form_number(form, len + 1, 4);
    form_place(form, kind, len);
    form_number(form, 0, 1);
}

/* 500 bytes of BSON; `expires` is what the TTL index of the collection looks at. */
static inline void form_bson(struct form *form)
{
    const size_t start = form_bson_begin(form);

    form_field_place(form, "_id", PLACE_ID, BENCH_ID_LEN);
    form_field_place(form, "user", PLACE_USER, FORM_USER_LEN);
    form_field(form, 16, "n");
    form_place(form, PLACE_NUMBER_RAW, 4);
    form_field(form, 9, "expires");
    form_place(form, PLACE_DEADLINE_RAW, 8);
    const size_t around = 1 + 5 + 4 + 1 + 1; /* type, name, length, two zeros */
    form_field_place(form, "text", PLACE_TEXT, BENCH_DOCUMENT_BYTES - around - (form->len - start));
    form_bson_end(form, start);
    BENCH_CLAIM(form->len - start == BENCH_DOCUMENT_BYTES);
}

#endif

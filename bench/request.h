/* Requests as client libraries send them, made before the time is taken: text of a fixed size, and the signature
 * by the key that a server on loopback has by default. */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdarg.h>

#include "bench/bench.h"

static const char bench_key_text[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQ"
    "y67XIw/Jw==";

/* Text that grows in a place of fixed size; more than fits ends the program. */
struct text {
    char *data;
    size_t len, room;
};

static inline struct text text_in(char *place, size_t room)
{
    return (struct text){ .data = place, .room = room };
}

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void put(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const int len = vsnprintf(text->data + text->len, text->room - text->len, format, arguments);
    va_end(arguments);
    BENCH_CLAIM(len >= 0 && text->len + (size_t)len < text->room);
    text->len += (size_t)len;
}

/* The header of a signature by the master key; escaped as it has to be. */
static inline void put_signature(struct text *text, const char *method, const char *type,
                                 const char *link)
{
    unsigned char key[128], mac[EVP_MAX_MD_SIZE], sum[128];
    char date[64], payload[512];
    unsigned mac_len = 0;
    const time_t now = time(NULL);

    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    put(text, "x-ms-date: %s\r\nauthorization: type%%3Dmaster%%26ver%%3D1.0%%26sig%%3D", date);
    for (char *c = date; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const int len = snprintf(payload, sizeof(payload), "%s\n%s\n%s\n%s\n\n", method, type, link,
                             date);
    /* The key is 64 bytes; decoding counts the padding too. */
    BENCH_CLAIM(EVP_DecodeBlock(key, (const unsigned char *)bench_key_text,
                                (int)strlen(bench_key_text)) >= 64);
    HMAC(EVP_sha256(), key, 64, (const unsigned char *)payload, (size_t)len, mac, &mac_len);
    EVP_EncodeBlock(sum, mac, (int)mac_len);
    for (const unsigned char *c = sum; *c; c++)
        put(text, strchr("=/+", *c) ? "%%%02X" : "%c", *c);
    put(text, "\r\n");
}

/* Request line and the headers that client libraries send with every request. `link` is what is signed. */
static inline void put_head(struct text *text, const char *method, const char *target,
                            const char *type, const char *link)
{
    put(text,
        "%s %s HTTP/1.1\r\nhost: 127.0.0.1:8081\r\nx-ms-version: 2020-07-15\r\naccept: "
        "application/json\r\n"
        "cache-control: no-cache\r\nuser-agent: mayfly-bench\r\n"
        "x-ms-documentdb-query-enablecrosspartition: true\r\n",
        method, target);
    put_signature(text, method[0] == 'G' ? "get" : "post", type, link);
}

#endif

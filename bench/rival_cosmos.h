/* mayfly's Cosmos face as a rival: HTTP with the headers that client libraries send, signed in advance. A container with the
 * id as its partition key, a default ttl, and an index on two paths only. */
#ifndef BENCH_RIVAL_COSMOS_H
#define BENCH_RIVAL_COSMOS_H

#include "bench/request.h"
#include "bench/rival.h"

enum { COSMOS_SIGNATURE_BYTES = 240 };

struct cosmos {
    uint64_t count;
    char (*signatures)[COSMOS_SIGNATURE_BYTES]; /* of the reads of documents 0 up to count */
};

/* Date, authorization, and a user agent that makes all of them equally long. */
static inline void cosmos_sign(char out[COSMOS_SIGNATURE_BYTES], const char *method,
                               const char *link)
{
    char line[COSMOS_SIGNATURE_BYTES + 64];
    struct text text = text_in(line, sizeof(line));

    put_signature(&text, method, "docs", link);
    put(&text, "user-agent: bench");
    BENCH_CLAIM(text.len + 2 <= COSMOS_SIGNATURE_BYTES);
    while (text.len + 2 < COSMOS_SIGNATURE_BYTES)
        put(&text, ".");
    put(&text, "\r\n");
    memcpy(out, line, COSMOS_SIGNATURE_BYTES);
}

/* Signatures hold for some minutes, so they are made anew before each measurement. */
static inline void cosmos_sign_all(struct rival *r, uint64_t count)
{
    struct cosmos *own = r->own;
    char link[64] = "dbs/d/colls/c/docs/";
    const size_t id_at = strlen(link);

    free(own->signatures);
    own->count = count;
    own->signatures = calloc(count, COSMOS_SIGNATURE_BYTES);
    BENCH_CLAIM(own->signatures != NULL);
    for (uint64_t n = 0; n < count; n++) {
        bench_hex((uint8_t *)link + id_at, bench_mix(n));
        link[id_at + BENCH_ID_LEN] = '\0';
        cosmos_sign(own->signatures[n], "get", link);
    }
    struct form *insert = &r->forms[RIVAL_INSERT];
    for (size_t i = 0; i < insert->place_count; i++) {
        if (insert->places[i].kind == PLACE_SIGNATURE)
            cosmos_sign(insert->data + insert->places[i].at, "post", "dbs/d/colls/c");
    }
}

static inline const char *cosmos_signature(const struct rival *r, uint64_t n)
{
    const struct cosmos *own = r->own;

    BENCH_CLAIM(n < own->count);
    return own->signatures[n];
}

static inline void cosmos_form_headers(struct form *form)
{
    form_text(form, " HTTP/1.1\r\nhost: 127.0.0.1:8081\r\nx-ms-version: 2020-07-15\r\n"
                    "accept: application/json\r\ncache-control: no-cache\r\n"
                    "x-ms-documentdb-query-enablecrosspartition: true\r\n");
    form_place(form, PLACE_SIGNATURE, COSMOS_SIGNATURE_BYTES);
    form_text(form, "x-ms-documentdb-partitionkey: [\"");
    form_place(form, PLACE_ID, BENCH_ID_LEN);
    form_text(form, "\"]\r\n");
}

static inline void cosmos_make_forms(struct form forms[RIVAL_OPS])
{
    char length[64];

    form_text(&forms[RIVAL_READ], "GET /dbs/d/colls/c/docs/");
    form_place(&forms[RIVAL_READ], PLACE_ID, BENCH_ID_LEN);
    cosmos_form_headers(&forms[RIVAL_READ]);
    form_text(&forms[RIVAL_READ], "\r\n");

    form_text(&forms[RIVAL_INSERT], "POST /dbs/d/colls/c/docs");
    cosmos_form_headers(&forms[RIVAL_INSERT]);
    snprintf(length, sizeof(length), "content-type: application/json\r\ncontent-length: %d\r\n\r\n",
             BENCH_DOCUMENT_BYTES);
    form_text(&forms[RIVAL_INSERT], length);
    form_json(&forms[RIVAL_INSERT]);
}

static inline void cosmos_read_head(struct load_connection *c, const struct load_source *source)
{
    const char *end = strstr(c->reply, "\r\n\r\n");
    const char *length = strcasestr(c->reply, "\r\ncontent-length:");
    const unsigned long code = strtoul(c->reply + sizeof("HTTP/1.1"), NULL, 10);

    (void)source;
    if (!end)
        return;
    BENCH_CLAIM(length != NULL && length < end);
    const size_t whole = (size_t)(end - c->reply) + 4 + strtoul(length + 17, NULL, 10);
    if (c->have < whole)
        return;
    c->whole = whole;
    c->outcome = code == 404 ? RIVAL_GONE : RIVAL_FOUND;
    if (code != 404 && code != (c->kind == RIVAL_READ ? 200 : 201))
        rival_complain(c, "another status");
    if (code != 404 && !rival_reply_has_id(c))
        rival_complain(c, "another document");
}

/* Creates something by one request. */
static inline void cosmos_create(unsigned port, const char *target, const char *type,
                                 const char *link, const char *body)
{
    char request[2048], reply[4096];
    struct text text = text_in(request, sizeof(request));
    unsigned code = 0;

    put_head(&text, "POST", target, type, link);
    put(&text, "content-type: application/json\r\ncontent-length: %zu\r\n\r\n%s", strlen(body),
        body);
    const int s = load_connect(port);
    load_send_all(s, bytes_of(request, text.len));
    const ssize_t got = recv(s, reply, sizeof(reply) - 1, 0);
    close(s);
    BENCH_CLAIM(got > 0);
    reply[got] = '\0';
    if (sscanf(reply, "HTTP/1.1 %u", &code) != 1 || code != 201) {
        fprintf(stderr, "%s: %s\n", target, reply);
        exit(1);
    }
}

/* A server that runs. */
static inline void rival_cosmos_begin(struct rival *r, pid_t pid, unsigned port,
                                      const struct texts *texts)
{
    *r = (struct rival){ .name = "mayfly, Cosmos",
                         .pid = pid,
                         .port = port,
                         .texts = texts,
                         .read_head = cosmos_read_head,
                         .signature = cosmos_signature,
                         .own = calloc(1, sizeof(struct cosmos)) };
    BENCH_CLAIM(r->own != NULL);
    cosmos_make_forms(r->forms);
    cosmos_sign_all(r, 1);
    cosmos_create(port, "/dbs", "dbs", "", "{\"id\":\"d\"}");
    cosmos_create(port, "/dbs/d/colls", "colls", "dbs/d",
                  "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/id\"],\"kind\":\"Hash\","
                  "\"version\":2},\"defaultTtl\":86400,\"indexingPolicy\":{\"includedPaths\":"
                  "[{\"path\":\"/user/?\"},{\"path\":\"/n/?\"}],\"excludedPaths\":"
                  "[{\"path\":\"/*\"}]}}");
}

static inline void rival_cosmos_end(struct rival *r)
{
    struct cosmos *own = r->own;

    free(own->signatures);
    free(own);
}

#endif

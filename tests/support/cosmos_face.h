/* The Cosmos face on an engine to test with: requests as text, replies as text. Requests are read by the
 * HTTP reader and signed, as a client would; no socket is involved.
 *
 *     struct cosmos_face f;
 *     cosmos_face_open(&f);
 *     CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
 *     struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/d", "if-match: *", "");
 *     CHECK_TEXT(cosmos_value(&f, &a, "id"), "\"d\"");
 *     cosmos_face_close(&f);
 *
 * In headers and bodies, ' stands for ". Answers live in the world's arena. */
#ifndef TESTS_SUPPORT_COSMOS_FACE_H
#define TESTS_SUPPORT_COSMOS_FACE_H

#include "front/cosmos/cosmos.h"
#include "tests/support/world.h"

struct cosmos_face {
    struct world world; /* its helpers may be used beside; it has the database "db" */
    struct cosmos_options options;
    struct cosmos *face;
    const char *key; /* base64; signs every request; NULL: none is signed */
    bool is_tls;     /* requests come over TLS */
};

struct cosmos_answer {
    unsigned status;
    bytes headers; /* lines with their CRLF */
    bytes body;
};

#define COSMOS_MASTER_KEY \
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

/* On memory, with the well-known master key. */
void cosmos_face_open(struct cosmos_face *f);
/* With other keys or enforced throughput; what stands on the engine and on time is filled in. */
void cosmos_face_open_with(struct cosmos_face *f, const struct cosmos_options *options);
void cosmos_face_close(struct cosmos_face *f);
/* Stops and starts again, over the same rows. */
void cosmos_face_restart(struct cosmos_face *f);

/* `request` is method and target; `headers` are lines separated by \n. */
struct cosmos_answer cosmos_ask(struct cosmos_face *f, const char *request, const char *headers,
                                const char *body);
/* What a query over all partitions of a container ("/dbs/d/colls/c") finds, as text; a refusal, if it is one. */
const char *cosmos_query(struct cosmos_face *f, const char *container, const char *sql);
/* The value of a reply header, empty if there is none. */
bytes cosmos_header(const struct cosmos_answer *answer, const char *name);
/* JSON text of what a dotted path leads to in the body ("a.b.0.c"), empty if nowhere. */
bytes cosmos_value(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path);
/* Does the body contain this text? A ' in it stands for itself and for ". */
bool cosmos_body_has(const struct cosmos_answer *answer, const char *text);

#define CHECK_ANSWER(call, want)                                                               \
    do {                                                                                       \
        const struct cosmos_answer check_answer = (call);                                      \
        if (check_answer.status != (want))                                                     \
            check_fail(__FILE__, __LINE__, #call, "is %u, want %u: %.*s", check_answer.status, \
                       (unsigned)(want), (int)check_answer.body.len,                           \
                       (const char *)check_answer.body.data);                                  \
        if (check_answer.status >= 400 && check_answer.body.len == 0)                          \
            check_fail(__FILE__, __LINE__, #call, "failed without a body");                    \
    } while (0)

#endif

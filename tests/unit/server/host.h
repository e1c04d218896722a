/* A running server with a handler of the tests' own, and clients that speak to it, plain or encrypted. */
#ifndef TESTS_UNIT_SERVER_HOST_H
#define TESTS_UNIT_SERVER_HOST_H

#include <openssl/ssl.h>
#include <pthread.h>

#include "server/server.h"
#include "tests/check.h"

enum { LARGE_BYTES = 3 * 1024 * 1024 };

enum { HOST_WAITING = 512 }; /* requests that wait to be finished; no test sends more */

/* Paths: /echo (the body back), /large (LARGE_BYTES), /later (as echo, but finished by another thread),
 * /gate (as later, but only after the gate was opened), /hold (holds its worker until the gate is open),
 * /facts (what is known of the request), /empty (an error without a body), /nothing (204). */
struct host {
    struct arena *arena;
    struct log log;
    struct metrics metrics;
    struct clock *clock;
    struct manual_time time;
    struct http_service service;
    struct certificate certificate;
    struct tls *tls;
    SSL_CTX *clients; /* trusts the certificate */
    struct server *server;
    struct address address;
    pthread_t runner;
    pthread_t finisher;
    uint8_t *large;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_exchange *waiting[HOST_WAITING]; /* a ring */
    size_t put, taken;
    bool is_gate_open, is_ended;
    unsigned at_gate; /* requests that reached /gate or /hold */
};

struct host *host_open(void);
void host_close(struct host *host);
void host_wait_at_gate(struct host *host, unsigned count);
void host_open_gate(struct host *host);
/* Finishes the oldest request that was answered "later", on this thread, gate or no gate. */
void host_finish_first(struct host *host);

/* ---- a client --------------------------------------------------------------------------------------- */

enum kind { PLAIN, ENCRYPTED };
#define EACH_KIND(kind) for (enum kind kind = PLAIN; kind <= ENCRYPTED; kind++)

struct line {
    int fd;
    SSL *ssl; /* NULL: plain */
};

/* A client context that trusts only this certificate, and checks the name if there is one. */
SSL_CTX *trusting(const struct certificate *certificate);

struct line dial(const struct host *host, enum kind kind);
void hang_up(struct line line);
void send_bytes(struct line line, bytes text);
void send_request(struct line line, const char *path, const char *body);
/* The client sends no more. */
void send_end(struct line line);
uint8_t receive_byte(struct line line);
/* As recv(2). */
ssize_t receive_some(struct line line, uint8_t *out, size_t len);
void receive_whole(struct line line, uint8_t *out, size_t len);

struct reply {
    int status;
    size_t len;
    bool is_last;
    uint8_t *body; /* with a NUL behind; to be freed */
};
struct reply receive_reply(struct line line);
void expect_echo(struct line line, const char *want);
/* The server closes; hangs up. */
void expect_end(struct line line);

#endif

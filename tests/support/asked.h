/* One request to the Cosmos face without connection and engine: its path, route and headers are real, the
 * rest of the call is empty. Time stands at 2026-03-01 00:00:00 until the test moves it. */
#ifndef TESTS_SUPPORT_ASKED_H
#define TESTS_SUPPORT_ASKED_H

#include "front/cosmos/auth.h"
#include "front/cosmos/call.h"
#include "front/cosmos/face.h"
#include "tests/check.h"

#define ASKED_NOW ((time_ms)1772323200000)
#define ASKED_DATE "Sun, 01 Mar 2026 00:00:00 GMT"
/* 64 bytes, 0 to 63. */
#define ASKED_READ_ONLY_KEY \
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="

enum { ASKED_HEADERS = 12 };

struct asked {
    struct manual_time time;
    struct arena *arena;
    struct cosmos face;
    struct http_exchange exchange;
    struct http_request request;
    struct http_header headers[ASKED_HEADERS];
    struct call call;
};

/* With the emulator's key if `master_key` is NULL; `read_only_key` may be NULL. */
void asked_open(struct asked *asked, const char *master_key, const char *read_only_key);
void asked_close(struct asked *asked);

/* Begins a new request without headers; ends the test if there is no such route. */
void asked_for(struct asked *asked, const char *method, const char *target);
void asked_header(struct asked *asked, const char *name, const char *value);
/* HTTP status that the call would be answered with so far; 200 if nothing failed. */
unsigned asked_identify(struct asked *asked);
unsigned asked_permit(struct asked *asked);

#endif

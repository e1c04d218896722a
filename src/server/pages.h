/* What the server answers itself, whatever face listens: health, figures, and with test commands the
 * clock and the purger; for its owner, what a backup needs. Everything else is 404 until a face takes it. */
#ifndef SERVER_PAGES_H
#define SERVER_PAGES_H

#include "engine/engine.h"
#include "front/front.h"

struct mongo;

/* Context of pages_handle; borrowed. */
struct pages {
    struct engine *engine;
    struct audit *audit; /* NULL: nobody wants to know */
    bool has_test_commands;
    bool is_for_owner;     /* asked over the socket in the data directory */
    const char *directory; /* of the data; NULL: in memory */
    struct mongo *mongo;   /* for imports; NULL: not served */
};

/* The path belongs to the server, there is a page or none; everything else may go to a face. */
bool pages_knows(bytes path);
enum http_answer pages_handle(void *pages, struct http_exchange *exchange);
/* One line for each page, for --help. */
void pages_describe(struct buffer *out);

#endif

/* What a listener offers to its clients. */
#ifndef SERVER_OFFER_H
#define SERVER_OFFER_H

#include "front/front.h"
#include "server/tls.h"

/* Borrowed, as all in it. */
struct offer {
    const struct protocol *protocol;
    void *context;   /* of the protocol */
    struct tls *tls; /* NULL: only plain connections */
};

#endif

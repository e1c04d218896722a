/* Where a listener listens: 127.0.0.1:8081, [::1]:8081, localhost:8081. Port 0 picks a free one. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include <sys/socket.h>

#include "base/base.h"

struct address {
    struct sockaddr_storage socket;
    socklen_t socket_len;
};

enum { ADDRESS_TEXT_BYTES = 64 };

/* INVALID with what was expected. Names other than localhost are not looked up. */
MUST_USE status address_parse(struct arena *arena, const char *text, struct address *out);
/* Only programs on this machine can reach it. */
bool address_is_loopback(const struct address *address);
/* As it stands in a URL: 127.0.0.1:8081 or [::1]:8081; "unix" for a socket in a directory. */
void address_format(const struct address *address, char out[ADDRESS_TEXT_BYTES]);

#endif

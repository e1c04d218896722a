/* What all faces share: the protocol of a connection, and HTTP without sockets. A face turns the bytes
 * of a connection into requests and sends replies; the server room below main.c owns the sockets and
 * knows a face only by these headers. */
#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include "front/foreign.h"
#include "front/http.h"
#include "front/http_session.h"
#include "front/protocol.h"

#endif

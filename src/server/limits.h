/* Bounds of the server room. A limit has a name, a unit in the name, and one sentence. */
#ifndef SERVER_LIMITS_H
#define SERVER_LIMITS_H

/* Connections open at the same time; one more is refused at once. */
#define LIMIT_CONNECTIONS 10000
/* Connections that wait in the kernel to be accepted. */
#define LIMIT_LISTEN_BACKLOG 1024
/* Sockets one server listens on. */
#define LIMIT_LISTENERS 8
/* Threads that serve requests: per core, and at most. */
#define LIMIT_WORKERS_PER_CORE 2
#define LIMIT_WORKERS 64
/* Bytes taken from a socket at a time. */
#define LIMIT_INPUT_BYTES (32 * 1024)
/* Requests that one connection may run before the others get their turn. */
#define LIMIT_TURN_REQUESTS 64
/* What is read and thrown away after a last reply, so that the client still receives it. */
#define LIMIT_DRAIN_BYTES (8 * 1024 * 1024)
/* Head of an HTTP request: the target, all of it, and the number of headers. */
#define LIMIT_HTTP_TARGET_BYTES (16 * 1024)
#define LIMIT_HTTP_HEAD_BYTES (64 * 1024)
#define LIMIT_HTTP_HEADERS 128
/* Body of an HTTP request, in bytes, however it is framed. */
#define LIMIT_HTTP_BODY_BYTES (4 * 1024 * 1024)
/* At a stop: how long clients may take to fetch replies that are ready, in milliseconds. */
#define LIMIT_STOP_GRACE_MS 5000
/* A configuration file, in bytes. */
#define LIMIT_CONFIG_FILE_BYTES (64 * 1024)
/* One step of the test clock, in milliseconds: a hundred years. */
#define LIMIT_CLOCK_ADVANCE_MS (100LL * 366 * 24 * 3600 * 1000)

#endif

/* The bounds of the server room and of accounts. Included by limits.h, which is for everybody. */
#ifndef BASE_LIMITS_SERVER_H
#define BASE_LIMITS_SERVER_H

/* ---- the server room ---- */
/* Connections open at the same time; one more is refused at once. */
#define LIMIT_CONNECTIONS 20000
/* Connections that wait in the kernel to be accepted. */
#define LIMIT_LISTEN_BACKLOG 1024
/* Sockets one server listens on. */
#define LIMIT_LISTENERS 8
/* Threads that serve requests. Those that do not wait: at least and at most, per core; and all, with
 * those that wait in the middle of a request: one more that would wait is answered "busy". */
#define LIMIT_WORKERS_PER_CORE_MIN 1
#define LIMIT_WORKERS_PER_CORE 2
#define LIMIT_WORKERS 256
/* Bytes taken from a socket at a time. */
#define LIMIT_INPUT_BYTES (32 * 1024)
/* Requests that one connection may run before the others get their turn. */
#define LIMIT_TURN_REQUESTS 64
/* What is read and thrown away after a last reply, so that the client still receives it. */
#define LIMIT_DRAIN_BYTES (32 * 1024 * 1024)
/* Patience with a client, in milliseconds, looked at every LIMIT_TICK_MS: to begin its next HTTP request; from
 * the first byte of a request or handshake to its last; to take a byte of a reply; to close its side after
 * the last reply. */
#define LIMIT_TICK_MS 1000
#define LIMIT_HTTP_IDLE_MS (15 * 60 * 1000)
#define LIMIT_RECEIVE_MS (2 * 60 * 1000)
#define LIMIT_SEND_MS (2 * 60 * 1000)
#define LIMIT_DRAIN_MS (10 * 1000)
/* How often a command that reads for long looks whether its client is still there. */
#define LIMIT_LOOK_FOR_CLIENT_MS 100
/* Bytes of replies that clients have not taken yet, over all connections. */
#define LIMIT_KEPT_OUTPUT_BYTES (1024 * 1024 * 1024)
/* Head of an HTTP request: the target, all of it, and the number of headers. */
#define LIMIT_HTTP_TARGET_BYTES (16 * 1024)
#define LIMIT_HTTP_HEAD_BYTES (64 * 1024)
#define LIMIT_HTTP_HEADERS 128
/* Body of an HTTP request, in bytes, however it is framed. */
#define LIMIT_HTTP_BODY_BYTES (16 * 1024 * 1024)
/* At a stop: how long clients may take to fetch replies that are ready, in milliseconds. */
#define LIMIT_STOP_GRACE_MS 5000
/* A configuration file, in bytes. */
#define LIMIT_CONFIG_FILE_BYTES (64 * 1024)
/* A file of keys or certificates, in bytes. */
#define LIMIT_KEY_FILE_BYTES (256 * 1024)
/* A backup: files of a database, and bytes of the list of their checksums and of the server's answer. */
#define LIMIT_BACKUP_FILES 65536
#define LIMIT_BACKUP_LIST_BYTES (8 * 1024 * 1024)
#define LIMIT_CONTROL_REPLY_BYTES (64 * 1024)
/* One step of the test clock, in milliseconds: a hundred years. */
#define LIMIT_CLOCK_ADVANCE_MS (100LL * 366 * 24 * 3600 * 1000)

/* ---- accounts ---- */
/* An account key: its base64 text, and what it must hold at least, in bytes. */
#define LIMIT_ACCOUNT_KEY_TEXT_BYTES 1024
#define LIMIT_ACCOUNT_KEY_BYTES_MIN 16
/* How far the date of a signed request may be from the machine's own time, in milliseconds. */
#define LIMIT_SIGNATURE_AGE_MS (15 * 60 * 1000)
/* Lines of the audit log about refusals in one second. */
#define LIMIT_AUDIT_REFUSALS 20
/* Containers and databases whose spent throughput is remembered at a time. */
#define LIMIT_THROUGHPUT_BUCKETS 4096

/* An import: documents that are sent and written together, and their bytes unless one alone has more. */
#define LIMIT_IMPORT_BATCH 1000
#define LIMIT_IMPORT_BATCH_BYTES (4 * 1024 * 1024)

#endif

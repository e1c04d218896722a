/* TLS without sockets, on OpenSSL. A `tls` is what a server shows and accepts: its certificate, the
 * versions. A stream is one connection: bytes of the application on one side, a wire on the other, which
 * may take and give as little as it likes at a time. Nothing here ever waits. */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "base/base.h"
#include "server/certificate.h"

/* Once at the start, before the first thread: private keys lie where no core dump has them. */
void tls_prepare(void);

struct tls;
struct tls_stream;

/* Owner: handle. INVALID for a certificate or key that cannot be used, with the reason. */
MUST_USE status tls_open(struct arena *arena, const struct certificate *certificate,
                         struct tls **out);
/* Streams that begin from now on show this certificate. INVALID: it cannot be used, and the old one stays. */
MUST_USE status tls_renew(struct tls *tls, struct arena *arena,
                          const struct certificate *certificate);
/* After all its streams. */
void tls_close(struct tls *tls);

/* Where the encrypted bytes go and come from. Both return how many, or one of: */
enum wire_result {
    WIRE_ENDED = 0,   /* the peer sends no more; for `receive` only */
    WIRE_WAITS = -1,  /* nothing is possible now */
    WIRE_BROKEN = -2, /* nothing is possible any more */
};
struct wire {
    void *context;
    ptrdiff_t (*receive)(void *context, void *data, size_t room);
    ptrdiff_t (*send)(void *context, const void *data, size_t len);
};

enum tls_result {
    TLS_DONE,   /* some bytes went through */
    TLS_WAITS,  /* for the wire; call again with the same bytes, or more behind them */
    TLS_ENDED,  /* the peer has closed its side, or the wire is broken */
    TLS_FAILED, /* the stream is of no use any more; an alert may be on the wire */
};

/* Owner: handle; NULL without memory. The handshake happens by itself in the first reads. */
struct tls_stream *tls_stream_open(struct tls *tls, struct wire wire);
void tls_stream_close(struct tls_stream *stream);

enum tls_result tls_stream_read(struct tls_stream *stream, void *data, size_t room,
                                size_t *len_out);
enum tls_result tls_stream_write(struct tls_stream *stream, bytes data, size_t *len_out);
/* Bytes of the peer have arrived that tls_stream_read() has not given out. */
bool tls_stream_has_pending(const struct tls_stream *stream);
/* The handshake is over. */
bool tls_stream_is_ready(const struct tls_stream *stream);
/* Tells the peer that nothing more follows, if the wire takes it. */
void tls_stream_end(struct tls_stream *stream);
/* Why TLS_FAILED, for the log; static. */
const char *tls_stream_failure(const struct tls_stream *stream);

#endif

/* What a request failed with: an HTTP status with its substatus, and a sentence for the person at the
 * client, in the body shape that the protocol's clients read. */
#ifndef FRONT_COSMOS_FAILURE_H
#define FRONT_COSMOS_FAILURE_H

#include "base/base.h"

enum failure_kind {
#define FAILURE(name, http_status, substatus, code, sentence) name,
#include "front/cosmos/failure.def"
#undef FAILURE
};

struct failure {
    enum failure_kind kind;
    const char *message; /* NULL: the sentence of the kind */
    bytes errors;        /* JSON to stand in the place of {"Errors":["<message>"]}; usually empty */
    unsigned retry_after_ms;
};

unsigned failure_status(enum failure_kind kind);
unsigned failure_substatus(enum failure_kind kind);
const char *failure_sentence(const struct failure *failure);

/* The first kind of this HTTP status; FAIL_BAD_REQUEST if there is none. */
enum failure_kind failure_of_http(unsigned http_status);
/* What a status of the rooms below means to the client. */
struct failure failure_of(status outcome);

/* What stands in the body beside the message. */
struct failure_context {
    const char *activity; /* text of the activity id */
    bytes target;
};
/* {"code":"NotFound","message":"Message: {\"Errors\":[...]}\r\nActivityId: ..."} */
void failure_append_body(struct buffer *out, const struct failure *failure,
                         struct failure_context context);

#endif

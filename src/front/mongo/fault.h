/* What a command failed with: the number that clients react to, the sentence for the person there, and
 * more fields where an error has some. Whoever fails raises a fault and returns the status that comes of
 * it; what is not raised becomes a fault by the status of the room below. */
#ifndef FRONT_MONGO_FAULT_H
#define FRONT_MONGO_FAULT_H

#include "base/base.h"

enum error_code {
    ERROR_NONE = 0,
#define ERROR(code, name) ERROR_##name = (code),
#include "front/mongo/errors.def"
#undef ERROR
};

/* In the arena of the command. */
struct fault {
    int32_t code; /* an error_code, or another number that clients know; 0: nothing was raised */
    const char *message; /* NULL: what the status says */
    bytes details;       /* a document whose fields stand beside the message; usually empty */
};

/* Sets the fault and returns a status that is not OK. The first fault stays: what fails because of it
 * does not hide it. */
#define fault_raise(...) status_of(INVALID, fault_note(__VA_ARGS__))
const char *fault_note(struct arena *arena, struct fault *fault, int32_t code, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* What was raised may lie in memory that goes before it is told: copies it to `arena`. */
void fault_keep_text(struct arena *arena, struct fault *fault);
/* The same with what the status says. Gives the status. */
MUST_USE status fault_keep(struct arena *arena, struct fault *fault, status failed);
/* "Location<code>" for a number without a name. Valid until the buffer goes. */
enum { FAULT_NAME_BYTES = 24 };
const char *fault_code_name(int32_t code, char room[FAULT_NAME_BYTES]);
/* What a status of the rooms below means to the client. */
struct fault fault_of(status outcome);
/* The field errmsg. A message may quote bytes of the client; unless it is UTF-8, a question mark stands
 * for every byte that is not ASCII. */
void fault_append_message(struct buffer *out, const char *message);
/* errmsg, code, codeName and the details, as fields of a document that was begun. */
void fault_append(struct buffer *out, const struct fault *fault);

#endif

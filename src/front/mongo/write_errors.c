/* Write errors: {index, code, errmsg, ...} for each operation that failed, as clients read them.
 *
 * Pure apart from the arena. */
#include "front/mongo/write_errors.h"

void write_errors_begin(struct write_errors *errors, struct arena *arena)
{
    *errors = (struct write_errors){ .list = buffer_in(arena) };
    errors->begun = document_begin(&errors->list);
}

status write_errors_add(struct write_errors *errors, size_t number, const struct fault *fault)
{
    struct buffer *out = &errors->list;
    char room[REPLY_INDEX_BYTES];
    size_t begun = reply_begin(out, reply_index(errors->count, room));

    reply_int32(out, "index", (int32_t)number);
    reply_int32(out, "code", fault->code);
    if (fault->details.len > 0) {
        struct document_walk walk = document_fields(fault->details);
        struct field field;
        while (document_next(&walk, &field))
            document_append(out, field.name, field.value);
    }
    reply_text(out, "errmsg", fault->message ? fault->message : "");
    document_end(out, begun);
    errors->count++;
    return out->is_failed ? arena_exhausted(out->arena) : STATUS_OK;
}

void write_errors_append(struct write_errors *errors, struct buffer *out)
{
    if (errors->count == 0)
        return;
    document_end(&errors->list, errors->begun);
    if (errors->list.is_failed)
        out->is_failed = true;
    else
        document_append(
            out, BYTES_LITERAL("writeErrors"),
            (struct value){ VALUE_ARRAY, bytes_of(errors->list.data, errors->list.len) });
}

/* Duplicate: says which key of which index was there already.
 *
 * Texts of an index with a collation are shown as the key that they have there, in hexadecimal digits, because several
 * texts have the same one.
 *
 * Threads: the command's. */
#include "front/mongo/duplicate.h"

static status show_text(struct command *command, const struct collation *by, bytes text,
                        struct value *out)
{
    struct buffer key = buffer_in(command->arena), shown = buffer_in(command->arena);
    bytes line;

    collation_append_key(by, &key, text);
    buffer_append_text(&shown, "0x");
    for (size_t i = 0; !key.is_failed && i < key.len; i++)
        buffer_append_format(&shown, "%02x", key.data[i]);
    TRY(buffer_finish(&shown, &line));
    return value_of_text(command->arena, line, out);
}

/* The values as they are shown, as a document and as text. */
static status show_values(struct command *command, const struct duplicate *duplicate,
                          struct buffer *document, struct buffer *text)
{
    struct document_walk walk = document_fields(duplicate->values);
    struct field field;
    size_t begun = document_begin(document), count = 0;

    while (document_next(&walk, &field)) {
        if (duplicate->collation && field.value.type == VALUE_STRING)
            TRY(show_text(command, duplicate->collation, value_text(field.value), &field.value));
        document_append(document, field.name, field.value);
        buffer_append_text(text, count++ > 0 ? ", " : " ");
        buffer_append(text, field.name);
        buffer_append_text(text, ": ");
        json_write_value(text, field.value);
    }
    document_end(document, begun);
    return STATUS_OK;
}

status duplicate_fault(struct command *command, const struct duplicate *duplicate,
                       struct fault *out)
{
    struct buffer details = buffer_in(command->arena), values = buffer_in(command->arena),
                  shown = buffer_in(command->arena), collation = buffer_in(command->arena);
    bytes namespace = command_namespace(command, duplicate->collection), value_document;

    TRY(show_values(command, duplicate, &values, &shown));
    TRY(buffer_finish(&values, &value_document));
    size_t begun = document_begin(&details);
    reply_document(&details, "keyPattern", duplicate->pattern);
    reply_document(&details, "keyValue", value_document);
    if (duplicate->collation) {
        reply_document(&details, "collation", collation_document(duplicate->collation));
        buffer_append_text(&collation, " collation: ");
        json_write(&collation, collation_document(duplicate->collation));
    }
    document_end(&details, begun);
    if (shown.is_failed || collation.is_failed)
        return arena_exhausted(command->arena);
    *out = (struct fault){ .code = ERROR_DuplicateKey };
    out->message =
        arena_format(command->arena,
                     "E11000 duplicate key error collection: %.*s index: %.*s%.*s dup key: {%.*s }",
                     (int)namespace.len, (const char *)namespace.data, (int)duplicate->index.len,
                     (const char *)duplicate->index.data, (int)collation.len,
                     (const char *)collation.data, (int)shown.len, (const char *)shown.data);
    return buffer_finish(&details, &out->details);
}

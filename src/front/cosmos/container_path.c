/* Container path: reads paths to properties.
 *
 *   path   = 1*( "/" part )
 *   part   = name | "[]" | "*" | "?"          "[]", "*" and "?" only in patterns
 *   name   = plain | quoted
 *   plain  = 1*( letter | digit | "_" | "-" | "$" | "@" | any character past ASCII )
 *   quoted = '"' *( any character but '"' and "\" | "\" any ) '"'
 *
 * Keeps: no more parts and bytes than LIMIT_PATH_COMPONENTS and LIMIT_PATH_BYTES. Pure apart from the arena.
 * Start reading at container_path_read(). */
#include "front/cosmos/container_path.h"

#include "base/limits.h"

enum part { PART_NAME, PART_ARRAY, PART_ALL, PART_HERE, PART_BAD };

struct path_reader {
    bytes text;
    size_t at;
    const char *fault;
};

static enum part bad_part(struct path_reader *reader, const char *why)
{
    reader->fault = why;
    return PART_BAD;
}

static bool is_plain(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte >= 0x80 || memchr("_-$@", byte, 4);
}

/* The quote that opens is behind us. */
static enum part next_quoted(struct path_reader *reader, struct buffer *name)
{
    bytes text = reader->text;

    for (; reader->at < text.len && text.data[reader->at] != '"'; reader->at++) {
        if (text.data[reader->at] == '\\' && ++reader->at == text.len)
            break;
        buffer_append_byte(name, text.data[reader->at]);
    }
    if (reader->at == text.len)
        return bad_part(reader, "a quote is not closed");
    reader->at++;
    return PART_NAME;
}

static enum part next_plain(struct path_reader *reader, struct buffer *name)
{
    bytes text = reader->text;
    size_t start = reader->at;

    while (reader->at < text.len && is_plain(text.data[reader->at]))
        reader->at++;
    buffer_append(name, bytes_of(text.data + start, reader->at - start));
    if (reader->at < text.len && text.data[reader->at] != '/')
        return bad_part(reader, "a name with this character must be quoted");
    return reader->at > start ? PART_NAME : bad_part(reader, "a part is empty");
}

static bool takes(struct path_reader *reader, const char *token)
{
    bytes wanted = bytes_of_text(token);

    if (!bytes_starts_with(bytes_from(reader->text, reader->at), wanted))
        return false;
    reader->at += wanted.len;
    return true;
}

static enum part next_part(struct path_reader *reader, struct buffer *name)
{
    if (!takes(reader, "/"))
        return bad_part(reader, "each part must begin with a slash");
    if (takes(reader, "\"")) {
        size_t before = name->len;
        enum part part = next_quoted(reader, name);
        return part == PART_NAME && name->len == before ? bad_part(reader, "a name is empty")
                                                        : part;
    }
    if (takes(reader, "[]"))
        return PART_ARRAY;
    if (takes(reader, "*"))
        return PART_ALL;
    if (takes(reader, "?"))
        return PART_HERE;
    return next_plain(reader, name);
}

/* What a part may be at this place, as a fault or NULL. */
static const char *part_fault(const struct path_reader *reader, enum part part, enum path_form form)
{
    bool is_last = reader->at == reader->text.len;
    bool is_end = part == PART_ALL || part == PART_HERE;

    if (part != PART_NAME && form == PATH_PROPERTY)
        return "only names of properties can stand here";
    if (form == PATH_PATTERN && is_last && !is_end)
        return "the path must end in /? or /*";
    if (is_end && !is_last)
        return "nothing can stand behind ? or *";
    return NULL;
}

static status read_parts(struct path_reader *reader, enum path_form form, struct buffer *dotted)
{
    size_t count = 0;

    while (!reader->fault && reader->at < reader->text.len) {
        size_t start = dotted->len;
        enum part part = next_part(reader, dotted);
        if (dotted->is_failed)
            return arena_exhausted(dotted->arena);
        if (part == PART_BAD)
            return STATUS_OK;
        reader->fault = part_fault(reader, part, form);
        if (++count > LIMIT_PATH_COMPONENTS)
            reader->fault = "the path has too many parts";
        if (form == PATH_PATTERN || reader->fault)
            continue;
        bytes name = bytes_of(dotted->data + start, dotted->len - start);
        if (memchr(name.data, '.', name.len) || memchr(name.data, 0, name.len))
            reader->fault = "mayfly does not support names with a dot here";
        if (reader->at < reader->text.len)
            buffer_append_byte(dotted, '.');
    }
    return STATUS_OK;
}

status container_path_read(struct arena *arena, bytes text, enum path_form form, bytes *dotted_out,
                           struct path_fault *fault_out)
{
    struct path_reader reader = { .text = text };
    struct buffer dotted = buffer_in(arena);

    *dotted_out = BYTES_NONE;
    *fault_out = (struct path_fault){ 0 };
    if (text.len == 0)
        reader.fault = "the path is empty";
    else if (text.len > LIMIT_PATH_BYTES)
        reader.fault = "the path has more than 4096 bytes";
    TRY(read_parts(&reader, form, &dotted));
    if (reader.fault) {
        *fault_out = (struct path_fault){ reader.fault, reader.at };
        return STATUS_OK;
    }
    return form == PATH_PROPERTY ? buffer_finish(&dotted, dotted_out) : STATUS_OK;
}

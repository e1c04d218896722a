/* Parts: taking composite values apart.
 *
 * Binary: int32 length, subtype, content. Regex: pattern and options, each NUL-terminated. DBPointer:
 * string (int32 length with NUL), 12 bytes of id. Code with scope: int32 length of everything, string,
 * document. Expects checked values. Pure; callable from every thread. */
#include "value/parts.h"

#include "value/raw.h"

struct value_binary value_binary(struct value value)
{
    ASSERT(value.type == VALUE_BINARY);
    ASSERT(value.raw.len >= 5);
    return (struct value_binary){ .subtype = value.raw.data[4],
                                  .content = bytes_from(value.raw, 5) };
}

struct value_regex value_regex(struct value value)
{
    ASSERT(value.type == VALUE_REGEX);
    const uint8_t *end = memchr(value.raw.data, 0, value.raw.len);
    ASSERT(end != NULL);
    size_t pattern_len = (size_t)(end - value.raw.data);
    ASSERT(value.raw.len >= pattern_len + 2);
    return (struct value_regex){
        .pattern = bytes_of(value.raw.data, pattern_len),
        .options = bytes_of(end + 1, value.raw.len - pattern_len - 2),
    };
}

/* The content of the string at the front of `raw`, without its NUL. */
static bytes front_text(bytes raw)
{
    ASSERT(raw.len >= 5);
    size_t len = raw_u32(raw.data);
    ASSERT(len >= 1 && len <= raw.len - 4);
    return bytes_of(raw.data + 4, len - 1);
}

struct value_db_pointer value_db_pointer(struct value value)
{
    ASSERT(value.type == VALUE_DB_POINTER);
    bytes collection = front_text(value.raw);
    return (struct value_db_pointer){
        .collection = collection,
        .id = bytes_from(value.raw, 4 + collection.len + 1),
    };
}

struct value_scoped_code value_scoped_code(struct value value)
{
    ASSERT(value.type == VALUE_CODE_WITH_SCOPE);
    bytes code = front_text(bytes_from(value.raw, 4));
    return (struct value_scoped_code){
        .code = code,
        .scope = bytes_from(value.raw, 4 + 4 + code.len + 1),
    };
}

/* Item: what a client sends, made ready to be stored.
 *
 * Everything that can be wrong with a document by itself is found here, before anybody looks at what is
 * stored: so a bad body is a bad request whether or not its id is taken.
 *
 * Pure apart from the call; a call belongs to one thread at a time. */
#include "front/cosmos/item.h"

#include <strings.h>

/* ---- the body --------------------------------------------------------------------------------------- */

status item_read_body(struct call *call, bytes *document_out)
{
    *document_out = BYTES_NONE;
    if (call->http->body.len > LIMIT_ITEM_BYTES)
        return call_fail(call, FAIL_TOO_LARGE, NULL);
    status s = json_read(call->arena, call->http->body, document_out);
    if (s.code == INVALID || s.code == TOO_LARGE) /* nested too deeply: the size was checked */
        return call_fail(call, FAIL_BAD_REQUEST, "The request body is not an item: %s.", s.message);
    return s;
}

/* ---- the id ----------------------------------------------------------------------------------------- */

static bool has_byte(bytes text, uint8_t byte)
{
    return memchr(text.data, byte, text.len) != NULL;
}

static const char *id_fault(bytes id)
{
    if (id.len == 0)
        return "is empty";
    if (id.len > LIMIT_ITEM_ID_BYTES)
        return "is too long";
    if (has_byte(id, '/') || has_byte(id, '\\') || has_byte(id, '#'))
        return "contains one of the characters / \\ #";
    return NULL;
}

static status take_id(struct call *call, bytes document, struct value *out)
{
    enum { SHOWN_MAX = 64 };

    if (!document_find(document, "id", out))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The input content is invalid because the required properties - 'id; ' - "
                         "are missing");
    if (out->type != VALUE_STRING)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The property 'id' of an item must be a string, of 1 to %d bytes without "
                         "/ \\ #.",
                         LIMIT_ITEM_ID_BYTES);
    bytes id = value_text(*out);
    const char *fault = id_fault(id);
    if (!fault)
        return STATUS_OK;
    return call_fail(
        call, FAIL_BAD_REQUEST,
        "The id '%.*s%s' %s; the id of an item must have 1 to %d bytes without / \\ #.",
        (int)(id.len < SHOWN_MAX ? id.len : SHOWN_MAX), (const char *)id.data,
        id.len < SHOWN_MAX ? "" : "...", fault, LIMIT_ITEM_ID_BYTES);
}

/* ---- time to live ----------------------------------------------------------------------------------- */

status item_take_ttl(struct call *call, bytes document, int32_t *out)
{
    enum { SHOWN_MAX = 64 };
    struct buffer raw = buffer_in(call->arena);
    struct value value;
    status s = expiry_own_ttl(call->arena, document, out);

    if (s.code != INVALID)
        return s;
    if (document_find(document, "ttl", &value))
        json_write_value(&raw, value);
    return call_fail(
        call, FAIL_BAD_REQUEST,
        "The input ttl '%.*s' is invalid. Ensure to provide a nonzero positive integer "
        "less than or equal to '2147483647', or '-1' which means never expire.",
        (int)(raw.len < SHOWN_MAX ? raw.len : SHOWN_MAX), (const char *)raw.data);
}

/* ---- together --------------------------------------------------------------------------------------- */

status item_take(struct call *call, bytes document, const struct partition_key *given,
                 struct item *out)
{
    struct item_cleaned cleaned;
    struct value id;
    struct buffer encoded = buffer_in(call->arena);

    *out = (struct item){ 0 };
    TRY(item_clean(call->arena, document, &cleaned));
    out->bson = cleaned.document;
    out->term_count = cleaned.scalar_count;
    TRY(take_id(call, out->bson, &id));
    TRY(item_take_ttl(call, out->bson, &out->own_ttl));
    TRY(partition_key_of_document(call, out->bson, &out->key.partition));
    TRY(partition_key_check(call, given, out->key.partition));
    out->id = value_text(id);
    key_append_value_by(&encoded, call->collection->definition.collation, id, KEY_ASCENDING);
    return buffer_finish(&encoded, &out->key.id);
}

/* ---- conditions and options ------------------------------------------------------------------------- */

uint64_t item_if_match(bytes etag)
{
    if (etag.len == 0 || bytes_equal(etag, BYTES_LITERAL("*")))
        return 0;
    uint64_t seq = etag_parse(etag);
    return seq != 0 ? seq : UINT64_MAX;
}

bool item_is_minimal(const struct call *call)
{
    static const char minimal[] = "return=minimal";
    bytes value;

    return call_header(call, "prefer", &value) && value.len == sizeof(minimal) - 1 &&
           strncasecmp((const char *)value.data, minimal, value.len) == 0;
}

void item_add_etag(struct call *call, uint64_t seq)
{
    char etag[ETAG_TEXT_BYTES];

    etag_format(seq, etag);
    buffer_append_text(&call->headers, "etag: ");
    buffer_append_text(&call->headers, etag);
    buffer_append_text(&call->headers, "\r\n");
}

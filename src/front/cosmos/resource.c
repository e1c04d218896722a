/* Resource: ids, etags, page sizes, the query of a body.
 *
 * Pure apart from the call; a call belongs to one thread at a time. */
#include "front/cosmos/resource.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "front/cosmos/container.h"
#include "front/cosmos/face.h"
#include "front/cosmos/sql.h"
#include "front/cosmos/sql_rewrite.h"

/* ---- ids -------------------------------------------------------------------------------------------- */

enum { ID_CHARACTERS_MAX = 255 };

static bool has_byte(bytes text, uint8_t byte)
{
    return text.len > 0 && memchr(text.data, byte, text.len) != NULL;
}

static const char *id_fault(bytes id)
{
    if (id.len == 0)
        return "is empty";
    if (text_character_count(id) > ID_CHARACTERS_MAX)
        return "has more than 255 characters";
    if (has_byte(id, '/') || has_byte(id, '\\') || has_byte(id, '?') || has_byte(id, '#'))
        return "contains one of the characters / \\ ? #";
    if (has_byte(id, 0))
        return "contains a zero character";
    if (id.data[id.len - 1] == ' ')
        return "ends in a space";
    return NULL;
}

status resource_check_id(struct call *call, const char *what, bytes id)
{
    const char *fault = id_fault(id);

    if (!fault)
        return STATUS_OK;
    return call_fail(
        call, FAIL_BAD_REQUEST,
        "The %s id '%.*s' %s; it must have 1 to 255 characters without / \\ ? # and no "
        "space at the end.",
        what, (int)id.len, (const char *)id.data, fault);
}

status resource_body_id(struct call *call, const char *what, bytes body, bytes *out)
{
    struct value id;

    *out = BYTES_NONE;
    if (!document_find(body, "id", &id))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The input content is invalid because the required property 'id' of the "
                         "%s is missing.",
                         what);
    if (id.type != VALUE_STRING)
        return call_fail(call, FAIL_BAD_REQUEST, "The property 'id' of the %s must be a string.",
                         what);
    *out = value_text(id);
    return resource_check_id(call, what, *out);
}

/* ---- etags ------------------------------------------------------------------------------------------ */

void etag_format(uint64_t number, char out[ETAG_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    static const char shape[] = "\"00000000-0000-0000-xxxx-xxxxxxxxxxxx\"";
    enum { LAST = sizeof(shape) - 3, DIGITS_BEHIND = 12, DIGITS = 16 };

    memcpy(out, shape, sizeof(shape));
    for (size_t i = 0; i < DIGITS; i++, number >>= 4)
        out[LAST - i - (i >= DIGITS_BEHIND)] = digits[number & 15];
}

static int hex_value(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

uint64_t etag_parse(bytes text)
{
    static const char shape[] = "00000000-0000-0000-xxxx-xxxxxxxxxxxx";
    uint64_t number = 0;

    if (text.len == sizeof(shape) + 1 && text.data[0] == '"' && text.data[text.len - 1] == '"')
        text = bytes_of(text.data + 1, text.len - 2);
    if (text.len != sizeof(shape) - 1)
        return 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = hex_value(text.data[i]);
        if (shape[i] != 'x' && text.data[i] != (uint8_t)shape[i])
            return 0;
        if (shape[i] != 'x')
            continue;
        if (digit < 0)
            return 0;
        number = number << 4 | (uint64_t)digit;
    }
    return number;
}

static bool is_any(bytes text)
{
    return bytes_equal(text, BYTES_LITERAL("*"));
}

status resource_check_match(struct call *call, uint64_t etag_number)
{
    bytes wanted;

    if (!call_header(call, "if-match", &wanted) || is_any(wanted) ||
        etag_parse(wanted) == etag_number)
        return STATUS_OK;
    return call_fail(call, FAIL_PRECONDITION, NULL);
}

bool resource_is_unchanged(struct call *call, uint64_t etag_number)
{
    bytes known;

    return call_header(call, "if-none-match", &known) &&
           (is_any(known) || etag_parse(known) == etag_number);
}

/* ---- properties and changes ------------------------------------------------------------------------- */

bool resource_is_hidden(bytes database)
{
    return bytes_equal(database, BYTES_LITERAL(SYSTEM_DATABASE));
}

void resource_append_mark(struct buffer *document, const struct resource_mark *mark)
{
    char etag_text[ETAG_TEXT_BYTES];

    etag_format(mark->etag, etag_text);
    document_append_text(document, "_rid", bytes_of_text(mark->rid));
    document_append_text(document, "_self", bytes_of_text(mark->self));
    document_append_text(document, "_etag", bytes_of_text(etag_text));
    document_append_int64(document, "_ts", mark->ts);
}

static void add_etag(struct call *call, uint64_t number)
{
    char etag_text[ETAG_TEXT_BYTES];

    etag_format(number, etag_text);
    call_add_header(call, "etag", "%s", etag_text);
}

status resource_reply_unchanged(struct call *call, uint64_t etag_number)
{
    add_etag(call, etag_number);
    return call_reply_empty(call, 304);
}

status resource_reply(struct call *call, unsigned http_status, bytes document, uint64_t etag_number)
{
    struct buffer body = buffer_in(call->arena);

    add_etag(call, etag_number);
    json_write(&body, document);
    return call_reply(call, http_status, &body);
}

/* Whoever is ahead waits for the disk, so it is marked as a wait: others go on meanwhile. */
static status lock_resources(struct cosmos *face)
{
    if (pthread_mutex_trylock(&face->resource_lock) == 0)
        return STATUS_OK;
    if (!block_begin())
        return status_of(BUSY, "too many requests wait while resources are changed; try again");
    pthread_mutex_lock(&face->resource_lock);
    block_end();
    return STATUS_OK;
}

enum { CHANGE_TRIES_MAX = 100 };

status resource_change(struct call *call, resource_changer *change, void *context)
{
    TRY(lock_resources(call->face));
    status s = status_of(CONFLICT, "");
    /* Another face may change the same collection: then it is looked at again. */
    for (int i = 0; i < CHANGE_TRIES_MAX && s.code == CONFLICT; i++) {
        s = call_renew(call);
        if (s.code == OK)
            s = change(call, context);
    }
    pthread_mutex_unlock(&call->face->resource_lock);
    return s;
}

uint64_t resource_etag(uint32_t number, uint32_t version)
{
    return (uint64_t)number << 32 | version;
}

/* ---- pages ------------------------------------------------------------------------------------------ */

/* size = "-1" | 1*10 digit */
static bool parse_size(bytes text, int64_t *out)
{
    *out = -1;
    if (bytes_equal(text, BYTES_LITERAL("-1")))
        return true;
    if (text.len == 0 || text.len > 10)
        return false;
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *out = *out * 10 + (text.data[i] - '0');
    }
    return *out <= INT32_MAX;
}

status resource_page_size(struct call *call, size_t *out)
{
    int64_t size;
    bytes text;

    *out = LIMIT_FEED_PAGE_ITEMS;
    if (!call_header(call, "x-ms-max-item-count", &text))
        return STATUS_OK;
    if (!parse_size(text, &size))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The input PageSize %.*s is invalid. Ensure to provide a positive integer "
                         "less than or equal to 2147483647, or -1 for a dynamic page size.",
                         (int)text.len, (const char *)text.data);
    if (size != 0)
        *out = size < 0 ? SIZE_MAX : (size_t)size;
    return STATUS_OK;
}

/* ---- the query of a body ---------------------------------------------------------------------------- */

static status fail_query(struct call *call, const struct sql_error *error)
{
    struct buffer json = buffer_in(call->arena);
    bytes errors;

    buffer_append_text(&json, "{\"errors\":[");
    for (const struct sql_error *e = error; e; e = e->next) {
        buffer_append_format(&json,
                             "%s{\"severity\":\"Error\",\"location\":{\"start\":%zu,\"end\":%zu},"
                             "\"code\":",
                             e == error ? "" : ",", e->start, e->end);
        http_append_json_text(&json, bytes_of_text(e->code));
        buffer_append_text(&json, ",\"message\":");
        http_append_json_text(&json, bytes_of_text(e->message));
        buffer_append_byte(&json, '}');
    }
    buffer_append_text(&json, "]}");
    TRY(buffer_finish(&json, &errors));
    status s = call_fail(call, FAIL_BAD_REQUEST, "%s", error->message);
    call->failure.errors = errors;
    return s;
}

static bool are_parameters(struct value parameters)
{
    struct document_walk walk;
    struct field field;
    struct value name;

    if (parameters.type != VALUE_ARRAY)
        return false;
    walk = document_fields(value_document(parameters));
    while (document_next(&walk, &field)) {
        if (field.value.type != VALUE_DOCUMENT ||
            !document_find(value_document(field.value), "name", &name) || name.type != VALUE_STRING)
            return false;
    }
    return true;
}

/* A client that goes on with an order adds a condition that leads to where it was. The continuation knows it better:
 * the condition cannot say it for an order by several keys, nor for values that have no literal. */
static status query_text(struct call *call, bytes text, bytes *out)
{
    bytes token;

    *out = text;
    if (!call_header(call, "x-ms-continuation", &token) || token.len == 0)
        return STATUS_OK;
    status s = sql_without_filter(call->arena, text, out);
    if (s.code == INVALID) /* the parser says what is wrong with it */
        *out = text;
    return s.code == INVALID ? STATUS_OK : s;
}

status resource_query(struct call *call, const struct query **out)
{
    struct value text, parameters;
    struct sql_error error = { .code = "", .message = "" };
    struct sql_properties *properties = NULL;
    bytes body, sql;

    *out = NULL;
    TRY(call_body(call, &body));
    if (!document_find(body, "query", &text) || text.type != VALUE_STRING)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The body of a query must be {\"query\": \"SELECT ...\", \"parameters\": "
                         "[...]}; it has no string 'query'.");
    bool has_parameters = document_find(body, "parameters", &parameters) &&
                          parameters.type != VALUE_NULL;
    if (has_parameters && !are_parameters(parameters))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'parameters' of a query must be an array of {\"name\": \"@...\", "
                         "\"value\": ...}.");
    if (call->collection) {
        TRY(ARENA_NEW(call->arena, 1, &properties));
        TRY(container_computed(call, call->collection, properties));
    }
    TRY(query_text(call, value_text(text), &sql));
    status s = sql_parse_with(call->arena, sql,
                              has_parameters ? value_document(parameters) : BYTES_NONE, properties,
                              out, &error);
    if ((s.code == INVALID || s.code == TOO_LARGE) && error.code[0])
        return fail_query(call, &error);
    if (s.code == TOO_LARGE) /* too many parameters: the request as such is not too large */
        return call_fail(call, FAIL_BAD_REQUEST, "The query cannot be run: %s.", s.message);
    return s;
}

status resource_page_failed(struct call *call, status why, const struct query_page *page)
{
    if (why.code == INVALID && page->is_state_refused)
        return call_fail(call, FAIL_CONTINUATION, "Invalid Continuation Token: %s.", why.message);
    if (why.code == TOO_LARGE)
        return call_fail(call, FAIL_BAD_REQUEST, "The query cannot be run page by page: %s.",
                         why.message);
    return why;
}

/* Auth: who signed a request.
 *
 * A client signs five lines: verb, type of the resource, link of the resource, date, and an empty one (or
 * the Date header, if it has no x-ms-date). Clients do not agree on the link of a name with escapes in it,
 * so the decoded link, the link as sent and the resource id are tried in this order; each says what the
 * request asks for. A token (type=resource) is sealed by this server and needs no signature of its own.
 *
 * Keeps: a message shows what was signed, never a key nor the
 * right signature; a header that decides who asks stands in a request once.
 * Threads: callable from every thread; the keys have a lock of their own (account_keys.c). Start reading at auth_identify(). */
#include "front/cosmos/auth.h"

#include <strings.h>

#include "front/cosmos/account_keys.h"
#include "front/cosmos/auth_date.h"
#include "front/cosmos/auth_header.h"
#include "front/cosmos/call.h"
#include "front/cosmos/face.h"

struct auth {
    struct clock_source machine_time;
    struct account_keys *keys;
};

/* ---- life ------------------------------------------------------------------------------------------- */

status auth_open(const struct cosmos_options *options, struct arena *arena, struct auth **out)
{
    struct auth *auth = memory_take_zeroed(1, sizeof(*auth));
    status s;

    *out = NULL;
    if (!auth)
        return status_of(OUT_OF_MEMORY, "no memory for the keys");
    auth->machine_time = options->machine_time;
    TRY_GOTO(account_keys_open(options, arena, &auth->keys), done);
    *out = auth;
    return STATUS_OK;
done:
    auth_close(auth);
    return s;
}

void auth_close(struct auth *auth)
{
    if (!auth)
        return;
    account_keys_close(auth->keys);
    memory_give(auth);
}

status auth_renew(struct auth *auth, const struct cosmos_options *options, struct arena *arena)
{
    return account_keys_renew(auth->keys, options, arena);
}

time_ms auth_machine_now(const struct auth *auth)
{
    return auth->machine_time.wall_ms(auth->machine_time.context);
}

/* ---- seals ------------------------------------------------------------------------------------------ */

void auth_seal(const struct auth *auth, const char *purpose, bytes text,
               uint8_t seal_out[AUTH_SEAL_BYTES])
{
    account_keys_seal(auth->keys, purpose, text, seal_out);
}

bool auth_seal_holds(const struct auth *auth, const char *purpose, bytes text,
                     const uint8_t seal[AUTH_SEAL_BYTES])
{
    return account_keys_seal_holds(auth->keys, purpose, text, seal);
}

/* ---- what was signed -------------------------------------------------------------------------------- */

/* How a client may write the link of a resource. */
enum link_form { LINK_DECODED, LINK_AS_SENT, LINK_RID, LINK_FORM_COUNT };

/* The signed parts of a request. */
struct signing {
    bytes type;
    const bytes *parts; /* of the link, decoded */
    size_t count;
    bytes as_sent;
    bytes date;        /* x-ms-date, or Date */
    bool is_date_last; /* there is only Date, which stands in the last line */
};

/* dbs/{d}/colls/{c}/docs: type docs, link dbs/{d}/colls/{c}; with an id behind it, the whole is the link.
 * What is done to a container as a whole is signed as the container. */
static void name_resource(const struct link *link, struct signing *out)
{
    bool is_feed = link->count % 2 == 1;
    size_t cut = is_feed;

    if (link->count == 6 && bytes_equal(link->parts[4], BYTES_LITERAL("operations")))
        cut = 2;
    out->count = link->count - cut;
    out->parts = link->parts;
    out->type = is_feed          ? link->parts[link->count - 1]
                : out->count > 0 ? link->parts[out->count - 2]
                                 : BYTES_NONE;
    out->as_sent = link->path;
    for (size_t i = 0; i < cut; i++) {
        const uint8_t *slash = out->as_sent.len ? memrchr(out->as_sent.data, '/', out->as_sent.len)
                                                : NULL;
        out->as_sent.len = slash ? (size_t)(slash - out->as_sent.data) : 0;
    }
}

static uint8_t *put(uint8_t *at, bytes text)
{
    if (text.len > 0)
        memcpy(at, text.data, text.len);
    return at + text.len;
}

static uint8_t *put_lower(uint8_t *at, bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        *at++ = (uint8_t)(byte | (byte >= 'A' && byte <= 'Z' ? 0x20 : 0));
    }
    return at;
}

/* NULL if the resource has no link of this form. No form is longer than the link as sent. */
static uint8_t *put_link(uint8_t *at, const struct signing *signing, enum link_form form)
{
    bytes last = signing->count > 0 ? signing->parts[signing->count - 1] : BYTES_NONE;
    struct rid rid;

    switch (form) {
    case LINK_DECODED:
        for (size_t i = 0; i < signing->count; i++) {
            if (i > 0)
                *at++ = '/';
            at = put(at, signing->parts[i]);
        }
        return at;
    case LINK_AS_SENT:
        return put(at, signing->as_sent);
    case LINK_RID:
        if (!rid_parse(last, &rid) && !bytes_equal(signing->type, BYTES_LITERAL("offers")))
            return NULL;
        return put_lower(at, last);
    case LINK_FORM_COUNT:
        break;
    }
    return NULL;
}

/* Empty if the resource has no link of this form. */
static status make_text(const struct call *call, const struct signing *signing, enum link_form form,
                        bytes *out)
{
    size_t room = call->http->method.len + signing->type.len + signing->as_sent.len +
                  signing->date.len + 5;
    uint8_t *text;

    *out = BYTES_NONE;
    TRY(arena_take(call->arena, room, (void **)&text));
    uint8_t *at = put_lower(text, call->http->method);
    *at++ = '\n';
    at = put_lower(at, signing->type);
    *at++ = '\n';
    at = put_link(at, signing, form);
    if (!at)
        return STATUS_OK;
    *at++ = '\n';
    if (signing->is_date_last)
        *at++ = '\n';
    at = put_lower(at, signing->date);
    *at++ = '\n';
    if (!signing->is_date_last)
        *at++ = '\n';
    *out = bytes_of(text, (size_t)(at - text));
    ASSERT(out->len <= room);
    return STATUS_OK;
}

static status find_signer(const struct call *call, const struct signing *signing, bytes signature,
                          enum account_key *out)
{
    bytes text;

    *out = KEY_COUNT;
    for (enum link_form form = LINK_DECODED; form < LINK_FORM_COUNT; form++) {
        TRY(make_text(call, signing, form, &text));
        if (text.len == 0)
            continue;
        *out = account_keys_signer(call->face->auth->keys, text, signature);
        if (*out != KEY_COUNT)
            break;
    }
    return STATUS_OK;
}

/* ---- who asks --------------------------------------------------------------------------------------- */

static bytes trimmed(bytes text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = bytes_from(text, 1);
    while (text.len > 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* How often a header stands in the request, and its first value without spaces around it. */
static size_t count_header(const struct http_request *request, bytes name, bytes *value_out)
{
    size_t count = 0;

    *value_out = BYTES_NONE;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (header->name.len != name.len ||
            strncasecmp((const char *)header->name.data, (const char *)name.data, name.len) != 0)
            continue;
        if (count++ == 0)
            *value_out = trimmed(header->value);
    }
    return count;
}

static status find_date(struct call *call, struct signing *signing, time_ms *out)
{
    size_t count = count_header(call->http, BYTES_LITERAL("x-ms-date"), &signing->date);

    *out = 0;
    if (count == 0) {
        count = count_header(call->http, BYTES_LITERAL("date"), &signing->date);
        signing->is_date_last = true;
    }
    if (count == 0)
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "Required Header x-ms-date is missing: the date is part of what is "
                         "signed.");
    if (count > 1)
        return call_fail(call, FAIL_UNAUTHORIZED, "The date header stands in the request twice.");
    if (!auth_date_parse(signing->date, out))
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The input date header is invalid format. Please pass in RFC 1123 style "
                         "date format, e.g. 'Fri, 06 Nov 2026 10:00:00 GMT', not '%.*s'.",
                         (int)signing->date.len, (const char *)signing->date.data);
    return STATUS_OK;
}

static status check_window(struct call *call, const struct signing *signing, time_ms signed_at)
{
    time_ms now = auth_machine_now(call->face->auth);
    int64_t apart = signed_at < now ? now - signed_at : signed_at - now;
    char now_text[AUTH_DATE_BYTES + 1];

    if (apart <= LIMIT_SIGNATURE_AGE_MS)
        return STATUS_OK;
    auth_date_format(now, now_text);
    return call_fail(call, FAIL_FORBIDDEN,
                     "The authorization token is not valid at the current time. It was signed for "
                     "'%.*s'; the current server time is '%s'; they may be %d minutes apart. "
                     "Please check the clocks and create another token.",
                     (int)signing->date.len, (const char *)signing->date.data, now_text,
                     LIMIT_SIGNATURE_AGE_MS / 60000);
}

static const char *const key_names[KEY_COUNT] = {
    [KEY_PRIMARY] = "primary",
    [KEY_SECONDARY] = "secondary",
    [KEY_PRIMARY_READ_ONLY] = "primary-read-only",
    [KEY_SECONDARY_READ_ONLY] = "secondary-read-only",
};

static status identify_key(struct call *call, bytes signature)
{
    struct signing signing = { 0 };
    enum account_key signer;
    time_ms signed_at;
    bytes text;

    TRY(find_date(call, &signing, &signed_at));
    name_resource(&call->link, &signing);
    TRY(find_signer(call, &signing, signature, &signer));
    if (signer == KEY_COUNT) {
        TRY(make_text(call, &signing, LINK_DECODED, &text));
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The input authorization token can't serve the request. The wrong key is "
                         "being used or the expected payload is not built as per the protocol. "
                         "Server used the following payload to sign: '%.*s'",
                         (int)text.len, (const char *)text.data);
    }
    TRY(check_window(call, &signing, signed_at));
    call->grant.kind = signer <= KEY_SECONDARY ? GRANT_MASTER : GRANT_READ_ONLY;
    call->grant.key = key_names[signer];
    return STATUS_OK;
}

static status identify_token(struct call *call, bytes signature)
{
    struct permission_grant token;
    status s = auth_read_token(call->face->auth, call->arena, signature, &token);
    char end_text[AUTH_DATE_BYTES + 1], now_text[AUTH_DATE_BYTES + 1];

    if (s.code == INVALID)
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The input authorization token can't serve the request: the resource "
                         "token was not made with the key of this server, or was changed.");
    TRY(s);
    time_ms now = auth_machine_now(call->face->auth);
    /* tidy: compare because a token is no document: it ends by the machine's own time. */
    if (now >= token.expires_at) {
        auth_date_format(token.expires_at, end_text);
        auth_date_format(now, now_text);
        return call_fail(call, FAIL_FORBIDDEN,
                         "The resource token has expired: it was valid until '%s', the current "
                         "server time is '%s'. Read the permission again for a new one.",
                         end_text, now_text);
    }
    call->grant = (struct grant){ .kind = GRANT_TOKEN,
                                  .key = "token",
                                  .is_all = token.is_all,
                                  .resource = token.resource,
                                  .item = token.item,
                                  .partition_key = token.partition_key };
    return STATUS_OK;
}

status auth_identify(struct call *call)
{
    struct authorization authorization;
    bytes header;
    size_t count = count_header(call->http, BYTES_LITERAL("authorization"), &header);

    call->grant = (struct grant){ .kind = GRANT_NOTHING };
    if (count == 0)
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "Required Header authorization is missing. Ensure a valid Authorization "
                         "token is passed.");
    if (count > 1)
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The authorization header stands in the request %zu times.", count);
    status s = auth_header_parse(call->arena, header, &authorization);
    if (s.code == INVALID)
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The authorization header is not 'type=...&ver=1.0&sig=...': %s.",
                         s.message);
    TRY(s);
    if (!bytes_equal(authorization.version, BYTES_LITERAL("1.0")))
        return call_fail(call, FAIL_UNAUTHORIZED,
                         "The authorization header has ver=%.*s; only 1.0 is known.",
                         (int)authorization.version.len, (const char *)authorization.version.data);
    if (bytes_equal(authorization.type, BYTES_LITERAL("master")))
        return identify_key(call, authorization.signature);
    if (bytes_equal(authorization.type, BYTES_LITERAL("resource")))
        return identify_token(call, authorization.signature);
    return call_fail(call, FAIL_UNAUTHORIZED,
                     "Authorization of type '%.*s' is not taken here: sign with an account key "
                     "(type=master) or use the token of a permission (type=resource).",
                     (int)authorization.type.len, (const char *)authorization.type.data);
}

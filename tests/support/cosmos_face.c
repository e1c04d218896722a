/* Cosmos face: the face on a world, without sockets.
 *
 * The signature is made here once more, from the description of the protocol and not with the face's own
 * code, so that a mistake there does not hide itself. A request that is answered later is waited for.
 * Threads: the test's; the reply may come on another one. */
#include "tests/support/cosmos_face.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#include "front/front.h"

/* WORLD_START, in the machine's own time, which does not move with the test's. */
static const char machine_date[] = "Sun, 01 Mar 2026 00:00:00 GMT";

static time_ms machine_wall(void *context)
{
    (void)context;
    return WORLD_START;
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void open_face(struct cosmos_face *f)
{
    f->options.engine = f->world.engine;
    f->options.log = &f->world.log;
    f->options.metrics = &f->world.metrics;
    f->options.machine_time = (struct clock_source){ machine_wall, machine_wall, NULL };
    CHECK_OK(cosmos_open(&f->options, f->world.arena, &f->face));
}

void cosmos_face_open_with(struct cosmos_face *f, const struct cosmos_options *options)
{
    memset(f, 0, sizeof(*f));
    f->options = *options;
    f->key = options->master_key ? options->master_key : COSMOS_MASTER_KEY;
    world_open(&f->world, ON_MEMORY);
    open_face(f);
}

void cosmos_face_open(struct cosmos_face *f)
{
    cosmos_face_open_with(f, &(struct cosmos_options){ 0 });
}

void cosmos_face_close(struct cosmos_face *f)
{
    cosmos_close(f->face);
    world_close(&f->world);
}

void cosmos_face_restart(struct cosmos_face *f)
{
    cosmos_close(f->face);
    world_restart(&f->world);
    open_face(f);
}

/* ---- signing ---------------------------------------------------------------------------------------- */

struct signing {
    char method[16];
    char type[64];  /* of the resource */
    char link[512]; /* of the resource, decoded */
};

static size_t decode(const char *from, size_t len, char *to)
{
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned byte = (unsigned char)from[i];
        if (from[i] == '%' && sscanf(from + i + 1, "%2x", &byte) == 1)
            i += 2;
        to[used++] = (char)byte;
    }
    to[used] = '\0';
    return used;
}

/* An odd number of parts ends in the type, the link is the rest; an even one is all link. */
static struct signing signing_of(const char *request)
{
    struct signing out = { 0 };
    const char *parts[16];
    size_t count = 0, space = strcspn(request, " ");
    char path[1024];

    for (size_t i = 0; i < space && i + 1 < sizeof(out.method); i++)
        out.method[i] = (char)tolower((unsigned char)request[i]);
    snprintf(path, sizeof(path), "%s", request + space + 1);
    for (char *at = path; *at && count < 16; count++) {
        at += strspn(at, "/");
        if (!*at)
            break;
        parts[count] = at;
        at += strcspn(at, "/");
        if (*at)
            *at++ = '\0';
    }
    if (count == 0)
        return out;
    snprintf(out.type, sizeof(out.type), "%s", parts[count % 2 ? count - 1 : count - 2]);
    if (strcmp(out.type, "operations") == 0) { /* ... of the container */
        snprintf(out.type, sizeof(out.type), "colls");
        count -= 2;
    }
    size_t used = 0;
    for (size_t i = 0; i < count - count % 2; i++) {
        if (i > 0)
            out.link[used++] = '/';
        CHECK(used + strlen(parts[i]) + 2 < sizeof(out.link));
        used += decode(parts[i], strlen(parts[i]), out.link + used);
    }
    if (strcmp(out.type, "offers") == 0 && count == 2) {
        snprintf(out.link, sizeof(out.link), "%s", parts[1]);
        for (char *at = out.link; *at; at++)
            *at = (char)tolower((unsigned char)*at);
    }
    return out;
}

static void append_signature(struct buffer *out, const char *key, const char *request)
{
    struct signing what = signing_of(request);
    char text[1024], date[64];
    unsigned char raw_key[128], mac[EVP_MAX_MD_SIZE], encoded[128];
    unsigned mac_len;

    snprintf(date, sizeof(date), "%s", machine_date);
    for (char *at = date; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    int len = snprintf(text, sizeof(text), "%s\n%s\n%s\n%s\n\n", what.method, what.type, what.link,
                       date);
    int key_len = EVP_DecodeBlock(raw_key, (const unsigned char *)key, (int)strlen(key));
    for (size_t i = strlen(key); i > 0 && key[i - 1] == '='; i--)
        key_len--;
    CHECK(HMAC(EVP_sha256(), raw_key, key_len, (const unsigned char *)text, (size_t)len, mac,
               &mac_len) != NULL);
    EVP_EncodeBlock(encoded, mac, (int)mac_len);
    buffer_append_format(out,
                         "x-ms-date: %s\r\nauthorization: type%%3Dmaster%%26ver%%3D1.0%%26sig%%3D",
                         machine_date);
    for (const unsigned char *at = encoded; *at; at++)
        buffer_append_format(out, isalnum(*at) ? "%c" : "%%%02X", *at);
    buffer_append_text(out, "\r\n");
}

/* ---- asking ----------------------------------------------------------------------------------------- */

/* Found back from the exchange when it is finished later. */
struct asking {
    struct http_exchange exchange; /* first */
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
};

static void finish(struct http_exchange *exchange)
{
    struct asking *asking = (struct asking *)exchange;

    pthread_mutex_lock(&asking->lock);
    asking->is_done = true;
    pthread_cond_signal(&asking->done);
    pthread_mutex_unlock(&asking->lock);
}

static void append_unquoted(struct buffer *out, const char *text, bool is_head)
{
    for (; *text; text++) {
        if (is_head && *text == '\n')
            buffer_append_text(out, "\r\n");
        else
            buffer_append_byte(out, *text == '\'' ? '"' : (uint8_t)*text);
    }
}

static bytes request_text(struct cosmos_face *f, const char *request, const char *headers,
                          const char *body)
{
    struct buffer text = buffer_in(f->world.arena);
    bytes out;

    buffer_append_format(&text, "%s HTTP/1.1\r\nHost: localhost:8081\r\nContent-Length: %zu\r\n",
                         request, strlen(body));
    if (f->key)
        append_signature(&text, f->key, request);
    append_unquoted(&text, headers, true);
    if (*headers && headers[strlen(headers) - 1] != '\n')
        buffer_append_text(&text, "\r\n");
    buffer_append_text(&text, "\r\n");
    append_unquoted(&text, body, false);
    CHECK_OK(buffer_finish(&text, &out));
    return out;
}

static struct cosmos_answer take_answer(struct cosmos_face *f, const struct http_reply *reply)
{
    struct cosmos_answer answer = { .status = reply->status };

    CHECK_OK(arena_copy(f->world.arena, reply->headers, &answer.headers));
    CHECK_OK(arena_copy(f->world.arena, reply->body, &answer.body));
    return answer;
}

struct cosmos_answer cosmos_ask(struct cosmos_face *f, const char *request, const char *headers,
                                const char *body)
{
    struct asking asking = {
        .exchange = {.wall = WORLD_START,
                     .is_tls = f->is_tls,
                     .is_loopback = true,
                     .finish = finish}
    };
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct http_reader *reader = http_reader_open();
    bytes text = request_text(f, request, headers, body);
    size_t consumed;

    CHECK(arena && reader);
    pthread_mutex_init(&asking.lock, NULL);
    pthread_cond_init(&asking.done, NULL);
    http_reader_begin(reader, arena);
    CHECK_EQ(http_reader_feed(reader, text, &consumed), HTTP_COMPLETE, "%s", request);
    asking.exchange.arena = arena;
    asking.exchange.request = http_reader_request(reader);
    if (cosmos_handle(f->face, &asking.exchange) == HTTP_LATER) {
        pthread_mutex_lock(&asking.lock);
        while (!asking.is_done)
            pthread_cond_wait(&asking.done, &asking.lock);
        pthread_mutex_unlock(&asking.lock);
    }
    struct cosmos_answer answer = take_answer(f, &asking.exchange.reply);
    pthread_cond_destroy(&asking.done);
    pthread_mutex_destroy(&asking.lock);
    http_reader_close(reader);
    arena_close(arena);
    return answer;
}

/* ---- looking at the answer -------------------------------------------------------------------------- */

const char *cosmos_query(struct cosmos_face *f, const char *container, const char *sql)
{
    struct arena *arena = f->world.arena;
    const struct cosmos_answer a =
        cosmos_ask(f, arena_format(arena, "POST %s/docs", container),
                   "x-ms-documentdb-isquery: True\ncontent-type: application/query+json\n"
                   "x-ms-documentdb-query-enablecrosspartition: True",
                   arena_format(arena, "{'query':'%s'}", sql));
    const bytes got = a.status == 200 ? cosmos_value(f, &a, "Documents") : a.body;

    return arena_format(arena, "%.*s", (int)got.len, (const char *)got.data);
}

bytes cosmos_header(const struct cosmos_answer *answer, const char *name)
{
    bytes rest = answer->headers;

    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.data, '\r', rest.len);
        const uint8_t *colon = memchr(rest.data, ':', rest.len);
        CHECK(end != NULL && colon != NULL && colon < end && colon[1] == ' ');
        size_t name_len = (size_t)(colon - rest.data);
        if (name_len == strlen(name) && strncasecmp((const char *)rest.data, name, name_len) == 0)
            return bytes_of(colon + 2, (size_t)(end - colon) - 2);
        rest = bytes_from(rest, (size_t)(end - rest.data) + 2);
    }
    return BYTES_NONE;
}

bytes cosmos_value(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path)
{
    struct buffer text = buffer_in(f->world.arena);
    struct value value = { .type = VALUE_DOCUMENT };
    bytes out;

    CHECK_OK(json_read(f->world.arena, answer->body, &value.raw));
    while (*path) {
        size_t len = strcspn(path, ".");
        if (value.type != VALUE_DOCUMENT && value.type != VALUE_ARRAY)
            return BYTES_NONE;
        if (!document_find_bytes(value_document(value), bytes_of(path, len), &value))
            return BYTES_NONE;
        path += path[len] ? len + 1 : len;
    }
    json_write_value(&text, value);
    CHECK_OK(buffer_finish(&text, &out));
    return out;
}

bool cosmos_body_has(const struct cosmos_answer *answer, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i + len <= answer->body.len; i++) {
        size_t k = 0;
        while (k < len && (answer->body.data[i + k] == (uint8_t)text[k] ||
                           (text[k] == '\'' && answer->body.data[i + k] == '"')))
            k++;
        if (k == len)
            return true;
    }
    return false;
}

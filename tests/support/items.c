/* Items: what tests of items say in one line.
 *
 * Threads: as the face; each thread needs its own copy (items_for_thread). */
#include "tests/support/items.h"

#include <stdarg.h>
#include <stdio.h>

void items_open(struct cosmos_face *f, int32_t default_ttl)
{
    cosmos_face_open(f);
    world_collection_parted(&f->world, "c", default_ttl, "all: paths +/* -/big/?", "pk");
}

void items_close(struct cosmos_face *f)
{
    cosmos_face_close(f);
}

struct cosmos_face items_for_thread(struct cosmos_face *f)
{
    struct cosmos_face mine = *f;

    mine.world.arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    CHECK(mine.world.arena != NULL);
    return mine;
}

void items_thread_done(struct cosmos_face *mine)
{
    arena_close(mine->world.arena);
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static const char *in_full(struct cosmos_face *f, const char *headers, const char *more)
{
    bool has_key = strncmp(headers, "pk: ", 4) == 0;
    const char *text = arena_format(f->world.arena, "%s%s%s%s", more,
                                    has_key ? "x-ms-documentdb-partitionkey: " : "",
                                    headers + (has_key ? 4 : 0), *headers ? "\n" : "");

    CHECK(text != NULL);
    return text;
}

#define BODY(text)                                                    \
    va_list args;                                                     \
    va_start(args, body);                                             \
    const char *text = arena_format_args(f->world.arena, body, args); \
    va_end(args);                                                     \
    CHECK(text != NULL)

#define FEED "/dbs/db/colls/c/docs"

static struct cosmos_answer ask_item(struct cosmos_face *f, const char *method, const char *id,
                                     const char *headers, const char *body)
{
    const char *request = arena_format(f->world.arena, "%s %s/%s", method, FEED, id);

    CHECK(request != NULL);
    return cosmos_ask(f, request, in_full(f, headers, ""), body);
}

struct cosmos_answer item_create(struct cosmos_face *f, const char *headers, const char *body, ...)
{
    BODY(text);
    return cosmos_ask(f, "POST " FEED, in_full(f, headers, ""), text);
}

struct cosmos_answer item_upsert(struct cosmos_face *f, const char *headers, const char *body, ...)
{
    BODY(text);
    return cosmos_ask(f, "POST " FEED, in_full(f, headers, "x-ms-documentdb-is-upsert: true\n"),
                      text);
}

struct cosmos_answer item_read(struct cosmos_face *f, const char *headers, const char *id)
{
    return ask_item(f, "GET", id, headers, "");
}

struct cosmos_answer item_replace(struct cosmos_face *f, const char *headers, const char *id,
                                  const char *body, ...)
{
    BODY(text);
    return ask_item(f, "PUT", id, headers, text);
}

struct cosmos_answer item_patch(struct cosmos_face *f, const char *headers, const char *id,
                                const char *body, ...)
{
    BODY(text);
    return ask_item(f, "PATCH", id, headers, text);
}

struct cosmos_answer item_delete(struct cosmos_face *f, const char *headers, const char *id)
{
    return ask_item(f, "DELETE", id, headers, "");
}

struct cosmos_answer item_feed(struct cosmos_face *f, const char *headers)
{
    return cosmos_ask(f, "GET " FEED, in_full(f, headers, ""), "");
}

struct cosmos_answer item_query(struct cosmos_face *f, const char *headers, const char *sql)
{
    const char *body = arena_format(f->world.arena, "{\"query\":\"%s\"}", sql);

    CHECK(body != NULL);
    return cosmos_ask(f, "POST " FEED, in_full(f, headers, "x-ms-documentdb-isquery: true\n"),
                      body);
}

struct cosmos_answer item_batch(struct cosmos_face *f, const char *headers, const char *body, ...)
{
    BODY(text);
    return cosmos_ask(f, "POST " FEED,
                      in_full(f, headers,
                              "x-ms-cosmos-is-batch-request: true\n"
                              "x-ms-cosmos-batch-atomic: true\n"),
                      text);
}

struct cosmos_answer item_bulk(struct cosmos_face *f, const char *headers, const char *body, ...)
{
    BODY(text);
    return cosmos_ask(f, "POST " FEED,
                      in_full(f, headers,
                              "x-ms-cosmos-is-batch-request: true\n"
                              "x-ms-cosmos-batch-atomic: false\n"),
                      text);
}

/* ---- looking ---------------------------------------------------------------------------------------- */

static const char *as_text(struct cosmos_face *f, bytes value)
{
    const char *text = arena_format(f->world.arena, "%.*s", (int)value.len,
                                    (const char *)value.data);

    CHECK(text != NULL);
    return text;
}

const char *item_text(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path)
{
    bytes value = cosmos_value(f, answer, path);

    if (value.len >= 2 && value.data[0] == '"')
        value = bytes_of(value.data + 1, value.len - 2);
    return as_text(f, value);
}

const char *item_etag(struct cosmos_face *f, const struct cosmos_answer *answer)
{
    bytes etag = cosmos_header(answer, "etag");

    CHECK(etag.len > 2);
    return as_text(f, etag);
}

static bytes join(struct cosmos_face *f, bytes array, const char *name)
{
    struct buffer out = buffer_in(f->world.arena);
    struct document_walk walk = document_fields(array);
    struct field element;
    struct value value;

    while (document_next(&walk, &element)) {
        if (out.len > 0)
            buffer_append_text(&out, " ");
        CHECK_EQ(element.value.type, VALUE_DOCUMENT, "");
        CHECK(document_find(value_document(element.value), name, &value));
        if (value.type == VALUE_STRING)
            buffer_append(&out, value_text(value));
        else
            json_write_value(&out, value);
    }
    CHECK(!out.is_failed);
    return bytes_of(out.data, out.len);
}

const char *item_statuses(struct cosmos_face *f, const struct cosmos_answer *answer)
{
    bytes array;

    CHECK_OK(json_read_array(f->world.arena, answer->body, &array));
    return as_text(f, join(f, array, "statusCode"));
}

const char *item_ids(struct cosmos_face *f, const struct cosmos_answer *answer)
{
    bytes body;
    struct value documents;

    CHECK_OK(json_read(f->world.arena, answer->body, &body));
    CHECK(document_find(body, "Documents", &documents));
    return as_text(f, join(f, value_document(documents), "id"));
}

/* mayfly's MongoDB face as a rival: messages as drivers send them, with a session, a number for each write, and the time
 * of the cluster as it was last heard. */
#ifndef BENCH_RIVAL_MONGO_H
#define BENCH_RIVAL_MONGO_H

#include "bench/mongo_admin.h"
#include "bench/rival.h"

/* ---- requests ---------------------------------------------------------------------------------------- */

/* What every command of a driver carries. Only writes have numbers. */
static inline void mongo_form_end(struct form *form, size_t body, bool is_write)
{
    if (is_write) {
        form_field(form, 8, "ordered");
        form_number(form, 1, 1);
        form_field(form, 18, "txnNumber");
        form_place(form, PLACE_TURN_RAW, 8);
    }
    form_field(form, 3, "lsid");
    const size_t session = form_bson_begin(form);
    form_field(form, 5, "id");
    form_number(form, 16, 4);
    form_number(form, 4, 1);
    form_place(form, PLACE_SESSION, 4);
    form_text(form, "of the bench");
    form_bson_end(form, session);
    form_field(form, 3, "$clusterTime");
    const size_t time = form_bson_begin(form);
    form_field(form, 17, "clusterTime");
    form_number(form, UINT64_C(1772323200) << 32 | 1, 8);
    form_field(form, 3, "signature");
    const size_t signature = form_bson_begin(form);
    form_field(form, 5, "hash");
    form_number(form, 20, 4);
    form_number(form, 0, 1);
    form_put(form, "no hash at all here.", 20);
    form_field(form, 18, "keyId");
    form_number(form, 0, 8);
    form_bson_end(form, signature);
    form_bson_end(form, time);
    form_field_text(form, "$db", "d");
    form_bson_end(form, body);
    const uint32_t len = (uint32_t)form->len;
    memcpy(form->data, &len, 4);
}

static inline void mongo_make_insert(struct form *form)
{
    const size_t body = mongo_form_begin(form);

    form_field_text(form, "insert", "c");
    form_field(form, 4, "documents");
    const size_t list = form_bson_begin(form);
    form_field(form, 3, "0");
    form_bson(form);
    form_bson_end(form, list);
    mongo_form_end(form, body, true);
}

static inline size_t mongo_find_begin(struct form *form, const char *field, enum place_kind place,
                                      size_t len)
{
    const size_t body = mongo_form_begin(form);

    form_field_text(form, "find", "c");
    form_field(form, 3, "filter");
    const size_t filter = form_bson_begin(form);
    form_field_place(form, field, place, len);
    form_bson_end(form, filter);
    return body;
}

static inline void mongo_make_read(struct form *form)
{
    const size_t body = mongo_find_begin(form, "_id", PLACE_ID, BENCH_ID_LEN);

    form_field(form, 16, "limit");
    form_number(form, 1, 4);
    form_field(form, 8, "singleBatch");
    form_number(form, 1, 1);
    mongo_form_end(form, body, false);
}

static inline void mongo_make_query(struct form *form)
{
    const size_t body = mongo_find_begin(form, "user", PLACE_USER, FORM_USER_LEN);

    mongo_form_end(form, body, false);
}

/* The seconds are the number of the request, so that each one changes something. */
static inline void mongo_make_policy(struct form *form)
{
    const size_t body = mongo_form_begin(form);

    form_field_text(form, "collMod", "c");
    form_field(form, 3, "index");
    const size_t index = form_bson_begin(form);
    form_field_text(form, "name", "expires");
    form_field(form, 18, "expireAfterSeconds");
    form_place(form, PLACE_TURN_RAW, 8);
    form_bson_end(form, index);
    mongo_form_end(form, body, false);
}

static inline void mongo_make_touch(struct form *form)
{
    const size_t body = mongo_form_begin(form);

    form_field_text(form, "update", "c");
    form_field(form, 4, "updates");
    const size_t list = form_bson_begin(form);
    form_field(form, 3, "0");
    const size_t update = form_bson_begin(form);
    form_field(form, 3, "q");
    const size_t filter = form_bson_begin(form);
    form_field_place(form, "_id", PLACE_ID, BENCH_ID_LEN);
    form_bson_end(form, filter);
    form_field(form, 3, "u");
    const size_t change = form_bson_begin(form);
    form_field(form, 3, "$set");
    const size_t set = form_bson_begin(form);
    form_field(form, 9, "expires");
    form_place(form, PLACE_DEADLINE_RAW, 8);
    form_bson_end(form, set);
    form_bson_end(form, change);
    form_bson_end(form, update);
    form_bson_end(form, list);
    mongo_form_end(form, body, true);
}

/* The documents are a section of their own behind the body. */
static inline void mongo_make_many_head(struct form *form)
{
    const size_t body = mongo_form_begin(form);

    form_field_text(form, "insert", "c");
    mongo_form_end(form, body, true);
    form_number(form, 1, 1);
    form_number(form, 4 + 10 + RIVAL_TOGETHER * BENCH_DOCUMENT_BYTES, 4);
    form_put(form, "documents", 10);
}

static inline size_t mongo_make_many(const struct rival *r, const struct filling *first, char *out)
{
    struct filling filling = *first;
    size_t len = form_fill(&r->head, r->texts, first, out);

    for (int i = 0; i < RIVAL_TOGETHER; i++, filling.n++)
        len += form_fill(&r->forms[RIVAL_MANY], r->texts, &filling, out + len);
    const uint32_t whole = (uint32_t)len;
    memcpy(out, &whole, 4);
    return len;
}

/* ---- replies ----------------------------------------------------------------------------------------- */

/* The number of documents that the reply to a write tells. */
static inline uint32_t mongo_reply_count(const struct load_connection *c)
{
    /* Not in the head of the message, whose numbers may look like it. */
    const char *at = memmem(c->reply + MONGO_BODY_AT, c->have - MONGO_BODY_AT, "\x10n\0",
                            MONGO_COUNT_BYTES);
    uint32_t count;

    if (!at)
        rival_complain(c, "no n");
    memcpy(&count, at + MONGO_COUNT_BYTES, 4);
    return count;
}

static inline void mongo_read_head(struct load_connection *c, const struct load_source *source)
{
    static const char ok[] = "\1ok\0\0\0\0\0\0\0\xf0\x3f";
    uint32_t whole;

    (void)source;
    memcpy(&whole, c->reply, 4);
    if (c->have < 4 || c->have < whole)
        return;
    c->whole = whole;
    if (!rival_reply_has(c, ok, sizeof(ok) - 1))
        rival_complain(c, "not ok");
    if (c->kind == RIVAL_READ) {
        c->outcome = rival_reply_has_id(c) ? RIVAL_FOUND : RIVAL_GONE;
        if ((c->outcome == RIVAL_FOUND) != (whole > BENCH_DOCUMENT_BYTES))
            rival_complain(c, "another document");
        return;
    }
    if (c->kind == RIVAL_QUERY || c->kind == RIVAL_POLICY) {
        c->outcome = c->kind == RIVAL_POLICY || rival_reply_has_id(c) ? RIVAL_FOUND : RIVAL_GONE;
        return;
    }
    const uint32_t count = mongo_reply_count(c);
    c->outcome = count > 0 ? RIVAL_FOUND : RIVAL_GONE;
    if (c->kind != RIVAL_TOUCH && count != (c->kind == RIVAL_MANY ? RIVAL_TOGETHER : 1))
        rival_complain(c, "not all were inserted");
}

/* A server that runs; its collection has a TTL index on the deadline, and `seconds` pass from there. */
static inline void rival_mongo_begin(struct rival *r, const char *name, pid_t pid, unsigned port,
                                     const struct texts *texts, int64_t seconds)
{
    *r = (struct rival){ .name = name,
                         .pid = pid,
                         .port = port,
                         .texts = texts,
                         .make_many = mongo_make_many,
                         .read_head = mongo_read_head };
    mongo_make_insert(&r->forms[RIVAL_INSERT]);
    mongo_make_read(&r->forms[RIVAL_READ]);
    mongo_make_touch(&r->forms[RIVAL_TOUCH]);
    mongo_make_many_head(&r->head);
    form_bson(&r->forms[RIVAL_MANY]);
    mongo_make_query(&r->forms[RIVAL_QUERY]);
    mongo_make_policy(&r->forms[RIVAL_POLICY]);
    mongo_create_index(port, "expires", seconds);
}

#endif

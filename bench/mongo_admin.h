/* Commands of the MongoDB protocol that a measurement sends for itself: indexes, counts, a new ttl. */
#ifndef BENCH_MONGO_ADMIN_H
#define BENCH_MONGO_ADMIN_H

#include "bench/form.h"
#include "bench/load.h"

enum { MONGO_KIND = 2013, MONGO_COUNT_BYTES = 3, MONGO_BODY_AT = 25 };

/* Header, flags, and the kind of the first section; the body begins. */
static inline size_t mongo_form_begin(struct form *form)
{
    form_number(form, 0, 8);
    form_number(form, 0, 4);
    form_number(form, MONGO_KIND, 4);
    form_number(form, 0, 5);
    return form_bson_begin(form);
}

/* Sends a command whose body is built here, without sessions; waits for its reply. Returns the n in it, or 0. */
static inline uint32_t mongo_command(unsigned port, struct form *form, size_t body)
{
    static const char ok[] = "\1ok\0\0\0\0\0\0\0\xf0\x3f";
    char reply[4096];
    uint32_t count = 0;

    form_field_text(form, "$db", "d");
    form_bson_end(form, body);
    const uint32_t len = (uint32_t)form->len;
    memcpy(form->data, &len, 4);
    const int s = load_connect(port);
    load_send_all(s, bytes_of(form->data, form->len));
    const ssize_t got = recv(s, reply, sizeof(reply), 0);
    close(s);
    BENCH_CLAIM(got > 0 && memmem(reply, (size_t)got, ok, sizeof(ok) - 1) != NULL);
    const char *at = memmem(reply + MONGO_BODY_AT, (size_t)got - MONGO_BODY_AT, "\x10n\0",
                            MONGO_COUNT_BYTES);
    if (at)
        memcpy(&count, at + MONGO_COUNT_BYTES, 4);
    return count;
}

/* How many documents the collection shows. */
static inline uint32_t mongo_count(unsigned port)
{
    struct form form = { 0 };
    const size_t body = mongo_form_begin(&form);

    form_field_text(&form, "count", "c");
    return mongo_command(port, &form, body);
}

/* A collection c with an index on a field; with seconds that are not negative its documents die so long behind the date in
 * it. */
static inline void mongo_create_index(unsigned port, const char *field, int64_t seconds)
{
    struct form form = { 0 };
    const size_t body = mongo_form_begin(&form);

    form_field_text(&form, "createIndexes", "c");
    form_field(&form, 4, "indexes");
    const size_t list = form_bson_begin(&form);
    form_field(&form, 3, "0");
    const size_t index = form_bson_begin(&form);
    form_field_text(&form, "name", field);
    form_field(&form, 3, "key");
    const size_t key = form_bson_begin(&form);
    form_field(&form, 16, field);
    form_number(&form, 1, 4);
    form_bson_end(&form, key);
    if (seconds >= 0) {
        form_field(&form, 18, "expireAfterSeconds");
        form_number(&form, (uint64_t)seconds, 8);
    }
    form_bson_end(&form, index);
    form_bson_end(&form, list);
    mongo_command(port, &form, body);
}

/* Another ttl for everybody. */
static inline void mongo_set_ttl(unsigned port, uint32_t seconds)
{
    struct form form = { 0 };
    const size_t body = mongo_form_begin(&form);

    form_field_text(&form, "collMod", "c");
    form_field(&form, 3, "index");
    const size_t index = form_bson_begin(&form);
    form_field_text(&form, "name", "expires");
    form_field(&form, 16, "expireAfterSeconds");
    form_number(&form, seconds, 4);
    form_bson_end(&form, index);
    mongo_command(port, &form, body);
}

#endif

/* PostgreSQL 15 as a rival, with its own durability: a table with a key, a jsonb column and an indexed deadline, prepared
 * statements over the extended protocol. Whoever is dead is not shown, and a job deletes them. */
#ifndef BENCH_RIVAL_POSTGRES_H
#define BENCH_RIVAL_POSTGRES_H

#include "bench/rival.h"
#include "bench/rival_start.h"
#include "bench/sql_postgres.h"

enum { PG_STATEMENT_BYTES = 32 * RIVAL_TOGETHER, PG_COLUMNS = 3 };

/* ---- requests ---------------------------------------------------------------------------------------- */

static inline size_t pg_form_begin(struct form *form, char type)
{
    form_put(form, &type, 1);
    form_number(form, 0, 4);
    return form->len - 4;
}

static inline void pg_form_end(struct form *form, size_t start)
{
    const uint32_t len = htonl((uint32_t)(form->len - start));

    memcpy(form->data + start, &len, 4);
}

/* Run what was bound, and end the transaction. */
static inline void pg_form_execute(struct form *form)
{
    const size_t execute = pg_form_begin(form, 'E');

    form_number(form, 0, 5);
    pg_form_end(form, execute);
    pg_form_end(form, pg_form_begin(form, 'S'));
}

static inline void pg_form_parameter(struct form *form, enum place_kind kind, size_t len)
{
    form_number_big(form, len, 4);
    form_place(form, kind, len);
}

/* Id, document and deadline of one row. */
static inline void pg_form_row(struct form *form)
{
    pg_form_parameter(form, PLACE_ID, BENCH_ID_LEN);
    form_number_big(form, BENCH_DOCUMENT_BYTES, 4);
    form_json(form);
    pg_form_parameter(form, PLACE_DEADLINE_BIG, 8);
}

/* The name of the statement, and the formats of its parameters: text, but the deadline. */
static inline size_t pg_form_bind(struct form *form, const char *statement, const char *formats)
{
    const size_t bind = pg_form_begin(form, 'B');

    form_number(form, 0, 1);
    form_put(form, statement, strlen(statement) + 1);
    form_number_big(form, strlen(formats), 2);
    for (const char *f = formats; *f; f++)
        form_number_big(form, *f == 'b', 2);
    form_number_big(form, strlen(formats), 2);
    return bind;
}

static inline void pg_make_forms(struct form forms[RIVAL_OPS])
{
    size_t bind = pg_form_bind(&forms[RIVAL_INSERT], "i", "ttb");

    pg_form_row(&forms[RIVAL_INSERT]);
    form_number(&forms[RIVAL_INSERT], 0, 2);
    pg_form_end(&forms[RIVAL_INSERT], bind);
    pg_form_execute(&forms[RIVAL_INSERT]);

    bind = pg_form_bind(&forms[RIVAL_READ], "r", "t");
    pg_form_parameter(&forms[RIVAL_READ], PLACE_ID, BENCH_ID_LEN);
    form_number(&forms[RIVAL_READ], 0, 2);
    pg_form_end(&forms[RIVAL_READ], bind);
    pg_form_execute(&forms[RIVAL_READ]);

    bind = pg_form_bind(&forms[RIVAL_TOUCH], "t", "tb");
    pg_form_parameter(&forms[RIVAL_TOUCH], PLACE_ID, BENCH_ID_LEN);
    pg_form_parameter(&forms[RIVAL_TOUCH], PLACE_DEADLINE_BIG, 8);
    form_number(&forms[RIVAL_TOUCH], 0, 2);
    pg_form_end(&forms[RIVAL_TOUCH], bind);
    pg_form_execute(&forms[RIVAL_TOUCH]);

    pg_form_row(&forms[RIVAL_MANY]);
}

static inline size_t pg_put_big(char *out, uint32_t number, size_t len)
{
    number = htonl(number);
    memcpy(out, (const char *)&number + 4 - len, len);
    return len;
}

/* One statement with three parameters for each row. */
static inline size_t pg_make_many(const struct rival *r, const struct filling *first, char *out)
{
    static const char end[] = "\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    const uint32_t parameters = PG_COLUMNS * RIVAL_TOGETHER;
    struct filling filling = *first;
    size_t len = 5;

    out[0] = 'B';
    memcpy(out + len, "\0m", 3);
    len += 3;
    len += pg_put_big(out + len, parameters, 2);
    for (uint32_t i = 0; i < parameters; i++)
        len += pg_put_big(out + len, i % PG_COLUMNS == 2, 2);
    len += pg_put_big(out + len, parameters, 2);
    for (int i = 0; i < RIVAL_TOGETHER; i++, filling.n++)
        len += form_fill(&r->forms[RIVAL_MANY], r->texts, &filling, out + len);
    pg_put_big(out + 1, (uint32_t)(len + 2 - 1), 4);
    memcpy(out + len, end, sizeof(end) - 1);
    return len + sizeof(end) - 1;
}

/* ---- replies ----------------------------------------------------------------------------------------- */

/* The number at the end of the tag of a command. */
static inline long pg_tag_count(const char *tag)
{
    return strtol(strrchr(tag, ' ') + 1, NULL, 10);
}

/* Walks the messages to the one that says that the next request may come. */
static inline void pg_read_head(struct load_connection *c, const struct load_source *source)
{
    size_t at = 0;
    long count = -1;

    (void)source;
    while (at + 5 <= c->have) {
        uint32_t len;
        memcpy(&len, c->reply + at + 1, 4);
        const size_t next = at + 1 + ntohl(len);
        if (c->reply[at] == 'E')
            rival_complain(c, "an error");
        if (next > c->have)
            return;
        if (c->reply[at] == 'C')
            count = pg_tag_count(c->reply + at + 5);
        if (c->reply[at] == 'Z')
            c->whole = next;
        at = next;
    }
    if (c->whole == 0)
        return;
    c->outcome = count > 0 ? RIVAL_FOUND : RIVAL_GONE;
    if (c->kind == RIVAL_READ && count > 0 && !rival_reply_has_id(c))
        rival_complain(c, "another document");
    if ((c->kind == RIVAL_INSERT && count != 1) ||
        (c->kind == RIVAL_MANY && count != RIVAL_TOGETHER))
        rival_complain(c, "not all were inserted");
}

/* ---- connections ------------------------------------------------------------------------------------- */

/* Reads until the server is ready for the next request. */
static inline void pg_wait_ready(int s)
{
    struct load_connection *c = calloc(1, sizeof(*c));

    BENCH_CLAIM(c != NULL);
    c->kind = RIVAL_TOUCH;
    while (c->whole == 0) {
        const ssize_t got = recv(s, c->reply + c->have, LOAD_REPLY_BYTES - c->have, 0);
        BENCH_CLAIM(got > 0);
        c->have += (size_t)got;
        pg_read_head(c, NULL);
    }
    free(c);
}

static inline void pg_prepare(int s, const char *name, const char *sql)
{
    const uint32_t sql_len = (uint32_t)strlen(sql), len = 4 + 2 + sql_len + 1 + 2;
    char *message = malloc(len + 16);
    size_t at = 1;

    BENCH_CLAIM(message != NULL && strlen(name) == 1);
    message[0] = 'P';
    at += pg_put_big(message + at, len, 4);
    memcpy(message + at, name, 2);
    memcpy(message + at + 2, sql, sql_len + 1);
    at += 2 + sql_len + 1;
    memcpy(message + at, "\0\0S\0\0\0\4", 7);
    load_send_all(s, bytes_of(message, at + 7));
    pg_wait_ready(s);
    free(message);
}

static inline void pg_greet(int s)
{
    static const char hello[] = "\0\0\0\x29\0\3\0\0user\0postgres\0database\0postgres\0";
    static char many[PG_STATEMENT_BYTES];
    size_t len = (size_t)snprintf(many, sizeof(many), "INSERT INTO c VALUES ");

    BENCH_CLAIM(sizeof(hello) == 0x29);
    load_send_all(s, bytes_of(hello, sizeof(hello)));
    pg_wait_ready(s);
    for (int i = 0; i < RIVAL_TOGETHER; i++)
        len += (size_t)snprintf(many + len, sizeof(many) - len, "%s($%d,$%d,$%d)", i > 0 ? "," : "",
                                3 * i + 1, 3 * i + 2, 3 * i + 3);
    pg_prepare(s, "i", "INSERT INTO c VALUES ($1, $2, $3)");
    pg_prepare(s, "r", "SELECT doc FROM c WHERE id = $1 AND expires_at > now()");
    pg_prepare(s, "t", "UPDATE c SET expires_at = $2 WHERE id = $1 AND expires_at > now()");
    pg_prepare(s, "m", many);
}

/* Starts it and makes the table. */
static inline void rival_postgres_start(struct rival *r, struct postgres *p, const char *top,
                                        const struct texts *texts)
{
    *r = (struct rival){ .name = "PostgreSQL",
                         .port = free_port(),
                         .texts = texts,
                         .greet = pg_greet,
                         .make_many = pg_make_many,
                         .read_head = pg_read_head };
    pg_make_forms(r->forms);
    postgres_start_on(p, top, r->port);
    r->pid = p->pid;
    snprintf(r->data, sizeof(r->data), "%s/data", p->dir);
    postgres_ask(p, "CREATE TABLE c (id text PRIMARY KEY, doc jsonb NOT NULL, "
                    "expires_at timestamptz NOT NULL)");
    postgres_ask(p, "CREATE INDEX ON c (expires_at)");
}

#endif

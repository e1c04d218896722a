/* Redis as a rival: every write on disk before it is answered, EXPIRE for what dies, no snapshots beside its log. */
#ifndef BENCH_RIVAL_REDIS_H
#define BENCH_RIVAL_REDIS_H

#include "bench/rival.h"
#include "bench/rival_start.h"

#define REDIS_PROGRAM "/usr/bin/redis-server"

static inline void redis_form_word(struct form *form, const char *word)
{
    char head[32];

    snprintf(head, sizeof(head), "$%zu\r\n", strlen(word));
    form_text(form, head);
    form_text(form, word);
    form_text(form, "\r\n");
}

static inline void redis_form_place(struct form *form, enum place_kind kind, size_t len)
{
    char head[32];

    snprintf(head, sizeof(head), "$%zu\r\n", len);
    form_text(form, head);
    form_place(form, kind, len);
    form_text(form, "\r\n");
}

static inline void redis_make_forms(struct form forms[RIVAL_OPS])
{
    char head[32];

    form_text(&forms[RIVAL_INSERT], "*5\r\n");
    redis_form_word(&forms[RIVAL_INSERT], "SET");
    redis_form_place(&forms[RIVAL_INSERT], PLACE_ID, BENCH_ID_LEN);
    snprintf(head, sizeof(head), "$%d\r\n", BENCH_DOCUMENT_BYTES);
    form_text(&forms[RIVAL_INSERT], head);
    form_json(&forms[RIVAL_INSERT]);
    form_text(&forms[RIVAL_INSERT], "\r\n");
    redis_form_word(&forms[RIVAL_INSERT], "PXAT");
    redis_form_place(&forms[RIVAL_INSERT], PLACE_DEADLINE, FORM_DEADLINE_LEN);

    forms[RIVAL_MANY] = forms[RIVAL_INSERT];

    form_text(&forms[RIVAL_READ], "*2\r\n");
    redis_form_word(&forms[RIVAL_READ], "GET");
    redis_form_place(&forms[RIVAL_READ], PLACE_ID, BENCH_ID_LEN);

    form_text(&forms[RIVAL_TOUCH], "*3\r\n");
    redis_form_word(&forms[RIVAL_TOUCH], "PEXPIREAT");
    redis_form_place(&forms[RIVAL_TOUCH], PLACE_ID, BENCH_ID_LEN);
    redis_form_place(&forms[RIVAL_TOUCH], PLACE_DEADLINE, FORM_DEADLINE_LEN);
}

/* As many commands one behind the other, which is how Redis takes many at once. */
static inline size_t redis_make_many(const struct rival *r, const struct filling *first, char *out)
{
    struct filling filling = *first;
    size_t len = 0;

    for (int i = 0; i < RIVAL_TOGETHER; i++, filling.n++)
        len += form_fill(&r->forms[RIVAL_MANY], r->texts, &filling, out + len);
    return len;
}

static inline void redis_read_head(struct load_connection *c, const struct load_source *source)
{
    static const char ok[] = "+OK\r\n";
    const char *end = memchr(c->reply, '\n', c->have);

    (void)source;
    if (!end)
        return;
    c->outcome = RIVAL_FOUND;
    c->whole = (size_t)(end - c->reply) + 1;
    switch (c->reply[0]) {
    case '+':
        BENCH_CLAIM(c->kind == RIVAL_INSERT || c->kind == RIVAL_MANY);
        if (memcmp(c->reply, ok, 5) != 0)
            rival_complain(c, "not OK");
        /* All are +OK, or one of them is longer and the lengths never agree. */
        c->whole = c->kind == RIVAL_MANY ? 5 * RIVAL_TOGETHER : 5;
        return;
    case ':':
        c->outcome = c->reply[1] == '1' ? RIVAL_FOUND : RIVAL_GONE;
        return;
    case '$':
        if (c->reply[1] == '-') {
            c->outcome = RIVAL_GONE;
            return;
        }
        c->whole += strtoul(c->reply + 1, NULL, 10) + 2;
        if (c->have < c->whole) {
            c->whole = 0;
            return;
        }
        if (c->whole < BENCH_DOCUMENT_BYTES || !rival_reply_has_id(c))
            rival_complain(c, "another document");
        return;
    default:
        rival_complain(c, "an error");
    }
}

static inline bool redis_is_installed(void)
{
    return access(REDIS_PROGRAM, X_OK) == 0;
}

static inline void rival_redis_start(struct rival *r, const char *top, const struct texts *texts)
{
    char port[16];

    *r = (struct rival){ .name = "Redis",
                         .port = free_port(),
                         .texts = texts,
                         .make_many = redis_make_many,
                         .read_head = redis_read_head };
    redis_make_forms(r->forms);
    snprintf(r->data, sizeof(r->data), "%s/redis", top);
    BENCH_CLAIM(mkdir(r->data, 0700) == 0);
    snprintf(port, sizeof(port), "%u", r->port);
    char *const arguments[] = {
        REDIS_PROGRAM,  "--bind", "127.0.0.1",     "--port", port,     "--dir", r->data,
        "--appendonly", "yes",    "--appendfsync", "always", "--save", "",      "--daemonize",
        "no",           NULL
    };
    r->pid = rival_spawn(arguments, r->data);
    wait_for_port(r->pid, r->port);
}

#endif

/* Naive model: see the header. Slow and plain on purpose.
 *
 * Threads: none; plain data. */
#include "tests/support/naive_model.h"

#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- indexes it knows --------------------------------------------------------------------------------- */

/* In the order of enum naive_index. */
static const struct {
    const char *name, *text;
    bool can_expire;
} known[NAIVE_INDEXES] = {
    {"x",     "x",                        false},
    { "u",    "u unique sparse",          false},
    { "t",    "t",                        false},
    { "xt",   "-x t",                     false},
    { "all",  "paths +/* -/pad/? -/in/*", false},
    { "late", "-x t lazy",                false},
    { "at",   "at",                       true },
    { "when", "in.when where=flag",       true },
};

const char *naive_index_name(enum naive_index index)
{
    return known[index].name;
}

const char *naive_index_text(enum naive_index index)
{
    return known[index].text;
}

bool naive_index_can_expire(enum naive_index index)
{
    return known[index].can_expire;
}

bool naive_index_has_rows(enum naive_index index)
{
    return index != NAIVE_ALL;
}

bool naive_index_is_lazy(enum naive_index index)
{
    return index == NAIVE_LATE;
}

int naive_partition(int id)
{
    return id % 4;
}

/* ---- text --------------------------------------------------------------------------------------------- */

struct text {
    char *out;
    size_t room, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text->out + text->used, text->room - text->used, format, args);
    va_end(args);
    ASSERT(len >= 0 && (size_t)len < text->room - text->used);
    text->used += (size_t)len;
}

/* Around the start of the test's time as an offset, which is easier to read. */
static void say_date(struct text *text, int64_t date)
{
    const int64_t near_ms = 1000000000000;
    if (date > WORLD_START - near_ms && date < WORLD_START + near_ms)
        say(text, "@%" PRId64, date - WORLD_START);
    else
        say(text, "{'$date':{'$numberLong':'%" PRId64 "'}}", date);
}

static void say_at(struct text *text, const struct naive_body *body)
{
    switch (body->at_kind) {
    case NO_DATES:
        return;
    case ONE_DATE:
        say(text, ",'at':");
        say_date(text, body->at[0]);
        return;
    case NOT_A_DATE:
        say(text, ",'at':'soon'");
        return;
    case LIST_OF_DATES:
        say(text, ",'at':[7");
        for (size_t i = 0; i < body->at_count; i++) {
            say(text, ",");
            say_date(text, body->at[i]);
        }
        say(text, "]");
        return;
    }
}

static void say_tags(struct text *text, const struct naive_body *body)
{
    if (body->is_tag_alone) {
        say(text, ",'t':%d", body->tags[0]);
        return;
    }
    say(text, ",'t':[");
    for (size_t i = 0; i < body->tag_count; i++)
        say(text, "%s%d", i > 0 ? "," : "", body->tags[i]);
    say(text, "]");
}

static void say_when(struct text *text, const struct naive_body *body)
{
    if (body->when_count == 0)
        return;
    say(text, ",'in':[");
    for (size_t i = 0; i < body->when_count; i++) {
        say(text, "%s{'when':", i > 0 ? "," : "");
        say_date(text, body->when[i]);
        say(text, "}");
    }
    say(text, "]");
}

void naive_text(const struct naive_body *body, char *out, size_t room)
{
    struct text text = { .out = out, .room = room };
    say(&text, "{'_id':%d,'p':%d,'x':%d", body->id, naive_partition(body->id), body->x);
    if (body->has_u)
        say(&text, ",'u':%d", body->u);
    say_tags(&text, body);
    say_at(&text, body);
    say_when(&text, body);
    if (body->is_flagged)
        say(&text, ",'flag':1");
    if (body->own_ttl != TTL_ABSENT)
        say(&text, ",'ttl':%d", body->own_ttl);
    say(&text, ",'pad':'%*s'}", body->padding, "");
}

/* ---- the rule ----------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Seconds a document has from its write on; -1: for ever. */
static int64_t seconds_to_live(const struct naive_collection *collection,
                               const struct naive_body *body)
{
    if (collection->default_ttl == TTL_OFF)
        return -1;
    if (body->own_ttl != TTL_ABSENT)
        return body->own_ttl;
    return collection->default_ttl;
}

static int64_t date_deadline(const struct naive_index_state *index, const int64_t *dates,
                             size_t count)
{
    int64_t deadline = INT64_MAX;
    int64_t sum;

    if (!index->is_there || !index->is_ready || index->expire_after_s == INDEX_NO_EXPIRY)
        return INT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (!__builtin_add_overflow(dates[i], (int64_t)index->expire_after_s * 1000, &sum))
            deadline = earlier(deadline, sum);
    return deadline;
}

int64_t naive_deadline(const struct naive_collection *collection,
                       const struct naive_document *document, bool do_dates_act)
{
    const struct naive_body *body = &document->body;
    const int64_t seconds = seconds_to_live(collection, body);
    int64_t deadline = INT64_MAX;

    if (seconds > 0)
        deadline = (document->written_at_s + seconds) * 1000;
    if (!do_dates_act)
        return deadline;
    if (body->at_kind == ONE_DATE || body->at_kind == LIST_OF_DATES)
        deadline = earlier(deadline,
                           date_deadline(&collection->indexes[NAIVE_AT], body->at, body->at_count));
    if (body->is_flagged)
        deadline = earlier(deadline, date_deadline(&collection->indexes[NAIVE_WHEN], body->when,
                                                   body->when_count));
    return deadline;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

int naive_holder(const struct naive_collection *collection, const struct naive_body *body)
{
    if (!collection->indexes[NAIVE_U].is_there || !body->has_u)
        return -1;
    for (int id = 0; id < NAIVE_IDS; id++) {
        const struct naive_document *other = &collection->documents[id];
        if (id != body->id && other->is_there && other->body.has_u && other->body.u == body->u)
            return id;
    }
    return -1;
}

status_code naive_decide(const struct naive_collection *collection, enum write_kind kind,
                         const struct naive_body *body, uint64_t if_seq)
{
    const struct naive_document *document = &collection->documents[body->id];

    if (kind == WRITE_INSERT && document->is_there)
        return EXISTS;
    if ((kind == WRITE_REPLACE || kind == WRITE_DELETE) && !document->is_there)
        return NOT_FOUND;
    if (kind != WRITE_INSERT && if_seq != 0 && (!document->is_there || document->seq != if_seq))
        return PRECONDITION;
    if (kind != WRITE_DELETE && naive_holder(collection, body) >= 0)
        return DUPLICATE_KEY;
    return OK;
}

bool naive_apply(struct naive_collection *collection, enum write_kind kind,
                 const struct naive_body *body, const struct naive_written *written)
{
    struct naive_document *document = &collection->documents[body->id];
    const bool was_there = document->is_there;

    if (kind == WRITE_DELETE) {
        document->is_there = false;
        return was_there;
    }
    document->is_there = true;
    document->body = *body;
    document->len = written->len;
    document->seq = written->seq;
    document->written_at_s = written->written_at_s;
    if (!was_there)
        document->birth_seq = written->seq;
    return was_there;
}

/* ---- asking ------------------------------------------------------------------------------------------- */

uint64_t naive_count(const struct naive_collection *collection)
{
    uint64_t count = 0;
    for (int id = 0; id < NAIVE_IDS; id++)
        count += collection->documents[id].is_there;
    return count;
}

uint64_t naive_bytes(const struct naive_collection *collection)
{
    uint64_t sum = 0;
    for (int id = 0; id < NAIVE_IDS; id++)
        sum += collection->documents[id].is_there ? collection->documents[id].len : 0;
    return sum;
}

/* One row of an index: what it is ordered by. Kinds of values sort in this order. */
enum kind { KIND_NOTHING, KIND_NUMBER, KIND_TEXT, KIND_DATE };
struct row {
    int64_t first; /* the descending first field of a compound index, negated */
    enum kind kind;
    int64_t value;
    int partition; /* 0 unless the collection is parted */
    int id;
};
struct rows {
    bool is_parted;
    struct row items[NAIVE_ROWS_MAX];
    size_t count;
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->partition != b->partition ? a->partition - b->partition : a->id - b->id;
}

static void add(struct rows *rows, int id, int64_t first, enum kind kind, int64_t value)
{
    const struct row row = { first, kind, value, rows->is_parted ? naive_partition(id) : 0, id };
    for (size_t i = 0; i < rows->count; i++)
        if (compare_rows(&rows->items[i], &row) == 0)
            return;
    ASSERT(rows->count < NAIVE_ROWS_MAX);
    rows->items[rows->count++] = row;
}

static void add_tags(struct rows *rows, const struct naive_body *body, int64_t first)
{
    if (!body->is_tag_alone && body->tag_count == 0)
        add(rows, body->id, first, KIND_NOTHING, 0);
    for (size_t i = 0; i < body->tag_count; i++)
        add(rows, body->id, first, KIND_NUMBER, body->tags[i]);
}

static void add_at(struct rows *rows, const struct naive_body *body)
{
    if (body->at_kind == NO_DATES)
        add(rows, body->id, 0, KIND_NOTHING, 0);
    if (body->at_kind == NOT_A_DATE)
        add(rows, body->id, 0, KIND_TEXT, 0);
    if (body->at_kind == LIST_OF_DATES)
        add(rows, body->id, 0, KIND_NUMBER, 7);
    if (body->at_kind == ONE_DATE || body->at_kind == LIST_OF_DATES)
        for (size_t i = 0; i < body->at_count; i++)
            add(rows, body->id, 0, KIND_DATE, body->at[i]);
}

static void add_when(struct rows *rows, const struct naive_body *body)
{
    if (!body->is_flagged)
        return;
    if (body->when_count == 0)
        add(rows, body->id, 0, KIND_NOTHING, 0);
    for (size_t i = 0; i < body->when_count; i++)
        add(rows, body->id, 0, KIND_DATE, body->when[i]);
}

static void add_rows(struct rows *rows, enum naive_index index, const struct naive_body *body)
{
    switch (index) {
    case NAIVE_X:
        add(rows, body->id, 0, KIND_NUMBER, body->x);
        return;
    case NAIVE_U:
        if (body->has_u)
            add(rows, body->id, 0, KIND_NUMBER, body->u);
        return;
    case NAIVE_T:
        add_tags(rows, body, 0);
        return;
    case NAIVE_XT:
    case NAIVE_LATE:
        add_tags(rows, body, -body->x);
        return;
    case NAIVE_ALL:
        return;
    case NAIVE_AT:
        add_at(rows, body);
        return;
    case NAIVE_WHEN:
        add_when(rows, body);
        return;
    case NAIVE_INDEXES:
        add(rows, body->id, 0, KIND_NOTHING, 0);
        return;
    }
}

size_t naive_rows(const struct naive_collection *collection, enum naive_index index,
                  int out[NAIVE_ROWS_MAX])
{
    struct rows rows = { .is_parted = collection->is_parted };
    for (int id = 0; id < NAIVE_IDS; id++)
        if (collection->documents[id].is_there)
            add_rows(&rows, index, &collection->documents[id].body);
    qsort(rows.items, rows.count, sizeof(rows.items[0]), compare_rows);
    for (size_t i = 0; i < rows.count; i++)
        out[i] = rows.items[i].id;
    return rows.count;
}

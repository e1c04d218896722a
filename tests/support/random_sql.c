/* Random SQL: texts drawn from the grammar.
 *
 * What must not be drawn: texts whose answer depends on the way it is found. Those are limits without an order,
 * orders with ties that show, sums of numbers that are rounded, and lists of what comes in no order.
 *
 * Threads: the test's thread. */
#include "tests/support/random_sql.h"

struct writer {
    struct random *random;
    struct arena *arena;
    struct buffer out;
    bool is_joined; /* there is a j */
};

#define CHOOSE(w, ...)                              \
    choose(w, (const char *const[]){ __VA_ARGS__ }, \
           sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static size_t below(struct writer *w, size_t bound)
{
    return (size_t)random_below(w->random, bound);
}

static const char *choose(struct writer *w, const char *const *texts, size_t count)
{
    return texts[below(w, count)];
}

static void write_text(struct writer *w, const char *text)
{
    buffer_append_text(&w->out, text);
}

/* ---- values ------------------------------------------------------------------------------------------ */

static void write_scalar(struct writer *w)
{
    switch (below(w, 8)) {
    case 0:
        write_text(w, CHOOSE(w, "null", "true", "false"));
        return;
    case 1:
    case 2:
    case 3:
        write_text(w, CHOOSE(w, "''", "'a'", "'ab'", "'abc'", "'B'", "'b'", "'é'", "'1'"));
        return;
    default:
        write_text(w, CHOOSE(w, "-3", "-1", "0", "1", "2", "3", "0.5", "-1.5", "2.5"));
        return;
    }
}

static void write_literal(struct writer *w)
{
    if (below(w, 8))
        write_scalar(w);
    else
        write_text(w, CHOOSE(w, "[]", "[1,'a']", "[1]", "{}", "{'k':1}", "undefined"));
}

static void write_path(struct writer *w)
{
    if (w->is_joined && below(w, 3) == 0)
        write_text(w, CHOOSE(w, "j", "j.k"));
    else
        write_text(w, CHOOSE(w, "c.a", "c.a", "c.b", "c.b", "c.o.x", "c.o.y", "c.s", "c[\"a\"]",
                             "c.l[0]", "c.l[1].k", "c.o", "c.l", "c._id", "c.pk", "c.none"));
}

static void write_value(struct writer *w, int depth);
static void write_condition(struct writer *w, int depth);

/* before value between value after */
static void write_two(struct writer *w, int depth, const char *before, const char *between)
{
    write_text(w, before);
    write_value(w, depth);
    write_text(w, between);
    write_value(w, depth);
    write_text(w, ")");
}

static void write_computed(struct writer *w, int depth)
{
    switch (below(w, 8)) {
    case 0:
        write_two(w, depth, "(", CHOOSE(w, " + ", " - ", " * "));
        return;
    case 1:
        write_two(w, depth, "(", CHOOSE(w, " & ", " | ", " || ", " ?? "));
        return;
    case 2:
        write_text(w, "(");
        write_value(w, depth);
        write_text(w, CHOOSE(w, " % 2)", " / 2)", " / 4)"));
        return;
    case 3:
        write_text(w, CHOOSE(w, "ABS(", "LOWER(", "UPPER(", "LENGTH(", "ARRAY_LENGTH(", "FLOOR(",
                             "IS_NUMBER(", "IS_DEFINED(", "-("));
        write_value(w, depth);
        write_text(w, ")");
        return;
    case 4:
        write_text(w, "(");
        write_condition(w, depth);
        write_two(w, depth, " ? ", " : ");
        return;
    case 5:
        write_text(w, CHOOSE(w, "{'k': ", "{'l': 1, 'k': "));
        write_value(w, depth);
        write_text(w, "}");
        return;
    case 6:
        write_text(w, "[");
        write_value(w, depth);
        write_text(w, "]");
        return;
    default:
        write_text(w, CHOOSE(w, "(SELECT VALUE COUNT(1) FROM t IN c.l)",
                             "(SELECT VALUE MAX(t) FROM t IN c.l)",
                             "ARRAY(SELECT VALUE t.k FROM t IN c.l)",
                             "ARRAY(SELECT VALUE t FROM t IN c.l)",
                             "FIRST(SELECT VALUE t FROM t IN c.l)",
                             "LAST(SELECT VALUE t.k FROM t IN c.l)",
                             "ALL(SELECT VALUE IS_NUMBER(t) FROM t IN c.l)"));
        return;
    }
}

static void write_value(struct writer *w, int depth)
{
    size_t what = below(w, depth > 0 ? 8 : 6);

    if (what < 4)
        write_path(w);
    else if (what < 6)
        write_literal(w);
    else
        write_computed(w, depth - 1);
}

/* ---- conditions -------------------------------------------------------------------------------------- */

/* What an index may be asked: a path against something that is known. */
static void write_simple(struct writer *w)
{
    write_path(w);
    switch (below(w, 5)) {
    case 0:
        write_text(w, " IN (");
        write_scalar(w);
        for (size_t i = below(w, 4); i > 0; i--) {
            write_text(w, ", ");
            write_literal(w);
        }
        write_text(w, ")");
        return;
    case 1:
        write_text(w, CHOOSE(w, " BETWEEN ", " BETWEEN ", " NOT BETWEEN "));
        write_scalar(w);
        write_text(w, " AND ");
        write_scalar(w);
        return;
    case 2:
        write_text(
            w, CHOOSE(w, " LIKE 'a%'", " LIKE '%b%'", " LIKE '_'", " LIKE 'ab'", " NOT LIKE 'a%'"));
        return;
    default:
        write_text(w, CHOOSE(w, " = ", " != ", " < ", " <= ", " > ", " >= "));
        write_literal(w);
        return;
    }
}

static void write_test(struct writer *w, int depth)
{
    switch (below(w, 6)) {
    case 0:
        write_text(w, CHOOSE(w, "IS_NULL(", "IS_BOOL(", "IS_NUMBER(", "IS_STRING(", "IS_ARRAY(",
                             "IS_OBJECT(", "IS_DEFINED(", "IS_PRIMITIVE("));
        write_path(w);
        write_text(w, ")");
        return;
    case 1:
        write_text(w, CHOOSE(w, "STARTSWITH(", "CONTAINS(", "ENDSWITH("));
        write_path(w);
        write_text(w, CHOOSE(w, ", 'a')", ", 'ab')", ", '')", ", 'B', true)"));
        return;
    case 2:
        write_text(w, "ARRAY_CONTAINS(c.l, ");
        write_literal(w);
        write_text(w, ")");
        return;
    case 3:
        write_text(w, "EXISTS(SELECT VALUE t FROM t IN c.l WHERE t");
        write_text(w, CHOOSE(w, ".k = ", " = ", " > ", ".k != "));
        write_literal(w);
        write_text(w, ")");
        return;
    case 4:
        write_path(w);
        return;
    default:
        write_two(w, depth, "(", CHOOSE(w, " = ", " != ", " < ", " >= "));
        return;
    }
}

static void write_condition(struct writer *w, int depth)
{
    size_t what = depth > 0 ? below(w, 8) : 3 + below(w, 5);

    if (what < 2) {
        write_text(w, "(");
        write_condition(w, depth - 1);
        write_text(w, CHOOSE(w, " AND ", " OR "));
        write_condition(w, depth - 1);
        write_text(w, ")");
    } else if (what == 2) {
        write_text(w, "NOT (");
        write_condition(w, depth - 1);
        write_text(w, ")");
    } else if (what < 6) {
        write_simple(w);
    } else {
        write_test(w, depth - 1);
    }
}

static void write_where(struct writer *w)
{
    if (below(w, 4) == 0)
        return;
    write_text(w, " WHERE ");
    write_condition(w, 3);
}

static void write_from(struct writer *w)
{
    write_text(w, w->is_joined ? " FROM c JOIN j IN c.l" : " FROM c");
    write_where(w);
}

/* ---- queries ----------------------------------------------------------------------------------------- */

/* A piece that has to stand in several places. */
static const char *piece(struct writer *w, void (*write)(struct writer *, int), int depth)
{
    struct buffer whole = w->out;

    w->out = buffer_in(w->arena);
    write(w, depth);
    buffer_append_byte(&w->out, 0);
    CHECK(!w->out.is_failed);
    const char *text = (const char *)w->out.data;
    w->out = whole;
    return text;
}

static void write_some_scalar(struct writer *w, int depth)
{
    (void)depth;
    write_scalar(w);
}

static void write_key(struct writer *w, int depth)
{
    if (below(w, 4))
        write_path(w);
    else
        write_value(w, depth);
}

static void write_limit(struct writer *w)
{
    if (below(w, 3) == 0)
        buffer_append_format(&w->out, " OFFSET %zu LIMIT %zu", below(w, 12), below(w, 12));
}

/* Ties show nothing, since only the key is given. */
static void query_by_key(struct writer *w)
{
    const char *key = piece(w, write_key, 1);
    bool has_top = below(w, 3) == 0;

    write_text(w, "SELECT ");
    if (has_top)
        buffer_append_format(&w->out, "TOP %zu ", below(w, 15));
    buffer_append_format(&w->out, "VALUE {'key': %s}", key);
    write_from(w);
    buffer_append_format(&w->out, " ORDER BY %s%s", key, CHOOSE(w, "", " ASC", " DESC"));
    if (!has_top)
        write_limit(w);
}

/* Two properties, as composite indexes may have them; only they are given. */
static void query_by_pair(struct writer *w)
{
    static const struct {
        const char *first, *second;
    } pairs[] = {
        {"c.a",    "c.b"},
        { "c.b",   "c.a"},
        { "c.o.x", "c.s"},
        { "c.s",   "c.a"},
    };
    size_t pair = below(w, ARRAY_COUNT(pairs));
    const char *first = pairs[pair].first, *second = pairs[pair].second;

    buffer_append_format(&w->out, "SELECT %sVALUE [%s ?? 'no', %s ?? 'no'] FROM c",
                         below(w, 4) ? "" : "TOP 7 ", first, second);
    if (below(w, 3) == 0)
        write_where(w);
    else if (below(w, 2))
        buffer_append_format(&w->out, " WHERE %s = %s", below(w, 2) ? first : second,
                             piece(w, write_some_scalar, 0));
    buffer_append_format(&w->out, " ORDER BY %s%s, %s%s", first, CHOOSE(w, "", " DESC"), second,
                         CHOOSE(w, "", " DESC"));
}

/* No ties, since the last key is unique. */
static void query_by_keys(struct writer *w)
{
    write_text(w, "SELECT c._id, c.a FROM c");
    write_where(w);
    write_text(w, " ORDER BY ");
    for (size_t i = below(w, 3); i > 0; i--) {
        write_key(w, 1);
        write_text(w, CHOOSE(w, ", ", " DESC, "));
    }
    write_text(w, CHOOSE(w, "c._id", "c._id DESC"));
    write_limit(w);
}

static void query_distinct(struct writer *w)
{
    const char *value = piece(w, write_value, 1);

    buffer_append_format(&w->out, "SELECT DISTINCT %s%s", CHOOSE(w, "VALUE ", ""), value);
    write_from(w);
}

static void write_aggregate(struct writer *w)
{
    write_text(w,
               CHOOSE(w, "COUNT(1)", "COUNT(c.a)", "SUM(c.a)", "MIN(c.a)", "MAX(c.b)", "AVG(c.o.x)",
                      "MIN(c.s)", "SUM(c._id)", "MAX(c._id)", "COUNT(c.l[0])", "COUNTIF(c.a > 1)"));
}

static void query_aggregate(struct writer *w)
{
    if (below(w, 2)) {
        write_text(w, "SELECT VALUE ");
        write_aggregate(w);
    } else {
        write_text(w, "SELECT ");
        write_aggregate(w);
        write_text(w, " AS x, ");
        write_aggregate(w);
        write_text(w, " AS y");
    }
    write_from(w);
}

static void query_groups(struct writer *w)
{
    const char *first = piece(w, write_key, 1), *second = piece(w, write_key, 0);
    bool has_two = below(w, 2) == 0;

    buffer_append_format(&w->out, "SELECT %s AS first, ", first);
    if (has_two)
        buffer_append_format(&w->out, "%s AS second, ", second);
    write_aggregate(w);
    write_text(w, " AS x, COUNT(1) AS y");
    write_from(w);
    buffer_append_format(&w->out, " GROUP BY %s", first);
    if (has_two)
        buffer_append_format(&w->out, ", %s", second);
}

static void query_rows(struct writer *w)
{
    switch (below(w, 4)) {
    case 0:
        write_text(w, "SELECT *");
        w->is_joined = false;
        break;
    case 1:
        write_text(w, "SELECT VALUE ");
        write_value(w, 2);
        break;
    default:
        write_text(w, "SELECT c._id, ");
        write_value(w, 2);
        write_text(w, " AS v");
        break;
    }
    write_from(w);
}

struct random_sql_query random_sql_query(struct arena *arena, struct random *random)
{
    struct writer w = { .random = random, .arena = arena, .out = buffer_in(arena) };
    size_t what = below(&w, 9);

    w.is_joined = below(&w, 5) == 0 && what != 1 && what != 2;
    if (what == 0)
        query_by_key(&w);
    else if (what == 1)
        query_by_keys(&w);
    else if (what == 2)
        query_by_pair(&w);
    else if (what == 3)
        query_distinct(&w);
    else if (what == 4)
        query_aggregate(&w);
    else if (what == 5)
        query_groups(&w);
    else
        query_rows(&w);
    buffer_append_byte(&w.out, 0);
    CHECK(!w.out.is_failed);
    return (struct random_sql_query){ (const char *)w.out.data, what < 3 };
}

const char *random_sql_ids(struct arena *arena, struct random *random)
{
    struct writer w = { .random = random, .arena = arena, .out = buffer_in(arena) };

    write_text(&w, "SELECT VALUE c._id FROM c");
    write_where(&w);
    if (below(&w, 2)) {
        write_text(&w, " ORDER BY ");
        write_key(&w, 1);
        write_text(&w, CHOOSE(&w, "", " DESC"));
    }
    buffer_append_byte(&w.out, 0);
    CHECK(!w.out.is_failed);
    return (const char *)w.out.data;
}

/* ---- documents --------------------------------------------------------------------------------------- */

static void write_field(struct writer *w, const char *name, unsigned percent, bool is_first)
{
    if (!random_chance(w->random, percent))
        return;
    buffer_append_format(&w->out, "%s'%s':", is_first ? "" : ",", name);
    if (below(w, 8) == 0)
        write_text(w, CHOOSE(w, "[]", "[1,'a']", "{}", "{'k':1}", "[[1],{'k':2}]"));
    else
        write_scalar(w);
}

static void write_list(struct writer *w)
{
    write_text(w, ",'l':[");
    for (size_t i = 0, count = below(w, 4); i < count; i++) {
        write_text(w, i ? "," : "");
        if (below(w, 2))
            write_scalar(w);
        else
            write_text(w, CHOOSE(w, "{'k':1}", "{'k':'a'}", "{'k':null}", "{}"));
    }
    write_text(w, "]");
}

const char *random_sql_document(struct arena *arena, struct random *random, int id,
                                const char *more)
{
    struct writer w = { .random = random, .arena = arena, .out = buffer_in(arena) };

    buffer_append_format(&w.out, "{'_id':%d,'pk':'p%d'", id, id % 3);
    write_field(&w, "a", 85, false);
    write_field(&w, "b", 60, false);
    write_field(&w, "s", 50, false);
    write_text(&w, ",'o':{");
    write_field(&w, "x", 70, true);
    write_text(&w, "}");
    if (below(&w, 4))
        write_list(&w);
    write_text(&w, more);
    write_text(&w, "}");
    buffer_append_byte(&w.out, 0);
    CHECK(!w.out.is_failed);
    return (const char *)w.out.data;
}

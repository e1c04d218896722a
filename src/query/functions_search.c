/* Functions of search: words in texts, and how near two vectors are.
 *
 * What a word is, words.c says; how well a text fits a search, rank.c.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/rank.h"
#include "query/text.h"
#include "query/words.h"

#include <math.h>

/* ---- words ------------------------------------------------------------------------------------------ */

/* What is looked for: words in a row, or one word as it is or nearly. */
struct sought {
    bytes words;
    unsigned edits;
};

/* A text, or { term: text, distance: 0, 1 or 2 }; false if it is neither. */
static status read_sought(struct arena *arena, struct value value, bool *is_out, struct sought *out)
{
    struct value text = value, distance;
    int64_t edits = 0;

    *is_out = false;
    if (value.type == VALUE_DOCUMENT) {
        if (!document_find(value_document(value), "term", &text))
            return STATUS_OK;
        if (document_find(value_document(value), "distance", &distance) &&
            (!value_as_int64(distance, &edits) || edits < 0 || edits > 2))
            return STATUS_OK;
    }
    if (!value_is_text(text))
        return STATUS_OK;
    *is_out = true;
    out->edits = (unsigned)edits;
    return words_of(arena, value_text(text), &out->words);
}

/* NULL if it is nothing to look for. */
static status take_sought(struct evaluation *e, const struct expression *argument,
                          const struct sought **out)
{
    struct arena *home = call_home(e, argument);
    struct value value;
    struct sought *made;
    bool is_sought;

    *out = call_kept(e, argument);
    if (*out)
        return STATUS_OK;
    TRY(evaluate(e, argument, &value));
    TRY(ARENA_NEW(home, 1, &made));
    TRY(read_sought(home, value, &is_sought, made));
    if (!is_sought)
        return STATUS_OK;
    call_keep(e, argument, made);
    *out = made;
    return STATUS_OK;
}

static bool is_found(bytes words, const struct sought *sought)
{
    return words_find(words, sought->words) > 0 ||
           (sought->edits && words_has_near(words, sought->words, sought->edits));
}

/* (text, phrase ...): are all there, or one of them? */
static status contains_phrases(struct evaluation *e, const struct expression *call, bool is_any,
                               struct value *out)
{
    const struct sought *sought;
    struct value value;
    bytes words;
    bool has = !is_any;

    TRY(evaluate(e, call->args[0], &value));
    if (!value_is_text(value))
        return STATUS_OK;
    TRY(words_of(e->arena, value_text(value), &words));
    for (size_t i = 1; i < call->count; i++) {
        TRY(take_sought(e, call->args[i], &sought));
        if (!sought)
            return STATUS_OK;
        has = is_any ? has || is_found(words, sought) : has && is_found(words, sought);
    }
    *out = value_bool(has);
    return STATUS_OK;
}

status function_words_contain(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return contains_phrases(e, call, false, out);
}

status function_words_contain_all(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_phrases(e, call, false, out);
}

status function_words_contain_any(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_phrases(e, call, true, out);
}

/* (text, phrase ...): what makes it more or less fit is counted before the first row is looked at. */
status function_words_score(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value text;
    double score;
    bool has_score;

    TRY(evaluate(e, call->args[0], &text));
    TRY(rank_score(e->ranks, e->arena, call, text, &has_score, &score));
    return has_score ? call_give_real(e, score, out) : STATUS_OK;
}

/* (score ... [, weights]): belongs to all rows together, and none of them has it alone. */
status function_fuse(struct evaluation *e, const struct expression *call, struct value *out)
{
    (void)e;
    (void)call;
    (void)out;
    return STATUS_OK;
}

/* ---- vectors ---------------------------------------------------------------------------------------- */

struct numbers {
    double *list;
    size_t count;
};

/* Of an array that consists of numbers, at least one; false otherwise. */
static bool read_numbers(struct value value, struct numbers *out)
{
    struct document_walk walk = document_fields(value_document(value));
    struct field field;

    while (document_next(&walk, &field)) {
        if (!value_is_number(field.value))
            return false;
        out->list[out->count++] = value_as_double(field.value);
    }
    return out->count > 0;
}

/* A vector; NULL if it is none. A literal one is read once for all rows. */
static status take_vector(struct evaluation *e, const struct expression *argument,
                          const struct numbers **out)
{
    struct arena *home = call_home(e, argument);
    struct numbers *numbers;
    struct value value;

    *out = call_kept(e, argument);
    if (*out)
        return STATUS_OK;
    TRY(evaluate(e, argument, &value));
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    TRY(ARENA_NEW(home, 1, &numbers));
    numbers->count = 0;
    TRY(ARENA_NEW(home, document_field_count(value_document(value)), &numbers->list));
    if (!read_numbers(value, numbers))
        return STATUS_OK;
    call_keep(e, argument, numbers);
    *out = numbers;
    return STATUS_OK;
}

/* What all ways to compare two vectors are made of. */
struct products {
    double ab, aa, bb, difference;
};

static struct products multiply(const struct numbers *a, const struct numbers *b)
{
    struct products out = { 0 };

    for (size_t i = 0; i < a->count; i++) {
        double p = a->list[i], q = b->list[i];
        out.ab += p * q;
        out.aa += p * p;
        out.bb += q * q;
        out.difference += (p - q) * (p - q);
    }
    return out;
}

/* The score by the name of the way; NAN for a name that there is not. */
static double score_of(const struct products *p, bytes way)
{
    if (bytes_equal(way, BYTES_LITERAL("cosine")))
        return p->ab / (sqrt(p->aa) * sqrt(p->bb));
    if (bytes_equal(way, BYTES_LITERAL("dotproduct")))
        return p->ab;
    return bytes_equal(way, BYTES_LITERAL("euclidean")) ? sqrt(p->difference) : NAN;
}

/* The field of the document that an expression is, as "/a/b"; false if it is none. */
static bool append_path(struct buffer *out, const struct expression *x)
{
    if (x->kind == EXPRESSION_VARIABLE)
        return x->number == 0;
    if (x->kind != EXPRESSION_MEMBER || !append_path(out, x->args[0]))
        return false;
    buffer_append_byte(out, '/');
    buffer_append(out, x->name);
    return true;
}

/* The way that vectors of this path are meant to be compared; missing if nobody says. */
static void find_meant_way(struct evaluation *e, const struct expression *x, struct value *out)
{
    struct buffer path = buffer_in(e->arena);
    struct value other;
    struct field field;

    if (!append_path(&path, x) || path.is_failed)
        return;
    struct document_walk walk = document_fields(value_document(e->meaning->vectors));
    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_DOCUMENT &&
            document_find(value_document(field.value), "path", &other) && value_is_text(other) &&
            bytes_equal(value_text(other), bytes_of(path.data, path.len)))
            document_find(value_document(field.value), "distanceFunction", out);
    }
}

/* The way that the options say, or the one that is meant for the vectors, or the cosine. */
static status find_way(struct evaluation *e, const struct expression *call, struct value options,
                       bytes *out)
{
    struct value way = value_missing();

    *out = BYTES_LITERAL("cosine");
    if (options.type == VALUE_DOCUMENT)
        document_find(value_document(options), "distanceFunction", &way);
    bool is_meant = e->meaning && e->meaning->vectors.type == VALUE_ARRAY;
    for (size_t i = 0; i < 2 && is_meant && way.type == VALUE_MISSING; i++)
        find_meant_way(e, call->args[i], &way);
    if (way.type == VALUE_MISSING)
        return STATUS_OK;
    *out = BYTES_NONE;
    return value_is_text(way) ? text_fold(e->arena, value_text(way), out) : STATUS_OK;
}

/* (vector, vector [, whether to do without an index [, options]]) */
static status compare_vectors(struct evaluation *e, const struct expression *call, bool is_nearness,
                              struct value *out)
{
    struct value flag = value_missing(), options = value_missing();
    const struct numbers *a, *b;
    bytes way;

    TRY(take_vector(e, call->args[0], &a));
    TRY(take_vector(e, call->args[1], &b));
    if (call_has(call, 2))
        TRY(evaluate(e, call->args[2], &flag));
    if (call_has(call, 3))
        TRY(evaluate(e, call->args[3], &options));
    if (!a || !b || a->count != b->count || (call_has(call, 2) && flag.type != VALUE_BOOL) ||
        (call_has(call, 3) && options.type != VALUE_DOCUMENT))
        return STATUS_OK;
    TRY(find_way(e, call, options, &way));
    struct products products = multiply(a, b);
    double score = score_of(&products, way);
    /* The Euclidean distance is the only one that is less for what is nearer. */
    bool is_turned = is_nearness && bytes_equal(way, BYTES_LITERAL("euclidean"));
    return call_give_real(e, is_turned ? -score : score, out);
}

status function_vector_distance(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    return compare_vectors(e, call, false, out);
}

status function_vector_nearness(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    return compare_vectors(e, call, true, out);
}

/* Page sift: the condition of a page that looks at all documents, judged by several threads.
 *
 * Where the documents are walked as they lie and the condition depends on nothing but the document, the engine
 * sifts them (engine/sift.h): each thread has an evaluation and arenas of its own, and the page sees only what
 * fulfils the condition, in the same order as ever. If a field has to have a certain value, that is looked at
 * first.
 *
 * Keeps: what the page counts is what it would have counted alone.
 * Threads: testers are made by the page's thread and used by one thread each; what they share is not changed while
 * the page runs. Start reading at run_sift(). */
#include "query/run.h"

/* A comparison with a literal that most documents fail: it is looked at first, and without the evaluation. */
struct sieve {
    const struct expression *equal; /* NULL: there is none */
    bytes name;                     /* a stored field at the top of the document */
    struct value literal;
};

struct tester {
    const struct expression *where;
    struct sieve sieve;
    struct arena *scratch; /* of the row */
    struct arena *lasting; /* what is made of literals once */
    struct keep keep;
    struct evaluation evaluation;
};

/* ---- the sieve -------------------------------------------------------------------------------------- */

static bool is_stored_field(const struct run *run, const struct expression *x)
{
    return x->kind == EXPRESSION_MEMBER && x->args[0]->kind == EXPRESSION_VARIABLE &&
           x->args[0]->number == 0 && !decoration_has(run->source->decoration, x->name);
}

/* The first such comparison that has to be true for the whole condition to be. */
static struct sieve find_sieve(const struct run *run, const struct expression *x)
{
    struct sieve sieve = { 0 };

    if (x->kind != EXPRESSION_CALL)
        return sieve;
    for (size_t i = 0; x->function == FUNCTION_and && i < x->count && !sieve.equal; i++)
        sieve = find_sieve(run, x->args[i]);
    for (size_t i = 0; x->function == FUNCTION_equal && i < 2 && !sieve.equal; i++) {
        if (is_stored_field(run, x->args[i]) && x->args[1 - i]->kind == EXPRESSION_LITERAL)
            sieve = (struct sieve){ .equal = x,
                                    .name = x->args[i]->name,
                                    .literal = x->args[1 - i]->literal };
    }
    return sieve;
}

/* As function_equal compares them. */
static bool sieve_passes(const struct sieve *sieve, bytes document)
{
    struct value value;

    return document_find_bytes(document, sieve->name, &value) &&
           value_kind_of(value) != KIND_MISSING && value_kind_of(sieve->literal) != KIND_MISSING &&
           values_equal(value, sieve->literal);
}

/* ---- testers ---------------------------------------------------------------------------------------- */

static void close_tester(void *owner)
{
    struct tester *tester = owner;

    evaluation_close(&tester->evaluation);
    arena_close(tester->scratch);
    arena_close(tester->lasting);
}

static status open_tester(void *context, void **out)
{
    struct run *run = context;
    struct arena *lasting = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct tester *tester;

    *out = NULL;
    if (!lasting)
        return status_of(OUT_OF_MEMORY, "there is no memory for the condition of a query");
    status s = ARENA_NEW(lasting, 1, &tester);
    struct arena *scratch = s.code == OK ? arena_open(LIMIT_QUERY_ROW_BYTES) : NULL;
    if (!scratch) {
        arena_close(lasting);
        return status_of(OUT_OF_MEMORY, "there is no memory for the condition of a query");
    }
    tester->where = run->query->where;
    tester->sieve = find_sieve(run, tester->where);
    tester->scratch = scratch;
    tester->lasting = lasting;
    tester->keep = (struct keep){ .arena = lasting, .shape_pairs = LIMIT_QUERY_PAGE_SHAPE_PAIRS };
    tester->evaluation = (struct evaluation){ .arena = scratch,
                                              .lasting = scratch,
                                              .rules = run->query->rules,
                                              .decoration = run->source->decoration,
                                              .meaning = run->source->meaning,
                                              .keep = &tester->keep,
                                              .limits = run->limits,
                                              .now = run->evaluation.now };
    *out = tester;
    return STATUS_OK;
}

static status judge(void *owner, const struct document *document, bool *out)
{
    struct tester *tester = owner;
    const struct sieve *sieve = &tester->sieve;

    *out = !sieve->equal || sieve_passes(sieve, document->bson);
    if (!*out || sieve->equal == tester->where)
        return STATUS_OK;
    arena_reset(tester->scratch);
    evaluation_bind(&tester->evaluation, document);
    return evaluate_condition(&tester->evaluation, tester->where, out);
}

status run_sift(struct run *run)
{
    const struct query *query = run->query;
    const struct sift_spec spec = {
        .request = run->source->request,
        .collection = run->source->collection,
        .test = {.open = open_tester, .judge = judge, .close = close_tester, .context = run}
    };

    /* Nested queries count their steps over all rows, and scores are counted first. */
    if (run->plan.choice.access != ACCESS_SLOTS || !query->where || query->is_nested ||
        query->binding_count || query->rank)
        return STATUS_OK;
    TRY(sift_open(&spec, &run->cursor.sift));
    run->plan.is_decided = true;
    return STATUS_OK;
}

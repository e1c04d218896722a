/* Page sift: the condition of a page that looks at all documents, judged by several threads.
 *
 * Where the documents are walked as they lie and the condition depends on nothing but the document, the engine
 * sifts them (engine/sift.h): each thread has an evaluation and arenas of its own, and the page sees only what
 * fulfils the condition, in the same order as ever.
 *
 * Keeps: what the page counts is what it would have counted alone.
 * Threads: testers are made by the page's thread and used by one thread each; what they share is not changed while
 * the page runs. Start reading at run_sift(). */
#include "query/run.h"

struct tester {
    const struct expression *where;
    struct arena *scratch; /* of the row */
    struct arena *lasting; /* what is made of literals once */
    struct keep keep;
    struct evaluation evaluation;
};

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
    tester->scratch = scratch;
    tester->lasting = lasting;
    tester->keep = (struct keep){ .arena = lasting, .shape_pairs = LIMIT_QUERY_PAGE_SHAPE_PAIRS };
    tester->evaluation = (struct evaluation){ .arena = scratch,
                                              .lasting = scratch,
                                              .rules = run->query->rules,
                                              .decoration = run->source->decoration,
                                              .meaning = run->source->meaning,
                                              .keep = &tester->keep,
                                              .now = run->evaluation.now };
    *out = tester;
    return STATUS_OK;
}

static status judge(void *owner, const struct document *document, bool *out)
{
    struct tester *tester = owner;

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

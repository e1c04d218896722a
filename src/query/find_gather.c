/* Find gather: everything that fulfils a condition, looked at by several threads.
 *
 * Where all documents are walked as they lie and nobody asks in which order, the engine sifts them (engine/sift.h): each
 * thread shows a document, asks the condition and hands it to a worker of its own, and lets nothing pass. So a
 * pipeline groups, or a find picks the first of an order, with as many threads as are free.
 *
 * Whatever a worker or a condition fails with ends the gathering without a result, and the caller walks the rows one by
 * one; so errors are those of a plain walk, whatever thread met them first.
 *
 * Threads: testers are made by the thread of the find and used by one thread each; the condition and the view are not
 * changed meanwhile. Start reading at find_gather(). */
#include "query/find_parts.h"

struct gathering {
    const struct find_request *wanted;
    const struct gather *gather;
    status stopped;   /* what go_on has failed with */
    status closed;    /* what the first worker has failed with at its end */
    uint64_t matched; /* of all testers that were closed */
};

struct tester {
    struct gathering *gathering;
    struct arena *scratch; /* of the row */
    struct matching matching;
    void *worker;
    uint64_t matched;
    time_ms earliest_death;
};

/* ---- testers ---------------------------------------------------------------------------------------- */

static status no_memory(void)
{
    return status_of(OUT_OF_MEMORY, "there is no memory to look at documents with several threads");
}

static void close_tester(void *owner)
{
    struct tester *tester = owner;

    time_ms *earliest = tester->gathering->wanted->earliest_death;

    tester->gathering->matched += tester->matched;
    if (earliest)
        *earliest = expiry_earlier(*earliest, tester->earliest_death);
    if (tester->worker) {
        const status s = tester->gathering->gather->close(tester->worker);
        if (tester->gathering->closed.code == OK)
            tester->gathering->closed = s;
    }
    arena_close(tester->scratch);
    memory_give(tester);
}

static status open_tester(void *context, void **out)
{
    struct gathering *gathering = context;
    struct tester *tester = memory_take_zeroed(1, sizeof(*tester));

    *out = NULL;
    if (!tester)
        return no_memory();
    tester->gathering = gathering;
    tester->earliest_death = TIME_NEVER;
    tester->scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
    if (!tester->scratch) {
        memory_give(tester);
        return no_memory();
    }
    tester->matching = (struct matching){ .scratch = tester->scratch };
    status s = gathering->gather->open(gathering->gather->context, &tester->worker);
    if (s.code != OK) {
        close_tester(tester);
        return s;
    }
    *out = tester;
    return STATUS_OK;
}

static status judge(void *owner, const struct document *document, bool *out)
{
    struct tester *tester = owner;
    const struct find_request *wanted = tester->gathering->wanted;
    bytes shown = document->bson;
    bool is_wanted = true;

    *out = false;
    const struct gather *gather = tester->gathering->gather;
    if (gather->look && !gather->look(tester->worker, document->bson))
        return STATUS_OK;
    arena_reset(tester->scratch);
    if (wanted->view && wanted->view->show)
        TRY(wanted->view->show(wanted->view->context, tester->scratch, document, &shown));
    if (wanted->match)
        TRY(match_document(wanted->match, &tester->matching, shown, &is_wanted));
    if (!is_wanted)
        return STATUS_OK;
    tester->matched++;
    if (wanted->earliest_death)
        tester->earliest_death =
            expiry_earlier(tester->earliest_death,
                           document_deadline(wanted->collection, document, tester->scratch));
    return gather->take(tester->worker, document, shown);
}

static status go_on(void *context)
{
    struct gathering *gathering = context;
    const struct find_request *wanted = gathering->wanted;

    gathering->stopped = wanted->go_on ? wanted->go_on(wanted->context) : STATUS_OK;
    return gathering->stopped;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

/* Formulas are computed with state of the request. */
static bool is_plain(const struct match *match)
{
    if (!match)
        return true;
    if (match->formula || match->schema)
        return false;
    for (size_t i = 0; i < match->count; i++) {
        if (!is_plain(match->parts[i]))
            return false;
    }
    return true;
}

status find_gather_all(const struct find_request *wanted, const struct gather *gather,
                       struct find_explain *explain, bool *is_done_out)
{
    struct gathering gathering = {
        .wanted = wanted, .gather = gather, .stopped = STATUS_OK, .closed = STATUS_OK
    };
    const struct sift_spec spec = {
        .request = wanted->request,
        .collection = wanted->collection,
        .test = {.open = open_tester,
                 .judge = judge,
                 .close = close_tester,
                 .context = &gathering,
                 .needs_key = true},
        .go_on = go_on,
        .context = &gathering,
    };
    struct document document;
    struct sift *sift;
    bool has_document;

    *is_done_out = false;
    if (!is_plain(wanted->match) ||
        (!gather->is_small_too && !sift_is_worth(wanted->request, wanted->collection)))
        return STATUS_OK;
    TRY(sift_open(&spec, &sift));
    status s = sift_next(sift, &document, &has_document);
    const struct sift_seen seen = sift_seen(sift);
    sift_close(sift);
    TRY(gathering.stopped);
    *is_done_out = s.code == OK && gathering.closed.code == OK;
    if (*is_done_out) {
        explain->rows += seen.documents;
        explain->documents += seen.documents;
        explain->matched += gathering.matched;
    }
    return STATUS_OK;
}

/* Items on a disk that fails: the n-th storage call of each request fails, for every n until none is left.
 * Whatever fails is answered as a failure with a body, and after the disk is mended everything that was
 * acknowledged is there, and nothing that was not. */
#include <inttypes.h>

#include "tests/support/items.h"

#define P "pk: ['p']"

typedef struct cosmos_answer request_of(struct cosmos_face *f);

static struct cosmos_answer create(struct cosmos_face *f)
{
    return item_create(f, P, "{'id':'new','pk':'p','v':1}");
}

static struct cosmos_answer read(struct cosmos_face *f)
{
    return item_read(f, P, "old");
}

static struct cosmos_answer read_by_number(struct cosmos_face *f)
{
    return item_read(f, P, "5");
}

static struct cosmos_answer replace(struct cosmos_face *f)
{
    return item_replace(f, P, "old", "{'id':'old','pk':'p','v':2}");
}

static struct cosmos_answer patch(struct cosmos_face *f)
{
    return item_patch(f, P, "old", "[{'op':'incr','path':'/v','value':1}]");
}

static struct cosmos_answer delete (struct cosmos_face *f)
{
    return item_delete(f, P, "old");
}

static struct cosmos_answer feed(struct cosmos_face *f)
{
    return item_feed(f, P);
}

static struct cosmos_answer query(struct cosmos_face *f)
{
    return item_query(f, "", "select * from c where c.v > 0 order by c.v");
}

static struct cosmos_answer batch(struct cosmos_face *f)
{
    return item_batch(f, P,
                      "[{'operationType':'Create','resourceBody':{'id':'new','pk':'p'}},"
                      "{'operationType':'Read','id':'old'},{'operationType':'Read','id':'new'},"
                      "{'operationType':'Patch','id':'old','resourceBody':[{'op':'incr','path':"
                      "'/v','value':1}]}]");
}

static struct cosmos_answer bulk(struct cosmos_face *f)
{
    return item_bulk(f, P,
                     "[{'operationType':'Create','resourceBody':{'id':'new','pk':'p'}},"
                     "{'operationType':'Read','id':'new'},"
                     "{'operationType':'Patch','id':'old','resourceBody':[{'op':'incr','path':"
                     "'/v','value':1}]}]");
}

static struct cosmos_answer clear(struct cosmos_face *f)
{
    return cosmos_ask(f, "POST /dbs/db/colls/c/operations/partitionkeydelete",
                      "x-ms-documentdb-partitionkey: ['p']", "");
}

static const char *all_items(struct cosmos_face *f)
{
    struct cosmos_answer answer = item_feed(f, "");
    bytes documents = cosmos_value(f, &answer, "Documents");

    CHECK_ANSWER(answer, 200);
    return arena_format(f->world.arena, "%.*s", (int)documents.len, (const char *)documents.data);
}

/* True if the request came through untouched. */
static bool fail_nth(request_of *request, uint64_t nth)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'old','pk':'p','v':1}"), 201);
    const char *before = all_items(&f);
    storage_faulty_arm(f.world.storage, nth);
    struct cosmos_answer answer = request(&f);
    bool is_untouched = storage_faulty_calls(f.world.storage) < nth;
    storage_faulty_heal(f.world.storage);
    CHECK_THAT(answer.status < 300 || answer.status == 404 || answer.status >= 500,
               "call %" PRIu64 ": %u: %.*s", nth, answer.status, (int)answer.body.len,
               (const char *)answer.body.data);
    CHECK_THAT(answer.status < 400 || answer.body.len > 0, "call %" PRIu64, nth);
    cosmos_face_restart(&f);
    const char *after = all_items(&f);
    if (answer.status >= 500 && request != clear)
        CHECK_STRING(after, before);
    items_close(&f);
    return is_untouched;
}

TEST(item_fault, every_failing_storage_call_is_answered_and_changes_nothing)
{
    request_of *const requests[] = { create, read,  read_by_number, replace, patch, delete,
                                     feed,   query, batch,          bulk,    clear };

    for (size_t i = 0; i < ARRAY_COUNT(requests); i++) {
        uint64_t nth = 1;
        while (nth < 200 && !fail_nth(requests[i], nth))
            nth++;
        CHECK_THAT(nth > 1 && nth < 200, "request %zu has %" PRIu64 " calls", i, nth);
    }
}

/* ---- bulk: what is written and what is not is told operation by operation ---------------------------- */

/* Writes in three commits, because the reads have to see the writes before them. */
static const char many[] = "[{'operationType':'Create','resourceBody':{'id':'n0','pk':'p'}},"
                           "{'operationType':'Read','id':'n0'},"
                           "{'operationType':'Create','resourceBody':{'id':'n2','pk':'p'}},"
                           "{'operationType':'Create','resourceBody':{'id':'n3','pk':'p'}},"
                           "{'operationType':'Read','id':'n3'},"
                           "{'operationType':'Create','resourceBody':{'id':'n5','pk':'p'}}]";

static bool is_write(size_t at)
{
    return at != 1 && at != 4;
}

/* The create of each operation was answered 201 exactly if its item is there. */
static void check_results(struct cosmos_face *f, const char *statuses, uint64_t nth)
{
    const char *at = statuses;

    for (size_t i = 0; i < 6; i++, at += 4) {
        if (!is_write(i))
            continue;
        bool is_told = strncmp(at, "201", 3) == 0;
        struct cosmos_answer read = item_read(f, P, arena_format(f->world.arena, "n%zu", i));
        CHECK_EQ(read.status == 200, is_told, "call %" PRIu64 ", operation %zu of %s", nth, i,
                 statuses);
    }
}

static bool fail_bulk(const char *headers, uint64_t nth, unsigned *partly)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    storage_faulty_arm(f.world.storage, nth);
    struct cosmos_answer answer = item_bulk(&f, headers, "%s", many);
    bool is_untouched = storage_faulty_calls(f.world.storage) < nth;
    storage_faulty_heal(f.world.storage);
    cosmos_face_restart(&f);
    if (answer.status >= 500)
        CHECK_STRING(all_items(&f), "[]");
    else
        check_results(&f, item_statuses(&f, &answer), nth);
    *partly += answer.status == 207;
    items_close(&f);
    return is_untouched;
}

TEST(item_fault, bulk_tells_which_operations_were_written)
{
    static const char *const headers[] = {
        P,
        "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true",
    };

    for (size_t i = 0; i < ARRAY_COUNT(headers); i++) {
        unsigned partly = 0;
        uint64_t nth = 1;
        while (nth < 200 && !fail_bulk(headers[i], nth, &partly))
            nth++;
        CHECK_THAT(partly > 0 && nth < 200, "%u of %" PRIu64, partly, nth);
    }
}

/* Cosmos: opening and closing the face. The way of a request starts in call.c. */
#include "front/cosmos/cosmos.h"

#include "base/memo.h"
#include "front/cosmos/auth.h"
#include "front/cosmos/face.h"
#include "front/cosmos/throughput.h"

/* Of items that queries meet again and again, a kilobyte each and twice as many. */
enum { SHOWN_PAIRS = 2048 };

status cosmos_open(const struct cosmos_options *options, struct arena *arena, struct cosmos **out)
{
    struct cosmos *face = memory_take_zeroed(1, sizeof(*face));
    status s = status_of(OUT_OF_MEMORY, "no memory to open the face");

    *out = NULL;
    if (!face)
        return s;
    face->engine = options->engine;
    face->log = options->log;
    face->metrics = options->metrics;
    face->audit = options->audit;
    pthread_mutex_init(&face->resource_lock, NULL);
    random_secret(face->activity_seed, sizeof(face->activity_seed));
    if (options->enforces_throughput && !(face->throughput = throughput_open()))
        goto done;
    if (!(face->shown = memo_open(SHOWN_PAIRS)))
        goto done;
    TRY_GOTO(auth_open(options, arena, &face->auth), done);
    *out = face;
    return STATUS_OK;
done:
    cosmos_close(face);
    return s;
}

void cosmos_close(struct cosmos *face)
{
    if (!face)
        return;
    if (face->auth)
        auth_close(face->auth);
    if (face->throughput)
        throughput_close(face->throughput);
    memo_close(face->shown);
    pthread_mutex_destroy(&face->resource_lock);
    memory_give(face);
}

status cosmos_renew_keys(struct cosmos *face, const struct cosmos_options *options,
                         struct arena *arena)
{
    return auth_renew(face->auth, options, arena);
}

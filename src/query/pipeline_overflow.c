/* Pipeline overflow: rows of groups that found no room in the memory of their stage.
 *
 * Groups that are there go on; a row of a group that is not is written to one of a few files, by a hash of the
 * group's id. When the groups in memory have been given, the files are taken one after the other, each as if it
 * were the source: all rows of a group are in the same one, in the order in which they came. A file whose groups
 * do not fit either is parted again, by another hash.
 *
 * Keeps: a group is either in memory or its rows are all in one file. Threads: belongs to its request. */
#include "base/spool.h"
#include "query/pipeline_parts.h"

enum { PARTS = 16, DEPTH_MAX = 6 };

struct part {
    struct part *next;
    unsigned depth;
    struct spool *spool;
};

struct overflow {
    struct part *pending;        /* whose rows are still to come */
    struct part *parts[PARTS];   /* that are being written */
    struct part *source;         /* that is being read; NULL: the stage's own source */
    struct spool_reader *reader; /* of `source` */
};

static void close_part(struct part *part)
{
    if (part)
        spool_close(part->spool);
    memory_give(part);
}

static status open_part(const struct pipeline_run *run, unsigned depth, struct part **out)
{
    struct part *part = memory_take_zeroed(1, sizeof(*part));

    *out = part;
    if (!part)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    part->depth = depth;
    return spool_open(run->source.disk, LIMIT_SPOOL_BYTES, &part->spool);
}

static unsigned depth_of(const struct operator* o)
{
    return o->overflow && o->overflow->source ? o->overflow->source->depth : 0;
}

bool overflow_is_due(const struct pipeline_run *run, const struct operator* o)
{
    /* The other half is for the groups that are there: their lists may grow. */
    return run->source.disk && depth_of(o) < DEPTH_MAX &&
           arena_used_bytes(o->held) > run->share.held_bytes / 2;
}

status overflow_add(struct pipeline_run *run, struct operator* o, bytes key, bytes row)
{
    unsigned depth = depth_of(o);

    if (!o->overflow)
        o->overflow = memory_take_zeroed(1, sizeof(*o->overflow));
    if (!o->overflow)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    struct part **part = &o->overflow->parts[bytes_hash(key, 1000 + depth) % PARTS];
    if (!*part)
        TRY(open_part(run, depth + 1, part));
    return spool_append((*part)->spool, row);
}

/* What was written comes first, so that no more files than those of one branch are open. */
static void put_in_line(struct overflow *overflow)
{
    for (size_t i = PARTS; i-- > 0;) {
        struct part *part = overflow->parts[i];
        if (!part)
            continue;
        part->next = overflow->pending;
        overflow->pending = part;
        overflow->parts[i] = NULL;
    }
}

status overflow_turn(struct operator* o, bool *has_out)
{
    struct overflow *overflow = o->overflow;

    *has_out = false;
    if (!overflow)
        return STATUS_OK;
    put_in_line(overflow);
    spool_reader_close(overflow->reader);
    close_part(overflow->source);
    overflow->reader = NULL;
    overflow->source = overflow->pending;
    if (!overflow->source)
        return STATUS_OK;
    overflow->pending = overflow->source->next;
    *has_out = true;
    return spool_read(overflow->source->spool, 0, spool_end(overflow->source->spool),
                      &overflow->reader);
}

bool overflow_is_source(const struct operator* o)
{
    return o->overflow && o->overflow->reader;
}

status overflow_next(struct operator* o, bytes *row_out, bool *has_out)
{
    return spool_next(o->overflow->reader, row_out, has_out);
}

void overflow_close(struct operator* o)
{
    struct overflow *overflow = o->overflow;

    if (!overflow)
        return;
    put_in_line(overflow);
    spool_reader_close(overflow->reader);
    close_part(overflow->source);
    while (overflow->pending) {
        struct part *part = overflow->pending;
        overflow->pending = part->next;
        close_part(part);
    }
    memory_give(overflow);
    o->overflow = NULL;
}

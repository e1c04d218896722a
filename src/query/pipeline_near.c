/* Pipeline near: how far each row lies from a point, as fields of it.
 *
 * The rows come in the order of nearness already, because the condition before this stage asks for it. What a row is
 * told is computed from the row itself, so nothing has to be handed along with it.
 *
 * Threads: belongs to its run. */
#include "query/pipeline_parts.h"

static status put_distance(struct pipeline_run *run, struct operator* o,
                           const struct matching *found, bytes row, bytes *out)
{
    const struct stage *stage = o->stage;
    struct value distance;

    *out = row;
    TRY(value_of_double(o->scratch, found->distance * stage->scale, &distance));
    if (stage->name.len)
        TRY(pipeline_set(run, o->scratch, stage->name, distance, *out, out));
    if (stage->position_name.len)
        TRY(pipeline_set(run, o->scratch, stage->position_name, found->nearest, *out, out));
    return STATUS_OK;
}

status pull_near(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct matching found = { .scratch = o->scratch };
    bool is_near = false;
    bytes row;

    while (!is_near) {
        TRY(pipeline_pull(run, number - 1, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
        arena_reset(o->scratch);
        TRY(match_document(o->stage->match, &found, row, &is_near));
    }
    return put_distance(run, o, &found, row, out);
}

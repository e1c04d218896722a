/* Plan by key: the partition that a query stays in, and documents whose whole key it names.
 *
 * A document's key is its partition key and its id. A condition that fixes the parts of the partition key one
 * by one, from the first on, is as good as a scope; one that then fixes the id names the document.
 *
 * Threads: belongs to its request. */
#include "query/planner.h"

#include <stdlib.h>

bool planner_shows_only(const struct planner *p, const struct expression *path)
{
    return decoration_has(p->source->decoration, expression_path_first(path));
}

/* ---- the partition ---------------------------------------------------------------------------------- */

static size_t encoded_count(bytes key)
{
    size_t count = 0, len;

    while (key.len && (len = key_value_length(key, KEY_ASCENDING)) > 0) {
        key = bytes_from(key, len);
        count++;
    }
    return count;
}

/* Walks both from the end. */
bool planner_is_dotted(const struct expression *x, const struct path *path)
{
    size_t left = path->count;

    for (; x->kind == EXPRESSION_MEMBER; x = x->args[0]) {
        if (left == 0 || !bytes_equal(x->name, path->parts[--left]))
            return false;
    }
    return left == 0;
}

/* The only value that the condition allows at this path; false if it allows several. */
static bool find_point(struct planner *p, const struct path *path, bytes *key_out,
                       unsigned *bit_out)
{
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        if (!c->is_element && c->count == 1 && c->ranges[0].is_point &&
            planner_is_dotted(c->path, path) && !planner_shows_only(p, c->path)) {
            *key_out = c->ranges[0].start;
            *bit_out = 1U << i;
            return true;
        }
    }
    return false;
}

/* The source's partition, or the one that the condition names by itself, as far as it does. What the
 * condition says about a part that the source gives needs no index either. */
status planner_partition(struct planner *p)
{
    const struct collection_definition *definition = &p->source->collection->definition;
    struct buffer prefix = buffer_in(p->arena);
    size_t given = encoded_count(p->source->partition), at = 0;
    bytes scope = p->source->partition;

    buffer_append(&prefix, scope);
    for (; at < definition->partition_path_count; at++) {
        const struct path *path;
        unsigned bit = 0;
        bytes key = BYTES_NONE;
        TRY(path_parse(p->arena, definition->partition_paths[at], &path));
        bool is_named = find_point(p, path, &key, &bit);
        p->in_partition |= bit;
        if (at >= given && !is_named)
            break;
        if (at >= given || bytes_starts_with(scope, key))
            p->is_fulfilled |= bit;
        if (at >= given)
            buffer_append(&prefix, key);
        else
            scope = bytes_from(scope, key_value_length(scope, KEY_ASCENDING));
    }
    p->is_partition_whole = at == definition->partition_path_count;
    return buffer_finish(&prefix, &p->plan->partition);
}

/* ---- point reads ------------------------------------------------------------------------------------ */

static bool is_id(const struct planner *p, const struct expression *x)
{
    const struct query_decoration *decoration = p->source->decoration;

    return x->kind == EXPRESSION_MEMBER && x->args[0]->kind == EXPRESSION_VARIABLE &&
           x->args[0]->number == 0 && bytes_equal(x->name, decoration->id_name);
}

/* The part of the condition that says which ids are meant: id = x, x = id, id IN (x, y). */
static const struct expression *find_id_condition(const struct planner *p,
                                                  const struct expression *where)
{
    if (!where || where->kind != EXPRESSION_CALL)
        return NULL;
    if (where->function == FUNCTION_and) {
        const struct expression *found = NULL;
        for (size_t i = 0; i < where->count && !found; i++)
            found = find_id_condition(p, where->args[i]);
        return found;
    }
    if (where->function != FUNCTION_equal && where->function != FUNCTION_in)
        return NULL;
    size_t ids = 0, literals = 0;
    for (size_t i = 0; i < where->count; i++) {
        ids += is_id(p, where->args[i]);
        literals += where->args[i]->kind == EXPRESSION_LITERAL;
    }
    bool is_first = where->function == FUNCTION_equal || is_id(p, where->args[0]);
    return ids == 1 && literals == where->count - 1 && is_first ? where : NULL;
}

static status key_of_id(struct planner *p, struct value id, bytes *out)
{
    struct buffer key = buffer_in(p->arena);

    key_append_value_by(&key, p->source->collection->definition.collation, id, KEY_ASCENDING);
    return buffer_finish(&key, out);
}

static status add_points(struct planner *p, struct value shown, struct document_key *points,
                         size_t *count)
{
    const struct query_decoration *decoration = p->source->decoration;
    struct value ids[QUERY_IDS] = { shown };
    size_t id_count = 1;

    if (decoration->ids)
        id_count = decoration->ids(decoration->context, shown, p->arena, ids);
    ASSERT(id_count <= QUERY_IDS);
    for (size_t i = 0; i < id_count; i++) {
        points[*count].partition = p->plan->partition;
        TRY(key_of_id(p, ids[i], &points[*count].id));
        ++*count;
    }
    return STATUS_OK;
}

static int compare_points(const void *a, const void *b)
{
    return bytes_compare(((const struct document_key *)a)->id,
                         ((const struct document_key *)b)->id);
}

status planner_points(struct planner *p, bool *is_done_out)
{
    const struct expression *condition = NULL;
    struct document_key *points;
    size_t count = 0, kept = 0;

    *is_done_out = false;
    if (p->source->decoration && p->source->decoration->id_name.len && p->is_partition_whole)
        condition = find_id_condition(p, p->query->where);
    if (!condition)
        return STATUS_OK;
    TRY(ARENA_NEW(p->arena, condition->count * QUERY_IDS, &points));
    for (size_t i = 0; i < condition->count; i++) {
        if (condition->args[i]->kind == EXPRESSION_LITERAL)
            TRY(add_points(p, condition->args[i]->literal, points, &count));
    }
    if (count)
        qsort(points, count, sizeof(*points), compare_points);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_points(&points[kept - 1], &points[i]) != 0)
            points[kept++] = points[i];
    }
    p->plan->choice.access = ACCESS_POINT;
    p->plan->points = points;
    p->plan->point_count = kept;
    *is_done_out = true;
    return STATUS_OK;
}

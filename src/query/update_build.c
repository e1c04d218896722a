/* Update build: steps joined to one tree by the parts of their paths.
 *
 * Two steps may share the beginning of a path, but none may end where another one passes or ends. Children
 * are kept in the order in which new fields appear: by name, numbers by value.
 *
 * Pure apart from the arena. Start reading at update_join(). */
#include "query/match_parts.h"
#include "query/update_parts.h"

static bool is_number(bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
    }
    return name.len > 0;
}

/* Numbers of any length, without leading zeros mattering. */
static int compare_numbers(bytes a, bytes b)
{
    while (a.len > 1 && a.data[0] == '0')
        a = bytes_from(a, 1);
    while (b.len > 1 && b.data[0] == '0')
        b = bytes_from(b, 1);
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return bytes_compare(a, b);
}

static int compare_names(bytes a, bytes b)
{
    if (is_number(a) && is_number(b)) {
        int order = compare_numbers(a, b);
        if (order)
            return order;
    }
    return bytes_compare(a, b);
}

static status find_child(struct arena *arena, struct update_node *parent, bytes name,
                         struct update_node **out)
{
    struct update_node **place = &parent->children;
    struct update_node *fresh;

    while (*place && compare_names((*place)->name, name) < 0)
        place = &(*place)->next;
    if (*place && bytes_equal((*place)->name, name)) {
        *out = *place;
        return STATUS_OK;
    }
    TRY(ARENA_NEW(arena, 1, &fresh));
    fresh->name = name;
    fresh->next = *place;
    *place = fresh;
    *out = fresh;
    return STATUS_OK;
}

static status conflict(struct arena *arena, bytes path, size_t at_len, int32_t *refusal_out)
{
    *refusal_out = REFUSED_CONFLICT;
    return status_fail(arena, INVALID, "Updating the path '%.*s' would create a conflict at '%.*s'",
                       (int)path.len, (const char *)path.data, (int)at_len,
                       (const char *)path.data);
}

static status add_step(struct arena *arena, struct update_node *root,
                       const struct update_step *step, int32_t *refusal_out)
{
    struct update_node *node = root;
    bytes rest = step->path;

    while (rest.len) {
        bytes part = match_take_part(&rest);
        TRY(find_child(arena, node, part, &node));
        if (node->step)
            return conflict(arena, step->path, (size_t)(part.data + part.len - step->path.data),
                            refusal_out);
    }
    if (node->children)
        return conflict(arena, step->path, step->path.len, refusal_out);
    node->step = step;
    return STATUS_OK;
}

status update_join(struct arena *arena, const struct update_step *steps, size_t count,
                   struct update *out, int32_t *refusal_out)
{
    struct update_node *root;

    *refusal_out = 0;
    TRY(ARENA_NEW(arena, 1, &root));
    for (size_t i = 0; i < count; i++)
        TRY(add_step(arena, root, &steps[i], refusal_out));
    *out = (struct update){ .root = root };
    return STATUS_OK;
}

static bool is_filter_of(bytes part, bytes name)
{
    return part.len == name.len + 3 && part.data[0] == '$' && part.data[1] == '[' &&
           part.data[part.len - 1] == ']' && bytes_equal(bytes_of(part.data + 2, name.len), name);
}

static bool node_uses(const struct update_node *node, bytes name)
{
    for (const struct update_node *child = node->children; child; child = child->next) {
        if (is_filter_of(child->name, name) || node_uses(child, name))
            return true;
    }
    return false;
}

bool update_uses_filter(const struct update *update, bytes name)
{
    return update->root && node_uses(update->root, name);
}

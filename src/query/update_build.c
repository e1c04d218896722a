/* Update build: steps joined to one tree by the parts of their paths.
 *
 * Two steps may share the beginning of a path, but none may end where another one passes or ends. Children
 * are put in the order in which new fields appear: by name, numbers by value. Clients may send very many paths,
 * so children are sorted once all are there, and found by a table; and where something is not there, only those are asked
 * that may make it, since they are asked again for each element of an array.
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

/* Notes the filter that a part "$[name]" uses. */
static status note_filter(struct arena *arena, struct update *update, bytes part)
{
    struct update_filter *filter;

    if (part.len <= 3 || part.data[0] != '$' || part.data[1] != '[' ||
        part.data[part.len - 1] != ']')
        return STATUS_OK;
    bytes name = bytes_of(part.data + 2, part.len - 3);
    if (names_find(update->filters, name))
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, &filter));
    filter->name = name;
    return names_add(&update->filters, arena, filter);
}

static status find_child(struct arena *arena, struct update *update, struct update_node *parent,
                         bytes name, struct update_node **out)
{
    *out = names_find(parent->names, name);
    if (*out)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->name = name;
    (*out)->number = (uint32_t)++update->node_count;
    (*out)->next = parent->children; /* sort_tree() puts them in order */
    parent->children = *out;
    parent->child_count++;
    TRY(note_filter(arena, update, name));
    return names_add(&parent->names, arena, *out);
}

static status conflict(struct arena *arena, bytes path, size_t at_len, int32_t *refusal_out)
{
    *refusal_out = REFUSED_CONFLICT;
    return status_fail(arena, INVALID, "Updating the path '%.*s' would create a conflict at '%.*s'",
                       (int)path.len, (const char *)path.data, (int)at_len,
                       (const char *)path.data);
}

static status add_step(struct arena *arena, struct update *update, struct update_node *root,
                       const struct update_step *step, int32_t *refusal_out)
{
    struct update_node *node = root;
    bytes rest = step->path;

    while (rest.len) {
        bytes part = match_take_part(&rest);
        TRY(find_child(arena, update, node, part, &node));
        if (node->step)
            return conflict(arena, step->path, (size_t)(part.data + part.len - step->path.data),
                            refusal_out);
    }
    if (node->children)
        return conflict(arena, step->path, step->path.len, refusal_out);
    node->step = step;
    return STATUS_OK;
}

static struct update_node *merge(struct update_node *a, struct update_node *b)
{
    struct update_node *merged = NULL, **end = &merged;

    while (a && b) {
        struct update_node **lower = compare_names(a->name, b->name) <= 0 ? &a : &b;
        *end = *lower;
        end = &(*lower)->next;
        *lower = *end;
    }
    *end = a ? a : b;
    return merged;
}

/* The first `count` of the list, at least one, in order; `list` moves behind them. A merge sort, because it can live with
 * names that are in no order: 2 is below 10 as a number, 10 below 1a and 1a below 2 as texts. */
static struct update_node *sort(struct update_node **list, size_t count)
{
    struct update_node *first = *list;

    if (count == 1) {
        *list = first->next;
        first->next = NULL;
        return first;
    }
    first = sort(list, count / 2);
    return merge(first, sort(list, count - count / 2));
}

bool update_is_dollared(const struct update_node *node)
{
    return node->name.len && node->name.data[0] == '$';
}

static bool is_fertile(const struct update_node *node, bool is_insert)
{
    const struct update_run run = { .is_insert = is_insert };

    return update_is_dollared(node) ||
           (node->step ? update_creates(node->step, &run) : node->fertile[is_insert] != NULL);
}

static void link_fertile(struct update_node *node, bool is_insert)
{
    struct update_node **end = &node->fertile[is_insert];

    for (struct update_node *child = node->children; child; child = child->next) {
        if (!is_fertile(child, is_insert))
            continue;
        *end = child;
        end = &child->next_fertile[is_insert];
    }
}

static void sort_tree(struct update_node *node)
{
    struct update_node *unsorted = node->children;

    if (!unsorted)
        return;
    node->children = sort(&unsorted, node->child_count);
    for (struct update_node *child = node->children; child; child = child->next) {
        if (!node->dollared && update_is_dollared(child))
            node->dollared = child;
        sort_tree(child);
    }
    link_fertile(node, false);
    link_fertile(node, true);
}

status update_join(struct arena *arena, const struct update_step *steps, size_t count,
                   struct update *out, int32_t *refusal_out)
{
    struct update_node *root;

    *refusal_out = 0;
    TRY(ARENA_NEW(arena, 1, &root));
    *out = (struct update){ .root = root };
    for (size_t i = 0; i < count; i++)
        TRY(add_step(arena, out, root, &steps[i], refusal_out));
    sort_tree(root);
    return STATUS_OK;
}

struct update_filter *update_filter_of(const struct update *update, bytes name)
{
    return names_find(update->filters, name);
}

/* Tree: the ordered rows of the memory backend, with all instants that somebody still looks at.
 *
 * A treap: sorted by key, heap-ordered by a salted hash of the key, so its shape does not depend on the order of changes
 * and its depth stays logarithmic whoever chooses the keys. Every change is split, leave out, join. A node held once is
 * changed in place, a node held more often is copied first: that is all that snapshots need.
 *
 * Keeps: a node reachable from two roots never changes. Memory of the system is taken for granted
 * here: this backend is for tests and for data that may be lost.
 * Threads: holds may be taken and given back anywhere; one caller changes a given root at a time. */
#include "storage/tree.h"

#include <stdatomic.h>

struct tree {
    _Atomic size_t owners;
    uint64_t priority;
    struct tree *left;
    struct tree *right;
    struct tree_row *row;
};

/* ---- rows ----------------------------------------------------------------------------------------- */

struct tree_row *tree_row_make(bytes key, bytes value)
{
    struct tree_row *row = memory_take(sizeof(*row) + key.len + value.len);

    if (row == NULL)
        return NULL;
    atomic_init(&row->owners, 1);
    row->key_len = key.len;
    row->value_len = value.len;
    memcpy(row->data, key.data, key.len);
    if (value.len > 0)
        memcpy(row->data + key.len, value.data, value.len);
    return row;
}

struct tree_row *tree_row_retain(struct tree_row *row)
{
    atomic_fetch_add_explicit(&row->owners, 1, memory_order_relaxed);
    return row;
}

void tree_row_release(struct tree_row *row)
{
    if (row != NULL && atomic_fetch_sub_explicit(&row->owners, 1, memory_order_acq_rel) == 1)
        memory_give(row);
}

/* ---- nodes ---------------------------------------------------------------------------------------- */

static struct tree *node_make(uint64_t priority, struct tree_row *row)
{
    struct tree *node = memory_take(sizeof(*node));

    ASSERT(node != NULL);
    atomic_init(&node->owners, 1);
    node->priority = priority;
    node->left = NULL;
    node->right = NULL;
    node->row = row;
    return node;
}

struct tree *tree_retain(struct tree *tree)
{
    if (tree != NULL)
        atomic_fetch_add_explicit(&tree->owners, 1, memory_order_relaxed);
    return tree;
}

void tree_release(struct tree *tree)
{
    while (tree != NULL && atomic_fetch_sub_explicit(&tree->owners, 1, memory_order_acq_rel) == 1) {
        struct tree *right = tree->right;
        tree_release(tree->left);
        tree_row_release(tree->row);
        memory_give(tree);
        tree = right;
    }
}

/* A node that may be changed: this one if nobody else holds it, else a copy. */
static struct tree *node_own(struct tree *node)
{
    if (atomic_load_explicit(&node->owners, memory_order_acquire) == 1)
        return node;
    struct tree *copy = node_make(node->priority, tree_row_retain(node->row));
    copy->left = tree_retain(node->left);
    copy->right = tree_retain(node->right);
    tree_release(node);
    return copy;
}

/* ---- changes -------------------------------------------------------------------------------------- */

struct split {
    struct tree *low;
    struct tree *high;
};

/* Low gets the keys below `key`, and `key` itself if is_key_low. As deep as the tree: logarithmic. */
static struct split split(struct tree *node, bytes key, bool is_key_low)
{
    if (node == NULL)
        return (struct split){ NULL, NULL };

    node = node_own(node);
    const int order = bytes_compare(tree_row_key(node->row), key);
    if (order < 0 || (order == 0 && is_key_low)) {
        const struct split parts = split(node->right, key, is_key_low);
        node->right = parts.low;
        return (struct split){ node, parts.high };
    }
    const struct split parts = split(node->left, key, is_key_low);
    node->left = parts.high;
    return (struct split){ parts.low, node };
}

/* Every key of `low` is below every key of `high`. */
static struct tree *join(struct tree *low, struct tree *high)
{
    if (low == NULL)
        return high;
    if (high == NULL)
        return low;
    if (low->priority > high->priority) {
        low = node_own(low);
        low->right = join(low->right, high);
        return low;
    }
    high = node_own(high);
    high->left = join(low, high->left);
    return high;
}

struct tree *tree_put(struct tree *tree, struct tree_row *row)
{
    const bytes key = tree_row_key(row);
    const struct split below = split(tree, key, false);
    const struct split above = split(below.high, key, true);

    tree_release(above.low);
    return join(join(below.low, node_make(bytes_hash(key, random_salt()), row)), above.high);
}

struct tree *tree_delete(struct tree *tree, bytes key)
{
    if (tree_find(tree, key) == NULL)
        return tree;

    const struct split below = split(tree, key, false);
    const struct split above = split(below.high, key, true);

    tree_release(above.low);
    return join(below.low, above.high);
}

struct tree *tree_delete_range(struct tree *tree, bytes start, bytes end)
{
    const struct split below = split(tree, start, false);
    const struct split above = split(below.high, end, false);

    tree_release(above.low);
    return join(below.low, above.high);
}

/* ---- looking -------------------------------------------------------------------------------------- */

struct tree_row *tree_seek(const struct tree *tree, bytes key, enum tree_side side)
{
    const bool is_upward = side == TREE_AT_OR_AFTER || side == TREE_AFTER;
    const bool is_equal_good = side == TREE_AT_OR_AFTER || side == TREE_AT_OR_BEFORE;
    struct tree_row *best = NULL;

    while (tree != NULL) {
        const int order = bytes_compare(tree_row_key(tree->row), key);
        const bool is_good = order == 0 ? is_equal_good : (order > 0) == is_upward;
        if (is_good)
            best = tree->row;
        tree = is_good == is_upward ? tree->left : tree->right;
    }
    return best;
}

struct tree_row *tree_find(const struct tree *tree, bytes key)
{
    struct tree_row *row = tree_seek(tree, key, TREE_AT_OR_AFTER);

    return row != NULL && bytes_equal(tree_row_key(row), key) ? row : NULL;
}

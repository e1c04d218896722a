/* A sorted map that keeps its past: changing it copies only the path to the change, so whoever holds an
 * old root goes on reading exactly what was there. Roots and rows are counted; both may be released
 * on any thread. A root that several hold is never changed. */
#ifndef STORAGE_TREE_H
#define STORAGE_TREE_H

#include "base/base.h"

/* Key and value in one piece; never changed once made. */
struct tree_row {
    _Atomic size_t owners;
    size_t key_len;
    size_t value_len;
    uint8_t data[];
};

/* NULL without memory. */
struct tree_row *tree_row_make(bytes key, bytes value);
struct tree_row *tree_row_retain(struct tree_row *row);
void tree_row_release(struct tree_row *row);

static inline bytes tree_row_key(const struct tree_row *row)
{
    return bytes_of(row->data, row->key_len);
}

static inline bytes tree_row_value(const struct tree_row *row)
{
    return bytes_of(row->data + row->key_len, row->value_len);
}

/* The empty tree is NULL. */
struct tree;
struct tree *tree_retain(struct tree *tree);
void tree_release(struct tree *tree);

/* Each takes over the caller's hold of `tree` (and of `row`) and returns the changed tree. */
struct tree *tree_put(struct tree *tree, struct tree_row *row);
struct tree *tree_delete(struct tree *tree, bytes key);
struct tree *tree_delete_range(struct tree *tree, bytes start, bytes end);

/* The nearest row on that side of a key, or NULL; lives as long as the tree is held. */
enum tree_side { TREE_BEFORE, TREE_AT_OR_BEFORE, TREE_AT_OR_AFTER, TREE_AFTER };
struct tree_row *tree_seek(const struct tree *tree, bytes key, enum tree_side side);
struct tree_row *tree_find(const struct tree *tree, bytes key);

#endif

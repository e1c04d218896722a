/* Find count: how many documents fulfil a condition.
 *
 * All of them are known without a look. Where keys decide the condition, they alone are counted; otherwise documents
 * are found as always.
 *
 * Threads: belongs to its request. Start reading at find_count(). */
#include "query/find_parts.h"

static bool is_counted_by_keys(const struct find *f)
{
    /* Entries decide unless what is shown differs from what is stored. */
    bool is_as_stored = f->plan.access == FIND_ACCESS_KEYS ||
                        f->plan.access == FIND_ACCESS_POINTS || !f->wanted.view ||
                        f->wanted.view->key_field.len;

    return f->plan.is_exact && !f->plan.has_many && is_as_stored && !f->is_sorting;
}

static status count_all(struct find *f, uint64_t *out)
{
    struct find_row row;
    bool has_row = true;

    f->explain.is_covered = is_counted_by_keys(f);
    while (has_row) {
        if (f->explain.is_covered)
            TRY(find_next_entry(f, &has_row));
        else
            TRY(find_next(f, &row, &has_row));
        *out += has_row;
        if (f->wanted.wanted && *out == f->wanted.wanted)
            return STATUS_OK;
    }
    return STATUS_OK;
}

status find_count(const struct find_request *wanted, uint64_t *count_out,
                  struct find_explain *explain_out)
{
    struct find_request unordered = *wanted;
    struct collection_figures figures;
    struct find *find;

    *count_out = 0;
    unordered.order = NULL;
    unordered.is_one_pass = true;
    /* The figures are of this moment, and not of the instant of a transaction. */
    if ((!wanted->match || wanted->match->kind == MATCH_ALWAYS) && wanted->by == FIND_ANY_WAY &&
        !wanted->request->transaction) {
        TRY(collection_figures(wanted->request, wanted->collection, &figures));
        *count_out = wanted->wanted && wanted->wanted < figures.documents ? wanted->wanted
                                                                          : figures.documents;
        if (explain_out)
            *explain_out = (struct find_explain){ .is_covered = true };
        return STATUS_OK;
    }
    TRY(find_open(&unordered, &find));
    status s = count_all(find, count_out);
    if (s.code != OK) /* what it says may lie in memory of the row */
        s = status_fail(find->home, s.code, "%s", s.message);
    if (explain_out)
        *explain_out = find->explain;
    find_close(find);
    return s;
}

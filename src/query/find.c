/* Find: walks the documents that fulfil a condition.
 *
 * A plan says which stretches of keys or of an index are walked. A document is given at its first entry in
 * them only, which can be told from the document itself, so nothing has to be remembered between rows or
 * batches. Where the order is not that of the walk, places (order.h) are collected in a sorter, and then the
 * documents are loaded again in order.
 *
 * A position is one byte for the way and what it takes to go on: K (backwards k) the last key; I (i) index(4) and
 * the last entry; S length(4) of the place, the place, and the document's key; N index(4), the width of the ring (8)
 * and the same; U branch(2) and the position in it.
 *
 * Keeps: a row is given only if its document fulfils the whole condition under the request's `now`.
 * Threads: a find belongs to its request. Start reading at find_next(). */
#include "query/find_parts.h"
#include "query/sorter.h"

enum {
    WAY_KEYS = 'K',
    WAY_INDEX = 'I',
    WAY_SORTED = 'S',
    WAY_NEAR = 'N',
    WAY_BRANCH = 'U',
    WAY_BACKWARDS = 0x20
};
/* How often it is asked whether to go on. */
enum { ROWS_PER_QUESTION = 256 };

/* ---- opening ---------------------------------------------------------------------------------------- */

static status bad_position(void)
{
    return status_of(INVALID, "the position is none of this find, or its index is gone");
}

static const struct index *index_of(const struct collection *collection, uint32_t id)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].id == id && collection->indexes[i].state == INDEX_READY)
            return &collection->indexes[i];
    }
    return NULL;
}

/* What the position before said; *index_out is the one it stands in. */
static status read_position(struct find *f, const struct index **index_out)
{
    struct reader reader = reader_of(f->wanted.after);
    uint8_t way = reader_byte(&reader);

    *index_out = NULL;
    f->is_branched = way == WAY_BRANCH;
    if (f->is_branched) {
        f->branch = reader_u16(&reader);
        way = reader_byte(&reader);
    }
    if (way == WAY_SORTED) {
        f->is_sorting = true;
        f->after = reader.rest;
        return STATUS_OK;
    }
    if (way == WAY_NEAR) {
        *index_out = index_of(f->wanted.collection, reader_u32(&reader));
        f->after = reader.rest;
        return *index_out && f->near && find_near_resume(f, &reader) ? STATUS_OK : bad_position();
    }
    f->is_backwards = (way & WAY_BACKWARDS) != 0;
    way &= (uint8_t)~WAY_BACKWARDS;
    if (way == WAY_INDEX) {
        *index_out = index_of(f->wanted.collection, reader_u32(&reader));
        if (!*index_out)
            return bad_position();
    } else if (way != WAY_KEYS) {
        return bad_position();
    }
    f->after = reader.rest;
    return reader.is_failed || f->after.len == 0 ? bad_position() : STATUS_OK;
}

static status open_sorter(struct find *f)
{
    static const struct query plain = { 0 };
    struct place after = { 0 };
    size_t keep = f->wanted.keeps_rest ? LIMIT_FIND_SORT_ROWS : LIMIT_QUERY_SORT_ROWS;

    if (f->after.len) {
        struct reader reader = reader_of(f->after);
        uint32_t order_len = reader_u32(&reader);
        after = place_of(reader.rest);
        if (reader.is_failed || reader.rest.len <= order_len)
            return bad_position();
    }
    if (f->wanted.wanted && f->wanted.wanted < keep)
        keep = (size_t)f->wanted.wanted;
    f->is_sorter_open = true;
    status s = sorter_open(&f->sorter, f->home, keep, &plain, f->after.len ? &after : NULL);
    f->after = BYTES_NONE;
    return s;
}

/* Goes on in the branch where it stood, if that is still walked the same way. */
static status resume_branch(struct find *f, const struct index *resumed)
{
    TRY(find_branches_make(&f->wanted, f->home, &f->branches));
    if (f->branch >= f->branches.count || f->branches.plans[f->branch].index != resumed)
        return bad_position();
    f->plan = f->branches.plans[f->branch];
    f->plan.is_reverse = f->is_backwards;
    return STATUS_OK;
}

/* Where looking at everything is all that is left, alternatives may have ways of their own. */
static status take_branches(struct find *f)
{
    if (!find_plan_is_everything(&f->plan) || f->plan.is_ordered)
        return STATUS_OK;
    TRY(find_branches_make(&f->wanted, f->home, &f->branches));
    if (f->branches.count)
        f->plan = f->branches.plans[0];
    return STATUS_OK;
}

static void tell_plan(struct find *f)
{
    f->explain = (struct find_explain){ .access = f->plan.access,
                                        .index = f->plan.index,
                                        .is_reverse = f->plan.is_reverse,
                                        .is_sorted = f->is_sorting,
                                        .is_everything = find_plan_is_everything(&f->plan),
                                        .range_count = f->plan.range_count };
    if (f->plan.range_count == 0)
        f->explain.access = FIND_ACCESS_NOTHING;
}

static status begin(struct find *f)
{
    const struct index *resumed = NULL;
    bool wants_order = f->wanted.order && f->wanted.order->count;

    f->near = wants_order ? NULL : match_near(f->wanted.match);
    if (f->wanted.after.len)
        TRY(read_position(f, &resumed));
    TRY(find_plan_make(&f->wanted, f->home, resumed, &f->plan));
    if (f->near) {
        f->is_sorting = true;
        tell_plan(f);
        f->explain.is_sorted = false;
        return find_near_begin(f);
    }
    if (!f->wanted.after.len || f->is_sorting)
        TRY(take_branches(f));
    if (f->is_branched) {
        TRY(resume_branch(f, resumed));
    } else if (f->wanted.after.len && !f->is_sorting) {
        /* It goes on as it began, whatever would be chosen today. */
        if (!resumed && f->plan.access == FIND_ACCESS_INDEX) {
            f->wanted.by = FIND_BY_KEY;
            TRY(find_plan_make(&f->wanted, f->home, NULL, &f->plan));
        }
        f->plan.is_reverse = f->is_backwards;
    } else {
        f->is_sorting = f->is_sorting || f->wanted.rest || (wants_order && !f->plan.is_ordered);
    }
    tell_plan(f);
    f->is_covering = !f->is_sorting && !f->branches.count && !f->near &&
                     find_can_cover(&f->wanted, &f->plan);
    return f->is_sorting && !f->wanted.rest ? open_sorter(f) : STATUS_OK;
}

status find_open(const struct find_request *wanted, struct find **out)
{
    struct find *find;

    *out = NULL;
    TRY(ARENA_NEW(wanted->request->arena, 1, &find));
    find->wanted = *wanted;
    find->home = wanted->request->arena;
    find->position = buffer_in(find->home);
    find->scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
    if (!find->scratch)
        return status_of(OUT_OF_MEMORY, "there is no memory to find documents");
    find->matching = (struct matching){ .scratch = find->scratch,
                                        .formulas = wanted->formulas,
                                        .search = wanted->search };
    status s = begin(find);
    if (s.code != OK) {
        find_close(find);
        return s;
    }
    *out = find;
    return STATUS_OK;
}

status find_is_at(const struct find_request *wanted, bool *out)
{
    struct find at = { .wanted = *wanted };
    struct scan_spec spec = { .is_end_inclusive = true };
    struct scan_row row;
    struct scan *scan;

    *out = false;
    TRY(read_position(&at, &spec.index));
    spec.start = spec.end = at.after;
    TRY(scan_open(wanted->request, wanted->collection, &spec, &scan));
    *out = scan_next(scan, &row);
    status s = scan_status(scan);
    scan_close(scan);
    return s;
}

void find_let_go(struct find *f)
{
    if (f->has_document)
        document_release(f->wanted.request, &f->document);
    f->has_document = false;
    arena_reset(f->scratch);
}

static void close_scan(struct find *f)
{
    if (f->scan)
        scan_close(f->scan);
    f->scan = NULL;
}

void find_close(struct find *f)
{
    if (!f)
        return;
    find_let_go(f);
    close_scan(f);
    if (f->is_sorter_open)
        sorter_close(&f->sorter);
    arena_close(f->scratch);
    arena_close(f->ring_memory);
    f->scratch = f->ring_memory = NULL;
}

/* ---- walking ---------------------------------------------------------------------------------------- */

/* Does the stretch lie wholly on the side of the position that was walked already? */
static bool is_passed(const struct find *f, const struct find_range *range)
{
    if (f->after.len == 0)
        return false;
    if (f->plan.is_reverse)
        return bytes_compare(f->after, range->start) < 0;
    if (range->end.len == 0 || (range->is_end_inclusive && bytes_starts_with(f->after, range->end)))
        return false;
    return bytes_compare(range->end, f->after) <= 0;
}

/* Is the position inside of the stretch, not before it? */
static bool is_entered(const struct find *f, const struct find_range *range)
{
    if (f->after.len == 0)
        return false;
    if (!f->plan.is_reverse)
        return bytes_compare(f->after, range->start) >= 0;
    return range->end.len == 0 || bytes_compare(f->after, range->end) < 0 ||
           (range->is_end_inclusive && bytes_starts_with(f->after, range->end));
}

/* Everything is looked at, whatever the order: then as it lies, which is several times faster than by key. */
static bool is_by_slot(const struct find *f)
{
    bool is_free = f->is_sorting || (f->wanted.is_one_pass && !f->wanted.is_reverse &&
                                     !(f->wanted.order && f->wanted.order->count));

    return is_free && find_plan_is_everything(&f->plan);
}

/* Stretches of one index are walked by one scan over all of them, which jumps from one to the next. */
static status open_stretch(struct find *f, const struct scan_spec *spec)
{
    const struct find_range *first = &f->plan.ranges[0];
    const struct find_range *last = &f->plan.ranges[f->plan.range_count - 1];
    struct scan_spec whole = { .index = spec->index,
                               .start = first->start,
                               .end = last->end,
                               .is_end_inclusive = last->is_end_inclusive,
                               .is_reverse = spec->is_reverse,
                               .lends = spec->lends,
                               .is_many = spec->is_many };

    if (f->plan.range_count == 1)
        return scan_open(f->wanted.request, f->wanted.collection, spec, &f->scan);
    if (!f->scan)
        TRY(scan_open(f->wanted.request, f->wanted.collection, &whole, &f->scan));
    return scan_move(f->scan, spec);
}

/* How many documents will be loaded one behind the other, if there are as many entries; 0 if that is not known. */
static size_t wanted_documents(const struct find *f)
{
    const uint64_t rows = f->wanted.wanted, batch = f->wanted.batch;

    if (batch == 0 || f->is_covering || f->near)
        return 0;
    if (f->is_sorting)
        return SIZE_MAX;
    return (size_t)(rows && rows < batch ? rows : batch);
}

static status open_next(struct find *f, bool *has_out)
{
    *has_out = false;
    if (f->at == 0 && is_by_slot(f)) {
        f->at = 1;
        *has_out = true;
        return scan_open_slots(f->wanted.request, f->wanted.collection, &f->scan);
    }
    while (f->at < f->plan.range_count) {
        size_t number = f->plan.is_reverse ? f->plan.range_count - 1 - f->at : f->at;
        const struct find_range *range = &f->plan.ranges[number];
        struct scan_spec spec = { .index = f->plan.index,
                                  .start = range->start,
                                  .end = range->end,
                                  .is_end_inclusive = range->is_end_inclusive,
                                  .is_reverse = f->plan.is_reverse,
                                  .lends = true,
                                  .is_many = f->wanted.is_many,
                                  .wanted = wanted_documents(f) };
        f->at++;
        if (is_passed(f, range))
            continue;
        if (is_entered(f, range))
            spec.after = f->after;
        *has_out = true;
        return open_stretch(f, &spec);
    }
    close_scan(f);
    return STATUS_OK;
}

status find_ask_to_go_on(struct find *f)
{
    /* Where documents have many entries a row may be much work: its entries are found out again. */
    bool is_due = f->explain.rows++ % ROWS_PER_QUESTION == 0 || f->plan.has_many;

    if (!is_due || !f->wanted.go_on)
        return STATUS_OK;
    return f->wanted.go_on(f->wanted.context);
}

/* Documents named by their keys are read one by one, without a scan. */
static status next_point(struct find *f, bool *has_out)
{
    *has_out = false;
    while (f->at < f->plan.range_count) {
        size_t number = f->plan.is_reverse ? f->plan.range_count - 1 - f->at : f->at;
        const struct find_range *range = &f->plan.ranges[number];
        struct document_key key = { .id = range->start };
        f->at++;
        if (is_passed(f, range) || is_entered(f, range))
            continue;
        find_let_go(f);
        TRY(find_ask_to_go_on(f));
        status s = document_read(f->wanted.request, f->wanted.collection, key, &f->document);
        if (s.code == NOT_FOUND)
            continue;
        TRY(s);
        f->has_document = *has_out = true;
        f->position.len = 0;
        buffer_append(&f->position, range->start);
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* The next key or entry; its document is not loaded yet, unless it was named by its key. */
static status next_of_plan(struct find *f, bool *has_out)
{
    if (f->plan.access == FIND_ACCESS_POINTS)
        return next_point(f, has_out);
    bool has_range = f->scan != NULL;
    *has_out = false;
    for (;;) {
        if (!has_range) {
            TRY(open_next(f, &has_range));
            if (!has_range)
                return STATUS_OK;
        }
        if (scan_next(f->scan, &f->row)) {
            TRY(find_ask_to_go_on(f));
            if (!f->near) {
                f->position.len = 0;
                buffer_append(&f->position, scan_position(f->scan));
            }
            *has_out = true;
            return STATUS_OK;
        }
        TRY(scan_status(f->scan));
        has_range = false;
        if (f->plan.range_count == 1)
            close_scan(f);
    }
}

status find_next_entry(struct find *f, bool *has_out)
{
    for (;;) {
        TRY(next_of_plan(f, has_out));
        if (*has_out || f->branch + 1 >= f->branches.count)
            return STATUS_OK;
        f->plan = f->branches.plans[++f->branch];
        f->at = 0;
        f->after = BYTES_NONE;
    }
}

/* Is the alternative that is walked the first one that holds for the document? */
static status is_of_branch(struct find *f, bytes document, bool *out)
{
    struct matching matching = f->matching;
    bool holds = false;
    size_t first = 0;

    for (; first <= f->branch && !holds; first++)
        TRY(match_document(f->branches.matches[first], &matching, document, &holds));
    *out = holds && first == f->branch + 1;
    return STATUS_OK;
}

/* Is the entry in one of the stretches? If so, in the last one that begins before it. */
static bool is_walked(const struct find *f, bytes entry)
{
    size_t low = 0, high = f->plan.range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(f->plan.ranges[middle].start, entry) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct find_range *range = &f->plan.ranges[low - 1];
    return range->end.len == 0 || bytes_compare(entry, range->end) < 0 ||
           (range->is_end_inclusive && bytes_starts_with(entry, range->end));
}

/* Of several entries of a document, only the first that is met gives it. */
static status is_first_entry(struct find *f, bool *out)
{
    struct scan_entries entries;

    *out = true;
    if (!f->plan.index || !f->plan.has_many || f->near)
        return STATUS_OK;
    TRY(scan_entries(f->wanted.request, f->scratch, f->plan.index, f->document.bson, &entries));
    for (size_t i = 0; i < entries.count; i++) {
        bytes entry = entries.items[f->plan.is_reverse ? entries.count - 1 - i : i];
        if (!is_walked(f, entry))
            continue;
        *out = bytes_equal(entry, f->row.index_key);
        return STATUS_OK;
    }
    return STATUS_OK;
}

static status show(struct find *f, bytes *out)
{
    const struct find_view *view = f->wanted.view;

    *out = f->document.bson;
    return view && view->show ? view->show(view->context, f->scratch, &f->document, out)
                              : STATUS_OK;
}

/* Of the document that lies there; its own form is shown already. */
static void fill_row(const struct find *f, struct find_row *out)
{
    time_ms *earliest = f->wanted.earliest_death;

    if (earliest)
        *earliest = expiry_earlier(
            *earliest, document_deadline(f->wanted.collection, &f->document, f->scratch));
    out->key = f->document.key;
    out->bson = f->document.bson;
    out->seq = f->document.seq;
    out->has_position = f->matching.has_position;
    out->position = f->matching.position;
    out->score = f->matching.score;
    out->distance = f->matching.distance;
    out->nearest = f->matching.nearest;
}

/* Makes the row of its entry, if that is possible. */
static status take_entry(struct find *f, struct find_row *out, bool *is_taken_out)
{
    *is_taken_out = false;
    if (!f->is_covering)
        return STATUS_OK;
    find_let_go(f);
    TRY(find_cover(&f->wanted, &f->plan, f->scratch, f->row.index_key, &out->document,
                   is_taken_out));
    out->key = f->row.key;
    out->seq = f->row.seq;
    f->explain.matched += *is_taken_out;
    return STATUS_OK;
}

/* Loads the document of the row and asks the condition. */
static status take_row(struct find *f, struct find_row *out, bool *is_wanted_out)
{
    TRY(take_entry(f, out, is_wanted_out));
    if (*is_wanted_out)
        return STATUS_OK;
    if (f->plan.access != FIND_ACCESS_POINTS) {
        find_let_go(f);
        TRY(scan_document(f->scan, &f->document));
    }
    f->has_document = true;
    f->explain.documents++;
    TRY(is_first_entry(f, is_wanted_out));
    if (!*is_wanted_out)
        return STATUS_OK;
    TRY(show(f, &out->document));
    f->matching.has_position = false;
    if (f->wanted.match)
        TRY(match_document(f->wanted.match, &f->matching, out->document, is_wanted_out));
    if (*is_wanted_out && f->branches.count)
        TRY(is_of_branch(f, out->document, is_wanted_out));
    f->explain.matched += *is_wanted_out;
    if (*is_wanted_out)
        fill_row(f, out);
    return STATUS_OK;
}

static status next_streamed(struct find *f, struct find_row *out, bool *has_out)
{
    bool has_row, is_wanted;

    *has_out = false;
    for (;;) {
        TRY(find_next_entry(f, &has_row));
        if (!has_row) {
            f->is_over = true;
            return STATUS_OK;
        }
        TRY(take_row(f, out, &is_wanted));
        if (is_wanted) {
            *has_out = true;
            return STATUS_OK;
        }
    }
}

/* ---- sorted ----------------------------------------------------------------------------------------- */

static status collect(struct find *f)
{
    struct find_row row;
    bool has_row, is_wanted, is_done = false;
    bytes order_key;

    f->is_collected = true;
    if (is_by_slot(f) && f->branches.count == 0 && !f->near)
        TRY(find_order_together(&f->wanted, &f->sorter, &f->explain, &is_done));
    while (!is_done) {
        TRY(find_next_entry(f, &has_row));
        if (!has_row)
            break;
        is_wanted = true;
        if (f->near)
            TRY(find_near_look(f, &is_wanted));
        if (is_wanted)
            TRY(take_row(f, &row, &is_wanted));
        if (!is_wanted || (f->near && !find_near_holds(f, row.distance)))
            continue;
        TRY(f->near ? find_near_place(f->scratch, row.distance, &order_key)
                    : order_key_scored(f->wanted.order, f->scratch, row.document, row.score.value,
                                       &order_key));
        TRY(find_order_add(&f->sorter, f->scratch, row.key, order_key));
    }
    find_let_go(f);
    return sorter_finish(&f->sorter);
}

status find_load_sorted(struct find *f, const struct sort_entry *entry, struct find_row *out,
                        bool *is_there_out)
{
    struct reader reader = reader_of(entry->key);
    struct document_key key = { .partition = reader_bytes(&reader, reader_u32(&reader)) };

    key.id = reader.rest;
    find_let_go(f);
    status s = document_read(f->wanted.request, f->wanted.collection, key, &f->document);
    *is_there_out = s.code == OK;
    if (s.code != OK)
        return s.code == NOT_FOUND ? STATUS_OK : s;
    f->has_document = true;
    f->explain.documents++;
    f->explain.reloaded++;
    TRY(show(f, &out->document));
    f->matching.has_position = false;
    if (f->wanted.match)
        TRY(match_document(f->wanted.match, &f->matching, out->document, is_there_out));
    fill_row(f, out);
    return STATUS_OK;
}

static status next_sorted(struct find *f, struct find_row *out, bool *has_out)
{
    *has_out = false;
    if (!f->is_collected)
        TRY(collect(f));
    for (; f->given < f->sorter.count && !*has_out; f->given++) {
        if (!find_near_is_double(f))
            TRY(find_load_sorted(f, &f->sorter.entries[f->given], out, has_out));
    }
    if (!*has_out)
        f->is_over = !f->sorter.has_dropped;
    return STATUS_OK;
}

/* Ring by ring, from the nearest on. */
static status next_near(struct find *f, struct find_row *out, bool *has_out)
{
    *has_out = false;
    while (!*has_out && !f->is_over) {
        if (!f->is_collected) {
            TRY(find_near_plan(f));
            TRY(open_sorter(f));
        }
        TRY(next_sorted(f, out, has_out));
        if (*has_out)
            return find_near_keep(f, &f->sorter.entries[f->given - 1]);
        if (!f->is_over) /* more than fits: it goes on behind the position */
            return STATUS_OK;
        f->is_over = !find_near_advance(f);
    }
    return STATUS_OK;
}

status find_next(struct find *f, struct find_row *out, bool *has_out)
{
    *out = (struct find_row){ 0 };
    *has_out = false;
    if (f->is_over)
        return STATUS_OK;
    if (f->wanted.rest)
        return find_next_kept(f, out, has_out);
    if (f->near)
        return next_near(f, out, has_out);
    return f->is_sorting ? next_sorted(f, out, has_out) : next_streamed(f, out, has_out);
}

status find_gather(struct find *f, const struct gather *gather, bool *is_done_out)
{
    *is_done_out = false;
    if (f->is_over || f->is_sorting || f->at > 0 || f->branches.count || !is_by_slot(f))
        return STATUS_OK;
    TRY(find_gather_all(&f->wanted, gather, &f->explain, is_done_out));
    f->is_over = *is_done_out;
    return STATUS_OK;
}

status find_position(struct find *f, struct arena *arena, bytes *out)
{
    struct buffer position = buffer_in(arena);

    *out = f->wanted.after;
    if (f->near) {
        if (f->position.len == 0)
            return STATUS_OK;
        buffer_append_byte(&position, WAY_NEAR);
        buffer_append_u32(&position, f->plan.index->id);
        buffer_append(&position, bytes_of(f->position.data, f->position.len));
        return buffer_finish(&position, out);
    }
    if (f->is_sorting && !f->wanted.rest) {
        if (f->given == 0)
            return STATUS_OK;
        buffer_append_byte(&position, WAY_SORTED);
        find_append_sorted(&position, &f->sorter.entries[f->given - 1]);
        return buffer_finish(&position, out);
    }
    if (f->position.len == 0)
        return STATUS_OK;
    if (f->wanted.rest) {
        buffer_append_byte(&position, WAY_SORTED);
        buffer_append(&position, bytes_of(f->position.data, f->position.len));
        return buffer_finish(&position, out);
    }
    bool is_index = f->plan.access == FIND_ACCESS_INDEX;
    if (f->branches.count) {
        buffer_append_byte(&position, WAY_BRANCH);
        buffer_append_u16(&position, (uint16_t)f->branch);
    }
    buffer_append_byte(&position, (uint8_t)((is_index ? WAY_INDEX : WAY_KEYS) |
                                            (f->plan.is_reverse ? WAY_BACKWARDS : 0)));
    if (is_index)
        buffer_append_u32(&position, f->plan.index->id);
    buffer_append(&position, bytes_of(f->position.data, f->position.len));
    return buffer_finish(&position, out);
}

bool find_is_over(const struct find *f)
{
    return f->is_over;
}

const struct find_explain *find_explain(const struct find *f)
{
    return &f->explain;
}

size_t find_plans(const struct find *f, const struct find_plan **out)
{
    *out = f->branches.count ? f->branches.plans : &f->plan;
    return f->branches.count ? f->branches.count : 1;
}

const struct find_request *find_wanted(const struct find *f)
{
    return &f->wanted;
}

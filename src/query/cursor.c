/* Cursor: the documents of a plan, one by one.
 *
 * Each way of access has a next step and a position. A position is what the storage calls the row: the
 * document's key, for an index the value in front of it; so it means the same to a later request, whatever
 * has come or gone since.
 *
 * Keeps: at most one document is pinned; it is let go before the next one is taken.
 * Threads: belongs to its request. Start reading at cursor_next(). */
#include "query/cursor.h"

/* ---- opening ---------------------------------------------------------------------------------------- */

static status bad_position(void)
{
    return status_of(INVALID, "the position is not one of this query");
}

/* So many encoded values and nothing else: storage takes no other keys. */
static bool is_encoded(bytes position, size_t count)
{
    for (; count > 0; count--) {
        size_t len = key_value_length(position, KEY_ASCENDING);
        if (len == 0)
            return false;
        position = bytes_from(position, len);
    }
    return position.len == 0;
}

static bool is_document_key(const struct cursor *c, size_t values_before)
{
    size_t partition_count = c->source->collection->definition.partition_path_count;

    return is_encoded(c->after, values_before + partition_count + 1);
}

static bool range_holds(const struct range *range, bytes position)
{
    return bytes_compare(position, range->start) >= 0 && bytes_compare(position, range->end) < 0;
}

/* A shape whose documents are all gone has no range any more; those before it are done. */
static bool is_behind_shape(const struct cursor *c, const struct range *range)
{
    int order = bytes_compare(range->start, c->after);

    if (range->kind != KIND_MISSING)
        return !c->plan->is_reverse;
    return c->plan->is_reverse ? order < 0 : order > 0;
}

bool cursor_range_of(const struct plan *plan, bytes position, size_t *out)
{
    for (*out = 0; *out < plan->range_count; ++*out) {
        bool is_all = plan->is_ranked && plan->ranges[*out].end.len == 0;
        if (is_all || range_holds(&plan->ranges[*out], position))
            return true;
    }
    return false;
}

/* A composite entry cannot be told from what follows it, so its length stands in front. */
static status take_ranked(struct cursor *c)
{
    struct reader reader = reader_of(c->after);
    bytes entry = reader_bytes(&reader, reader_u16(&reader));

    if (reader.is_failed)
        return bad_position();
    for (size_t i = 0; i < entry.len; i++) {
        if (entry.data[i] == 0 || entry.data[i] == 0xFF)
            return bad_position();
    }
    c->after = reader.rest;
    if (!is_document_key(c, 0))
        return bad_position();
    c->after = bytes_of(entry.data, entry.len + reader.rest.len);
    return cursor_range_of(c->plan, c->after, &c->at) ? STATUS_OK : bad_position();
}

/* Which range the position lies in; those before it are done. */
static status find_range(struct cursor *c)
{
    if (c->plan->is_ranked)
        return take_ranked(c);
    if (!is_document_key(c, 1))
        return bad_position();
    if (cursor_range_of(c->plan, c->after, &c->at))
        return STATUS_OK;
    /* The scalars have ranges whatever is there, so it was a shape. */
    if (c->plan->rest_prefix.len == 0)
        return bad_position();
    c->at = 0;
    while (c->at < c->plan->range_count && !is_behind_shape(c, &c->plan->ranges[c->at]))
        c->at++;
    c->after = BYTES_NONE;
    return STATUS_OK;
}

static int compare_point(const struct document_key *point, bytes joined)
{
    int order = bytes_compare(point->partition,
                              bytes_of(joined.data, joined.len < point->partition.len
                                                        ? joined.len
                                                        : point->partition.len));

    return order ? order : bytes_compare(point->id, bytes_from(joined, point->partition.len));
}

static status skip_to_position(struct cursor *c)
{
    switch (c->plan->choice.access) {
    case ACCESS_LIST:
        while (c->at < c->source->item_count &&
               bytes_compare(c->source->items[c->at].key, c->after) <= 0)
            c->at++;
        return STATUS_OK;
    case ACCESS_POINT:
        if (!is_document_key(c, 0))
            return bad_position();
        while (c->at < c->plan->point_count &&
               compare_point(&c->plan->points[c->at], c->after) <= 0)
            c->at++;
        return STATUS_OK;
    case ACCESS_KEYS:
        return is_document_key(c, 0) && bytes_starts_with(c->after, c->plan->partition)
                   ? STATUS_OK
                   : bad_position();
    case ACCESS_INDEX:
        return find_range(c);
    case ACCESS_SLOTS: /* documents move in it: there is no way back to a place */
    case ACCESS_NOTHING:
    case ACCESS_FIGURES:
        break;
    }
    return bad_position();
}

status cursor_open(struct cursor *c, const struct plan *plan, const struct query_source *source,
                   bytes after, struct query_explain *explain)
{
    *c = (struct cursor){ .plan = plan, .source = source, .after = after, .explain = explain };
    return after.len ? skip_to_position(c) : STATUS_OK;
}

void cursor_begin_at(struct cursor *c, size_t number, bytes from)
{
    c->at = number;
    c->from = from;
    c->after = BYTES_NONE;
}

/* ---- walking ---------------------------------------------------------------------------------------- */

static void let_go(struct cursor *c)
{
    if (c->is_pinned)
        document_release(c->source->request, &c->document);
    c->is_pinned = false;
    c->is_loaded = false;
}

/* The document is there. */
static void count_document(struct cursor *c, bool is_pinned)
{
    c->is_loaded = true;
    c->is_pinned = is_pinned;
    c->explain->documents++;
    c->explain->loaded_bytes += c->document.bson.len;
}

static void set_document(struct cursor *c, const struct document *document, bool is_pinned)
{
    c->document = *document;
    count_document(c, is_pinned);
}

static void close_scan(struct cursor *c)
{
    if (c->scan)
        scan_close(c->scan);
    c->scan = NULL;
}

static status next_item(struct cursor *c, bool *has_out)
{
    *has_out = c->at < c->source->item_count;
    if (*has_out)
        c->explain->rows++;
    c->at += *has_out;
    return STATUS_OK;
}

static status next_point(struct cursor *c, bool *has_out)
{
    while (c->at < c->plan->point_count) {
        struct document document = { 0 };
        const struct document_key *point = &c->plan->points[c->at++];
        status s = document_read(c->source->request, c->source->collection, *point, &document);
        c->explain->rows++;
        if (s.code == NOT_FOUND)
            continue;
        TRY(s);
        document.key = *point;
        set_document(c, &document, true);
        *has_out = true;
        return STATUS_OK;
    }
    return STATUS_OK;
}

static status open_keys(struct cursor *c)
{
    struct scan_spec spec = { .start = c->plan->partition,
                              .end = c->plan->partition,
                              .is_end_inclusive = true,
                              .after = c->after,
                              .wanted = c->wanted,
                              .may_know = c->may_know };

    if (c->from.len)
        spec.start = c->from;
    return scan_open(c->source->request, c->source->collection, &spec, &c->scan);
}

/* The row itself is the first one. */
static status begin_with(struct cursor *c, struct scan_spec *spec)
{
    struct buffer row = buffer_in(c->source->request->arena);

    buffer_append(&row, plan_range_prefix(c->plan, c->at));
    buffer_append(&row, c->from);
    c->from = BYTES_NONE;
    if (!spec->is_reverse)
        return buffer_finish(&row, &spec->start);
    spec->is_end_inclusive = true;
    return buffer_finish(&row, &spec->end);
}

static status open_range(struct cursor *c)
{
    struct arena *arena = c->source->request->arena;
    struct scan_spec spec = { 0 };

    c->is_placed = true;
    TRY(plan_range_spec(arena, c->plan, c->at, &spec));
    spec.may_know = c->may_know;
    if (c->after.len) {
        struct buffer after = buffer_in(arena);
        buffer_append(&after, plan_range_prefix(c->plan, c->at));
        buffer_append(&after, c->after);
        TRY(buffer_finish(&after, &spec.after));
        c->after = BYTES_NONE;
    }
    if (c->from.len)
        TRY(begin_with(c, &spec));
    /* Else rows of other partitions may lie between, whose documents nobody wants. */
    if (c->plan->partition.len == 0)
        spec.wanted = c->wanted;
    if (c->plan->range_count == 1)
        return scan_open(c->source->request, c->source->collection, &spec, &c->scan);
    /* One scan serves all ranges. */
    struct scan_spec all = { .index = spec.index, .is_reverse = spec.is_reverse };
    if (!c->scan)
        TRY(scan_open(c->source->request, c->source->collection, &all, &c->scan));
    return scan_move(c->scan, &spec);
}

/* One more row of the open scan, if it has one. */
static status step(struct cursor *c, bool *has_out)
{
    *has_out = scan_next(c->scan, &c->row);
    if (*has_out) {
        c->explain->rows++;
        return STATUS_OK;
    }
    return scan_status(c->scan);
}

static status next_key(struct cursor *c, bool *has_out)
{
    if (!c->scan)
        TRY(open_keys(c));
    return step(c, has_out);
}

/* What was looked at and did not pass counts as if it had been given. */
static status next_sifted(struct cursor *c, bool *has_out)
{
    status s = sift_next(c->sift, &c->document, has_out);
    const struct sift_seen seen = sift_seen(c->sift);

    c->explain->rows += seen.documents - c->seen.documents;
    c->explain->documents += seen.documents - c->seen.documents;
    c->explain->loaded_bytes += seen.bytes - c->seen.bytes;
    c->seen = seen;
    c->is_loaded = *has_out;
    c->row.key = c->document.key;
    return s;
}

static status next_slot(struct cursor *c, bool *has_out)
{
    if (c->sift)
        return next_sifted(c, has_out);
    if (!c->scan)
        TRY(scan_open_slots(c->source->request, c->source->collection, &c->scan));
    return step(c, has_out);
}

static status next_entry(struct cursor *c, bool *has_out)
{
    while (c->at < c->plan->range_count) {
        if (!c->is_placed)
            TRY(open_range(c));
        bool is_end = false, is_in;
        TRY(step(c, has_out));
        is_in = *has_out && bytes_starts_with(c->row.key.partition, c->plan->partition);
        if (is_in)
            TRY(filters_pass(c, &is_in, &is_end));
        if (is_in)
            return STATUS_OK;
        if (*has_out && !is_end)
            continue;
        *has_out = false;
        c->is_placed = false;
        c->at++;
    }
    return STATUS_OK;
}

status cursor_next(struct cursor *c, bool *has_out)
{
    *has_out = false;
    let_go(c);
    switch (c->plan->choice.access) {
    case ACCESS_LIST:
        return next_item(c, has_out);
    case ACCESS_POINT:
        return next_point(c, has_out);
    case ACCESS_KEYS:
        return next_key(c, has_out);
    case ACCESS_INDEX:
        return next_entry(c, has_out);
    case ACCESS_SLOTS:
        return next_slot(c, has_out);
    case ACCESS_NOTHING:
    case ACCESS_FIGURES:
        break;
    }
    return STATUS_OK;
}

status cursor_load(struct cursor *c)
{
    struct document document = { 0 };

    if (c->is_loaded)
        return STATUS_OK;
    if (c->plan->choice.access == ACCESS_LIST) {
        document.bson = c->source->items[c->at - 1].document;
        set_document(c, &document, false);
        return STATUS_OK;
    }
    TRY(scan_document(c->scan, &c->document));
    count_document(c, true);
    return STATUS_OK;
}

void cursor_count_known(struct cursor *c)
{
    scan_document_known(c->scan);
    c->explain->documents++;
    c->explain->loaded_bytes += c->row.body_len;
}

/* ---- positions -------------------------------------------------------------------------------------- */

static const struct document_key *key_of(const struct cursor *c)
{
    return c->plan->choice.access == ACCESS_POINT ? &c->document.key : &c->row.key;
}

void cursor_append_key(const struct cursor *c, struct buffer *out)
{
    if (c->plan->choice.access == ACCESS_LIST) {
        buffer_append(out, c->source->items[c->at - 1].key);
        return;
    }
    buffer_append(out, key_of(c)->partition);
    buffer_append(out, key_of(c)->id);
}

bytes cursor_entry(const struct cursor *c)
{
    return bytes_from(c->row.index_key, plan_range_prefix(c->plan, c->at).len);
}

status cursor_position(const struct cursor *c, struct arena *arena, bytes *out)
{
    struct buffer position = buffer_in(arena);

    if (c->plan->is_ranked)
        buffer_append_u16(&position, (uint16_t)cursor_entry(c).len);
    if (c->plan->choice.access == ACCESS_INDEX)
        buffer_append(&position, cursor_entry(c));
    cursor_append_key(c, &position);
    return buffer_finish(&position, out);
}

bytes cursor_position_key(const struct cursor *c, bytes position)
{
    struct reader reader = reader_of(position);
    size_t entry = c->plan->choice.access == ACCESS_INDEX
                       ? key_value_length(position, KEY_ASCENDING)
                       : 0;

    if (c->plan->is_ranked)
        entry = 2 + reader_u16(&reader);

    return bytes_from(position, entry);
}

/* ---- coming back to a document ---------------------------------------------------------------------- */

static status fetch_item(struct cursor *c, bytes key, bool *is_there_out)
{
    size_t low = 0, high = c->source->item_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(c->source->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there_out = low < c->source->item_count && bytes_equal(c->source->items[low].key, key);
    if (*is_there_out) {
        struct document document = { .bson = c->source->items[low].document };
        set_document(c, &document, false);
    }
    return STATUS_OK;
}

status cursor_fetch(struct cursor *c, bytes key, bool *is_there_out)
{
    struct document document = { 0 };
    struct document_key parts = { 0 };
    size_t count = 0;

    let_go(c);
    *is_there_out = true;
    if (c->plan->choice.access == ACCESS_LIST)
        return fetch_item(c, key, is_there_out);
    count = c->source->collection->definition.partition_path_count;
    for (; count > 0; count--)
        parts.partition.len += key_value_length(bytes_from(key, parts.partition.len),
                                                KEY_ASCENDING);
    parts.partition.data = key.data;
    parts.id = bytes_from(key, parts.partition.len);
    status s = document_read(c->source->request, c->source->collection, parts, &document);
    *is_there_out = s.code != NOT_FOUND;
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    document.key = parts;
    set_document(c, &document, true);
    return STATUS_OK;
}

void cursor_close(struct cursor *c)
{
    let_go(c);
    filters_close(c);
    close_scan(c);
    sift_close(c->sift);
    c->sift = NULL;
}

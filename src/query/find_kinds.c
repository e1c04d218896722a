/* Find kinds: what a condition says about the parts of an index, by the kind of the part.
 *
 * A part of values is asked for stretches of values. A computed part (engine/index_part.h) has stretches of its own:
 * whoever adds a kind adds a case to find_part_ranges(). The rules are those of find_ranges.c: every document for
 * which the condition is true has an entry in one of the stretches, and the stretches may hold more, because every
 * document is asked again; is_exact says that they do not.
 *
 * A part that is computed from the whole document leaves documents out, and has others several times. So such an
 * index is a way only if that part is bounded.
 *
 * Pure apart from the arena. */
#include "query/find_parts.h"

#include <stdlib.h>

#include "query/search.h"

static bool is_whole(enum index_part part)
{
    return part != PART_VALUE && part != PART_HASHED;
}

bool find_part_is_bounded(const struct index *index, size_t bounded)
{
    for (size_t i = bounded; i < index->definition.field_count; i++) {
        if (is_whole(index->definition.fields[i].part))
            return false;
    }
    return true;
}

/* ---- wildcards -------------------------------------------------------------------------------------- */

/* Paths of the condition that are looked at. */
enum { PATHS_MAX = 64 };

struct choosing {
    const struct find_request *wanted;
    struct arena *arena;
    const struct index_field *field;
    size_t seen;
    bytes best;
    int score;
};

/* How well the wildcard serves at the path. Only the condition and the order count, so that a find which goes on
 * later chooses the same. */
static status weigh_path(struct choosing *c, bytes path)
{
    const struct order *order = c->wanted->order;
    struct find_ranges *ranges;
    int score = 1;

    if (c->seen++ >= PATHS_MAX || !scan_wildcard_covers(c->field, path, false))
        return STATUS_OK;
    TRY(find_ranges_wildcard(c->arena, c->wanted->match,
                             &(struct find_ranges_at){ path, c->field->order, false }, &ranges));
    if (!ranges)
        return STATUS_OK;
    bool is_everywhere = false, is_points = true;
    for (size_t i = 0; i < ranges->values->count; i++) {
        is_everywhere |= ranges->values->items[i].end.len == 0;
        is_points = is_points && ranges->values->items[i].is_point;
    }
    if (is_everywhere && !scan_wildcard_covers(c->field, path, true))
        return STATUS_OK;
    score += is_points ? 100 : is_everywhere ? 0 : 40;
    if (order && order->count && bytes_equal(order->parts[0].path, path) && !is_everywhere)
        score += 50;
    if (score > c->score) {
        c->score = score;
        c->best = path;
    }
    return STATUS_OK;
}

static status weigh(struct choosing *c, const struct match *m, bytes prefix)
{
    bytes path = m->path;

    if (prefix.len && path.len) {
        const char *joined = arena_format(c->arena, "%.*s.%.*s", (int)prefix.len,
                                          (const char *)prefix.data, (int)path.len,
                                          (const char *)path.data);
        if (!joined)
            return arena_exhausted(c->arena);
        path = bytes_of_text(joined);
    } else if (prefix.len) {
        path = prefix;
    }
    bool is_nested = m->kind == MATCH_AND || m->kind == MATCH_OR;
    bool is_element = m->kind == MATCH_ELEMENT_IS || m->kind == MATCH_ELEMENT_WHERE;
    if (!is_nested && !is_element)
        return path.len ? weigh_path(c, path) : STATUS_OK;
    for (size_t i = 0; i < m->count && c->seen < PATHS_MAX; i++)
        TRY(weigh(c, m->parts[i], is_element ? path : prefix));
    return STATUS_OK;
}

/* Does some document have an array there? */
static status has_mark(const struct find_request *wanted, struct arena *arena,
                       const struct index *index, size_t part, bytes path, bool *out)
{
    struct scan_spec spec = { .index = index, .is_end_inclusive = true };
    struct buffer key = buffer_in(arena);
    struct scan_row row;
    struct scan *scan;

    TRY(scan_has_index(wanted->request, wanted->collection, index, out));
    if (!*out) { /* nothing is known of an index that was dropped */
        *out = true;
        return STATUS_OK;
    }
    *out = false;
    for (size_t i = 0; i < part; i++)
        key_append_value(&key, (struct value){ .type = VALUE_MIN_KEY }, KEY_ASCENDING);
    scan_append_wildcard_mark(&key, path);
    TRY(buffer_finish(&key, &spec.start));
    spec.end = spec.start;
    TRY(scan_open(wanted->request, wanted->collection, &spec, &scan));
    *out = scan_next(scan, &row);
    status s = scan_status(scan);
    scan_close(scan);
    return s;
}

status find_wildcard_choose(const struct find_request *wanted, struct arena *arena,
                            const struct index *index, bool *is_one_out, bytes *path_out,
                            bool *has_many_out)
{
    const struct index_definition *definition = &index->definition;
    struct choosing choosing = { .wanted = wanted, .arena = arena };
    size_t part = 0;

    while (part < definition->field_count && definition->fields[part].part != PART_WILDCARD)
        part++;
    *is_one_out = part < definition->field_count;
    if (!*is_one_out || !wanted->match)
        return STATUS_OK;
    choosing.field = &definition->fields[part];
    TRY(weigh(&choosing, wanted->match, BYTES_NONE));
    *path_out = choosing.best;
    *has_many_out = false;
    for (size_t len = 1; len <= choosing.best.len && !*has_many_out; len++) {
        if (len == choosing.best.len || choosing.best.data[len] == '.')
            TRY(has_mark(wanted, arena, index, part, bytes_of(choosing.best.data, len),
                         has_many_out));
    }
    return STATUS_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* What all documents that fulfil the condition are searched for; not what only some of them are. */
static const struct search_wish *common_wish(const struct match *match)
{
    const struct search_wish *wish = NULL;

    if (!match || match->kind == MATCH_TEXT)
        return match ? match->wish : NULL;
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count && !wish; i++)
        wish = common_wish(match->parts[i]);
    return wish;
}

/* One of the words is there. */
static status words_ranges(const struct find_request *wanted, struct arena *arena,
                           const struct index_field *field, struct find_ranges **out)
{
    const struct search_wish *wish = common_wish(wanted->match);
    struct find_ranges *ranges;
    struct search *search;

    *out = NULL;
    if (!wish)
        return STATUS_OK;
    TRY(search_open(arena, wish, field, &search));
    struct search_terms terms = search_terms(search);
    TRY(ARENA_NEW(arena, 1, &ranges));
    TRY(ARENA_NEW(arena, terms.count, &ranges->items));
    ranges->leaf_count = 1;
    for (size_t i = 0; i < terms.count; i++)
        ranges->items[ranges->count++] = (struct find_range){ .start = terms.items[i],
                                                              .end = terms.items[i],
                                                              .is_end_inclusive = true,
                                                              .is_point = true };
    find_ranges_sort(ranges); /* long words that were cut may be the same */
    *out = ranges;
    return STATUS_OK;
}

status find_part_ranges(const struct find_request *wanted, struct arena *arena,
                        const struct find_part *part, struct find_ranges **out)
{
    const struct index_field *field = &part->index->definition.fields[part->field];

    *out = NULL;
    switch (field->part) {
    case PART_VALUE:
        return find_ranges_of(arena, wanted->match, field->path, part->index->definition.collation,
                              field->order, part->is_single, out);
    case PART_HASHED:
        return find_ranges_hashed(arena, wanted->match, field->path, out);
    case PART_CELLS:
        return find_ranges_cells(arena, wanted->match, field, wanted->ring, out);
    case PART_WILDCARD:
        if (part->path.len == 0)
            return STATUS_OK;
        return find_ranges_wildcard(
            arena, wanted->match,
            &(struct find_ranges_at){ part->path, field->order, part->is_single }, out);
    case PART_WORDS:
        return words_ranges(wanted, arena, field, out);
    case PART_KINDS:
        break;
    }
    return STATUS_OK;
}

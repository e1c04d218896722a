/* Find ranges: what a condition says about one path, as stretches of encoded values.
 *
 * Every document for which the condition is true has an entry in one of the stretches, in an index over that
 * path; the stretches may hold more. Where a document may have several entries, two leaves on one path must not
 * be put together: different elements of an array can fulfil them. Then the narrower of the two is taken.
 *
 * Values of one kind share the first byte of their encoding (numbers have six), so a kind is a stretch too.
 *
 * Pure apart from the arena. Start reading at find_ranges_of(). */
#include "query/find_parts.h"

#include <math.h>
#include <stdlib.h>

#include "query/match_parts.h"

/* Elements of a list beyond which it is not looked up one by one. */
enum { POINTS_MAX = LIMIT_QUERY_RANGES };

struct deriver {
    struct arena *arena;
    bytes path;
    const struct collation *by; /* how texts are encoded */
    enum key_order order;
    bool is_single;
    bool is_hashed;   /* values are hashes: only equality says something */
    bool is_wildcard; /* nothing is known of what is missing, nor of whole documents and arrays */
};

/* ---- single stretches ------------------------------------------------------------------------------- */

static status encode(struct deriver *d, struct value value, bytes *out)
{
    struct buffer key = buffer_in(d->arena);

    if (d->is_hashed)
        TRY(index_append_hash(&key, value));
    else
        key_append_value_by(&key, d->by, value, d->order);
    return buffer_finish(&key, out);
}

static status with_byte(struct deriver *d, bytes front, uint8_t byte, bytes *out)
{
    struct buffer key = buffer_in(d->arena);

    buffer_append(&key, front);
    buffer_append_byte(&key, byte);
    return buffer_finish(&key, out);
}

status find_ranges_add(struct arena *arena, struct find_ranges *ranges, struct find_range range)
{
    if (ranges->count == ranges->room) {
        size_t room = ranges->room ? ranges->room * 2 : 4;
        struct find_range *more;
        TRY(ARENA_NEW(arena, room, &more));
        if (ranges->count)
            memcpy(more, ranges->items, ranges->count * sizeof(*more));
        ranges->items = more;
        ranges->room = room;
    }
    ranges->items[ranges->count++] = range;
    return STATUS_OK;
}

static status add(struct deriver *d, struct find_ranges *ranges, struct find_range range)
{
    return find_ranges_add(d->arena, ranges, range);
}

static status add_point(struct deriver *d, struct find_ranges *ranges, struct value value)
{
    struct find_range point = { .is_end_inclusive = true, .is_point = true };

    TRY(encode(d, value, &point.start));
    point.end = point.start;
    return add(d, ranges, point);
}

static struct value of_type(enum value_type type)
{
    return (struct value){ .type = type };
}

/* What equals the value: for null also what is not there, for an array also its first element, because an index
 * holds the elements. */
static status add_equal(struct deriver *d, struct find_ranges *ranges, struct value value)
{
    struct document_walk walk;
    struct field first;

    if (value.type == VALUE_NULL || value.type == VALUE_UNDEFINED || value.type == VALUE_MISSING) {
        ranges->has_missing = true;
        ranges->is_exact = false;
        TRY(add_point(d, ranges, of_type(VALUE_UNDEFINED)));
        return add_point(d, ranges, of_type(VALUE_NULL));
    }
    TRY(add_point(d, ranges, value));
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    ranges->is_exact = false;
    walk = document_fields(value_document(value));
    return add_point(d, ranges,
                     document_next(&walk, &first) ? first.value : of_type(VALUE_UNDEFINED));
}

/* The first bytes of the kind of a value, as they stand in an ascending key. */
static status kind_bytes(struct deriver *d, struct value value, uint8_t *low, uint8_t *high)
{
    struct deriver ascending = { .arena = d->arena, .order = KEY_ASCENDING };
    struct value end;
    bytes key;

    TRY(encode(&ascending, value, &key));
    *low = *high = key.data[0];
    if (!value_is_number(value))
        return STATUS_OK;
    TRY(value_of_double(d->arena, -INFINITY, &end));
    TRY(encode(&ascending, end, &key));
    *low = key.data[0];
    TRY(value_of_double(d->arena, INFINITY, &end));
    TRY(encode(&ascending, end, &key));
    *high = key.data[0];
    return STATUS_OK;
}

/* All values of the kind (NaN is left out of the numbers). */
static status kind_range(struct deriver *d, struct value value, struct find_range *out)
{
    uint8_t low, high;

    TRY(kind_bytes(d, value, &low, &high));
    *out = (struct find_range){ 0 };
    bool is_down = d->order == KEY_DESCENDING;
    TRY(with_byte(d, BYTES_NONE, is_down ? (uint8_t)~high : low, &out->start));
    return with_byte(d, BYTES_NONE, (uint8_t)((is_down ? (uint8_t)~low : high) + 1), &out->end);
}

/* Values of the kind on one side of the value. */
static status add_side(struct deriver *d, struct find_ranges *ranges, const struct match *leaf)
{
    bool is_less = leaf->kind == MATCH_LESS || leaf->kind == MATCH_LESS_EQUAL;
    bool is_inclusive = leaf->kind == MATCH_LESS_EQUAL || leaf->kind == MATCH_GREATER_EQUAL;
    bool is_below = is_less == (d->order == KEY_ASCENDING);
    struct find_range range;
    bytes key;

    TRY(kind_range(d, leaf->value, &range));
    TRY(encode(d, leaf->value, &key));
    if (is_below) {
        range.end = key;
        range.is_end_inclusive = is_inclusive;
    } else if (is_inclusive) {
        range.start = key;
    } else {
        TRY(with_byte(d, key, 0xFF, &range.start));
    }
    return add(d, ranges, range);
}

/* ---- patterns --------------------------------------------------------------------------------------- */

/* The literal text that every match of an anchored pattern begins with. */
static bytes literal_prefix(struct value regex)
{
    struct value_regex parts = value_regex(regex);
    bytes text = parts.pattern;
    size_t len = 0;

    if (parts.options.len || text.len == 0 || text.data[0] != '^' ||
        memchr(text.data, '|', text.len))
        return BYTES_NONE;
    text = bytes_from(text, 1);
    while (len < text.len && !memchr("\\^$.[]()?*+{}|#", text.data[len], 15))
        len++;
    /* What a quantifier may take away again is no part of it. */
    if (len < text.len && len && memchr("?*{", text.data[len], 3)) {
        len--;
        while (len && (text.data[len] & 0xC0) == 0x80)
            len--;
    }
    return bytes_of(text.data, len);
}

static status add_pattern(struct deriver *d, struct find_ranges *ranges, struct value regex)
{
    bytes prefix = literal_prefix(regex), key;
    struct find_range range;
    struct value text;

    ranges->is_exact = false;
    TRY(value_of_text(d->arena, prefix, &text));
    TRY(kind_range(d, text, &range));
    /* Keys of a collation do not begin as the texts do. */
    if (prefix.len && !d->by && !memchr(prefix.data, 0, prefix.len)) {
        TRY(encode(d, text, &key));
        /* Without the end mark: everything that begins alike. */
        key.len--;
        range = (struct find_range){ .start = key, .end = key, .is_end_inclusive = true };
    }
    TRY(add(d, ranges, range));
    return add_point(d, ranges, regex);
}

/* ---- leaves ----------------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    return bytes_compare(((const struct find_range *)a)->start,
                         ((const struct find_range *)b)->start);
}

/* Order of two ends; an inclusive one lies behind everything that begins with it. */
static int compare_ends(const struct find_range *a, const struct find_range *b)
{
    if (a->is_end_inclusive == b->is_end_inclusive)
        return a->end.len == 0 || b->end.len == 0 ? (a->end.len == 0) - (b->end.len == 0)
                                                  : bytes_compare(a->end, b->end);
    const struct find_range *open = a->is_end_inclusive ? a : b, *other = open == a ? b : a;
    int order = other->end.len == 0                        ? -1
                : bytes_starts_with(other->end, open->end) ? 1
                                                           : bytes_compare(open->end, other->end);
    return open == a ? order : -order;
}

/* Does the range end before this key? */
static bool ends_before(const struct find_range *range, bytes key)
{
    if (range->end.len == 0)
        return false;
    if (range->is_end_inclusive && bytes_starts_with(key, range->end))
        return false;
    int order = bytes_compare(range->end, key);
    return range->is_end_inclusive ? order < 0 : order <= 0;
}

void find_ranges_sort(struct find_ranges *ranges)
{
    size_t kept = 0;

    if (ranges->count > 1)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_starts);
    for (size_t i = 0; i < ranges->count; i++) {
        struct find_range *last = kept ? &ranges->items[kept - 1] : NULL;
        struct find_range *next = &ranges->items[i];
        if (!last || ends_before(last, next->start)) {
            ranges->items[kept++] = *next;
            continue;
        }
        last->is_point = last->is_point && next->is_point;
        if (compare_ends(next, last) > 0) {
            last->end = next->end;
            last->is_end_inclusive = next->is_end_inclusive;
        }
    }
    ranges->count = kept;
}

static status derive_in(struct deriver *d, const struct match *leaf, struct find_ranges *ranges)
{
    for (size_t i = 0; i < leaf->value_count; i++)
        TRY(add_equal(d, ranges, leaf->values[i]));
    for (size_t i = 0; i < leaf->pattern_count; i++)
        TRY(add_pattern(d, ranges, leaf->patterns[i].regex));
    return STATUS_OK;
}

static bool has_ranges(const struct match *leaf)
{
    switch ((int)leaf->kind) {
    case MATCH_EQUAL:
    case MATCH_PATTERN:
    case MATCH_EXISTS:
        return true;
    case MATCH_IN:
        return leaf->value_count <= POINTS_MAX;
    case MATCH_LESS:
    case MATCH_LESS_EQUAL:
    case MATCH_GREATER:
    case MATCH_GREATER_EQUAL:
        return leaf->value.type != VALUE_ARRAY && leaf->value.type != VALUE_MIN_KEY &&
               leaf->value.type != VALUE_MAX_KEY;
    default:
        return false;
    }
}

static bool is_in_wildcard(struct value value)
{
    bool is_nested = value.type == VALUE_ARRAY || value.type == VALUE_DOCUMENT;

    return value.type != VALUE_NULL && value.type != VALUE_UNDEFINED &&
           value.type != VALUE_MISSING &&
           (!is_nested ||
            (value.type == VALUE_DOCUMENT && document_field_count(value_document(value)) == 0));
}

/* Is it of one of two types, or is something in it? */
static bool has_type(struct value value, enum value_type one, enum value_type other)
{
    struct document_walk walk;
    struct field field;

    if (value.type == one || value.type == other)
        return true;
    if (value.type != VALUE_DOCUMENT && value.type != VALUE_ARRAY)
        return false;
    walk = document_fields(value_document(value));
    while (document_next(&walk, &field)) {
        if (has_type(field.value, one, other))
            return true;
    }
    return false;
}

static bool has_text(struct value value)
{
    return has_type(value, VALUE_STRING, VALUE_SYMBOL);
}

/* Equal ones have equal hashes, but for code whose scopes have numbers of different types. */
static bool is_told_by_hash(const struct match *leaf)
{
    const struct value *values = leaf->kind == MATCH_IN ? leaf->values : &leaf->value;
    const size_t count = leaf->kind == MATCH_IN ? leaf->value_count : 1;

    if (leaf->kind != MATCH_EQUAL && (leaf->kind != MATCH_IN || leaf->pattern_count > 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (has_type(values[i], VALUE_CODE_WITH_SCOPE, VALUE_CODE_WITH_SCOPE))
            return false;
    }
    return true;
}

/* Does the leaf say something about the encoded values of this kind? */
static bool is_told(const struct deriver *d, const struct match *leaf)
{
    if (d->is_hashed)
        return is_told_by_hash(leaf);
    if (!d->is_wildcard || leaf->kind == MATCH_EXISTS || leaf->kind == MATCH_PATTERN)
        return true;
    if (leaf->kind != MATCH_IN)
        return is_in_wildcard(leaf->value) &&
               (leaf->value.type != VALUE_DOCUMENT || leaf->kind == MATCH_EQUAL);
    for (size_t i = 0; i < leaf->value_count; i++) {
        if (!is_in_wildcard(leaf->values[i]))
            return false;
    }
    return true;
}

static bool is_nan(struct value value)
{
    return value_is_number(value) && isnan(value_as_double(value));
}

static status derive_order(struct deriver *d, const struct match *leaf, struct find_ranges *ranges)
{
    bool is_inclusive = leaf->kind == MATCH_LESS_EQUAL || leaf->kind == MATCH_GREATER_EQUAL;

    if (leaf->value.type == VALUE_NULL || is_nan(leaf->value))
        return is_inclusive ? add_equal(d, ranges, leaf->value) : STATUS_OK;
    return add_side(d, ranges, leaf);
}

/* Are the keys in the order in which the leaf compares? Values without texts are, whatever the collation. */
static bool is_of_order(const struct deriver *d, const struct match *leaf)
{
    bool is = leaf->collation == d->by || !has_text(leaf->value);

    if (leaf->kind == MATCH_PATTERN || leaf->kind == MATCH_EXISTS)
        return true;
    for (size_t i = 0; is && leaf->collation != d->by && i < leaf->value_count; i++)
        is = !has_text(leaf->values[i]);
    return is;
}

static status derive_leaf(struct deriver *d, const struct match *leaf, struct find_ranges **out)
{
    struct find_ranges *ranges;

    *out = NULL;
    if (!has_ranges(leaf) || !is_told(d, leaf) || !is_of_order(d, leaf))
        return STATUS_OK;
    TRY(ARENA_NEW(d->arena, 1, &ranges));
    ranges->is_exact = true;
    ranges->leaf_count = 1;
    if (leaf->kind == MATCH_EQUAL)
        TRY(add_equal(d, ranges, leaf->value));
    else if (leaf->kind == MATCH_IN)
        TRY(derive_in(d, leaf, ranges));
    else if (leaf->kind == MATCH_PATTERN)
        TRY(add_pattern(d, ranges, leaf->value));
    else if (leaf->kind == MATCH_EXISTS) {
        /* Null and missing may look alike. */
        ranges->is_exact = false;
        TRY(add(d, ranges, (struct find_range){ 0 }));
    } else {
        TRY(derive_order(d, leaf, ranges));
    }
    find_ranges_sort(ranges);
    ranges->is_exact = ranges->is_exact && !d->is_hashed;
    *out = ranges;
    return STATUS_OK;
}

/* ---- the tree --------------------------------------------------------------------------------------- */

static status derive(struct deriver *d, const struct match *m, bytes prefix,
                     struct find_ranges **out);

/* Both at once. */
static status intersect(struct deriver *d, const struct find_ranges *a, const struct find_ranges *b,
                        struct find_ranges **out)
{
    struct find_ranges *both;

    TRY(ARENA_NEW(d->arena, 1, &both));
    both->is_exact = a->is_exact && b->is_exact;
    both->has_missing = a->has_missing && b->has_missing;
    both->leaf_count = a->leaf_count + b->leaf_count;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct find_range *x = &a->items[i], *y = &b->items[j];
        const struct find_range *first = compare_ends(x, y) <= 0 ? x : y;
        bytes start = bytes_compare(x->start, y->start) > 0 ? x->start : y->start;
        if (!ends_before(first, start))
            TRY(add(d, both,
                    (struct find_range){ .start = start,
                                         .end = first->end,
                                         .is_end_inclusive = first->is_end_inclusive,
                                         .is_point = x->is_point || y->is_point }));
        i += first == x;
        j += first == y;
    }
    *out = both;
    return STATUS_OK;
}

static unsigned width_of(const struct find_ranges *ranges)
{
    bool is_all_points = true;

    for (size_t i = 0; i < ranges->count; i++) {
        is_all_points = is_all_points && ranges->items[i].is_point;
        if (ranges->items[i].end.len == 0)
            return 3;
    }
    return is_all_points ? 0 : ranges->has_missing ? 2 : 1;
}

static status derive_and(struct deriver *d, const struct match *m, bytes prefix,
                         struct find_ranges **out)
{
    *out = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct find_ranges *part;
        TRY(derive(d, m->parts[i], prefix, &part));
        if (!part)
            continue;
        if (!*out)
            *out = part;
        else if (d->is_single)
            TRY(intersect(d, *out, part, out));
        else if (width_of(part) < width_of(*out))
            *out = part;
    }
    return STATUS_OK;
}

/* Every branch must say something. */
static status derive_or(struct deriver *d, const struct match *m, bytes prefix,
                        struct find_ranges **out)
{
    struct find_ranges *all, *part;

    *out = NULL;
    TRY(ARENA_NEW(d->arena, 1, &all));
    all->is_exact = true;
    for (size_t i = 0; i < m->count; i++) {
        TRY(derive(d, m->parts[i], prefix, &part));
        if (!part || all->count + part->count > LIMIT_QUERY_RANGES)
            return STATUS_OK;
        for (size_t j = 0; j < part->count; j++)
            TRY(add(d, all, part->items[j]));
        all->is_exact &= part->is_exact && part->leaf_count == find_leaf_count(m->parts[i]);
        all->has_missing |= part->has_missing;
        all->leaf_count += part->leaf_count;
    }
    find_ranges_sort(all);
    *out = all;
    return STATUS_OK;
}

static bool is_path(bytes prefix, bytes path, bytes wanted)
{
    if (prefix.len == 0)
        return bytes_equal(path, wanted);
    if (path.len == 0)
        return bytes_equal(prefix, wanted);
    return wanted.len == prefix.len + 1 + path.len && bytes_starts_with(wanted, prefix) &&
           wanted.data[prefix.len] == '.' && bytes_equal(bytes_from(wanted, prefix.len + 1), path);
}

/* The conditions on one element hold for it together, so they may be put together. */
static status derive_element(struct deriver *d, const struct match *m, bytes prefix,
                             struct find_ranges **out)
{
    struct deriver inner = *d;

    *out = NULL;
    if (prefix.len)
        return STATUS_OK;
    inner.is_single = d->is_single || m->kind == MATCH_ELEMENT_IS;
    TRY(derive(&inner, m->parts[0], m->path, out));
    if (*out)
        (*out)->is_exact = false;
    return STATUS_OK;
}

static status derive(struct deriver *d, const struct match *m, bytes prefix,
                     struct find_ranges **out)
{
    *out = NULL;
    if (m->kind == MATCH_AND)
        return derive_and(d, m, prefix, out);
    if (m->kind == MATCH_OR)
        return derive_or(d, m, prefix, out);
    if (m->kind == MATCH_ELEMENT_IS || m->kind == MATCH_ELEMENT_WHERE)
        return derive_element(d, m, prefix, out);
    if (m->kind == MATCH_ALWAYS || m->kind == MATCH_NEVER || !is_path(prefix, m->path, d->path))
        return STATUS_OK;
    return derive_leaf(d, m, out);
}

bool find_has_position(bytes path)
{
    while (path.len) {
        bytes part = match_take_part(&path);
        bool is_digits = part.len > 0;
        for (size_t i = 0; i < part.len; i++)
            is_digits = is_digits && part.data[i] >= '0' && part.data[i] <= '9';
        if (is_digits)
            return true;
    }
    return false;
}

status find_ranges_of(struct arena *arena, const struct match *match, bytes path,
                      const struct collation *by, enum key_order order, bool is_single,
                      struct find_ranges **out)
{
    struct deriver d = {
        .arena = arena, .path = path, .by = by, .order = order, .is_single = is_single
    };

    *out = NULL;
    if (!match || find_has_position(path))
        return STATUS_OK;
    return derive(&d, match, BYTES_NONE, out);
}

status find_ranges_hashed(struct arena *arena, const struct match *match, bytes path,
                          struct find_ranges **out)
{
    /* No document with an array there is in the index. */
    struct deriver d = { .arena = arena, .path = path, .is_single = true, .is_hashed = true };

    *out = NULL;
    if (!match || find_has_position(path))
        return STATUS_OK;
    return derive(&d, match, BYTES_NONE, out);
}

/* All values of the path; and of those below it, because a document that is there has them alone. */
static status add_path(struct deriver *d, struct find_ranges *ranges, bytes prefix)
{
    struct find_range range = { .start = prefix, .end = prefix, .is_end_inclusive = true };
    struct buffer below = buffer_in(d->arena), key = buffer_in(d->arena);
    bytes path;

    TRY(add(d, ranges, range));
    buffer_append(&below, d->path);
    buffer_append_byte(&below, '.');
    TRY(buffer_finish(&below, &path));
    scan_append_wildcard_path(&key, path);
    TRY(buffer_finish(&key, &range.start));
    range.start.len--; /* without the end mark: everything that begins alike */
    range.end = range.start;
    return add(d, ranges, range);
}

status find_ranges_wildcard(struct arena *arena, const struct match *match,
                            const struct find_ranges_at *at, struct find_ranges **out)
{
    struct deriver d = { .arena = arena,
                         .path = at->path,
                         .order = at->order,
                         .is_single = at->is_single,
                         .is_wildcard = true };
    struct buffer key = buffer_in(arena);
    struct find_ranges *values = NULL, *ranges;
    bytes prefix;

    *out = NULL;
    if (!match || find_has_position(at->path))
        return STATUS_OK;
    TRY(derive(&d, match, BYTES_NONE, &values));
    if (!values || values->has_missing)
        return STATUS_OK;
    scan_append_wildcard_path(&key, at->path);
    TRY(buffer_finish(&key, &prefix));
    TRY(ARENA_NEW(arena, 1, &ranges));
    *ranges = (struct find_ranges){ .leaf_count = values->leaf_count,
                                    .values = values,
                                    .path = at->path };
    for (size_t i = 0; i < values->count; i++) {
        struct find_range range = values->items[i];
        if (range.start.len == 0 && range.end.len == 0) {
            TRY(add_path(&d, ranges, prefix));
            continue;
        }
        TRY(arena_join(arena, prefix, range.start, &range.start));
        range.is_end_inclusive |= range.end.len == 0;
        TRY(arena_join(arena, prefix, range.end, &range.end));
        TRY(add(&d, ranges, range));
    }
    *out = ranges;
    return STATUS_OK;
}

status find_ranges_all(struct arena *arena, struct find_ranges **out)
{
    struct deriver d = { .arena = arena };

    TRY(ARENA_NEW(arena, 1, out));
    (*out)->has_missing = true;
    (*out)->is_exact = true;
    return add(&d, *out, (struct find_range){ 0 });
}

size_t find_leaf_count(const struct match *match)
{
    size_t count = 0;

    if (!match || match->kind == MATCH_ALWAYS)
        return 0;
    if (match->kind != MATCH_AND && match->kind != MATCH_OR)
        return 1;
    for (size_t i = 0; i < match->count; i++)
        count += find_leaf_count(match->parts[i]);
    return count;
}

/* ---- implication ------------------------------------------------------------------------------------ */

static bool is_within(const struct find_ranges *inner, const struct find_ranges *outer)
{
    for (size_t i = 0; i < inner->count; i++) {
        const struct find_range *range = &inner->items[i];
        bool is_inside = false;
        for (size_t j = 0; j < outer->count && !is_inside; j++)
            is_inside = bytes_compare(outer->items[j].start, range->start) <= 0 &&
                        compare_ends(range, &outer->items[j]) <= 0;
        if (!is_inside)
            return false;
    }
    return true;
}

static status leaf_implied(struct arena *arena, const struct match *match,
                           const struct match *wanted, bool *out)
{
    struct find_ranges *said, *needed;

    *out = false;
    /* One leaf of the condition has to say enough by itself, as if arrays were everywhere. */
    TRY(find_ranges_of(arena, match, wanted->path, NULL, KEY_ASCENDING, false, &said));
    if (!said)
        return STATUS_OK;
    if (wanted->kind == MATCH_EXISTS) {
        *out = !said->has_missing;
        return STATUS_OK;
    }
    TRY(find_ranges_of(arena, wanted, wanted->path, NULL, KEY_ASCENDING, false, &needed));
    /* Arrays equal by their first elements, and lists of kinds, are not told apart well enough. */
    *out = needed && needed->is_exact && said->is_exact && is_within(said, needed);
    return STATUS_OK;
}

status find_implies(struct arena *arena, const struct match *match, const struct match *wanted,
                    bool *out)
{
    *out = wanted->kind == MATCH_ALWAYS;
    if (*out || !match)
        return STATUS_OK;
    if (wanted->kind == MATCH_AND) {
        *out = true;
        for (size_t i = 0; *out && i < wanted->count; i++)
            TRY(find_implies(arena, match, wanted->parts[i], out));
        return STATUS_OK;
    }
    if (wanted->kind == MATCH_OR) {
        for (size_t i = 0; !*out && i < wanted->count; i++)
            TRY(find_implies(arena, match, wanted->parts[i], out));
        return STATUS_OK;
    }
    return wanted->path.len ? leaf_implied(arena, match, wanted, out) : STATUS_OK;
}

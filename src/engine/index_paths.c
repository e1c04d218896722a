/* Index paths: the index over path patterns, one entry per scalar below an included path.
 *
 * A pattern is /part/part/... with a last part of ? (exactly here) or * (everything below); [] is a
 * step into an array; a part may be quoted ("a/b", with \" and \\ inside). The deepest matching
 * pattern decides; at equal depth ? is more exact than *, and an exclusion beats an inclusion.
 *
 * Of fields with the same name a query sees the first, and so does the index: a path without [] has one entry
 * at most.
 *
 * An entry's key is the path, step by step (0x04 and the name, or 0x03 for []), an end mark 0x01, and
 * the value. So all values of one path lie together, in order.
 *
 * Nothing of that says who has no value at a path. For that a shaped index has one more entry for each document:
 * 0x02 and its shape, as an ObjectId. The shape is a hash of all paths that it has outside of arrays, each with
 * whether a scalar, an array or a document is there. Documents of one shape have something at the same paths,
 * so looking at one of them is enough; and there are seldom many shapes.
 *
 * Pure apart from the arena. Start reading at index_collect_paths(). */
#include "engine/index.h"
#include "engine/index_shapes.h"
#include "engine/state.h"

#include <stdlib.h>

/* Up to here names are compared one by one; more are sorted first. */
enum { FEW_NAMES = 32 };
enum { STEP_END = 0x01, STEP_SHAPE = 0x02, STEP_ARRAY = 0x03, STEP_NAME = 0x04 };
enum { SHAPE_BYTES = 12 };

struct step {
    bool is_array;
    bytes name;
};

struct path_pattern {
    struct step *steps;
    size_t count;
    bool is_subtree; /* ends in *, otherwise in ? */
    bool is_included;
};

/* ---- parsing: pattern = ( '/' part )+ ; part = '[]' | '*' | '?' | quoted | plain --------------------- */

static status bad_pattern(struct arena *arena, bytes text, const char *why)
{
    return status_fail(arena, INVALID, "path '%.*s' %s", (int)text.len, (const char *)text.data,
                       why);
}

static status parse_quoted(struct arena *arena, bytes text, size_t *at, bytes *out)
{
    struct buffer name = buffer_in(arena);

    for (++*at; *at < text.len && text.data[*at] != '"'; ++*at) {
        if (text.data[*at] == '\\' && *at + 1 < text.len)
            ++*at;
        buffer_append_byte(&name, text.data[*at]);
    }
    if (*at == text.len)
        return bad_pattern(arena, text, "has an opening quote without a closing one");
    ++*at;
    return buffer_finish(&name, out);
}

static status parse_part(struct arena *arena, bytes text, size_t *at, bytes *part, bool *is_quoted)
{
    if (*at >= text.len || text.data[*at] != '/')
        return bad_pattern(arena, text, "must have a / before each part");
    ++*at;
    *is_quoted = *at < text.len && text.data[*at] == '"';
    if (*is_quoted)
        return parse_quoted(arena, text, at, part);
    size_t start = *at;
    while (*at < text.len && text.data[*at] != '/')
        ++*at;
    *part = bytes_of(text.data + start, *at - start);
    return part->len ? STATUS_OK : bad_pattern(arena, text, "has an empty part");
}

/* An upper bound: a quoted part may contain more slashes. */
static size_t count_parts(bytes text)
{
    size_t count = 1;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '/';
    return count;
}

static status parse_steps(struct arena *arena, bytes text, struct path_pattern *out,
                          bool *is_ended_out)
{
    size_t at = 0;

    *is_ended_out = false;
    TRY(ARENA_NEW(arena, count_parts(text), &out->steps));
    while (at < text.len) {
        bytes part;
        bool is_quoted = false;
        if (*is_ended_out)
            return bad_pattern(arena, text, "has something behind its * or ?");
        TRY(parse_part(arena, text, &at, &part, &is_quoted));
        bool is_star = !is_quoted && bytes_equal(part, BYTES_LITERAL("*"));
        bool is_mark = !is_quoted && bytes_equal(part, BYTES_LITERAL("?"));
        *is_ended_out = is_star || is_mark;
        out->is_subtree = is_star;
        if (*is_ended_out)
            continue;
        if (out->count == LIMIT_PATH_COMPONENTS)
            return bad_pattern(arena, text, "has too many parts");
        bool is_array = !is_quoted && bytes_equal(part, BYTES_LITERAL("[]"));
        out->steps[out->count++] = (struct step){ .is_array = is_array, .name = part };
    }
    return STATUS_OK;
}

static status parse_pattern(struct arena *arena, bytes text, bool is_included,
                            struct path_pattern *out)
{
    bool is_ended;

    *out = (struct path_pattern){ .is_included = is_included };
    if (text.len == 0 || text.len > LIMIT_PATH_BYTES)
        return bad_pattern(arena, text, "must have 1 to 4096 bytes");
    TRY(parse_steps(arena, text, out, &is_ended));
    return is_ended ? STATUS_OK : bad_pattern(arena, text, "must end in /* or /?");
}

status index_parse_patterns(struct arena *memory, const struct index_definition *definition,
                            const struct path_pattern **out)
{
    struct path_pattern *patterns;
    size_t count = definition->included_count + definition->excluded_count;

    *out = NULL;
    TRY(ARENA_NEW(memory, count, &patterns));
    for (size_t i = 0; i < definition->included_count; i++)
        TRY(parse_pattern(memory, definition->included[i], true, &patterns[i]));
    for (size_t i = 0; i < definition->excluded_count; i++)
        TRY(parse_pattern(memory, definition->excluded[i], false,
                          &patterns[definition->included_count + i]));
    *out = patterns;
    return STATUS_OK;
}

status index_check_patterns(struct arena *arena, const struct index_definition *definition)
{
    const struct path_pattern *patterns;
    size_t count = definition->included_count + definition->excluded_count;

    if (definition->included_count > LIMIT_PATH_PATTERNS ||
        definition->excluded_count > LIMIT_PATH_PATTERNS)
        return status_fail(arena, TOO_LARGE, "an index has %zu path patterns, limit %d", count,
                           LIMIT_PATH_PATTERNS);
    return index_parse_patterns(arena, definition, &patterns);
}

/* ---- walking a document --------------------------------------------------------------------------- */

struct path_walk {
    struct arena *arena;
    const struct index *index;
    struct step steps[LIMIT_NESTING_DEPTH + 1];
    size_t depth;
    struct index_entries *out;
    /* Of a shaped index: the hash of the names so far, while no array was entered; and the sums over all paths. */
    uint64_t name_hash;
    size_t arrays;
    uint64_t shape[2];
};

static bool pattern_matches(const struct path_pattern *pattern, const struct step *steps,
                            size_t depth)
{
    if (pattern->count > depth || (!pattern->is_subtree && pattern->count != depth))
        return false;
    for (size_t i = 0; i < pattern->count; i++) {
        const struct step *want = &pattern->steps[i], *have = &steps[i];
        if (want->is_array != have->is_array ||
            (!want->is_array && !bytes_equal(want->name, have->name)))
            return false;
    }
    return true;
}

static bool is_more_exact(const struct path_pattern *a, const struct path_pattern *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    if (a->is_subtree != b->is_subtree)
        return !a->is_subtree;
    return !a->is_included;
}

static size_t pattern_count(const struct index *index)
{
    return index->definition.included_count + index->definition.excluded_count;
}

static bool is_included(const struct index *index, const struct step *steps, size_t depth)
{
    const struct path_pattern *best = NULL;

    for (size_t i = 0; i < pattern_count(index); i++) {
        const struct path_pattern *pattern = &index->patterns[i];
        if (pattern_matches(pattern, steps, depth) && (!best || is_more_exact(pattern, best)))
            best = pattern;
    }
    return best && best->is_included;
}

static void append_steps(struct buffer *key, const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(key, steps[i].is_array ? STEP_ARRAY : STEP_NAME);
        if (!steps[i].is_array)
            key_append_bytes(key, steps[i].name);
    }
    buffer_append_byte(key, STEP_END);
}

bool scan_append_path_value(struct buffer *out, struct value value)
{
    bool is_text = value.type == VALUE_STRING || value.type == VALUE_SYMBOL;
    bool is_cut = is_text && value_text(value).len >= LIMIT_INDEXED_TEXT_BYTES;

    if (is_cut) {
        bytes front = bytes_of(value_text(value).data, LIMIT_INDEXED_TEXT_BYTES);
        if (value_of_text(out->arena, front, &value).code != OK)
            out->is_failed = true;
    }
    key_append_value(out, value, KEY_ASCENDING);
    return is_cut;
}

/* 0: none that has an order. */
static unsigned kind_of(enum value_type type)
{
    static const struct {
        enum value_type type;
        enum scan_kind kind;
    } kinds[] = {
        {VALUE_STRING,      SCAN_KIND_TEXT  },
        { VALUE_SYMBOL,     SCAN_KIND_TEXT  },
        { VALUE_INT32,      SCAN_KIND_NUMBER},
        { VALUE_INT64,      SCAN_KIND_NUMBER},
        { VALUE_DOUBLE,     SCAN_KIND_NUMBER},
        { VALUE_DECIMAL128, SCAN_KIND_NUMBER},
        { VALUE_BOOL,       SCAN_KIND_BOOL  },
        { VALUE_NULL,       SCAN_KIND_NULL  }
    };

    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (type == kinds[i].type)
            return kinds[i].kind;
    }
    return 0;
}

static status walk_scalar(struct path_walk *walk, struct value value)
{
    struct buffer key = buffer_in(walk->arena);
    const unsigned kind = kind_of(value.type);
    bytes values;

    if (!is_included(walk->index, walk->steps, walk->depth))
        return STATUS_OK;
    if (kind && walk->index->definition.is_shaped && !walk->arrays)
        index_kinds_note(walk->index, walk->name_hash, kind);
    append_steps(&key, walk->steps, walk->depth);
    scan_append_path_value(&key, value);
    TRY(buffer_finish(&key, &values));
    return index_entries_add(walk->arena, walk->out, walk->index->id, values);
}

/* ---- names that come twice ------------------------------------------------------------------------ */

static bool is_named_before(bytes document, const struct field *field)
{
    struct document_walk fields = document_fields(document);
    struct field earlier;

    while (document_next(&fields, &earlier) && earlier.name.data != field->name.data) {
        if (bytes_equal(earlier.name, field->name))
            return true;
    }
    return false;
}

/* Equal names stay in the order in which they stand in the document. */
static int compare_names(const void *a, const void *b)
{
    const bytes *left = a, *right = b;
    int order = bytes_compare(*left, *right);

    return order ? order : (left->data > right->data) - (left->data < right->data);
}

struct names {
    bytes *sorted; /* NULL: there are few */
    size_t count;
};

static status collect_names(struct arena *arena, bytes document, struct names *out)
{
    struct document_walk fields = document_fields(document);
    struct field field;
    size_t at = 0;

    *out = (struct names){ .count = document_field_count(document) };
    if (out->count <= FEW_NAMES)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, out->count, &out->sorted));
    while (document_next(&fields, &field))
        out->sorted[at++] = field.name;
    qsort(out->sorted, out->count, sizeof(out->sorted[0]), compare_names);
    return STATUS_OK;
}

static bool is_hidden(bytes document, const struct field *field, const struct names *names)
{
    if (!names->sorted)
        return is_named_before(document, field);
    const bytes *found = bsearch(&field->name, names->sorted, names->count, sizeof(*found),
                                 compare_names);
    return found > names->sorted && bytes_equal(found[-1], field->name);
}

/* ---- shapes ------------------------------------------------------------------------------------------ */

/* What orders and comparisons tell apart when they say whether something is there. */
static uint8_t shape_class(enum value_type type)
{
    if (kind_of(type))
        return 1;
    return type == VALUE_ARRAY ? 2 : type == VALUE_DOCUMENT ? 3 : 4;
}

/* Of a path outside of arrays. */
static uint64_t path_hash_add(uint64_t hash, bytes name)
{
    return bytes_hash(name, hash);
}

/* Sums do not depend on the order of the fields. */
static void shape_add(struct path_walk *walk, const struct field *field)
{
    uint8_t class = shape_class(field->value.type);

    walk->name_hash = path_hash_add(walk->name_hash, field->name);
    walk->shape[0] += bytes_hash(bytes_of(&class, 1), walk->name_hash);
    walk->shape[1] += bytes_hash(bytes_of(&class, 1), ~walk->name_hash);
}

static status shape_emit(struct path_walk *walk)
{
    struct buffer shape = buffer_in(walk->arena), key = buffer_in(walk->arena);
    bytes sums, values;

    buffer_append_u64(&shape, walk->shape[0]);
    buffer_append_u64(&shape, walk->shape[1]);
    TRY(buffer_finish(&shape, &sums));
    scan_append_shape_prefix(&key);
    key_append_value(
        &key, (struct value){ .type = VALUE_OBJECT_ID, .raw = bytes_of(sums.data, SHAPE_BYTES) },
        KEY_ASCENDING);
    TRY(buffer_finish(&key, &values));
    index_shapes_note(walk->index, bytes_from(values, 1));
    return index_entries_add(walk->arena, walk->out, walk->index->id, values);
}

void scan_append_shape_prefix(struct buffer *out)
{
    buffer_append_byte(out, STEP_SHAPE);
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static status walk_container(struct path_walk *walk, struct value container)
{
    bytes document = value_document(container);
    struct document_walk fields = document_fields(document);
    bool is_array = container.type == VALUE_ARRAY;
    uint64_t name_hash = walk->name_hash;
    struct names names = { 0 };
    struct field field;

    walk->arrays += is_array;
    if (walk->depth >= LIMIT_NESTING_DEPTH)
        return status_of(TOO_LARGE, "the document is nested too deeply for an index");
    if (!is_array)
        TRY(collect_names(walk->arena, document, &names));
    while (document_next(&fields, &field)) {
        if (!is_array && is_hidden(document, &field, &names))
            continue;
        walk->steps[walk->depth++] = (struct step){ .is_array = is_array, .name = field.name };
        if (walk->index->definition.is_shaped && !walk->arrays)
            shape_add(walk, &field);
        bool is_nested = field.value.type == VALUE_DOCUMENT || field.value.type == VALUE_ARRAY;
        TRY(is_nested ? walk_container(walk, field.value) : walk_scalar(walk, field.value));
        walk->depth--;
        walk->name_hash = name_hash;
    }
    walk->arrays -= is_array;
    return STATUS_OK;
}

status index_collect_paths(struct arena *arena, const struct index *index, bytes document,
                           struct index_entries *out)
{
    struct path_walk *walk;

    TRY(ARENA_NEW(arena, 1, &walk));
    walk->arena = arena;
    walk->index = index;
    walk->out = out;
    TRY(walk_container(walk, (struct value){ .type = VALUE_DOCUMENT, .raw = document }));
    return index->definition.is_shaped ? shape_emit(walk) : STATUS_OK;
}

void scan_append_path_prefix(struct buffer *out, bytes path)
{
    struct path_pattern pattern = { 0 };
    bool is_ended;

    if (parse_steps(out->arena, path, &pattern, &is_ended).code != OK) {
        out->is_failed = true;
        return;
    }
    append_steps(out, pattern.steps, pattern.count);
}

bool index_path_hash(struct arena *arena, bytes path, uint64_t *out)
{
    struct path_pattern pattern = { 0 };
    bool is_ended, is_plain = true;

    *out = 0;
    if (parse_steps(arena, path, &pattern, &is_ended).code != OK)
        return false;
    for (size_t i = 0; i < pattern.count; i++) {
        is_plain &= !pattern.steps[i].is_array;
        *out = path_hash_add(*out, pattern.steps[i].name);
    }
    return is_plain && pattern.count > 0;
}

bool scan_covers_path(struct arena *arena, const struct index *index, bytes path)
{
    struct path_pattern pattern = { 0 };
    bool is_ended;

    if (index->definition.kind != INDEX_PATHS || index->definition.is_partial ||
        parse_steps(arena, path, &pattern, &is_ended).code != OK)
        return false;
    return is_included(index, pattern.steps, pattern.count);
}

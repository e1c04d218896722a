/* Row, catalog part: the stored entry of one collection.
 *
 * format(1) id(4) version(8) flags(1) default ttl(4) inheriting horizon(8) own horizon(8)
 * next index id(4) database name options, then counted lists: partition paths, indexes, date rules.
 * Texts are length(4) and bytes; lists are count(2) and items. An index is
 *   id(4) kind(1) state(1) flags(1) expire after s(4) created seq(8) name predicate options failure
 *   fields: order(1) path, in format 2 then part(1) settings; included patterns; excluded patterns; by arrival: bytes(8) documents(8) to keep
 * and a date rule is
 *   number(1) acting(1) partial(1) index(4) ttl ms(8) created seq(8) retired seq(8) path predicate
 *   horizons: upto(8) seq(8)
 * Behind all of it, if the flags say that there are collations: that of the collection, and that of each index, as
 * texts (value/collation.h); an empty one is none.
 *
 * Reading trusts nothing: counts are checked against the limits before memory is taken. */
#include "engine/index.h"
#include "engine/row.h"

/* The second is written only where an index has computed parts, so that programs that do not know them refuse it. */
enum { FORMAT = 1, FORMAT_PARTS = 2 };
enum { COLLECTION_MIXED = 1, COLLECTION_NEEDS_CLEAN_UP = 2, COLLECTION_COLLATED = 4 };
enum {
    INDEX_UNIQUE = 1,
    INDEX_SPARSE = 2,
    INDEX_PARTIAL = 4,
    INDEX_MISSING_NULL = 8,
    INDEX_PER_PARTITION = 16,
    INDEX_LAZY = 32,
    INDEX_SHAPED = 64,
    INDEX_RANKED = 128,
};

static void write_text(struct buffer *out, bytes text)
{
    buffer_append_u32(out, (uint32_t)text.len);
    buffer_append(out, text);
}

static void write_texts(struct buffer *out, const bytes *texts, size_t count)
{
    buffer_append_u16(out, (uint16_t)count);
    for (size_t i = 0; i < count; i++)
        write_text(out, texts[i]);
}

static uint8_t index_flags(const struct index_definition *definition)
{
    return (uint8_t)((definition->is_unique ? INDEX_UNIQUE : 0) |
                     (definition->is_sparse ? INDEX_SPARSE : 0) |
                     (definition->is_partial ? INDEX_PARTIAL : 0) |
                     (definition->is_missing_null ? INDEX_MISSING_NULL : 0) |
                     (definition->is_per_partition ? INDEX_PER_PARTITION : 0) |
                     (definition->is_lazy ? INDEX_LAZY : 0) |
                     (definition->is_shaped ? INDEX_SHAPED : 0) |
                     (definition->is_ranked ? INDEX_RANKED : 0));
}

static bool has_parts(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (index_is_computed(&collection->indexes[i].definition))
            return true;
    }
    return false;
}

static void write_index(struct buffer *out, const struct index *index, bool with_parts)
{
    const struct index_definition *definition = &index->definition;

    buffer_append_u32(out, index->id);
    buffer_append_byte(out, (uint8_t)definition->kind);
    buffer_append_byte(out, (uint8_t)index->state);
    buffer_append_byte(out, index_flags(definition));
    buffer_append_u32(out, (uint32_t)definition->expire_after_s);
    buffer_append_u64(out, index->created_seq);
    write_text(out, definition->name);
    write_text(out, definition->predicate);
    write_text(out, definition->options);
    write_text(out, index->failure);
    buffer_append_u16(out, (uint16_t)definition->field_count);
    for (size_t i = 0; i < definition->field_count; i++) {
        buffer_append_byte(out, (uint8_t)definition->fields[i].order);
        write_text(out, definition->fields[i].path);
        if (!with_parts)
            continue;
        buffer_append_byte(out, (uint8_t)definition->fields[i].part);
        write_text(out, definition->fields[i].settings);
    }
    write_texts(out, definition->included, definition->included_count);
    write_texts(out, definition->excluded, definition->excluded_count);
    if (definition->kind != INDEX_ARRIVAL)
        return;
    buffer_append_u64(out, (uint64_t)definition->keep_bytes);
    buffer_append_u64(out, (uint64_t)definition->keep_documents);
}

static void write_path(struct buffer *out, const struct path *path)
{
    buffer_append_u16(out, (uint16_t)path->count);
    for (size_t i = 0; i < path->count; i++)
        write_text(out, path->parts[i]);
}

static void write_rule(struct buffer *out, const struct date_rule *rule)
{
    buffer_append_byte(out, rule->number);
    buffer_append_byte(out, rule->is_acting);
    buffer_append_byte(out, rule->is_partial);
    buffer_append_u32(out, rule->index_id);
    buffer_append_u64(out, (uint64_t)rule->ttl_ms);
    buffer_append_u64(out, rule->created_seq);
    buffer_append_u64(out, rule->retired_seq);
    write_path(out, rule->path);
    write_text(out, rule->predicate);
    buffer_append_u16(out, (uint16_t)rule->horizon_count);
    for (size_t i = 0; i < rule->horizon_count; i++) {
        buffer_append_u64(out, (uint64_t)rule->horizons[i].upto);
        buffer_append_u64(out, rule->horizons[i].last_seq);
    }
}

static bool has_collations(const struct collection *collection)
{
    bool has = collection->definition.collation != NULL;

    for (size_t i = 0; i < collection->index_count && !has; i++)
        has = collection->indexes[i].definition.collation != NULL;
    return has;
}

static void write_collation(struct buffer *out, const struct collation *collation)
{
    write_text(out, collation ? collation_stored(collation) : BYTES_NONE);
}

void row_write_collection(struct buffer *out, const struct collection *collection)
{
    const struct collection_definition *definition = &collection->definition;
    bool with_parts = has_parts(collection);

    buffer_append_byte(out, with_parts ? FORMAT_PARTS : FORMAT);
    buffer_append_u32(out, collection->id);
    buffer_append_u64(out, collection->version);
    buffer_append_byte(out, (uint8_t)((collection->is_mixed ? COLLECTION_MIXED : 0) |
                                      (collection->needs_clean_up ? COLLECTION_NEEDS_CLEAN_UP : 0) |
                                      (has_collations(collection) ? COLLECTION_COLLATED : 0)));
    buffer_append_u32(out, (uint32_t)collection->policy.default_ttl);
    buffer_append_u64(out, (uint64_t)collection->policy.inheriting_horizon);
    buffer_append_u64(out, (uint64_t)collection->policy.own_horizon);
    buffer_append_u32(out, collection->next_index_id);
    write_text(out, definition->database);
    write_text(out, definition->name);
    write_text(out, definition->options);
    write_texts(out, definition->partition_paths, definition->partition_path_count);
    buffer_append_u16(out, (uint16_t)collection->index_count);
    for (size_t i = 0; i < collection->index_count; i++)
        write_index(out, &collection->indexes[i], with_parts);
    buffer_append_u16(out, (uint16_t)collection->policy.rule_count);
    for (size_t i = 0; i < collection->policy.rule_count; i++)
        write_rule(out, &collection->policy.rules[i]);
    if (!has_collations(collection))
        return;
    write_collation(out, definition->collation);
    for (size_t i = 0; i < collection->index_count; i++)
        write_collation(out, collection->indexes[i].definition.collation);
}

/* ---- reading -------------------------------------------------------------------------------------- */

/* Everything below reads through this: the arena for copies, the reader with its sticky failure. */
struct entry_reader {
    struct arena *memory;
    struct reader in;
    struct collations *collations;
    bool is_collated;
    status failure; /* of memory, or of a collation */
    bool has_parts; /* of the second format */
};

static bool is_sound(const struct entry_reader *entry)
{
    return !entry->in.is_failed && entry->failure.code == OK;
}

static void note(struct entry_reader *entry, status outcome)
{
    if (entry->failure.code == OK)
        entry->failure = outcome;
}

static bytes read_text(struct entry_reader *entry)
{
    bytes source = reader_bytes(&entry->in, reader_u32(&entry->in));
    bytes copy = BYTES_NONE;

    if (is_sound(entry))
        note(entry, arena_copy(entry->memory, source, &copy));
    return copy;
}

static size_t read_count(struct entry_reader *entry, size_t limit)
{
    size_t count = reader_u16(&entry->in);

    if (count > limit)
        entry->in.is_failed = true;
    return is_sound(entry) ? count : 0;
}

static void *read_array(struct entry_reader *entry, size_t count, size_t size)
{
    void *items = NULL;

    if (is_sound(entry))
        note(entry, arena_take_array(entry->memory, count, size, &items));
    return items;
}

static const bytes *read_texts(struct entry_reader *entry, size_t limit, size_t *count_out)
{
    size_t count = read_count(entry, limit);
    bytes *texts = read_array(entry, count, sizeof(*texts));

    for (size_t i = 0; i < count && is_sound(entry); i++)
        texts[i] = read_text(entry);
    *count_out = count;
    return texts;
}

static void read_field(struct entry_reader *entry, struct index_field *out)
{
    out->order = reader_byte(&entry->in) == KEY_DESCENDING ? KEY_DESCENDING : KEY_ASCENDING;
    out->path = read_text(entry);
    if (!entry->has_parts)
        return;
    uint8_t part = reader_byte(&entry->in);
    if (part >= PART_KINDS)
        entry->in.is_failed = true;
    else
        out->part = (enum index_part)part;
    out->settings = read_text(entry);
}

static void read_definition(struct entry_reader *entry, struct index *index)
{
    struct index_definition *definition = &index->definition;

    definition->name = read_text(entry);
    definition->predicate = read_text(entry);
    definition->options = read_text(entry);
    index->failure = read_text(entry);
    size_t count = read_count(entry, LIMIT_INDEX_FIELDS);
    struct index_field *fields = read_array(entry, count, sizeof(*fields));
    const struct path **paths = read_array(entry, count, sizeof(*paths));
    for (size_t i = 0; i < count && is_sound(entry); i++) {
        read_field(entry, &fields[i]);
        if (is_sound(entry))
            note(entry, path_parse(entry->memory, fields[i].path, &paths[i]));
    }
    definition->field_count = count;
    definition->fields = fields;
    index->paths = paths;
    definition->included = read_texts(entry, LIMIT_PATH_PATTERNS, &definition->included_count);
    definition->excluded = read_texts(entry, LIMIT_PATH_PATTERNS, &definition->excluded_count);
    if (is_sound(entry))
        note(entry, index_parse_patterns(entry->memory, definition, &index->patterns));
}

static void read_index(struct entry_reader *entry, struct index *index)
{
    index->id = reader_u32(&entry->in);
    uint8_t kind = reader_byte(&entry->in);
    uint8_t state = reader_byte(&entry->in);
    uint8_t flags = reader_byte(&entry->in);
    if (kind > INDEX_ARRIVAL || state > INDEX_FAILED)
        entry->in.is_failed = true;
    index->state = (enum index_state)state;
    index->definition = (struct index_definition){
        .kind = (enum index_kind)kind,
        .is_unique = flags & INDEX_UNIQUE,
        .is_sparse = flags & INDEX_SPARSE,
        .is_partial = flags & INDEX_PARTIAL,
        .is_missing_null = flags & INDEX_MISSING_NULL,
        .is_per_partition = flags & INDEX_PER_PARTITION,
        .is_lazy = flags & INDEX_LAZY,
        .is_shaped = flags & INDEX_SHAPED,
        .is_ranked = flags & INDEX_RANKED,
        .expire_after_s = (int32_t)reader_u32(&entry->in),
    };
    index->created_seq = reader_u64(&entry->in);
    read_definition(entry, index);
    if (kind != INDEX_ARRIVAL)
        return;
    index->definition.keep_bytes = (int64_t)reader_u64(&entry->in);
    index->definition.keep_documents = (int64_t)reader_u64(&entry->in);
}

static const struct path *read_path(struct entry_reader *entry)
{
    size_t count = read_count(entry, LIMIT_PATH_COMPONENTS);
    struct path *path = read_array(entry, 1, sizeof(*path) + count * sizeof(bytes));

    if (!is_sound(entry) || count == 0) {
        entry->in.is_failed = true;
        return NULL;
    }
    path->count = count;
    for (size_t i = 0; i < count; i++)
        path->parts[i] = read_text(entry);
    return path;
}

static void read_rule(struct entry_reader *entry, struct date_rule *rule)
{
    rule->number = reader_byte(&entry->in);
    rule->is_acting = reader_byte(&entry->in) != 0;
    rule->is_partial = reader_byte(&entry->in) != 0;
    rule->index_id = reader_u32(&entry->in);
    rule->ttl_ms = (int64_t)reader_u64(&entry->in);
    rule->created_seq = reader_u64(&entry->in);
    rule->retired_seq = reader_u64(&entry->in);
    rule->path = read_path(entry);
    rule->predicate = read_text(entry);
    rule->horizon_count = read_count(entry, LIMIT_RULE_HORIZONS);
    for (size_t i = 0; i < rule->horizon_count; i++) {
        rule->horizons[i].upto = (time_ms)reader_u64(&entry->in);
        rule->horizons[i].last_seq = reader_u64(&entry->in);
    }
    if (rule->number >= LIMIT_DATE_RULES)
        entry->in.is_failed = true;
}

static void read_head(struct entry_reader *entry, struct collection *out)
{
    struct collection_definition *definition = &out->definition;

    out->id = reader_u32(&entry->in);
    out->version = reader_u64(&entry->in);
    uint8_t flags = reader_byte(&entry->in);
    out->is_mixed = flags & COLLECTION_MIXED;
    out->needs_clean_up = flags & COLLECTION_NEEDS_CLEAN_UP;
    entry->is_collated = flags & COLLECTION_COLLATED;
    out->policy.default_ttl = definition->default_ttl = (int32_t)reader_u32(&entry->in);
    out->policy.inheriting_horizon = (time_ms)reader_u64(&entry->in);
    out->policy.own_horizon = (time_ms)reader_u64(&entry->in);
    out->next_index_id = reader_u32(&entry->in);
    definition->database = read_text(entry);
    definition->name = read_text(entry);
    definition->options = read_text(entry);
    definition->partition_paths = read_texts(entry, LIMIT_PARTITION_KEY_PATHS,
                                             &definition->partition_path_count);
}

static const struct collation *read_collation(struct entry_reader *entry)
{
    const struct collation *found = NULL;
    bytes stored = reader_bytes(&entry->in, reader_u32(&entry->in));

    if (is_sound(entry))
        note(entry, collations_find_stored(entry->collations, entry->memory, stored, &found));
    return found;
}

status row_read_collection(struct arena *memory, struct collations *collations, bytes value,
                           struct collection *out)
{
    struct entry_reader entry = {
        .memory = memory, .in = reader_of(value), .collations = collations, .failure = STATUS_OK
    };

    *out = (struct collection){ .memory = memory };
    uint8_t format = reader_byte(&entry.in);
    entry.has_parts = format == FORMAT_PARTS;
    if (format != FORMAT && format != FORMAT_PARTS)
        return status_of(CORRUPT,
                         "a collection's catalog entry has a format that this program does "
                         "not know; use the program that wrote it");
    read_head(&entry, out);
    out->index_count = read_count(&entry, LIMIT_INDEXES);
    struct index *indexes = read_array(&entry, out->index_count, sizeof(*indexes));
    for (size_t i = 0; i < out->index_count && is_sound(&entry); i++)
        read_index(&entry, &indexes[i]);
    out->indexes = indexes;
    out->policy.rule_count = read_count(&entry, LIMIT_DATE_RULES);
    out->policy.rules = read_array(&entry, out->policy.rule_count, sizeof(*out->policy.rules));
    for (size_t i = 0; i < out->policy.rule_count && is_sound(&entry); i++)
        read_rule(&entry, &out->policy.rules[i]);
    if (entry.is_collated)
        out->definition.collation = read_collation(&entry);
    for (size_t i = 0; entry.is_collated && i < out->index_count && is_sound(&entry); i++)
        indexes[i].definition.collation = read_collation(&entry);
    if (is_sound(&entry) && entry.is_collated != has_collations(out))
        entry.in.is_failed = true;
    if (entry.failure.code != OK)
        return entry.failure;
    if (!reader_is_done(&entry.in))
        return status_of(CORRUPT, "a collection's catalog entry is damaged");
    return STATUS_OK;
}

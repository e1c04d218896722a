/* Language: runs the tables of queries. */
#include "tests/support/language.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "tests/support/ask.h"

enum {
    LINE_BYTES = 16384,
    FIELDS_MAX = 16,
    COLLECTIONS_MAX = 2 * FIELDS_MAX + 4,
    BUDGET = 64 << 20,
    TWIN_LIFE_S = 5
};

struct table {
    const char *name;
    FILE *file;
    char line[LINE_BYTES];
    size_t line_number;
    bool is_line_kept; /* the line was looked at, but belongs to whoever reads next */
    struct arena *arena;
    struct world world;
    bool has_world;
    struct buffer list; /* the documents as a JSON array */
    const char *fields[FIELDS_MAX];
    size_t field_count;
    const char *collections[COLLECTIONS_MAX];
    size_t collection_count;
    char parameters[LINE_BYTES];
    char query[LINE_BYTES];
    size_t checked;
};

static bool next_line(struct table *t)
{
    if (t->is_line_kept) {
        t->is_line_kept = false;
        return true;
    }
    if (!fgets(t->line, sizeof(t->line), t->file))
        return false;
    t->line_number++;
    size_t len = strlen(t->line);
    CHECK_THAT(len > 0 && t->line[len - 1] == '\n', "%s:%zu is too long", t->name, t->line_number);
    t->line[len - 1] = 0;
    return true;
}

/* ---- data ------------------------------------------------------------------------------------------- */

static void note_fields(struct table *t, bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_known = field.name.len == 0;
        const char *name = arena_format(t->arena, "%.*s", (int)field.name.len,
                                        (const char *)field.name.data);
        for (size_t i = 0; i < t->field_count; i++)
            is_known |= strcmp(t->fields[i], name) == 0;
        for (const char *at = name; *at; at++)
            is_known |= !isalnum((unsigned char)*at);
        if (!is_known && t->field_count < FIELDS_MAX)
            t->fields[t->field_count++] = name;
    }
}

static void insert(struct table *t, const char *collection, bytes document, bool is_twin)
{
    struct request request = world_begin(&t->world);
    struct write_op op = { .collection = world_find(&request, collection),
                           .kind = WRITE_INSERT,
                           .document = document,
                           .own_ttl = is_twin ? TWIN_LIFE_S : TTL_ABSENT };
    struct value id;

    CHECK_THAT(document_find(document, "id", &id), "%s:%zu: no id", t->name, t->line_number);
    if (is_twin) {
        bytes text = value_text(id);
        const char *other = arena_format(request.arena, "%.*s twin", (int)text.len,
                                         (const char *)text.data);
        CHECK_OK(value_of_text(request.arena, bytes_of_text(other), &id));
    }
    CHECK_OK(document_key_make(request.arena, op.collection, document, id, &op.key));
    CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
    world_end(&request);
}

static void make_collection(struct table *t, const char *name, const char *index)
{
    CHECK(t->collection_count < COLLECTIONS_MAX);
    t->collections[t->collection_count++] = name;
    world_collection_parted(&t->world, name, TTL_NEVER, index, "pk");
}

/* Each property together with the next one, in both mixtures of directions. */
static void make_composites(struct table *t)
{
    struct buffer indexes = buffer_in(t->arena);

    for (size_t f = 0; f < t->field_count; f++) {
        const char *first = t->fields[f], *second = t->fields[(f + 1) % t->field_count];
        if (first != second)
            buffer_append_format(&indexes, "%sup%zu: ranked %s %s; mixed%zu: ranked %s -%s",
                                 f ? "; " : "", f, first, second, f, first, second);
    }
    buffer_append_byte(&indexes, 0);
    CHECK(!indexes.is_failed);
    make_collection(t, "composite", (const char *)indexes.data);
}

static void make_collections(struct table *t, const bytes *documents, size_t count)
{
    make_collection(t, "plain", "");
    make_collection(t, "indexed", "all: paths shaped +/*");
    make_collection(t, "unshaped", "all: paths +/*");
    for (size_t f = 0; f < t->field_count; f++) {
        const char *field = t->fields[f];
        make_collection(t, arena_format(t->arena, "only_%s", field),
                        arena_format(t->arena, "one: paths shaped +/%s/*", field));
        make_collection(t, arena_format(t->arena, "without_%s", field),
                        arena_format(t->arena, "rest: paths shaped +/* -/%s/*", field));
    }
    make_composites(t);
    for (size_t c = 0; c < t->collection_count; c++) {
        for (size_t i = 0; i < count; i++) {
            insert(t, t->collections[c], documents[i], false);
            insert(t, t->collections[c], documents[i], true);
        }
    }
    world_pass(&t->world, TWIN_LIFE_S * 1000);
}

static void close_data(struct table *t)
{
    if (t->has_world)
        world_close(&t->world);
    t->has_world = false;
    arena_reset(t->arena);
    t->field_count = t->collection_count = 0;
}

static void read_data(struct table *t)
{
    bytes documents[256];
    size_t count = 0;

    close_data(t);
    world_open(&t->world, ON_MEMORY);
    t->has_world = true;
    t->list = buffer_in(t->arena);
    buffer_append_text(&t->list, "[");
    while (next_line(t) && t->line[0] == '{') {
        CHECK(count < ARRAY_COUNT(documents));
        status s = json_read(t->arena, bytes_of_text(t->line), &documents[count]);
        CHECK_THAT(s.code == OK, "%s:%zu: %s", t->name, t->line_number, s.message);
        note_fields(t, documents[count]);
        buffer_append_text(&t->list, count++ ? "," : "");
        buffer_append_text(&t->list, t->line);
    }
    buffer_append_text(&t->list, "]");
    buffer_append_byte(&t->list, 0);
    make_collections(t, documents, count);
}

/* ---- answers ---------------------------------------------------------------------------------------- */

/* JSON without blanks between the rows, as answers are written. */
static const char *plainly(struct arena *arena, const char *text)
{
    struct buffer out = buffer_in(arena);
    bytes array;

    if (json_read_array(arena, bytes_of_text(text), &array).code != OK)
        return text;
    json_write_value(&out, (struct value){ .type = VALUE_ARRAY, .raw = array });
    buffer_append_byte(&out, 0);
    return (const char *)out.data;
}

struct page_size {
    size_t items;
    uint64_t rows;
};

struct expected {
    char how; /* = ~ ! */
    const char *text;
};

static void compare(struct table *t, const char *who, const struct expected *expected,
                    bool is_ordered, const char *got)
{
    const char *want = expected->text;

    if (expected->how == '!') {
        CHECK_THAT(strncmp(got, want, strlen(want)) == 0,
                   "%s:%zu on %s: %s\n  gives %s\n  want  %s", t->name, t->line_number, who,
                   t->query, got, want);
        return;
    }
    want = is_ordered ? plainly(t->arena, want) : ask_sorted(t->arena, want);
    got = is_ordered ? got : ask_sorted(t->arena, got);
    CHECK_THAT(strcmp(got, want) == 0, "%s:%zu on %s: %s\n  gives %s\n  want  %s", t->name,
               t->line_number, who, t->query, got, want);
}

static bool has_order(const char *query)
{
    for (; *query; query++) {
        if (strncasecmp(query, "ORDER BY", 8) == 0)
            return true;
    }
    return false;
}

static void ask_in_pages(struct table *t, const char *collection, const struct expected *expected,
                         const struct page_size *page)
{
    struct asking how = { .parameters = t->parameters[0] ? t->parameters : NULL,
                          .items = page->items,
                          .rows = page->rows,
                          .is_plain = true };
    bool is_ordered = expected->how == '=' && has_order(t->query);
    const char *who = arena_format(t->arena, "%s in pages of %zu, work %zu", collection,
                                   page->items, (size_t)page->rows);

    compare(t, who, expected, is_ordered, ask(&t->world, collection, t->query, &how, NULL));
}

/* Those that index nothing and everything in pages of all sizes, the others in turns. */
static void ask_collections(struct table *t, const struct expected *expected)
{
    static const struct page_size pages[] = {
        {0,  0},
        { 1, 0},
        { 2, 3},
        { 3, 1},
    };

    for (size_t c = 0; c < t->collection_count; c++) {
        if (c < 2) {
            EACH_ROW(pages, page)
                ask_in_pages(t, t->collections[c], expected, page);
        } else {
            ask_in_pages(t, t->collections[c], expected,
                         &pages[(t->checked + c) % ARRAY_COUNT(pages)]);
        }
    }
}

static void check_query(struct table *t, const struct expected *expected)
{
    arena_position mark = arena_mark(t->arena), world_mark = arena_mark(t->world.arena);
    const char *got = ask_list(t->arena, (const char *)t->list.data, t->query,
                               t->parameters[0] ? t->parameters : NULL);

    compare(t, "a list", expected, expected->how == '=', got);
    ask_collections(t, expected);
    arena_release(t->arena, mark);
    arena_release(t->world.arena, world_mark);
    t->parameters[0] = 0;
    t->checked++;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static void read_query(struct table *t)
{
    snprintf(t->query, sizeof(t->query), "%s", t->line + 2);
    while (next_line(t)) {
        if (t->line[0] != ' ') {
            t->is_line_kept = true;
            return;
        }
        size_t len = strlen(t->query);
        snprintf(t->query + len, sizeof(t->query) - len, "\n%s", t->line);
    }
}

static void read_line(struct table *t)
{
    switch (t->line[0]) {
    case 0:
    case '#':
        return;
    case '@':
        snprintf(t->parameters, sizeof(t->parameters), "%s", t->line + 2);
        return;
    case '?':
        read_query(t);
        return;
    case '=':
    case '~':
    case '!': {
        char text[LINE_BYTES];
        snprintf(text, sizeof(text), "%s", t->line + 2);
        check_query(t, &(struct expected){ t->line[0], text });
        return;
    }
    default:
        CHECK_THAT(strcmp(t->line, "data") == 0, "%s:%zu: %s", t->name, t->line_number, t->line);
        read_data(t);
    }
}

static void check_file(const char *path, void (*read)(struct table *))
{
    struct table *t = calloc(1, sizeof(*t));

    t->name = path;
    t->file = fopen(path, "r");
    CHECK_THAT(t->file, "there is no %s", path);
    t->arena = arena_open(BUDGET);
    while (next_line(t))
        read(t);
    CHECK_THAT(t->checked > 0, "%s has no query with its answer", path);
    close_data(t);
    arena_close(t->arena);
    fclose(t->file);
    free(t);
}

void language_check(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "tests/corpus/language/%s.txt", name);
    check_file(path, read_line);
}

/* ---- a page for people ------------------------------------------------------------------------------ */

/* The lines of a block up to its end, joined by blanks. */
static void read_block(struct table *t, char *out)
{
    size_t len = 0;

    out[0] = 0;
    while (next_line(t) && strcmp(t->line, "```") != 0)
        len += (size_t)snprintf(out + len, LINE_BYTES - len, "%s%s", len ? " " : "", t->line);
    CHECK_THAT(len < LINE_BYTES, "%s:%zu: a block is too long", t->name, t->line_number);
}

static void check_block(struct table *t, char how)
{
    char text[LINE_BYTES];

    read_block(t, text);
    CHECK_THAT(t->query[0], "%s:%zu: an answer without a query", t->name, t->line_number);
    check_query(t, &(struct expected){ how == '=' && !has_order(t->query) ? '~' : how, text });
    t->query[0] = 0;
}

static void read_page_line(struct table *t)
{
    if (strcmp(t->line, "```json items") == 0)
        read_data(t);
    else if (strcmp(t->line, "```sql") == 0)
        read_block(t, t->query);
    else if (strcmp(t->line, "```json parameters") == 0)
        read_block(t, t->parameters);
    else if (strcmp(t->line, "```json") == 0)
        check_block(t, '=');
    else if (strcmp(t->line, "```text") == 0)
        check_block(t, '!');
}

void language_check_page(const char *path)
{
    check_file(path, read_page_line);
}

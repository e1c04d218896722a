/* Item clean: what of a client's document is stored.
 *
 * Clients send system properties back that the server has made; they are never stored. An object that names
 * a property twice keeps the last one, at its place, as the readers of JSON in most languages do. Nearly
 * every document needs neither, so it is looked through first and only copied if there is something to
 * leave out.
 *
 * Keeps: recursion is bounded by the nesting of a checked document. Pure apart from the arena. */
#include <stdlib.h>

#include "front/cosmos/item.h"

enum { FEW_NAMES = 32 };

bool item_is_system_property(bytes name)
{
    static const char *const names[] = { "_rid", "_self", "_etag", "_attachments", "_ts" };

    if (name.len < 3 || name.data[0] != '_')
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    }
    return false;
}

/* ---- looking ---------------------------------------------------------------------------------------- */

struct survey {
    struct arena *arena;
    size_t scalar_count;
    bool has_twins; /* some object names a property twice */
    status failure;
};

static void survey_document(struct survey *survey, bytes document);
static void survey_array(struct survey *survey, bytes array);

static void survey_value(struct survey *survey, struct value value)
{
    if (value.type == VALUE_DOCUMENT)
        survey_document(survey, value_document(value));
    else if (value.type == VALUE_ARRAY)
        survey_array(survey, value_document(value));
    else
        survey->scalar_count++;
}

static void survey_array(struct survey *survey, bytes array)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    while (document_next(&walk, &element))
        survey_value(survey, element.value);
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

static void find_twins_sorted(struct survey *survey, bytes document, size_t count)
{
    struct document_walk walk = document_fields(document);
    arena_position mark = arena_mark(survey->arena);
    struct field field;
    bytes *names;
    size_t at = 0;

    survey->failure = ARENA_NEW(survey->arena, count, &names);
    if (survey->failure.code != OK)
        return;
    while (document_next(&walk, &field))
        names[at++] = field.name;
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 1; i < count; i++)
        survey->has_twins |= bytes_equal(names[i - 1], names[i]);
    arena_release(survey->arena, mark);
}

/* Two names can only be equal if they leave the same mark in a word. */
static uint64_t mark_of(bytes name)
{
    if (name.len == 0)
        return 1;
    return UINT64_C(1) << ((name.data[0] * 7u + name.data[name.len - 1] * 3u + name.len) % 64);
}

static bool is_among(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes_equal(names[i], name))
            return true;
    }
    return false;
}

static void survey_document(struct survey *survey, bytes document)
{
    struct document_walk walk = document_fields(document);
    bytes names[FEW_NAMES];
    uint64_t marks = 0;
    size_t count = 0;
    struct field field;

    while (survey->failure.code == OK && document_next(&walk, &field)) {
        uint64_t mark = mark_of(field.name);
        if (count < FEW_NAMES) {
            if (marks & mark)
                survey->has_twins |= is_among(names, count, field.name);
            marks |= mark;
            names[count] = field.name;
        }
        count++;
        survey_value(survey, field.value);
    }
    if (count > FEW_NAMES && !survey->has_twins && survey->failure.code == OK)
        find_twins_sorted(survey, document, count);
}

static bool has_system(bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field field;

    while (document_next(&walk, &field)) {
        if (item_is_system_property(field.name))
            return true;
    }
    return false;
}

/* ---- copying ---------------------------------------------------------------------------------------- */

/* A name with its place in the object. */
struct place {
    bytes name;
    size_t at;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    int order = bytes_compare(left->name, right->name);

    return order != 0 ? order : (left->at > right->at) - (left->at < right->at);
}

/* Which fields go: those with a later one of the same name. */
static status find_dropped(struct arena *arena, bytes document, bool **out)
{
    struct document_walk walk = document_fields(document);
    struct place *places;
    struct field field;
    size_t count = 0, at = 0;

    for (struct document_walk all = walk; document_next(&all, &field);)
        count++;
    TRY(ARENA_NEW(arena, count + 1, out));
    TRY(ARENA_NEW(arena, count + 1, &places));
    while (document_next(&walk, &field)) {
        places[at] = (struct place){ field.name, at };
        at++;
    }
    qsort(places, count, sizeof(places[0]), compare_places);
    for (size_t i = 1; i < count; i++)
        (*out)[places[i - 1].at] = bytes_equal(places[i - 1].name, places[i].name);
    return STATUS_OK;
}

static status copy_fields(struct buffer *out, bytes document, bool is_array, bool is_top)
{
    struct document_walk walk = document_fields(document);
    bool *dropped = NULL;
    struct field field;
    size_t at = 0;

    if (!is_array)
        TRY(find_dropped(out->arena, document, &dropped));
    for (; document_next(&walk, &field); at++) {
        enum value_type type = field.value.type;
        if ((dropped && dropped[at]) || (is_top && item_is_system_property(field.name)))
            continue;
        if (type != VALUE_DOCUMENT && type != VALUE_ARRAY) {
            document_append(out, field.name, field.value);
            continue;
        }
        size_t begun = document_begin_inner(out, type, field.name);
        TRY(copy_fields(out, value_document(field.value), type == VALUE_ARRAY, false));
        document_end(out, begun);
    }
    return STATUS_OK;
}

status item_clean(struct arena *arena, bytes document, struct item_cleaned *out)
{
    struct survey survey = { .arena = arena, .failure = STATUS_OK };
    struct buffer copy = buffer_in(arena);

    *out = (struct item_cleaned){ .document = document };
    survey_document(&survey, document);
    TRY(survey.failure);
    out->scalar_count = survey.scalar_count;
    if (!survey.has_twins && !has_system(document))
        return STATUS_OK;
    buffer_reserve(&copy, document.len);
    size_t begun = document_begin(&copy);
    TRY(copy_fields(&copy, document, false, true));
    document_end(&copy, begun);
    return buffer_finish(&copy, &out->document);
}

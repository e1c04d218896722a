/* Filter text: what a client looks for in texts.
 *
 *   text = { $search: string [, $language: string] [, $caseSensitive: bool] [, $diacriticSensitive: bool] }
 *
 * Pure apart from the arena. */
#include "front/mongo/filter_parts.h"

static status read_flag(struct filter_parser *p, const struct field *field, bool *out)
{
    if (field->value.type != VALUE_BOOL)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch, "%.*s requires a boolean value",
                           (int)field->name.len, (const char *)field->name.data);
    *out = formula_is_true(field->value);
    return STATUS_OK;
}

static status read_text(struct filter_parser *p, const struct field *field, bytes *out)
{
    if (field->value.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch, "%.*s requires a string value",
                           (int)field->name.len, (const char *)field->name.data);
    *out = value_text(field->value);
    return STATUS_OK;
}

static status read_wish(struct filter_parser *p, bytes argument, struct search_wish *wish)
{
    struct document_walk walk = document_fields(argument);
    struct field field;
    bool has_search = false;

    while (document_next(&walk, &field)) {
        if (bytes_equal(field.name, BYTES_LITERAL("$search"))) {
            TRY(read_text(p, &field, &wish->text));
            has_search = true;
        } else if (bytes_equal(field.name, BYTES_LITERAL("$language"))) {
            TRY(read_text(p, &field, &wish->language));
        } else if (bytes_equal(field.name, BYTES_LITERAL("$caseSensitive"))) {
            TRY(read_flag(p, &field, &wish->is_case_sensitive));
        } else if (bytes_equal(field.name, BYTES_LITERAL("$diacriticSensitive"))) {
            TRY(read_flag(p, &field, &wish->is_diacritic_sensitive));
        } else {
            return fault_raise(p->arena, p->fault, ERROR_BadValue, "extra fields in $text: '%.*s'",
                               (int)field.name.len, (const char *)field.name.data);
        }
    }
    if (!has_search)
        return fault_raise(p->arena, p->fault, ERROR_NoSuchKey,
                           "Missing expected field \"$search\"");
    if (wish->language.len && !search_has_language(wish->language))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "unsupported language: \"%.*s\" for text index version 3",
                           (int)wish->language.len, (const char *)wish->language.data);
    return STATUS_OK;
}

status filter_parse_text(struct filter_parser *p, struct value argument, const struct match **out)
{
    struct search_wish *wish;
    struct match *match;

    *out = NULL;
    if (p->no_text)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "%s", p->no_text);
    if (p->has_text)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "Too many text expressions");
    if (argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "$text expects an object");
    TRY(ARENA_NEW(p->arena, 1, &wish));
    TRY(read_wish(p, value_document(argument), wish));
    TRY(match_new(p->arena, MATCH_TEXT, BYTES_NONE, &match));
    match->wish = wish;
    p->has_text = true;
    *out = match;
    return STATUS_OK;
}

/* Validator: a filter that every document has to fulfil when it is written.
 *
 * What is there already stays as it is. With validationLevel "moderate" a document that did not fulfil it before
 * may be changed into another one that does not; with "off", with validationAction "warn" and for commands that
 * say bypassDocumentValidation nothing is refused.
 *
 * Threads: the command's. Start reading at validator_judge(). */
#include "front/mongo/validator.h"

#include "front/mongo/condition.h"
#include "front/mongo/filter.h"
#include "front/mongo/keep.h"

static bool is_word(struct value value, const char *word)
{
    return value.type == VALUE_STRING && bytes_equal(value_text(value), bytes_of_text(word));
}

/* ---- options ---------------------------------------------------------------------------------------- */

static status check_word(struct command *command, const char *option, struct value value,
                         const char *const *words, size_t count)
{
    bytes given = argument_text(value);

    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        if (bytes_equal(given, bytes_of_text(words[i])))
            return STATUS_OK;
    }
    return command_fail(command, ERROR_BadValue,
                        "Enumeration value '%.*s' for field '%s.%s' is not a valid value; it is "
                        "%s, %s%s%s",
                        (int)given.len, (const char *)given.data, command->row->name, option,
                        words[0], words[1], count > 2 ? " or " : "", count > 2 ? words[2] : "");
}

status validator_check(struct command *command, struct value validator, struct value level,
                       struct value action)
{
    static const char *const levels[] = { "strict", "moderate", "off" };
    static const char *const actions[] = { "error", "warn" };
    static const char *const closed[] = { "admin", "config", "local" };
    const struct match *match;

    TRY(check_word(command, "validationLevel", level, levels, ARRAY_COUNT(levels)));
    TRY(check_word(command, "validationAction", action, actions, ARRAY_COUNT(actions)));
    if (validator.type == VALUE_MISSING)
        return STATUS_OK;
    for (size_t i = 0; i < ARRAY_COUNT(closed); i++) {
        if (bytes_equal(command->database, bytes_of_text(closed[i])))
            return command_fail(command, ERROR_InvalidOptions,
                                "Document validators are not allowed on collections in the "
                                "database %s",
                                closed[i]);
    }
    return filter_parse(command->arena, value_document(validator), NULL, &match, &command->fault);
}

/* ---- documents -------------------------------------------------------------------------------------- */

static bool is_bypassed(const struct command *command)
{
    struct value value;

    return document_find(command->message->body, "bypassDocumentValidation", &value) &&
           argument_flag(value, false);
}

static status fulfils(struct command *command, const struct collection *collection, bytes validator,
                      bytes document, bool *out)
{
    arena_position mark = arena_mark(command->arena);
    struct condition *condition;
    struct matching matching;

    TRY(condition_make(command, command->arena, validator, BYTES_NONE,
                       collection->definition.collation, &condition));
    TRY(condition_holds(command, condition, command->arena, document, &matching, out));
    arena_release(command->arena, mark);
    return STATUS_OK;
}

/* errInfo of the error: which document it is, and what it should have fulfilled. */
static status describe(struct command *command, const struct collection *collection,
                       bytes validator, struct value id, bytes document, bytes *out)
{
    struct buffer details = buffer_in(command->arena);
    size_t begun = document_begin(&details), info = reply_begin(&details, "errInfo");

    document_append(&details, BYTES_LITERAL("failingDocumentId"), id);
    size_t inner = reply_begin(&details, "details");
    TRY(validator_explain(command, validator, collection->definition.collation, document,
                          &details));
    document_end(&details, inner);
    document_end(&details, info);
    document_end(&details, begun);
    return buffer_finish(&details, out);
}

static void warn(struct command *command, const struct collection *collection)
{
    const struct collection_definition *definition = &collection->definition;

    log_event(command->face->log, LOG_WARNING, "document-fails-validation", "ns=%.*s.%.*s",
              (int)definition->database.len, (const char *)definition->database.data,
              (int)definition->name.len, (const char *)definition->name.data);
}

status validator_judge(struct command *command, const struct collection *collection, bytes before,
                       struct value id, bytes document)
{
    bool is_valid = false;
    bytes details;

    if (collection->definition.options.len == 0)
        return STATUS_OK;
    struct value validator = keep_option(collection, "validator");
    struct value level = keep_option(collection, "validationLevel");
    if (validator.type != VALUE_DOCUMENT || is_word(level, "off") || is_bypassed(command))
        return STATUS_OK;
    bytes wanted = value_document(validator);
    TRY(fulfils(command, collection, wanted, document, &is_valid));
    if (!is_valid && before.len > 0 && is_word(level, "moderate")) {
        TRY(fulfils(command, collection, wanted, before, &is_valid));
        is_valid = !is_valid;
    }
    if (is_valid)
        return STATUS_OK;
    if (is_word(keep_option(collection, "validationAction"), "warn")) {
        warn(command, collection);
        return STATUS_OK;
    }
    TRY(describe(command, collection, wanted, id, document, &details));
    status s = command_fail(command, ERROR_DocumentValidationFailure,
                            "Document failed validation: it does not fulfil the validator of the "
                            "collection");
    command->fault.details = details;
    return s;
}

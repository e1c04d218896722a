/* Create, validator: documents that a collection does not want.
 *
 * A validator is a filter that every document has to fulfil when it is written. What is there already stays as
 * it is. With validationAction "warn" or validationLevel "off" nothing is refused.
 *
 * Threads: the command's. */
#include "front/mongo/create.h"

#include "front/mongo/condition.h"
#include "front/mongo/keep.h"

static bool is_word(const struct collection *collection, const char *option, const char *word)
{
    struct value value = keep_option(collection, option);

    return value.type == VALUE_STRING && bytes_equal(value_text(value), bytes_of_text(word));
}

/* errInfo of the error: which document it is, and what it should have fulfilled. */
static status describe(struct command *command, struct value id, bytes validator, bytes *out)
{
    struct buffer details = buffer_in(command->arena);
    size_t begun = document_begin(&details), info = reply_begin(&details, "errInfo");

    document_append(&details, BYTES_LITERAL("failingDocumentId"), id);
    size_t inner = reply_begin(&details, "details");
    reply_document(&details, "validator", validator);
    document_end(&details, inner);
    document_end(&details, info);
    document_end(&details, begun);
    return buffer_finish(&details, out);
}

status create_validate(struct command *command, const struct collection *collection,
                       struct value id, bytes document)
{
    struct condition *condition;
    struct matching matching;
    bool is_valid = false;

    if (collection->definition.options.len == 0)
        return STATUS_OK;
    struct value validator = keep_option(collection, "validator");
    if (validator.type != VALUE_DOCUMENT || is_word(collection, "validationAction", "warn") ||
        is_word(collection, "validationLevel", "off"))
        return STATUS_OK;
    TRY(condition_make(command, command->arena, value_document(validator), BYTES_NONE, &condition));
    TRY(condition_holds(command, condition, command->arena, document, &matching, &is_valid));
    if (is_valid)
        return STATUS_OK;
    status s = command_fail(command, ERROR_DocumentValidationFailure,
                            "Document failed validation: it does not fulfil the validator of the "
                            "collection");
    TRY(describe(command, id, value_document(validator), &command->fault.details));
    return s;
}

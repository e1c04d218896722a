/* Validators: documents that a collection does not want. Inside the face only. */
#ifndef FRONT_MONGO_VALIDATOR_H
#define FRONT_MONGO_VALIDATOR_H

#include "front/mongo/command.h"
#include "query/query.h"

/* The options of create and collMod: validator, validationLevel, validationAction; each may be missing. */
MUST_USE status validator_check(struct command *command, struct value validator, struct value level,
                                struct value action);
/* May the document be stored? DocumentValidationFailure if the collection has a validator that says no.
 * `before` is what it replaces, as clients see it; empty if it is new. */
MUST_USE status validator_judge(struct command *command, const struct collection *collection,
                                bytes before, struct value id, bytes document);

/* What of the validator the document does not fulfil, as fields of a document that was begun. Inside the
 * validator only. */
MUST_USE status validator_explain(struct command *command, bytes validator,
                                  const struct collation *by, bytes document, struct buffer *out);
/* The same for a $jsonSchema alone. */
MUST_USE status validator_explain_schema(const struct schema *schema, struct arena *scratch,
                                         bytes document, struct buffer *out);

#endif

/* Time-series collections: measurements with a date, and perhaps with a field that says what was measured. Inside the
 * face only. */
#ifndef FRONT_MONGO_SERIES_H
#define FRONT_MONGO_SERIES_H

#include "front/mongo/change.h"
#include "front/mongo/command.h"
#include "front/mongo/index_spec.h"

/* The option `timeseries` of create with everything that it means, in the arena. InvalidOptions, BadValue. */
MUST_USE status series_read(struct command *command, bytes given, bytes *out);
/* The same for collMod, which only makes the spans longer; a document. */
MUST_USE status series_modify(struct command *command, const struct collection *collection,
                              bytes given, struct value *out);
/* The index over both fields that such a collection is made with, in the arena; false if there is one field. */
MUST_USE status series_index(struct command *command, bytes series, struct index_definition *out,
                             bool *has_out);

bool series_is(const struct collection *collection);
/* The field with the date; empty if it is no such collection. */
bytes series_time_field(const struct collection *collection);

/* BadValue for a document without a date. */
MUST_USE status series_check_document(struct command *command, const struct collection *collection,
                                      bytes document);
/* InvalidOptions for an update of anything but the field that says what was measured. */
MUST_USE status series_check_update(struct command *command, const struct collection *collection,
                                    const struct change_wish *wish);
/* InvalidOptions, CannotCreateIndex for an index that such a collection cannot have. */
MUST_USE status series_check_index(struct command *command, const struct collection *collection,
                                   const struct index_spec *spec);
/* The field `timeseries` of collStats. */
void series_append_stats(struct command *command, struct buffer *out,
                         const struct collection *collection);

#endif

/* How texts are compared where not their bytes decide: by the rules of a language, as the ICU library knows them.
 *
 * A collation is asked for by a document such as { locale: "de", strength: 2 } and found in a table, which opens it at
 * its first use and keeps it until the table is closed; so a pointer may be kept as long as the table, two collations
 * are the same if their pointers are, and NULL stands for the order of the bytes. Immutable: every thread may use it. */
#ifndef VALUE_COLLATION_H
#define VALUE_COLLATION_H

#include "base/base.h"

struct collation;
struct collations;

/* One setting of a collation, as its document has it. */
struct collation_setting {
    const char *name;
    bool is_flag, is_number;      /* true or false; 1 to 5; otherwise a text */
    const char *const choices[4]; /* of a text, up to NULL; none: whatever it is */
};
/* In the order in which a whole document has them. The first is the locale, the last the version. */
enum { COLLATION_SETTINGS = 10 };
extern const struct collation_setting collation_settings[COLLATION_SETTINGS];
/* What a document may say about the version of the rules, and what a whole document says. */
#define COLLATION_VERSION "57.1"

/* The table; OUT_OF_MEMORY. Nothing of ICU is touched before somebody asks. */
MUST_USE status collations_open(struct collations **out);
void collations_close(struct collations *table);
/* The collation of a document whose settings have the types and choices that collation_settings tells; what it does not
 * say is as usual for the locale. INVALID for a locale that there is not, or settings that do not go
 * together; TOO_LARGE if the table is full. */
MUST_USE status collations_find(struct collations *table, struct arena *arena, bytes document,
                                const struct collation **out);
/* The same by what collation_stored() gave; empty is NULL. CORRUPT if the rules of the language have changed
 * since, so that keys made by them are in another order now. */
MUST_USE status collations_find_stored(struct collations *table, struct arena *arena, bytes stored,
                                       const struct collation **out);

/* All settings, as a document; as long as the table. */
bytes collation_document(const struct collation *collation);
/* The same together with the version of the rules, for what is stored. */
bytes collation_stored(const struct collation *collation);
/* Negative, zero, positive. The texts are UTF-8. */
int collation_compare(const struct collation *collation, bytes a, bytes b);
/* Appends bytes whose order is that of the texts; equal texts give equal bytes. Fails with the buffer. */
void collation_append_key(const struct collation *collation, struct buffer *out, bytes text);

#endif

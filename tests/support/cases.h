/* Cases in tables of text: lines with a word in front, extended JSON behind it. Empty lines and lines with #
 * in front are passed over. */
#ifndef TESTS_SUPPORT_CASES_H
#define TESTS_SUPPORT_CASES_H

#include "tests/check.h"
#include "value/value.h"

/* A file of cases, in the arena. */
struct cases {
    struct arena *arena;
    const char *path;
    bytes rest;
    int line;  /* of the case that was given last */
    int tried; /* counted by those who try cases */
};

void cases_open(struct cases *cases, struct arena *arena, const char *path);
/* Every line of tests/corpus/<folder>/<name>.txt, in an arena that ends with it. `each` counts the cases that it
 * tried in cases->tried; a table without any fails. `context` is for `each`. */
typedef void cases_line(void *context, bytes line);
void cases_each(struct cases *cases, const char *folder, const char *name, cases_line *each,
                void *context);
/* The next line, without blanks at its ends; false at the end of the file. */
bool cases_next(struct cases *cases, bytes *line_out);
/* Takes `word` and the blanks behind it off the front; false if the line does not begin with it. */
bool cases_take(bytes *line, const char *word);
/* Cuts at the last " => "; false if there is none. */
bool cases_split(bytes line, bytes *left_out, bytes *right_out);
/* Extended JSON as a document, or as the single value of a list. Fails the test if it is none. */
bytes cases_document(const struct cases *cases, bytes text);
struct value cases_value(const struct cases *cases, bytes text);
/* A number in decimal digits, perhaps with a sign. */
int64_t cases_number(const struct cases *cases, bytes text);
/* As relaxed extended JSON, but with the types of numbers told apart. */
const char *cases_text(struct arena *arena, bytes document);

#endif

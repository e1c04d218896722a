/* Paths to properties, as they stand in definitions of containers: /address/zip, /"first name", and patterns
 * of indexing policies: /tags/[]/?, /address/ *. */
#ifndef FRONT_COSMOS_CONTAINER_PATH_H
#define FRONT_COSMOS_CONTAINER_PATH_H

#include "base/base.h"

enum path_form {
    PATH_PROPERTY, /* names only */
    PATH_PATTERN,  /* names and [], with ? or * at the end */
};

/* What is wrong with a path, and where. */
struct path_fault {
    const char *why; /* NULL: nothing */
    size_t position;
};

/* Checks a path and, of PATH_PROPERTY, gives the names joined by dots, as the engine takes them, in the
 * arena. OUT_OF_MEMORY; a bad path is not a failure but a fault. */
MUST_USE status container_path_read(struct arena *arena, bytes text, enum path_form form,
                                    bytes *dotted_out, struct path_fault *fault_out);

#endif

/* The file that holds the keys with which clients sign their requests. */
#ifndef SERVER_KEY_FILE_H
#define SERVER_KEY_FILE_H

#include "base/base.h"

/* In the arena, in base64 as they stand in the file. */
struct key_file {
    const char *primary;
    const char *secondary, *primary_read_only, *secondary_read_only; /* NULL: not in the file */
};

/* NOT_FOUND, IO_ERROR, TOO_LARGE; INVALID says what a key file looks like. Never shows a key. */
MUST_USE status key_file_read(struct arena *arena, const char *path, struct key_file *out);
/* Overwrites the keys; nobody may use them any more. */
void key_file_wipe(const struct key_file *keys);

#endif

/* RocksDB copy: a second database from the files of the first.
 *
 * A checkpoint of RocksDB links the table files, which never change, and copies what is left of the manifest and of the
 * log. Memory is flushed first, so that the log is short and everything else a later copy may share; until the copy is
 * made, nothing but commits is written to the log (see rocksdb_ahead.c). The mark is written last: until then the
 * directory is nobody's.
 *
 * Threads: any; commits go on meanwhile. */
#include <string.h>

#include "storage/directory.h"
#include "storage/rocksdb_ahead.h"

enum { FLUSH_ALWAYS = 0 }; /* bytes of log from which on memory is flushed */

status rocks_checkpoint(struct storage *storage, const char *path, struct arena *arena)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    char *error = NULL;

    TRY(rocksdb_refuse_if_failed(rocks));
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(rocks->db, &error);

    if (error == NULL) {
        ahead_pause(rocks);
        rocksdb_checkpoint_create(checkpoint, path, FLUSH_ALWAYS, &error);
        ahead_resume(rocks);
    }
    if (checkpoint != NULL)
        rocksdb_checkpoint_object_destroy(checkpoint);
    if (error == NULL)
        return directory_mark(path, arena);
    const status s = status_fail(arena, rocksdb_error_code(error),
                                 "cannot make a checkpoint in %s: %s", path, error);
    rocksdb_free(error);
    return s;
}

/* Digits and an ending: others may have files of that ending in the directory, too. */
static bool is_numbered(const char *name, const char *ending)
{
    const size_t digits = strspn(name, "0123456789");

    return digits > 0 && strcmp(name + digits, ending) == 0;
}

bool storage_owns_file(const char *name)
{
    return strcmp(name, storage_mark_name) == 0 || strcmp(name, "CURRENT") == 0 ||
           strcmp(name, "IDENTITY") == 0 || strncmp(name, "MANIFEST-", 9) == 0 ||
           strncmp(name, "OPTIONS-", 8) == 0 || is_numbered(name, ".sst") ||
           is_numbered(name, ".log");
}

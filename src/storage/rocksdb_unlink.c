/* RocksDB, removing files: they go to the trash, and large logs to the spares.
 *
 * RocksDB removes what it does not need any more on whatever thread finds out, also on those that others wait for.
 * The program has an unlink() of its own (mk/flags.mk), and what the program has comes first for the loader, so the library's
 * calls end here, and so do ours; under the sanitizers the library goes on removing by itself.
 *
 * Threads: any. */
#include <dlfcn.h>

#include "storage/rocksdb_replaced.h"
#include "storage/rocksdb_spare.h"
#include "storage/rocksdb_trash.h"

typedef int unlink_function(const char *path);

/* That of the system, or of whoever stands between: looked up each time, because files go seldom. */
static int unlink_really(const char *path)
{
    unlink_function *next = (unlink_function *)dlsym(RTLD_NEXT, ROCKSDB_NAME_OF_UNLINK);

    ASSERT(next != NULL);
    return next(path);
}

int rocksdb_unlink(const char *path)
{
    return spares_take(path) || trash_take(path) ? 0 : unlink_really(path);
}

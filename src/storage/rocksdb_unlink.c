/* RocksDB, removing files: they go to the trash.
 *
 * RocksDB removes what it does not need any more on whatever thread finds out, also on those that others wait for.
 * Where it is linked from its archive, the linker lets its calls of unlink() end here (mk/flags.mk), and so do ours;
 * the shared library, under the sanitizers, goes on removing by itself.
 *
 * Threads: any. */
#include "storage/rocksdb_trash.h"

/* As the linker names both. */
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_unlink(const char *path)
{
    return trash_take(path) ? 0 : __real_unlink(path);
}

/* RocksDB, checksums: its CRC-32C, computed by the processor.
 *
 * Everything that is committed goes through the checksum of RocksDB's log, on the thread that all writers wait for.
 * Debian's package is built for processors without the instruction, and takes 1 ns for each byte: a twentieth of the
 * time of an insert. The program has a function of the same name (mk/flags.mk), and what the program has comes first for the
 * loader, so the library's calls end here; under the sanitizers it goes on computing its own. The result is the same bit by bit,
 * so neither knows of the other.
 *
 * Threads: any. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "storage/rocksdb_replaced.h"

typedef uint32_t extend_function(uint32_t so_far, const char *data, size_t len);

/* RocksDB's own, which knows other processors. */
static extend_function *next_extend(void)
{
    /* tidy: global because looking it up takes longer than most checksums, and always finds the same. */
    static _Atomic(extend_function *) found;
    extend_function *next = atomic_load_explicit(&found, memory_order_relaxed);

    if (next == NULL) {
        next = (extend_function *)dlsym(RTLD_NEXT, ROCKSDB_NAME_OF_CRC_EXTEND);
        ASSERT(next != NULL);
        atomic_store_explicit(&found, next, memory_order_relaxed);
    }
    return next;
}

uint32_t rocksdb_crc_extend(uint32_t so_far, const char *data, size_t len)
{
    return crc32c_is_fast() ? crc32c_extend(so_far, bytes_of(data, len))
                            : next_extend()(so_far, data, len);
}

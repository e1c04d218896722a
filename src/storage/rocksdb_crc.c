/* RocksDB, checksums: its CRC-32C, computed by the processor.
 *
 * Everything that is committed goes through the checksum of RocksDB's log, on the thread that all writers wait for.
 * Debian's package is built for processors without the instruction, and takes 1 ns for each byte: a twentieth of the
 * time of an insert. Where RocksDB is linked from its archive, the linker lets calls of its function end here (mk/flags.mk); the
 * shared library, under the sanitizers, goes on computing its own. The result is the same bit by bit, so neither knows of the other.
 *
 * Threads: any. */
#include "base/crc32c.h"

/* rocksdb::crc32c::Extend(unsigned, const char *, unsigned long), as the linker names both. */
uint32_t __real__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t so_far, const char *data, size_t len);
uint32_t __wrap__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t so_far, const char *data, size_t len);

uint32_t __wrap__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t so_far, const char *data, size_t len)
{
    return crc32c_is_fast() ? crc32c_extend(so_far, bytes_of(data, len))
                            : __real__ZN7rocksdb6crc32c6ExtendEjPKcm(so_far, data, len);
}

/* CRC-32C (Castagnoli): the checksum of RocksDB's log and of messages. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/bytes.h"

/* Of everything so far, followed by `more`; 0 is the checksum of nothing. */
uint32_t crc32c_extend(uint32_t so_far, bytes more);

/* Whether the processor has an instruction for it. Without one it is computed bit by bit. */
bool crc32c_is_fast(void);

#endif

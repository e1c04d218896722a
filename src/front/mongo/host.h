/* The machine that the server runs on, as far as clients ask. Inside the face only. */
#ifndef FRONT_MONGO_HOST_H
#define FRONT_MONGO_HOST_H

#include "base/base.h"

/* Of this process; zeros if the system does not say. */
struct host_memory {
    int64_t resident_bytes, virtual_bytes;
};
struct host_memory host_memory(void);

#endif

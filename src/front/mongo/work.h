/* What a command has looked at and done, counted on the way: for explain, for the profiler, for the log of slow
 * commands and for the counters of the server. Inside the face only. */
#ifndef FRONT_MONGO_WORK_H
#define FRONT_MONGO_WORK_H

#include "query/query.h"

struct command_work {
    uint64_t keys, documents; /* looked at */
    int64_t returned;         /* documents given to the client */
    int64_t inserted, matched, modified, deleted, upserted;
    /* The way to the documents, of the last time that some were looked for. */
    bool has_way, is_counted, is_sorted;
    enum find_access access;
    bool is_everything;
    uint32_t collection_id, index_id;
};

#endif

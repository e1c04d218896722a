/* House: opens what a server stands on, and closes it.
 *
 * Threads: one; the engine has its own. Start reading at house_open(). */
#include "server/house.h"

#include <unistd.h>

#include "front/mongo/mongo.h"
#include "query/query.h"
#include "server/care.h"

const char house_version[] = "0.1.0";

void house_close(struct house *house)
{
    if (house->engine)
        engine_close(house->engine);
    if (house->clock)
        clock_close(house->clock);
    if (house->sweep)
        engine_sweep_close(house->sweep);
    log_ring_close(house->log.ring);
    if (house->audit_log.fd >= 0)
        close(house->audit_log.fd);
}

/* After the storage, which takes only an empty directory as a new one: the file may lie in it. */
static status open_audit(struct house *house, const struct config *config, struct arena *arena)
{
    house->audit.log = &house->log;
    if (!config->audit_file)
        return STATUS_OK;
    house->audit.alarm = &house->log;
    house->audit.log = &house->audit_log;
    house->audit_log.level = LOG_INFO;
    return care_open_audit(arena, config->audit_file, &house->audit_log.fd);
}

static status open_storage(struct house *house, const struct config *config, enum command command,
                           struct arena *arena, struct storage **out)
{
    struct storage_options options = {
        .path = config->data,
        .log = &house->log,
        .metrics = &house->metrics,
        .sweeper = engine_sweeper(house->sweep),
        .cache_bytes = (size_t)config->cache_mb << 20,
        .must_exist = command == COMMAND_CHECK,
        .is_read_only = command == COMMAND_CHECK,
    };

    if (config->storage == STORAGE_KIND_MEMORY)
        return storage_open_memory(&options, out);
    return storage_open_rocksdb(&options, arena, out);
}

/* Where there are millions of documents, their places may take so many times the memory of the cache; see hints.h. Documents that were
 * read lately take four ninths of it. */
enum { HINTS_PER_CACHE = 4, RECALL_PER_CACHE = 4, RECALL_PARTS = 9 };

status house_open(struct house *house, const struct config *config, enum command command,
                  struct arena *arena)
{
    struct storage *storage = NULL;
    status s = status_of(OUT_OF_MEMORY, "no memory to open the database");

    *house = (struct house){ .log = log_to(STDERR_FILENO, config->log_level),
                             .audit_log = { .fd = -1 } };
    house->log.ring = log_ring_open();
    house->sweep = engine_sweep_open();
    house->clock = clock_open(clock_source_system(), LIMIT_CLOCK_LEAP_MS);
    if (!house->sweep || !house->clock || !house->log.ring)
        goto done;
    TRY_GOTO(open_storage(house, config, command, arena, &storage), done);
    TRY_GOTO(open_audit(house, config, arena), done);
    struct engine_options options = {
        .clock = house->clock,
        .log = &house->log,
        .metrics = &house->metrics,
        .is_read_only = command == COMMAND_CHECK,
        .predicate = mongo_index_predicate,
        .extract = query_index_values,
        .purger_pause_s = config->purger_pause_s,
        .hints_bytes = HINTS_PER_CACHE * ((size_t)config->cache_mb << 20),
        .recall_bytes = RECALL_PER_CACHE * ((size_t)config->cache_mb << 20) / RECALL_PARTS,
    };
    TRY_GOTO(engine_open(storage, house->sweep, &options, arena, &house->engine), done);
    return STATUS_OK;
done:
    if (storage)
        storage_close(storage);
    house_close(house);
    return s;
}

/* Script: stored procedures, triggers, functions and conflicts, of which there are none.
 *
 * Clients list them and read them by name; they get empty feeds and "not found" instead of an error.
 *
 * Threads: as the call. */
#include "front/cosmos/resource.h"

static const char *feed_key(bytes segment)
{
    static const struct {
        const char *segment, *key;
    } rows[] = {
        {"conflicts", "Conflicts"           },
        { "sprocs",   "StoredProcedures"    },
        { "triggers", "Triggers"            },
        { "udfs",     "UserDefinedFunctions"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (bytes_equal(segment, bytes_of_text(rows[i].segment)))
            return rows[i].key;
    }
    ASSERT(false); /* the route leads nothing else here */
    return "";
}

static status reply_nothing(struct call *call)
{
    struct feed feed = { .key = feed_key(call->link.parts[4]), .owner = call_container_rid(call) };

    return feed_reply(call, &feed);
}

status serve_script_list(struct call *call)
{
    return reply_nothing(call);
}

status serve_conflict_list(struct call *call)
{
    return reply_nothing(call);
}

status serve_script_missing(struct call *call)
{
    return call_fail(call, FAIL_NOT_FOUND, NULL);
}

/* Ttl: parameters, counters and the work of the monitor of TTL indexes.
 *
 * Documents are hidden at their deadline without anybody's help; the purger only gives their space back. So
 * most parameters of MongoDB's monitor have nothing to steer here, and are kept and shown. Two are real: one
 * switches all TTL indexes off, one is the longest pause of the purger.
 *
 * Threads: any; the state is atomic. */
#include "front/mongo/ttl.h"

#include "front/mongo/handlers.h"
#include "front/mongo/index_spec.h"

enum ttl_kind { TTL_FLAG, TTL_NUMBER };

static const struct setting_row {
    const char *name;
    enum ttl_kind kind;
    int32_t otherwise, least;
} rows[] = {
#define TTL_SETTING(word, kind, otherwise, least, sentence) { #word, kind, otherwise, least },
#include "front/mongo/ttl.def"
#undef TTL_SETTING
};

void ttl_state_init(struct ttl_state *state)
{
    for (size_t i = 0; i < TTL_SETTING_COUNT; i++)
        atomic_store(&state->settings[i], rows[i].otherwise);
}

/* ---- parameters ------------------------------------------------------------------------------------- */

static int64_t read_setting(struct command *command, enum ttl_setting which)
{
    struct mongo *face = command->face;
    struct purger_activity activity;

    if (which == TTL_SETTING_ttlMonitorEnabled)
        return engine_are_date_rules_acting(face->engine);
    if (which != TTL_SETTING_ttlMonitorSleepSecs)
        return atomic_load(&face->ttl.settings[which]);
    purger_watch(face->engine, &activity);
    return activity.pause_s;
}

static void append_setting(struct command *command, struct buffer *out, const char *name,
                           enum ttl_setting which)
{
    int64_t value = read_setting(command, which);

    if (rows[which].kind == TTL_FLAG)
        reply_bool(out, name, value != 0);
    else
        reply_int32(out, name, (int32_t)value);
}

size_t ttl_append_parameters(struct command *command, struct buffer *out, bool is_all, bytes wanted)
{
    struct value value;
    size_t count = 0;

    for (size_t i = 0; i < TTL_SETTING_COUNT; i++) {
        if (!is_all && !document_find(wanted, rows[i].name, &value))
            continue;
        append_setting(command, out, rows[i].name, (enum ttl_setting)i);
        count++;
    }
    return count;
}

static status read_value(struct command *command, const struct setting_row *row, struct value value,
                         int64_t *out)
{
    *out = 0;
    if (!value_is_number(value) && !(row->kind == TTL_FLAG && value.type == VALUE_BOOL))
        return command_fail(command, ERROR_TypeMismatch, "parameter %s is a %s, not a %s",
                            row->name, row->kind == TTL_FLAG ? "bool" : "number",
                            value_type_name(value.type));
    if (row->kind == TTL_FLAG) {
        *out = argument_flag(value, false);
        return STATUS_OK;
    }
    *out = argument_number(value, 0);
    if (*out < row->least || *out > INT32_MAX)
        return command_fail(command, ERROR_BadValue,
                            "Invalid value for parameter %s: %lld; it must be %d to %d", row->name,
                            (long long)*out, row->least, INT32_MAX);
    return STATUS_OK;
}

static status set_setting(struct command *command, enum ttl_setting which, int64_t value)
{
    struct mongo *face = command->face;

    atomic_store(&face->ttl.settings[which], value);
    if (which == TTL_SETTING_ttlMonitorSleepSecs)
        purger_set_pause(face->engine, (int)value);
    if (which == TTL_SETTING_ttlMonitorEnabled)
        return engine_set_date_rules_acting(face->engine, command->arena, value != 0);
    return STATUS_OK;
}

static bool is_of_message(bytes name)
{
    static const char *const names[] = { "setParameter", "lsid", "comment", "writeConcern",
                                         "txnNumber" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    }
    return name.len > 0 && name.data[0] == '$';
}

static bool find_row(bytes name, enum ttl_setting *out)
{
    for (size_t i = 0; i < TTL_SETTING_COUNT; i++) {
        if (!bytes_equal(name, bytes_of_text(rows[i].name)))
            continue;
        *out = (enum ttl_setting)i;
        return true;
    }
    return false;
}

/* All or none: everything is checked before anything is set. */
static status walk_parameters(struct command *command, bool is_setting, size_t *count_out)
{
    struct document_walk walk = document_fields(command->message->body);
    struct field field;
    enum ttl_setting which;
    int64_t value;

    *count_out = 0;
    while (document_next(&walk, &field)) {
        if (is_of_message(field.name))
            continue;
        if (!find_row(field.name, &which))
            return command_fail(command, ERROR_InvalidOptions,
                                "attempted to set a parameter that there is not, or that cannot be "
                                "set at run time: %.*s; see help with getParameter: '*'",
                                (int)field.name.len, (const char *)field.name.data);
        TRY(read_value(command, &rows[which], field.value, &value));
        if (is_setting && *count_out == 0)
            append_setting(command, &command->reply, "was", which);
        if (is_setting)
            TRY(set_setting(command, which, value));
        (*count_out)++;
    }
    return STATUS_OK;
}

status serve_set_parameter(struct command *command)
{
    size_t count;

    TRY(walk_parameters(command, false, &count));
    if (count == 0)
        return command_fail(command, ERROR_InvalidOptions, "no option found to set");
    return walk_parameters(command, true, &count);
}

/* ---- counters --------------------------------------------------------------------------------------- */

static bool never_expires(const struct index *index)
{
    struct value row, expiry;

    return index->definition.options.len > 0 &&
           document_find(index->definition.options, "mongo", &row) && row.type == VALUE_DOCUMENT &&
           document_find(value_document(row), "expireAfterSeconds", &expiry);
}

static uint64_t count_invalid(const struct request *request)
{
    uint64_t count = 0;

    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        for (size_t k = 0; k < collection->index_count; k++)
            count += never_expires(&collection->indexes[k]);
    }
    return count;
}

static uint64_t count_skips(struct command *command, uint64_t passes)
{
    struct ttl_state *state = &command->face->ttl;
    uint64_t seen = atomic_exchange(&state->passes_seen, passes);
    uint64_t more = passes > seen ? (passes - seen) * count_invalid(&command->request) : 0;

    return atomic_fetch_add(&state->skips, more) + more;
}

void ttl_append_metrics(struct command *command, struct buffer *out)
{
    const struct metrics *metrics = command->face->metrics;
    int64_t gone = (int64_t)metrics_read(metrics, METRIC_purge_documents_total);
    struct purger_activity activity;

    purger_watch(command->face->engine, &activity);
    reply_int64(out, "deletedDocuments", gone);
    reply_int64(out, "deletedKeys", (int64_t)metrics_read(metrics, METRIC_purge_keys_total));
    reply_int64(out, "examinedDocuments", gone);
    reply_int64(out, "examinedKeys", gone);
    reply_int64(out, "invalidTTLIndexSkips", (int64_t)count_skips(command, activity.passes));
    reply_int64(out, "passes", (int64_t)activity.passes);
    reply_int64(out, "subPasses", (int64_t)activity.passes);
    reply_int64(out, "durationMicros", activity.worked_ms * 1000);
}

/* ---- at work ---------------------------------------------------------------------------------------- */

void ttl_append_operation(struct command *command, struct buffer *out)
{
    struct purger_activity activity;

    purger_watch(command->face->engine, &activity);
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             activity.collection_id);
    if (!activity.is_working || !collection)
        return;
    const struct collection_definition *definition = &collection->definition;
    int64_t running_ms = command->request.now - activity.since_ms;
    size_t row = document_begin(out);
    reply_text(out, "type", "op");
    reply_text(out, "host", command->face->address);
    reply_text(out, "desc", "TTLMonitor");
    reply_bool(out, "active", true);
    reply_int32(out, "opid", OPERATION_TTL_MONITOR);
    reply_text(out, "op", "remove");
    reply_bytes(out, "ns", collection_namespace(collection, command->arena));
    size_t inner = reply_begin(out, "command");
    reply_bytes(out, "delete", definition->name);
    document_end(out, inner);
    reply_int64(out, "secs_running", running_ms / 1000);
    reply_int64(out, "microsecs_running", running_ms * 1000);
    document_end(out, row);
}

/* Profile row: one command that is over, as a document of system.profile.
 *
 * Threads: whoever ends the command; the row lies in its arena. */
#include "front/mongo/handlers.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/login.h"
#include "front/mongo/operation.h"
#include "front/mongo/profiler.h"
#include "front/mongo/session.h"

enum { SHOWN_BYTES = 50 * 1024 };

/* ---- the plan --------------------------------------------------------------------------------------- */

static const struct index *index_of(struct command *command)
{
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             command->work.collection_id);

    for (size_t i = 0; collection && i < collection->index_count; i++) {
        if (collection->indexes[i].id == command->work.index_id)
            return &collection->indexes[i];
    }
    return NULL;
}

static const char *index_plan(struct command *command)
{
    const struct index *index = index_of(command);
    struct buffer text = buffer_in(command->arena);

    bytes key = index ? index_key_pattern(index) : BYTES_NONE;
    struct field field;

    if (key.len == 0)
        return "IXSCAN";
    struct document_walk walk = document_fields(key);
    buffer_append_text(&text, command->work.is_counted ? "COUNT_SCAN { " : "IXSCAN { ");
    for (size_t i = 0; document_next(&walk, &field); i++) {
        buffer_append_text(&text, i > 0 ? ", " : "");
        buffer_append(&text, field.name);
        buffer_append_text(&text, ": ");
        json_write_value(&text, field.value);
    }
    buffer_append(&text, bytes_of(" }", 3));
    return text.is_failed ? "IXSCAN" : (const char *)text.data;
}

const char *profile_plan(struct command *command)
{
    const struct command_work *work = &command->work;

    if (!work->has_way)
        return "";
    switch (work->access) {
    case FIND_ACCESS_NOTHING:
        return work->is_counted ? "RECORD_STORE_FAST_COUNT" : "EOF";
    case FIND_ACCESS_POINTS:
        return "IDHACK";
    case FIND_ACCESS_KEYS:
        return work->is_everything ? "COLLSCAN" : "IXSCAN { _id: 1 }";
    case FIND_ACCESS_INDEX:
        return command->has_request ? index_plan(command) : "IXSCAN";
    }
    return "";
}

/* ---- the row ---------------------------------------------------------------------------------------- */

static void append_work(struct command *command, struct buffer *out)
{
    const struct command_work *work = &command->work;
    command_handler *handler = command->row->handler;
    bool is_change = handler == serve_update || handler == serve_find_and_modify;

    reply_int64(out, "keysExamined",
                work->has_way && work->is_everything ? 0 : (int64_t)work->keys);
    reply_int64(out, "docsExamined", (int64_t)work->documents);
    if (work->is_sorted)
        reply_bool(out, "hasSortStage", true);
    if (is_change) {
        reply_int64(out, "nMatched", work->matched);
        reply_int64(out, "nModified", work->modified);
        reply_bool(out, "upsert", work->upserted > 0);
    }
    if (handler == serve_insert || work->inserted > 0)
        reply_int64(out, "ninserted", work->inserted);
    if (handler == serve_delete || work->deleted > 0)
        reply_int64(out, "ndeleted", work->deleted);
    if (work->returned > 0 || handler == serve_find || handler == serve_get_more)
        reply_int64(out, "nreturned", work->returned);
}

static void append_failure(struct command *command, struct buffer *out)
{
    char room[FAULT_NAME_BYTES];

    reply_int32(out, "errCode", command->fault.code);
    reply_text(out, "errName", fault_code_name(command->fault.code, room));
    reply_text(out, "errMsg", command->fault.message ? command->fault.message : "");
}

static void append_client(struct command *command, struct buffer *out)
{
    const struct session *session = command->session;
    struct principal principal = login_of(session);
    struct value application, name;

    reply_text(out, "client", session->peer);
    if (session->operation.metadata.len > 0 &&
        document_find(session->operation.metadata, "application", &application) &&
        application.type == VALUE_DOCUMENT &&
        document_find(value_document(application), "name", &name))
        document_append(out, BYTES_LITERAL("appName"), name);
    size_t users = reply_begin_array(out, "allUsers");
    const char *whole = "";
    if (principal.user.len > 0) {
        size_t user = reply_begin(out, "0");
        reply_bytes(out, "user", principal.user);
        reply_bytes(out, "db", principal.database);
        document_end(out, user);
        whole = arena_format(command->arena, "%.*s@%.*s", (int)principal.user.len,
                             (const char *)principal.user.data, (int)principal.database.len,
                             (const char *)principal.database.data);
    }
    document_end(out, users);
    reply_text(out, "user", whole ? whole : "");
}

bytes profile_row(struct command *command, int64_t number, int64_t took_ms, bool is_failed)
{
    struct buffer row = buffer_in(command->arena), *out = &row;
    size_t begun = document_begin(out);
    const char *plan = profile_plan(command);

    reply_int64(out, "_id", number);
    reply_text(out, "op", operation_kind(command));
    reply_bytes(out, "ns", operation_namespace(command, command->arena));
    operation_append_command(command, out, "command", SHOWN_BYTES);
    append_work(command, out);
    reply_int64(out, "numYield", 0);
    document_end(out, reply_begin(out, "locks"));
    if (is_failed)
        append_failure(command, out);
    reply_int64(out, "responseLength", (int64_t)command->reply.len);
    reply_text(out, "protocol", "op_msg");
    reply_int64(out, "millis", took_ms);
    if (*plan)
        reply_text(out, "planSummary", plan);
    reply_date(out, "ts", clock_now(engine_clock(command->face->engine)));
    append_client(command, out);
    document_end(out, begun);
    return row.is_failed ? BYTES_NONE : bytes_of(row.data, row.len);
}

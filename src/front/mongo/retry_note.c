/* Retry note: which statements of a write with a number were carried out.
 *
 * Every operation of such a write carries a note (engine/note.h) in the same commit:
 *
 *   key     the session
 *   part    the first statement, so that the commits of one command do not take each other's place; those
 *           of the next command do
 *   value   number of the write(8) first statement(4) statements(4) [document]
 *
 * A statement that was carried out has written one document, so that is all there is to answer, but for the _id of
 * an upsert and the reply of findAndModify, which are the document. What changed nothing is not noted and is carried
 * out again. Notes are kept where the documents are: whoever sends the same write again names the same collection, or
 * collections.
 *
 * Keeps: a statement and its note are both there or both not. Threads: the command's. */
#include "front/mongo/retry.h"

#include "front/mongo/handlers.h"
#include "front/mongo/multi.h"

#include <stdlib.h>

enum { HEAD_BYTES = 16 };

_Static_assert(LIMIT_NOTE_MS >= LIMIT_LOGICAL_SESSION_MINUTES * 60000,
               "a session that is alive can send its last write again");

/* ---- layout ----------------------------------------------------------------------------------------- */

static void put_number(uint8_t *out, uint64_t number, size_t width)
{
    for (size_t i = width; i-- > 0; number >>= 8)
        out[i] = (uint8_t)number;
}

static bool read_note(bytes value, int64_t *number_out, struct retry_done *out)
{
    if (value.len < HEAD_BYTES)
        return false;
    *number_out = (int64_t)bytes_read_u64(value.data);
    *out = (struct retry_done){ .first = bytes_read_u32(value.data + 8),
                                .count = bytes_read_u32(value.data + 12),
                                .result = bytes_from(value, HEAD_BYTES) };
    return out->count > 0;
}

/* ---- statements ------------------------------------------------------------------------------------- */

/* The numbers of a list must follow each other. */
static status read_list(struct command *command, bytes list, int64_t *base_out)
{
    struct document_walk walk = document_fields(list);
    struct field field;
    int64_t count = 0;

    while (document_next(&walk, &field)) {
        int64_t number = argument_number(field.value, -1);
        if (count == 0)
            *base_out = number;
        if (number != int64_add_saturating(*base_out, count++))
            return command_fail(command, ERROR_InvalidOptions,
                                "the numbers in stmtIds must follow each other");
    }
    return STATUS_OK;
}

status retry_read_base(struct command *command)
{
    struct document_walk walk = document_fields(command->message->body);
    struct field field;
    int64_t base = 0;

    while (document_next(&walk, &field)) {
        if (bytes_is_text(field.name, "stmtId"))
            base = argument_number(field.value, 0);
        else if (bytes_is_text(field.name, "stmtIds") && field.value.type == VALUE_ARRAY)
            TRY(read_list(command, value_document(field.value), &base));
    }
    if (base < 0 || base > INT32_MAX)
        return command_fail(command, ERROR_InvalidOptions,
                            "the number of a statement is %lld; 0 to %d are possible",
                            (long long)base, INT32_MAX);
    command->statement_base = (uint32_t)base;
    return STATUS_OK;
}

static int compare_done(const void *a, const void *b)
{
    const struct retry_done *left = a, *right = b;

    return (left->first > right->first) - (left->first < right->first);
}

static int compare_statement(const void *wanted, const void *row)
{
    const uint32_t *statement = wanted;
    const struct retry_done *done = row;

    if (*statement < done->first)
        return -1;
    return *statement - done->first < done->count ? 0 : 1;
}

bool retry_is_done(const struct command *command, size_t statement, bytes *result_out)
{
    uint32_t wanted = command->statement_base + (uint32_t)statement;

    if (command->done_count == 0)
        return false;
    const struct retry_done *done = bsearch(&wanted, command->done, command->done_count,
                                            sizeof(*done), compare_statement);
    if (done && result_out)
        *result_out = done->result;
    return done != NULL;
}

/* ---- looking ---------------------------------------------------------------------------------------- */

static status gather(struct command *command, const struct note *notes, size_t count,
                     int64_t *newest_out)
{
    struct retry_done *all;
    int64_t number;

    TRY(ARENA_NEW(command->arena, command->done_count + count, &all));
    for (size_t i = 0; i < command->done_count; i++)
        all[i] = command->done[i];
    command->done = all;
    for (size_t i = 0; i < count; i++) {
        struct retry_done *done = &command->done[command->done_count];
        if (!read_note(notes[i].value, &number, done))
            return status_of(CORRUPT, "what was noted of a retryable write is damaged");
        if (number > *newest_out)
            *newest_out = number;
        if (number == command->txn_number)
            command->done_count++;
    }
    qsort(command->done, command->done_count, sizeof(*command->done), compare_done);
    return STATUS_OK;
}

static status look_in(struct command *command, bytes name, bytes session, int64_t *newest_out)
{
    const struct collection *collection;
    struct note *notes;
    size_t count;

    TRY(command_find(command, name, &collection));
    if (!collection)
        return STATUS_OK;
    TRY(note_find(&command->request, collection, session, &notes, &count));
    return count > 0 ? gather(command, notes, count, newest_out) : STATUS_OK;
}

/* In every collection that a list of them names; what is no name is refused later. */
static status look_in_all(struct command *command, bytes session, int64_t *newest_out)
{
    struct argument_list list;
    bytes document, name, inside, database = command->database;
    struct value namespace;
    size_t count;
    bool has = true;

    TRY(command_list(command, "nsInfo", &list, &count));
    for (size_t i = 0; i < count; i++) {
        TRY(command_list_next(command, &list, &document, &has));
        if (!has || !document_find(document, "ns", &namespace))
            continue;
        TRY(command_split_namespace(command, argument_text(namespace), &inside, &name));
        command->database = inside;
        status s = look_in(command, name, session, newest_out);
        command->database = database;
        TRY(s);
    }
    return STATUS_OK;
}

status retry_look(struct command *command, bytes session, int64_t *newest_out)
{
    *newest_out = INT64_MIN;
    if (command->row->handler == serve_bulk_write)
        return look_in_all(command, session, newest_out);
    if (command->target.type != VALUE_STRING)
        return STATUS_OK;
    return look_in(command, value_text(command->target), session, newest_out);
}

bool retry_is_needed(void *context, bytes key, bytes value)
{
    const struct mongo *face = context;
    time_ms now = clock_now(engine_clock(face->engine));
    struct retry_done done;
    bytes session = key;
    int64_t number;

    if (!multi_read_note(key, &session, &number) && !read_note(value, &number, &done))
        return false;
    return lsid_needs(face->sessions, session, number, now);
}

/* ---- noting ----------------------------------------------------------------------------------------- */

status retry_note(struct command *command, struct write_op *op, size_t first, size_t count,
                  bytes result)
{
    struct write_note *note;
    void *value;

    op->note = NULL;
    if (!command->is_retryable)
        return STATUS_OK;
    TRY(ARENA_NEW(command->arena, 1, &note));
    TRY(arena_take(command->arena, HEAD_BYTES + result.len, &value));
    *note = (struct write_note){ .key = command->session_id,
                                 .part = command->statement_base + (uint32_t)first,
                                 .value = bytes_of(value, HEAD_BYTES + result.len) };
    uint8_t *out = value;
    put_number(out, (uint64_t)command->txn_number, 8);
    put_number(out + 8, note->part, 4);
    put_number(out + 12, count, 4);
    if (result.len > 0)
        memcpy(out + HEAD_BYTES, result.data, result.len);
    op->note = note;
    return STATUS_OK;
}

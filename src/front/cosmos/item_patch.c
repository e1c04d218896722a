/* Item patch: up to ten changes of one item, all or none, perhaps on a condition.
 *
 * The item is read, changed in memory and written back on the condition that it still is what was read.
 * If somebody else was faster, all of it is done again, a limited number of times. The result passes the
 * same checks as every other write.
 *
 * Keeps: id, partition key and system properties cannot be patched. Start reading at serve_item_patch(). */
#include <strings.h>

#include "front/cosmos/item.h"
#include "front/cosmos/item_edit.h"
#include "front/cosmos/sql.h"

enum { PATCH_OPERATIONS_MAX = 10, PATCH_TRIES = 64 };

struct patch {
    const struct query *condition; /* NULL: none */
    size_t count;
    struct edit edits[PATCH_OPERATIONS_MAX];
};

/* ---- reading ---------------------------------------------------------------------------------------- */

static status fail_operation(struct call *call, size_t at, const char *what)
{
    return call_fail(call, FAIL_BAD_REQUEST, "For Operation(%zu): %s.", at + 1, what);
}

static bool find_kind(bytes name, enum edit_kind *out)
{
    static const struct {
        const char *name;
        enum edit_kind kind;
    } kinds[] = {
        {"add",      EDIT_ADD      },
        { "set",     EDIT_SET      },
        { "replace", EDIT_REPLACE  },
        { "remove",  EDIT_REMOVE   },
        { "incr",    EDIT_INCREMENT},
        { "move",    EDIT_MOVE     },
    };

    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (strlen(kinds[i].name) == name.len &&
            strncasecmp(kinds[i].name, (const char *)name.data, name.len) == 0) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

static bool is_partition_path(const struct call *call, const struct edit_path *path)
{
    const struct collection_definition *definition = &call->collection->definition;

    for (size_t i = 0; i < definition->partition_path_count; i++) {
        bytes rest = definition->partition_paths[i];
        size_t at = 0;
        while (at < path->count && rest.len > 0) {
            const uint8_t *dot = memchr(rest.data, '.', rest.len);
            size_t len = dot ? (size_t)(dot - rest.data) : rest.len;
            if (!bytes_equal(path->parts[at], bytes_of(rest.data, len)))
                break;
            rest = bytes_from(rest, len + 1);
            at++;
        }
        if (at == path->count || rest.len == 0)
            return true;
    }
    return false;
}

static status read_path(struct call *call, bytes operation, const char *name, size_t at,
                        struct edit_path *out)
{
    struct value text;

    if (!document_find(operation, name, &text) || text.type != VALUE_STRING)
        return fail_operation(call, at, "'path' (and 'from' of a move) must be a string");
    status s = edit_path_parse(call->arena, value_text(text), out);
    if (s.code == INVALID)
        return fail_operation(call, at, s.message);
    TRY(s);
    if (bytes_equal(out->parts[0], BYTES_LITERAL("id")))
        return fail_operation(call, at, "the id of an item cannot be patched");
    if (item_is_system_property(out->parts[0]))
        return fail_operation(call, at, "system properties cannot be patched");
    if (is_partition_path(call, out))
        return fail_operation(call, at, "the partition key of an item cannot be patched");
    return STATUS_OK;
}

static status read_operation(struct call *call, struct value operation, size_t at, struct edit *out)
{
    struct value kind;
    bytes fields;

    if (operation.type != VALUE_DOCUMENT)
        return fail_operation(call, at, "an operation must be an object");
    fields = value_document(operation);
    if (!document_find(fields, "op", &kind) || kind.type != VALUE_STRING ||
        !find_kind(value_text(kind), &out->kind))
        return fail_operation(call, at,
                              "'op' must be one of add, set, replace, remove, incr, move");
    TRY(read_path(call, fields, "path", at, &out->path));
    if (out->kind == EDIT_MOVE)
        return read_path(call, fields, "from", at, &out->from);
    if (out->kind == EDIT_REMOVE)
        return STATUS_OK;
    if (!document_find(fields, "value", &out->value))
        return fail_operation(call, at, "'value' is missing");
    if (out->kind == EDIT_INCREMENT && !value_is_number(out->value))
        return fail_operation(call, at, "the 'value' of incr must be a number");
    return STATUS_OK;
}

static status read_condition(struct call *call, struct value condition, struct patch *patch)
{
    struct sql_error error = { .code = "", .message = "" };

    if (condition.type == VALUE_MISSING || condition.type == VALUE_NULL)
        return STATUS_OK;
    if (condition.type != VALUE_STRING)
        return call_fail(call, FAIL_BAD_REQUEST, "The condition of a patch must be a string.");
    status s = sql_parse_condition(call->arena, value_text(condition), &patch->condition, &error);
    if (s.code == INVALID || s.code == TOO_LARGE)
        return call_fail(call, FAIL_BAD_REQUEST, "The condition of the patch is not valid: %s",
                         error.code[0] ? error.message : s.message);
    return s;
}

status item_patch_read(struct call *call, struct value body, struct patch **out)
{
    struct value operations = body, condition = { .type = VALUE_MISSING };
    struct field field;

    TRY(ARENA_NEW(call->arena, 1, out));
    if (body.type == VALUE_DOCUMENT) {
        document_find(value_document(body), "operations", &operations);
        document_find(value_document(body), "condition", &condition);
    }
    if (operations.type != VALUE_ARRAY)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The body of a patch must be an array of operations, or "
                         "{\"condition\": text, \"operations\": [...]}.");
    TRY(read_condition(call, condition, *out));
    struct document_walk walk = document_fields(value_document(operations));
    while (document_next(&walk, &field)) {
        if ((*out)->count == PATCH_OPERATIONS_MAX)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The number of patch operations exceeds the limit of %d.",
                             PATCH_OPERATIONS_MAX);
        TRY(read_operation(call, field.value, (*out)->count, &(*out)->edits[(*out)->count]));
        (*out)->count++;
    }
    if ((*out)->count == 0)
        return call_fail(call, FAIL_BAD_REQUEST, "A patch must have at least one operation.");
    return STATUS_OK;
}

/* ---- applying --------------------------------------------------------------------------------------- */

static status check_condition(struct call *call, const struct patch *patch,
                              const struct document *document)
{
    const struct query_decoration *decoration;
    bool holds;

    if (!patch->condition)
        return STATUS_OK;
    TRY(item_decoration(call, &decoration));
    TRY(query_matches(patch->condition, call->arena, decoration, document, call->request.now,
                      &holds));
    return holds ? STATUS_OK : call_fail(call, FAIL_PRECONDITION, NULL);
}

static status take_result(struct call *call, bytes document, struct item *out)
{
    struct item_cleaned cleaned;
    struct buffer json = buffer_in(call->arena);
    status s = document_check(call->arena, document);

    if (s.code == TOO_LARGE || s.code == INVALID)
        return call_fail(call, FAIL_BAD_REQUEST, "The patched item cannot be stored: %s.",
                         s.message);
    TRY(s);
    TRY(item_clean(call->arena, document, &cleaned));
    out->bson = cleaned.document;
    out->term_count = cleaned.scalar_count;
    TRY(item_take_ttl(call, out->bson, &out->own_ttl));
    json_write(&json, out->bson);
    if (json.is_failed)
        return arena_exhausted(call->arena);
    return json.len > LIMIT_ITEM_BYTES ? call_fail(call, FAIL_TOO_LARGE, NULL) : STATUS_OK;
}

/* Under its _id it lies, if it has no id or another one. */
static status check_kept(struct call *call, const struct patch *patch,
                         const struct document *document)
{
    bytes other = BYTES_LITERAL("_id");

    for (size_t i = 0; i < patch->count; i++) {
        const struct edit *edit = &patch->edits[i];
        bool is_touched = bytes_equal(edit->path.parts[0], other) ||
                          (edit->kind == EDIT_MOVE && bytes_equal(edit->from.parts[0], other));
        if (is_touched && item_is_keyed_by_other(call->arena, document))
            return fail_operation(call, i, "the _id of this item is its key and cannot be patched");
    }
    return STATUS_OK;
}

status item_patch_apply(struct call *call, const struct patch *patch,
                        const struct document *document, struct item *out)
{
    bytes latest = document->bson;

    *out = (struct item){ .key = document->key, .old_len = document->bson.len };
    TRY(check_condition(call, patch, document));
    TRY(check_kept(call, patch, document));
    for (size_t i = 0; i < patch->count; i++) {
        status s = edit_document(call->arena, &patch->edits[i], latest, &latest);
        if (s.code == INVALID)
            return fail_operation(call, i, s.message);
        TRY(s);
    }
    return take_result(call, latest, out);
}

/* ---- the request ------------------------------------------------------------------------------------ */

static status read_body(struct call *call, struct patch **out)
{
    bytes body = call->http->body;
    struct value value = { .type = VALUE_DOCUMENT };
    size_t at = 0;

    if (body.len > LIMIT_ITEM_BYTES)
        return call_fail(call, FAIL_TOO_LARGE, NULL);
    while (at < body.len && strchr(" \t\r\n", body.data[at]))
        at++;
    if (at < body.len && body.data[at] == '[')
        value.type = VALUE_ARRAY;
    status s = value.type == VALUE_ARRAY ? json_read_array(call->arena, body, &value.raw)
                                         : json_read(call->arena, body, &value.raw);
    if (s.code == INVALID || s.code == TOO_LARGE)
        return call_fail(call, FAIL_BAD_REQUEST, "The request body is not a patch: %s.", s.message);
    TRY(s);
    return item_patch_read(call, value, out);
}

/* One try; `*is_raced_out` if the item was written by somebody else in the meantime. */
static status patch_once(struct call *call, const struct patch *patch,
                         const struct item_place *place, uint64_t wanted, bool *is_raced_out)
{
    struct document document;
    struct item item;

    *is_raced_out = false;
    TRY(document_read(&call->request, call->collection, place->key, &document));
    uint64_t seq = document.seq;
    *is_raced_out = place->seq != 0 && place->seq != seq; /* it may have another id by now */
    status s = wanted != 0 && wanted != seq ? call_fail(call, FAIL_PRECONDITION, NULL)
                                            : item_patch_apply(call, patch, &document, &item);
    document_release(&call->request, &document);
    if (*is_raced_out)
        return STATUS_OK;
    TRY(s);
    TRY(item_put_in_place(call, place, &item));
    s = item_commit(call, WRITE_REPLACE, &item, seq);
    *is_raced_out = s.code == PRECONDITION;
    return s;
}

status serve_item_patch(struct call *call)
{
    struct partition_key given;
    struct item_place place;
    struct patch *patch;
    bytes etag = BYTES_NONE;
    bool is_raced = true;
    status s = STATUS_OK;

    TRY(partition_key_required(call, &given));
    TRY(read_body(call, &patch));
    call_header(call, "if-match", &etag);
    uint64_t wanted = item_if_match(etag);
    for (int i = 0; i < PATCH_TRIES && is_raced; i++) {
        TRY(item_find(call, given.encoded, call->link.parts[LINK_ITEM_PART], &place));
        s = patch_once(call, patch, &place, wanted, &is_raced);
    }
    return is_raced ? call_fail(call, FAIL_RETRY, NULL) : s;
}

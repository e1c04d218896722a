/* Point: a document by its _id.
 *
 * A filter of nothing but {_id: value} needs no cursor, no plan and no memory of its own: the value is the key. What
 * is not that simple goes the way of all finds (finding.c), with the same result.
 *
 * Keeps: the document is judged under the request's `now`, as every reading is. Threads: the command's. */
#include "front/mongo/point.h"

#include "front/mongo/keep.h"
#include "front/mongo/kept.h"

/* Values that are equal to no others but those of the same key; the others have rules of their own in filters. */
static bool is_plain(struct value id)
{
    return id.type == VALUE_OBJECT_ID || id.type == VALUE_STRING || id.type == VALUE_INT32 ||
           id.type == VALUE_INT64 || id.type == VALUE_BINARY || id.type == VALUE_DATE;
}

bool point_is(const struct collection *collection, const struct finding_wish *wish,
              struct value *id_out)
{
    struct document_walk walk = document_fields(wish->filter);
    struct field field;

    if (!document_next(&walk, &field) || walk.rest.len > 0 ||
        !bytes_equal(field.name, BYTES_LITERAL("_id")) || !is_plain(field.value))
        return false;
    *id_out = field.value;
    return wish->let.len == 0 && wish->sort.len == 0 && wish->projection.len == 0 &&
           wish->hint.type == VALUE_MISSING && wish->min.len == 0 && wish->max.len == 0 &&
           wish->skip == 0 && kept_is_keyed_by_id(collection) && !keep_is_view(collection) &&
           (field.value.type != VALUE_STRING ||
            wish->collation == collection->definition.collation);
}

/* As clients see it: almost always as it is stored, which the same _id in front tells. */
static status show(struct command *command, const struct collection *collection,
                   const struct document *document, struct value id, bytes *out)
{
    struct document_walk walk = document_fields(document->bson);
    struct field field;

    *out = document->bson;
    if (document_next(&walk, &field) && bytes_equal(field.name, BYTES_LITERAL("_id")) &&
        field.value.type == id.type && bytes_equal(field.value.raw, id.raw))
        return STATUS_OK;
    return kept_show(command->arena, collection, document->key, document->bson, out);
}

static status append_document(struct command *command, const struct collection *collection,
                              struct value id)
{
    enum { REST_BYTES = 256 };
    struct document_key key = { 0 };
    struct document document;
    bytes shown;

    TRY(kept_id_key(command->arena, collection, id, &key.id));
    TRY(command_check_time(command));
    struct command_work *work = &command->work;
    work->has_way = true;
    work->access = FIND_ACCESS_POINTS;
    work->keys = 1;
    status s = document_read(&command->request, collection, key, &document);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    work->documents = 1;
    work->returned = 1;
    s = show(command, collection, &document, id, &shown);
    if (s.code == OK) {
        buffer_reserve(&command->reply, shown.len + REST_BYTES);
        reply_document(&command->reply, "0", shown);
    }
    document_release(&command->request, &document);
    return s;
}

status point_reply(struct command *command, const struct collection *collection, bytes name,
                   struct value id)
{
    size_t cursor = reply_begin(&command->reply, "cursor");
    size_t batch = reply_begin_array(&command->reply, "firstBatch");

    TRY(append_document(command, collection, id));
    document_end(&command->reply, batch);
    reply_int64(&command->reply, "id", 0);
    reply_bytes(&command->reply, "ns", command_namespace(command, name));
    document_end(&command->reply, cursor);
    return STATUS_OK;
}

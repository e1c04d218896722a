/* Item find: from what a client calls an item to the key under which it lies.
 *
 * Nearly always the id is the key. Documents that came through another protocol may have an _id of another
 * type; here their id is its text, and a text that could be such an _id is looked up as one too. Or they have
 * an id of their own beside their _id; collections that have had any are marked, and there it is the document
 * itself that says what its id is. Old clients name items by resource id, which holds the number of the write
 * that created the item; then the items of the partition are looked through for it.
 *
 * Keeps: an item is found under the id that lists show, and under no other. Of several that show the same one it
 * is the one whose key is the id; otherwise the first by key. */
#include <ctype.h>

#include "front/cosmos/item.h"

enum { OBJECT_ID_BYTES = 12 };

/* ---- ids of other types ----------------------------------------------------------------------------- */

static bool hex_digit(uint8_t letter, uint8_t *out)
{
    if (letter >= '0' && letter <= '9')
        *out = (uint8_t)(letter - '0');
    else if (letter >= 'a' && letter <= 'f')
        *out = (uint8_t)(letter - 'a' + 10);
    else
        return false;
    return true;
}

static bool object_id_of(struct arena *arena, bytes text, struct value *out)
{
    uint8_t raw[OBJECT_ID_BYTES], high, low;
    bytes copy;

    if (text.len != 2 * sizeof(raw))
        return false;
    for (size_t i = 0; i < sizeof(raw); i++) {
        if (!hex_digit(text.data[2 * i], &high) || !hex_digit(text.data[2 * i + 1], &low))
            return false;
        raw[i] = (uint8_t)(high << 4 | low);
    }
    if (arena_copy(arena, bytes_of(raw, sizeof(raw)), &copy).code != OK)
        return false;
    *out = (struct value){ .type = VALUE_OBJECT_ID, .raw = copy };
    return true;
}

static bool may_be_literal(bytes text)
{
    enum { NUMBER_TEXT_MAX = 32 };

    if (text.len == 0 || text.len > NUMBER_TEXT_MAX)
        return false;
    return isdigit(text.data[0]) || text.data[0] == '-' ||
           bytes_equal(text, BYTES_LITERAL("true")) || bytes_equal(text, BYTES_LITERAL("false")) ||
           bytes_equal(text, BYTES_LITERAL("null"));
}

/* A number, true, false or null, if this is exactly how it is written. */
static bool literal_of(struct arena *arena, bytes text, struct value *out)
{
    struct buffer json = buffer_in(arena), again = buffer_in(arena);
    bytes list;
    struct field field;

    if (!may_be_literal(text))
        return false;
    buffer_append_byte(&json, '[');
    buffer_append(&json, text);
    buffer_append_byte(&json, ']');
    if (json.is_failed || json_read_array(arena, bytes_of(json.data, json.len), &list).code != OK)
        return false;
    struct document_walk walk = document_fields(list);
    if (!document_next(&walk, &field))
        return false;
    json_write_value(&again, field.value);
    *out = field.value;
    return !again.is_failed && bytes_equal(bytes_of(again.data, again.len), text);
}

size_t item_foreign_ids(struct arena *arena, bytes text, struct value *out)
{
    size_t count = 0;

    count += literal_of(arena, text, &out[count]);
    count += object_id_of(arena, text, &out[count]);
    return count;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

static status key_of_value(struct call *call, bytes partition, struct value id,
                           struct document_key *out)
{
    struct buffer encoded = buffer_in(call->arena);

    out->partition = partition;
    key_append_value_by(&encoded, call->collection->definition.collation, id, KEY_ASCENDING);
    return buffer_finish(&encoded, &out->id);
}

status item_key(struct call *call, bytes partition, bytes id, struct document_key *out)
{
    struct value value;

    TRY(value_of_text(call->arena, id, &value));
    return key_of_value(call, partition, value, out);
}

bool item_is_keyed_by_other(struct arena *arena, const struct document *document)
{
    struct buffer encoded = buffer_in(arena);
    struct value id;

    if (document_find(document->bson, "id", &id) && id.type == VALUE_STRING)
        key_append_value(&encoded, id, KEY_ASCENDING);
    return encoded.is_failed || !bytes_equal(bytes_of(encoded.data, encoded.len), document->key.id);
}

/* ---- what lies there -------------------------------------------------------------------------------- */

static status is_there(struct call *call, struct document_key key, bool *out)
{
    struct document document;
    status s = document_read(&call->request, call->collection, key, &document);

    *out = s.code == OK;
    if (s.code == OK)
        document_release(&call->request, &document);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

/* The place of a document that was found. */
static status take_place(struct call *call, const struct document *document, struct item_place *out)
{
    bool is_kept = item_is_keyed_by_other(call->arena, document);
    struct value id;

    out->seq = document->seq;
    out->is_taken = false;
    TRY(arena_copy(call->arena, document->key.id, &out->key.id));
    out->kept_id = (struct value){ .type = VALUE_MISSING };
    if (!is_kept || !document_find(document->bson, "_id", &id))
        return STATUS_OK;
    out->kept_id.type = id.type;
    return arena_copy(call->arena, id.raw, &out->kept_id.raw);
}

/* Does the document under the key show the id? Then `*place` is its place. */
static status try_key(struct call *call, struct document_key key, bytes id,
                      struct item_place *place, bool *is_there_out, bool *is_it_out)
{
    struct document document;
    bytes shown;
    status s = document_read(&call->request, call->collection, key, &document);

    *is_it_out = false;
    *is_there_out = s.code == OK;
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = foreign_shown_id(call->arena, document.bson, &shown);
    if (s.code == OK && bytes_equal(shown, id)) {
        *is_it_out = true;
        place->key.partition = key.partition;
        s = take_place(call, &document, place);
    }
    document_release(&call->request, &document);
    return s;
}

/* ---- ids ------------------------------------------------------------------------------------------- */

static status find_foreign(struct call *call, bytes partition, bytes id, struct item_place *place)
{
    struct value values[QUERY_IDS];
    size_t count = item_foreign_ids(call->arena, id, values);
    bool is_found = false, is_own = false;

    for (size_t i = 0; i < count && !is_found; i++) {
        struct document_key key;
        TRY(key_of_value(call, partition, values[i], &key));
        TRY(is_there(call, key, &is_found));
        if (!is_found)
            continue;
        TRY(is_there(call, place->key, &is_own));
        if (!is_own)
            *place = (struct item_place){ .key = key, .kept_id = values[i] };
    }
    return STATUS_OK;
}

/* The first by key among those whose key is another. */
static status find_among_others(struct call *call, bytes id, struct item_place *place)
{
    struct value values[QUERY_IDS];
    struct document_key keys[QUERY_IDS + 1];
    size_t count = item_foreign_ids(call->arena, id, values);
    struct item_place found = *place;
    bool is_there_too, is_it;

    for (size_t i = 0; i < count; i++)
        TRY(key_of_value(call, place->key.partition, values[i], &keys[i]));
    status s = item_search(call, place->key.partition, id, &keys[count]);
    if (s.code == OK)
        count++;
    else if (s.code != NOT_FOUND)
        return s;
    for (size_t i = 0; i < count; i++) {
        TRY(try_key(call, keys[i], id, &found, &is_there_too, &is_it));
        if (is_it && (place->seq == 0 || bytes_compare(found.key.id, place->key.id) < 0))
            *place = found;
    }
    return STATUS_OK;
}

/* Where documents have ids of their own, each of them has to be asked. */
static status find_shown(struct call *call, bytes id, struct item_place *place)
{
    bool is_it;

    TRY(try_key(call, place->key, id, place, &place->is_taken, &is_it));
    if (is_it) {
        place->is_taken = false;
        return STATUS_OK;
    }
    return find_among_others(call, id, place);
}

static status find_named(struct call *call, bytes id, struct item_place *place)
{
    if (foreign_is_own_marked(call->collection))
        return find_shown(call, id, place);
    return find_foreign(call, place->key.partition, id, place);
}

/* ---- resource ids ----------------------------------------------------------------------------------- */

static bool is_rid_here(struct call *call, bytes text, struct rid *out)
{
    struct rid container = call_container_rid(call);

    return text.len == RID_TEXT_BYTES - 1 && rid_parse(text, out) && out->len == RID_ITEM_BYTES &&
           memcmp(out->raw, container.raw, RID_CONTAINER_BYTES) == 0;
}

static status find_birth(struct call *call, bytes partition, uint64_t birth,
                         struct item_place *place)
{
    struct scan_spec spec = { .start = partition, .end = partition, .is_end_inclusive = true };
    bool is_fixed = call->request.view != NULL, is_own;
    struct document document;
    struct scan *scan;
    struct scan_row row;

    TRY(is_there(call, place->key, &is_own));
    if (is_own)
        return STATUS_OK;
    TRY(scan_open(&call->request, call->collection, &spec, &scan));
    status s;
    while (scan_next(scan, &row)) {
        if (row.birth_seq != birth)
            continue;
        TRY_GOTO(scan_document(scan, &document), done);
        s = take_place(call, &document, place);
        document_release(&call->request, &document);
        goto done;
    }
    s = scan_status(scan);
done:
    scan_close(scan);
    if (!is_fixed) /* who comes back to the item wants to see what became of it */
        request_loosen(&call->request);
    return s;
}

status item_find(struct call *call, bytes partition, bytes id, struct item_place *out)
{
    struct rid rid;

    *out = (struct item_place){ .kept_id = { .type = VALUE_MISSING } };
    TRY(item_key(call, partition, id, &out->key));
    if (is_rid_here(call, id, &rid))
        return find_birth(call, partition, rid_item(&rid), out);
    TRY(find_named(call, id, out));
    return out->is_taken ? call_fail(call, FAIL_NO_ITEM, NULL) : STATUS_OK;
}

status item_find_place(struct call *call, const struct item *item, struct item_place *out)
{
    *out = (struct item_place){ .key = item->key, .kept_id = { .type = VALUE_MISSING } };
    return find_named(call, item->id, out);
}

status item_check_free(struct call *call, const struct item_place *place)
{
    if (place->is_taken)
        return call_fail(call, FAIL_CONFLICT,
                         "A document with another id has this id as its _id, which only one "
                         "document can have; use another id.");
    if (place->kept_id.type != VALUE_MISSING || place->seq != 0)
        return call_fail(call, FAIL_CONFLICT, NULL);
    return STATUS_OK;
}

status item_put_in_place(struct call *call, const struct item_place *place, struct item *item)
{
    struct document_walk walk = document_fields(item->bson);
    struct buffer copy = buffer_in(call->arena);
    struct field field;

    item->key = place->key;
    if (place->kept_id.type == VALUE_MISSING)
        return STATUS_OK;
    size_t begun = document_begin(&copy);
    document_append(&copy, BYTES_LITERAL("_id"), place->kept_id);
    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("_id")))
            document_append(&copy, field.name, field.value);
    }
    document_end(&copy, begun);
    return buffer_finish(&copy, &item->bson);
}

/* Item show: stored documents as clients see them.
 *
 * The system properties follow the document: where it lies (_rid, _self), its version (_etag), when it was
 * written (_ts). Stored fields of these names, and an id that is no string, are not shown; both can only
 * have come through another protocol.
 *
 * Pure apart from buffers and arenas; callable from every thread. */
#include "front/cosmos/item.h"

#include "base/memo.h"
#include "front/cosmos/face.h"

struct item_version item_version_of(const struct document *document)
{
    return (struct item_version){ document->seq, document->birth_seq, document->written_at_s };
}

struct item_version item_version_written(const struct write_op *op)
{
    return (struct item_version){ op->seq, op->birth_seq, op->written_at_s };
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* Writes the document as it is, but for the closing brace; false if it has to be shown otherwise. */
static bool write_as_it_is(struct buffer *out, bytes document)
{
    struct document_walk walk = document_fields(document);
    bool has_id = false;
    struct field field;
    uint8_t before = '{';

    while (document_next(&walk, &field)) {
        if (bytes_equal(field.name, BYTES_LITERAL("id")))
            has_id = field.value.type == VALUE_STRING;
        else if (item_is_system_property(field.name))
            return false;
        buffer_append_byte(out, before);
        before = ',';
        json_write_field(out, &field);
    }
    return has_id;
}

static status adapt(struct arena *arena, bytes document, bytes *out)
{
    struct document_walk walk = document_fields(document);
    struct buffer copy = buffer_in(arena);
    struct field field;
    bytes id;

    TRY(foreign_shown_id(arena, document, &id));
    size_t begun = document_begin(&copy);
    document_append_text(&copy, "id", id);
    while (document_next(&walk, &field)) {
        if (!item_is_system_property(field.name) && !bytes_equal(field.name, BYTES_LITERAL("id")))
            document_append(&copy, field.name, field.value);
    }
    document_end(&copy, begun);
    return buffer_finish(&copy, out);
}

void item_show_begin(struct buffer *out, bytes document)
{
    size_t begun = out->len;

    if (write_as_it_is(out, document) || out->is_failed)
        return;
    out->len = begun;
    if (adapt(out->arena, document, &document).code != OK)
        out->is_failed = true;
    if (out->is_failed)
        return;
    json_write(out, document);
    if (!out->is_failed)
        out->len--; /* the closing brace: the system properties go in front of it */
}

/* Appends to a text that has the room. */
static size_t put(char *out, size_t len, const char *more)
{
    const size_t more_len = strlen(more);

    memcpy(out + len, more, more_len);
    return len + more_len;
}

struct item_home item_home_of(struct rid container)
{
    struct item_home home = { .container = container };
    struct rid database = rid_of_database(rid_database(&container));
    char text[RID_TEXT_BYTES];

    rid_format(&database, text);
    home.link_len = put(home.link, put(home.link, 0, "dbs/"), text);
    rid_format(&container, text);
    home.link_len = put(home.link, put(home.link, home.link_len, "/colls/"), text);
    home.link_len = put(home.link, home.link_len, "/docs/");
    ASSERT(home.link_len <= sizeof(home.link));
    return home;
}

static void format_item(const struct item_home *home, uint64_t birth_seq, char out[RID_TEXT_BYTES])
{
    struct rid item = rid_of_item(home->container, birth_seq);

    rid_format(&item, out);
}

static void append_self(struct buffer *out, const struct item_home *home, const char *item)
{
    buffer_append(out, bytes_of(home->link, home->link_len));
    buffer_append_text(out, item);
    buffer_append_byte(out, '/');
}

/* The etag's own quotes are part of the property. */
static void append_etag(struct buffer *out, uint64_t seq)
{
    char etag[ETAG_TEXT_BYTES];

    etag_format(seq, etag);
    buffer_append_text(out, "\\\"");
    buffer_append(out, bytes_of(etag + 1, ETAG_TEXT_BYTES - 3));
    buffer_append_text(out, "\\\"");
}

void item_show_end(struct buffer *out, const struct item_home *home,
                   const struct item_version *version)
{
    char item[RID_TEXT_BYTES];

    format_item(home, version->birth_seq, item);
    buffer_append_text(out, ",\"_rid\":\"");
    buffer_append_text(out, item);
    buffer_append_text(out, "\",\"_self\":\"");
    append_self(out, home, item);
    buffer_append_text(out, "\",\"_etag\":\"");
    append_etag(out, version->seq);
    buffer_append_text(out, "\",\"_attachments\":\"attachments/\",\"_ts\":");
    buffer_append_decimal(out, (uint64_t)version->written_at_s, 1);
    buffer_append_byte(out, '}');
}

void item_show(const struct item_home *home, struct buffer *out, const struct document *document)
{
    struct item_version version = item_version_of(document);

    item_show_begin(out, document->bson);
    item_show_end(out, home, &version);
}

/* What a write has made of an item never changes, and so neither does its text. */
static struct memo_key key_of(struct rid container, uint64_t seq)
{
    struct memo_key key = {
        {0, 0, seq, 0}
    }; /* numbers of writes begin with 1 */

    _Static_assert(sizeof(key.words[3]) == RID_CONTAINER_BYTES, "the rid of a container is a word");
    memcpy(&key.words[3], container.raw, sizeof(key.words[3]));
    key.words[0] = bytes_hash(bytes_of(&seq, sizeof(seq)), key.words[3]);
    return key;
}

bool item_show_known(struct call *call, const struct item_home *home, struct buffer *out,
                     uint64_t seq)
{
    const struct memo_key key = key_of(home->container, seq);

    return memo_append(call->face->shown, &key, out);
}

void item_show_again(struct call *call, const struct item_home *home, struct buffer *out,
                     const struct document *document)
{
    const struct memo_key key = key_of(home->container, document->seq);
    struct memo *shown = call->face->shown;
    const size_t before = out->len;

    if (memo_append(shown, &key, out))
        return;
    item_show(home, out, document);
    if (!out->is_failed && memo_has_met(shown, key.words[0]))
        memo_keep(shown, &key, bytes_of(out->data + before, out->len - before));
}

/* ---- fields, for queries ---------------------------------------------------------------------------- */

/* What the fields usually take; more is taken when they need it. */
enum { SELF_BYTES = 128, SHOWN_BYTES = 384 };

struct showing {
    struct query_decoration decoration;
    struct item_home home;
    bool shows_id;
};

static status decorate(void *context, const struct document *document, struct arena *arena,
                       bytes *fields_out)
{
    const struct showing *showing = context;
    struct buffer fields = buffer_in(arena), self = buffer_in(arena);
    char etag[ETAG_TEXT_BYTES], item[RID_TEXT_BYTES];
    bytes id;

    format_item(&showing->home, document->birth_seq, item);
    etag_format(document->seq, etag);
    buffer_reserve(&self, SELF_BYTES);
    append_self(&self, &showing->home, item);
    buffer_reserve(&fields, SHOWN_BYTES);
    size_t begun = document_begin(&fields);
    if (showing->shows_id) {
        TRY(foreign_shown_id(arena, document->bson, &id));
        document_append_text(&fields, "id", id);
    }
    document_append_text(&fields, "_rid", bytes_of_text(item));
    document_append_text(&fields, "_self", bytes_of(self.data, self.len));
    document_append_text(&fields, "_etag", bytes_of_text(etag));
    document_append_text(&fields, "_attachments", BYTES_LITERAL("attachments/"));
    document_append_int64(&fields, "_ts", document->written_at_s);
    document_end(&fields, begun);
    if (self.is_failed)
        return arena_exhausted(arena);
    return buffer_finish(&fields, fields_out);
}

static size_t ids_that_show(void *context, struct value shown, struct arena *arena,
                            struct value *ids_out)
{
    (void)context;
    ids_out[0] = shown;
    if (shown.type != VALUE_STRING)
        return 1;
    return 1 + item_foreign_ids(arena, value_text(shown), ids_out + 1);
}

status item_decoration(struct call *call, const struct query_decoration **out)
{
    static const bytes names[] = {
        BYTES_LITERAL("id"),    BYTES_LITERAL("_rid"),         BYTES_LITERAL("_self"),
        BYTES_LITERAL("_etag"), BYTES_LITERAL("_attachments"), BYTES_LITERAL("_ts"),
    };
    struct showing *showing;

    *out = NULL;
    TRY(ARENA_NEW(call->arena, 1, &showing));
    showing->home = item_home_of(call_container_rid(call));
    /* Only a collection that another protocol has made, or has written into, holds documents without an id
     * of their own; elsewhere the stored id can be looked up in an index. */
    showing->shows_id = call->collection->definition.partition_path_count == 0 ||
                        foreign_is_marked(call->collection);
    size_t skipped = showing->shows_id ? 0 : 1;
    showing->decoration = (struct query_decoration){
        .decorate = decorate,
        .context = showing,
        .names = names + skipped,
        .name_count = ARRAY_COUNT(names) - skipped,
        .id_name = BYTES_LITERAL("id"),
        .ids = ids_that_show,
    };
    if (foreign_is_own_marked(call->collection)) /* no key tells all documents that show an id */
        showing->decoration.id_name = BYTES_NONE;
    *out = &showing->decoration;
    return STATUS_OK;
}

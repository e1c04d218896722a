/* Items: documents as this protocol knows them. Stored is what the client sent, in its order, without the
 * system properties; those are made from the document's versions and stand behind it when it is shown. */
#ifndef FRONT_COSMOS_ITEM_H
#define FRONT_COSMOS_ITEM_H

#include "front/cosmos/call.h"
#include "front/cosmos/partition_key.h"
#include "front/cosmos/resource.h"
#include "query/query.h"

enum { LINK_ITEM_PART = 5 }; /* of dbs/{database}/colls/{container}/docs/{item} */

/* ---- taking in: item.c, item_clean.c ---------------------------------------------------------------- */

/* A document that may be written. In the arena of the call. */
struct item {
    bytes bson; /* as it will be stored */
    bytes id;
    struct document_key key;
    int32_t own_ttl;
    size_t term_count; /* scalars in it, for the charge */
    size_t old_len;    /* of a patch: size of what it was made from; otherwise 0 */
};

/* The body of the request as a document: FAIL_TOO_LARGE, FAIL_BAD_REQUEST with the offset. */
MUST_USE status item_read_body(struct call *call, bytes *document_out);
/* Everything that is checked before anybody looks at what is stored: the id, the ttl (C-3), the partition
 * key against the one that was given. */
MUST_USE status item_take(struct call *call, bytes document, const struct partition_key *given,
                          struct item *out);
/* The document's own ttl; FAIL_BAD_REQUEST with the value. */
MUST_USE status item_take_ttl(struct call *call, bytes document, int32_t *out);

struct item_cleaned {
    bytes document;
    size_t scalar_count;
};
/* Leaves out the system properties, and of equal names in one object all but the last. */
MUST_USE status item_clean(struct arena *arena, bytes document, struct item_cleaned *out);
bool item_is_system_property(bytes name);

/* ---- finding: item_find.c, item_search.c ------------------------------------------------------------ */

/* Under which key the item lies that a client names by its id. */
struct item_place {
    struct document_key key;
    /* Not missing: the _id that is the key of the document there, which came through another protocol and
     * whose id is another one or its text. */
    struct value kept_id;
    /* The version in which a document was seen to have the id, if the collection has documents whose ids can
     * change; otherwise 0, and whether there is one is left to the engine. */
    uint64_t seq;
    bool is_taken; /* nothing has the id, but a document with another one has its key */
};
MUST_USE status item_key(struct call *call, bytes partition, bytes id, struct document_key *out);
/* By id, by the text of an _id of another type, or by resource id; the key of the id itself if none of
 * them leads to an item. FAIL_NO_ITEM if a document with another id has that key. */
MUST_USE status item_find(struct call *call, bytes partition, bytes id, struct item_place *out);
/* The same for a document that is about to be written; never by resource id, and who has the key is told in
 * the place. */
MUST_USE status item_find_place(struct call *call, const struct item *item, struct item_place *out);
/* FAIL_CONFLICT if a new item cannot be put there, because another one has the id or its key. */
MUST_USE status item_check_free(struct call *call, const struct item_place *place);
/* Puts the item into this place: a document that replaces a foreign one keeps its _id. */
MUST_USE status item_put_in_place(struct call *call, const struct item_place *place,
                                  struct item *item);
/* Values of other types than string whose text this is; QUERY_IDS - 1 at most. */
size_t item_foreign_ids(struct arena *arena, bytes text, struct value *out);
/* The document is here under its _id, which nobody may change. */
bool item_is_keyed_by_other(struct arena *arena, const struct document *document);

/* Of documents whose own string id is this one, the first by key; NOT_FOUND. Sees the instant of the request if
 * it has one, otherwise what is there now. */
MUST_USE status item_search(struct call *call, bytes partition, bytes id, struct document_key *out);

/* ---- showing: item_show.c --------------------------------------------------------------------------- */

struct item_version {
    uint64_t seq, birth_seq;
    int64_t written_at_s;
};
struct item_version item_version_of(const struct document *document);
struct item_version item_version_written(const struct write_op *op);

/* Where the items of a container lie: what all their links begin with. */
struct item_home {
    struct rid container;
    char link[sizeof("dbs//colls//docs/") + 2 * RID_TEXT_BYTES];
    size_t link_len;
};
struct item_home item_home_of(struct rid container);

/* The JSON of an item in two steps, because its version is only known when it is written: everything but
 * the system properties, then these with the closing brace. */
void item_show_begin(struct buffer *out, bytes document);
void item_show_end(struct buffer *out, const struct item_home *home,
                   const struct item_version *version);
void item_show(const struct item_home *home, struct buffer *out, const struct document *document);
/* The same for one that was recalled: its text is kept when it comes a second time. */
void item_show_again(struct call *call, const struct item_home *home, struct buffer *out,
                     const struct document *document);
/* And for what the write with this number has made, if its text was kept. */
bool item_show_known(struct call *call, const struct item_home *home, struct buffer *out,
                     uint64_t seq);
/* For queries: the system properties as fields. Valid as long as the call. */
MUST_USE status item_decoration(struct call *call, const struct query_decoration **out);

/* ---- conditions and options of a request: item.c ---------------------------------------------------- */

/* If-Match as write_op.if_seq: 0 without one or with "*"; a version that never was for a foreign etag. */
uint64_t item_if_match(bytes etag);
/* Prefer: return=minimal. */
bool item_is_minimal(const struct call *call);
void item_add_etag(struct call *call, uint64_t seq);

/* ---- one item: item_write.c ------------------------------------------------------------------------- */

/* A write of one item on its way to the disk. */
struct item_change {
    struct write_op op;
    struct buffer json; /* begun */
    bool is_minimal;
};
/* The operation and the reply of a write, up to what only the commit knows. */
MUST_USE status item_change_prepare(struct call *call, enum write_kind kind,
                                    const struct item *item, struct item_change *out);
/* What the write costs; a patch reads the item as well. */
charge_units item_charge(const struct call *call, const struct item *item, size_t json_len);
/* Ends the call with the write of one item; `if_seq` as in write_op. */
MUST_USE status item_commit(struct call *call, enum write_kind kind, const struct item *item,
                            uint64_t if_seq);

/* ---- many items: item_list.c, item_query.c ---------------------------------------------------------- */

/* What a page of items is limited to by its request. */
struct item_scope {
    struct partition_key partition; /* or a prefix of it, or nothing */
    size_t page_size;
    bytes token_scope; /* what continuation tokens are bound to */
};
/* FAIL_GONE for a partition key range that is not there. `fingerprint` of the query, 0 for the feed. */
MUST_USE status item_scope_open(struct call *call, uint64_t fingerprint, struct item_scope *out);

/* ---- patches: item_patch.c -------------------------------------------------------------------------- */

struct patch;
/* The body of a patch: an array of operations, or {"condition", "operations"}. */
MUST_USE status item_patch_read(struct call *call, struct value body, struct patch **out);
/* The patched version of a stored document, with the key of that document. FAIL_PRECONDITION if the
 * condition does not hold; FAIL_BAD_REQUEST with the number of the operation that cannot be carried out;
 * FAIL_TOO_LARGE. */
MUST_USE status item_patch_apply(struct call *call, const struct patch *patch,
                                 const struct document *document, struct item *out);

#endif

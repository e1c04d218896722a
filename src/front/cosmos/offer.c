/* Offer: throughput as a resource.
 *
 * An offer is kept in the options of the container or database it belongs to, and goes with it. A container of
 * which nothing was said has the least there is, unless its database has an offer: then its containers share
 * that one. The id of an offer is a letter for the kind of its owner and the owner's number.
 *
 * Threads: as the call; changes one at a time, see resource_change(). Start reading at
 * serve_offer_replace(). */
#include "front/cosmos/offer.h"

#include <inttypes.h>
#include <stdio.h>

#include "front/cosmos/face.h"
#include "front/cosmos/resource.h"

enum {
    THROUGHPUT_MIN = OFFER_DEFAULT_THROUGHPUT,
    THROUGHPUT_STEP = 100,
    AUTOSCALE_MIN = 1000,
    AUTOSCALE_STEP = 1000,
    AUTOSCALE_SHARE = 10, /* an autoscale offer goes down to this part of its maximum */
    THROUGHPUT_MAX = 1000000,
    OFFER_ID_BYTES = 10
};

/* A database, or a container with its database. */
struct owner {
    bytes database;
    const struct collection *collection; /* NULL: the database itself */
};

/* ---- values of throughput --------------------------------------------------------------------------- */

static status check_throughput(struct call *call, int64_t given, uint32_t *out)
{
    if (given < THROUGHPUT_MIN || given > THROUGHPUT_MAX || given % THROUGHPUT_STEP != 0)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The offer throughput %" PRId64
                         " is invalid; it must be %d to %d request units per second, in steps of "
                         "%d.",
                         given, THROUGHPUT_MIN, THROUGHPUT_MAX, THROUGHPUT_STEP);
    *out = (uint32_t)given;
    return STATUS_OK;
}

static status set_autoscale(struct call *call, int64_t maximum, struct offer *out)
{
    if (maximum < AUTOSCALE_MIN || maximum > THROUGHPUT_MAX || maximum % AUTOSCALE_STEP != 0)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The autoscale maxThroughput %" PRId64
                         " is invalid; it must be %d to %d request units per second, in steps of "
                         "%d.",
                         maximum, AUTOSCALE_MIN, THROUGHPUT_MAX, AUTOSCALE_STEP);
    out->autoscale_max = (uint32_t)maximum;
    out->throughput = (uint32_t)maximum / AUTOSCALE_SHARE;
    return STATUS_OK;
}

/* number = 1*9 digit */
static bool parse_number(bytes text, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (i == 9 || text.data[i] < '0' || text.data[i] > '9')
            return false;
        *out = *out * 10 + (text.data[i] - '0');
    }
    return text.len > 0;
}

static status read_autoscale(struct call *call, bytes settings, struct offer *out)
{
    struct value value;
    int64_t maximum;

    if (!document_find(settings, "maxThroughput", &value) || !value_as_int64(value, &maximum))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The autoscale settings have no whole number 'maxThroughput'.");
    return set_autoscale(call, maximum, out);
}

status offer_of_headers(struct call *call, struct stored *stored)
{
    bytes manual, autoscale, settings;
    int64_t given;
    bool is_manual = call_header(call, "x-ms-offer-throughput", &manual);
    bool is_autoscale = call_header(call, "x-ms-cosmos-offer-autopilot-settings", &autoscale);

    if (is_manual && is_autoscale)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The headers x-ms-offer-throughput and "
                         "x-ms-cosmos-offer-autopilot-settings exclude each other; send one of "
                         "them.");
    stored->has_offer = is_manual || is_autoscale;
    if (is_manual) {
        if (!parse_number(manual, &given))
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The header x-ms-offer-throughput is '%.*s', not a whole number.",
                             (int)manual.len, (const char *)manual.data);
        return check_throughput(call, given, &stored->offer.throughput);
    }
    if (!is_autoscale)
        return STATUS_OK;
    if (json_read(call->arena, autoscale, &settings).code != OK)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The header x-ms-cosmos-offer-autopilot-settings is not JSON like "
                         "{\"maxThroughput\":4000}.");
    return read_autoscale(call, settings, &stored->offer);
}

/* ---- whose offer is whose --------------------------------------------------------------------------- */

static bytes owner_options(const struct call *call, const struct owner *owner)
{
    return owner->collection ? owner->collection->definition.options
                             : catalog_database_options(&call->request, owner->database);
}

static uint32_t owner_number(const struct call *call, const struct owner *owner)
{
    return owner->collection ? owner->collection->id
                             : catalog_database_id(&call->request, owner->database);
}

/* False if the owner has none: a database that was given none, or a container that shares. */
static bool find_offer(const struct call *call, const struct owner *owner, struct offer *out)
{
    struct stored stored = stored_read(owner_options(call, owner));
    struct owner database = { .database = owner->database };

    *out = stored.offer;
    if (stored.has_offer || !owner->collection)
        return stored.has_offer;
    if (stored_read(owner_options(call, &database)).has_offer)
        return false;
    *out = (struct offer){ .throughput = OFFER_DEFAULT_THROUGHPUT, .ts = stored.ts };
    return true;
}

struct offer_share offer_throughput(const struct call *call)
{
    struct owner owner = { call->collection->definition.database, call->collection };
    struct owner database = { .database = owner.database };
    struct offer offer;

    if (!find_offer(call, &owner, &offer)) {
        offer = stored_read(owner_options(call, &database)).offer;
        owner = database;
    }
    return (struct offer_share){ owner_number(call, &owner),
                                 offer.autoscale_max ? offer.autoscale_max : offer.throughput };
}

static uint64_t etag_of(const struct call *call, const struct owner *owner,
                        const struct offer *offer)
{
    return resource_etag(owner_number(call, owner), offer->version);
}

static void format_id(const struct call *call, const struct owner *owner, char out[OFFER_ID_BYTES])
{
    snprintf(out, OFFER_ID_BYTES, "%c%08" PRIx32, owner->collection ? 'c' : 'd',
             owner_number(call, owner));
}

/* Calls `see` for every owner that has an offer, until it fails. */
typedef status owner_visitor(struct call *call, const struct owner *owner,
                             const struct offer *offer, void *context);

static status visit(struct call *call, struct owner owner, owner_visitor *see, void *context)
{
    struct offer offer;

    if (resource_is_hidden(owner.database) || !find_offer(call, &owner, &offer))
        return STATUS_OK;
    return see(call, &owner, &offer, context);
}

static status visit_all(struct call *call, owner_visitor *see, void *context)
{
    for (size_t i = 0; i < catalog_database_count(&call->request); i++)
        TRY(visit(call, (struct owner){ .database = catalog_database(&call->request, i) }, see,
                  context));
    for (size_t i = 0; i < catalog_collection_count(&call->request); i++) {
        const struct collection *collection = catalog_collection(&call->request, i);
        TRY(visit(call, (struct owner){ collection->definition.database, collection }, see,
                  context));
    }
    return STATUS_OK;
}

/* ---- showing ---------------------------------------------------------------------------------------- */

static void append_content(struct buffer *document, const struct offer *offer)
{
    size_t content = document_begin_inner(document, VALUE_DOCUMENT, BYTES_LITERAL("content"));
    uint32_t highest = offer->autoscale_max ? offer->autoscale_max : offer->throughput;

    document_append_int64(document, "offerThroughput", offer->throughput);
    document_append_bool(document, "offerIsRUPerMinuteThroughputEnabled", false);
    size_t least = document_begin_inner(document, VALUE_DOCUMENT,
                                        BYTES_LITERAL("offerMinimumThroughputParameters"));
    document_append_int64(document, "maxThroughputEverProvisioned", highest);
    document_append_int64(document, "maxConsumedStorageEverInKB", 0);
    document_end(document, least);
    if (offer->autoscale_max) {
        size_t autoscale = document_begin_inner(document, VALUE_DOCUMENT,
                                                BYTES_LITERAL("offerAutopilotSettings"));
        document_append_int64(document, "maxThroughput", offer->autoscale_max);
        document_end(document, autoscale);
    }
    document_end(document, content);
}

/* Links of the owner and of the offer. */
struct offer_links {
    char id[OFFER_ID_BYTES];
    char owner_rid[RID_TEXT_BYTES];
    const char *resource;
    const char *self;
};

static status make_links(struct call *call, const struct owner *owner, struct offer_links *out)
{
    uint32_t database_id = catalog_database_id(&call->request, owner->database);
    struct rid database = rid_of_database(database_id), rid = database;
    char database_text[RID_TEXT_BYTES];

    if (owner->collection)
        rid = rid_of_container(database_id, owner->collection->id);
    format_id(call, owner, out->id);
    rid_format(&rid, out->owner_rid);
    rid_format(&database, database_text);
    out->resource = owner->collection ? arena_format(call->arena, "dbs/%s/colls/%s/", database_text,
                                                     out->owner_rid)
                                      : arena_format(call->arena, "dbs/%s/", database_text);
    out->self = arena_format(call->arena, "offers/%s/", out->id);
    return out->resource && out->self ? STATUS_OK : arena_exhausted(call->arena);
}

static status offer_document(struct call *call, const struct owner *owner,
                             const struct offer *offer, bytes *out)
{
    struct buffer document = buffer_in(call->arena);
    struct offer_links links;

    TRY(make_links(call, owner, &links));
    size_t begun = document_begin(&document);
    document_append_text(&document, "resource", bytes_of_text(links.resource));
    document_append_text(&document, "offerType", BYTES_LITERAL("Invalid"));
    document_append_text(&document, "offerResourceId", bytes_of_text(links.owner_rid));
    document_append_text(&document, "offerVersion", BYTES_LITERAL("V2"));
    append_content(&document, offer);
    document_append_text(&document, "id", bytes_of_text(links.id));
    struct resource_mark mark = { links.id, links.self, etag_of(call, owner, offer), offer->ts };
    resource_append_mark(&document, &mark);
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

static status add_to_feed(struct call *call, const struct owner *owner, const struct offer *offer,
                          void *context)
{
    bytes document;

    TRY(offer_document(call, owner, offer, &document));
    return feed_add(call, context, document);
}

status serve_offer_list(struct call *call)
{
    struct feed feed = { .key = "Offers" };

    TRY(visit_all(call, add_to_feed, &feed));
    return feed_reply(call, &feed);
}

struct search {
    bytes id; /* wanted */
    bool is_found;
    struct owner owner;
    struct offer offer;
};

static status take_if_wanted(struct call *call, const struct owner *owner,
                             const struct offer *offer, void *context)
{
    struct search *search = context;
    char id[OFFER_ID_BYTES];

    format_id(call, owner, id);
    if (!bytes_equal(bytes_of_text(id), search->id))
        return STATUS_OK;
    search->is_found = true;
    search->owner = *owner;
    search->offer = *offer;
    return STATUS_OK;
}

static status find_wanted(struct call *call, struct search *out)
{
    *out = (struct search){ .id = call->link.parts[1] };
    TRY(visit_all(call, take_if_wanted, out));
    return out->is_found ? STATUS_OK : call_fail(call, FAIL_NOT_FOUND, NULL);
}

static status reply_found(struct call *call)
{
    struct search search;
    bytes document;

    TRY(find_wanted(call, &search));
    TRY(offer_document(call, &search.owner, &search.offer, &document));
    return resource_reply(call, 200, document, etag_of(call, &search.owner, &search.offer));
}

status serve_offer_read(struct call *call)
{
    return reply_found(call);
}

/* ---- replacing -------------------------------------------------------------------------------------- */

static status check_identity(struct call *call, bytes body, const struct search *search)
{
    struct offer_links links;
    struct value value;

    TRY(make_links(call, &search->owner, &links));
    if (!document_find(body, "id", &value) || value.type != VALUE_STRING ||
        !bytes_equal(value_text(value), search->id))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'id' of the offer must be '%s', as in the url.", links.id);
    if (document_find(body, "offerResourceId", &value) &&
        (value.type != VALUE_STRING ||
         !bytes_equal(value_text(value), bytes_of_text(links.owner_rid))))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'offerResourceId' of this offer is '%s' and cannot be changed.",
                         links.owner_rid);
    return STATUS_OK;
}

/* An offer that was read as autoscale carries both figures; its autoscale settings count then. */
static status read_content(struct call *call, bytes body, struct offer *out)
{
    struct value content, value;
    int64_t given;

    if (!document_find(body, "content", &content) || content.type != VALUE_DOCUMENT)
        return call_fail(call, FAIL_BAD_REQUEST, "The offer has no object 'content'.");
    bool is_to_manual = route_header_is_true(call->http,
                                             "x-ms-cosmos-migrate-offer-to-manual-throughput");
    if (!is_to_manual && document_find(value_document(content), "offerAutopilotSettings", &value) &&
        value.type == VALUE_DOCUMENT)
        return read_autoscale(call, value_document(value), out);
    if (!document_find(value_document(content), "offerThroughput", &value) ||
        !value_as_int64(value, &given))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'content' of the offer has no whole number 'offerThroughput'.");
    if (route_header_is_true(call->http, "x-ms-cosmos-migrate-offer-to-autopilot"))
        return set_autoscale(call, (given + AUTOSCALE_STEP - 1) / AUTOSCALE_STEP * AUTOSCALE_STEP,
                             out);
    return check_throughput(call, given, &out->throughput);
}

static status store(struct call *call, const struct owner *owner, const struct offer *offer)
{
    struct engine *engine = call->face->engine;
    bytes options = owner_options(call, owner);
    struct stored stored = stored_read(options);

    stored.has_offer = true;
    stored.offer = *offer;
    TRY(stored_write(call->arena, options, &stored, &options));
    if (owner->collection) {
        struct collection_change change = { .if_version = owner->collection->version,
                                            .sets_options = true,
                                            .options = options };
        return collection_change(engine, call->arena, owner->database,
                                 owner->collection->definition.name, &change);
    }
    return database_set_options(engine, call->arena, owner->database, options);
}

static status replace(struct call *call, void *context)
{
    const bytes *body = context;
    struct search search;
    struct offer fresh = { 0 };

    TRY(find_wanted(call, &search));
    TRY(check_identity(call, *body, &search));
    TRY(read_content(call, *body, &fresh));
    TRY(resource_check_match(call, etag_of(call, &search.owner, &search.offer)));
    fresh.ts = call->request.now / 1000;
    fresh.version = search.offer.version + 1;
    TRY(store(call, &search.owner, &fresh));
    return call_renew(call);
}

status serve_offer_replace(struct call *call)
{
    bytes body;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(call_body(call, &body));
    TRY(resource_change(call, replace, &body));
    return reply_found(call);
}

/* Stored: reading and writing the face's part of the options.
 *
 *   { ..., cosmos: { ts, version, ttl, definition: {...}, offer: { throughput, max, ts, version } }, ... }
 *
 * Fields that have nothing to say are left out. Keeps: the other fields of the options, in their order.
 * Pure apart from the arena. */
#include "front/cosmos/stored.h"

#define OWN_KEY "cosmos"

static int64_t find_number(bytes document, const char *name, int64_t otherwise)
{
    struct value value;
    int64_t number;

    if (!document_find(document, name, &value) || !value_as_int64(value, &number))
        return otherwise;
    return number;
}

static bool find_inner(bytes document, const char *name, bytes *out)
{
    struct value value;
    bool is_there = document_find(document, name, &value) && value.type == VALUE_DOCUMENT;

    *out = is_there ? value_document(value) : BYTES_NONE;
    return is_there;
}

struct stored stored_read(bytes options)
{
    struct stored out = { .default_ttl = TTL_OFF };
    bytes own, offer;

    if (options.len == 0 || !find_inner(options, OWN_KEY, &own))
        return out;
    out.ts = find_number(own, "ts", 0);
    out.version = (uint32_t)find_number(own, "version", 0);
    out.default_ttl = (int32_t)find_number(own, "ttl", TTL_OFF);
    (void)find_inner(own, "definition", &out.definition);
    out.has_offer = find_inner(own, "offer", &offer);
    if (out.has_offer)
        out.offer = (struct offer){
            .throughput = (uint32_t)find_number(offer, "throughput", 0),
            .autoscale_max = (uint32_t)find_number(offer, "max", 0),
            .ts = find_number(offer, "ts", 0),
            .version = (uint32_t)find_number(offer, "version", 0),
        };
    return out;
}

bytes stored_definition(bytes options)
{
    bytes own, definition = BYTES_NONE;

    if (options.len > 0 && find_inner(options, OWN_KEY, &own))
        (void)find_inner(own, "definition", &definition);
    return definition;
}

static void append_offer(struct buffer *out, const struct offer *offer)
{
    size_t begun = document_begin_inner(out, VALUE_DOCUMENT, BYTES_LITERAL("offer"));

    document_append_int64(out, "throughput", offer->throughput);
    if (offer->autoscale_max)
        document_append_int64(out, "max", offer->autoscale_max);
    document_append_int64(out, "ts", offer->ts);
    document_append_int64(out, "version", offer->version);
    document_end(out, begun);
}

static void append_own(struct buffer *out, const struct stored *stored)
{
    size_t begun = document_begin_inner(out, VALUE_DOCUMENT, BYTES_LITERAL(OWN_KEY));

    document_append_int64(out, "ts", stored->ts);
    document_append_int64(out, "version", stored->version);
    if (stored->default_ttl != TTL_OFF)
        document_append_int64(out, "ttl", stored->default_ttl);
    if (stored->definition.len)
        document_append(out, BYTES_LITERAL("definition"),
                        (struct value){ VALUE_DOCUMENT, stored->definition });
    if (stored->has_offer)
        append_offer(out, &stored->offer);
    document_end(out, begun);
}

status stored_write(struct arena *arena, bytes options, const struct stored *stored, bytes *out)
{
    struct buffer buffer = buffer_in(arena);
    size_t begun = document_begin(&buffer);

    if (options.len > 0) {
        struct document_walk walk = document_fields(options);
        struct field field;
        while (document_next(&walk, &field)) {
            if (!bytes_equal(field.name, BYTES_LITERAL(OWN_KEY)))
                document_append(&buffer, field.name, field.value);
        }
    }
    append_own(&buffer, stored);
    document_end(&buffer, begun);
    return buffer_finish(&buffer, out);
}

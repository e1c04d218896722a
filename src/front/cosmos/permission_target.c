/* Permission target: what the link in a permission leads to.
 *
 * Clients write the link with names as they are, with names as in a URL, or with resource ids (the _self of a
 * resource). A name as it is written goes first, then the resource id, then the decoded name.
 *
 * Threads: as the call. */
#include "front/cosmos/link.h"
#include "front/cosmos/permission.h"

static status fail_link(struct call *call, bytes link, const char *why)
{
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The resource '%.*s' of the permission %s; it must be dbs/{database}, "
                     "dbs/{database}/colls/{container} or "
                     "dbs/{database}/colls/{container}/docs/{item}.",
                     (int)link.len, (const char *)link.data, why);
}

/* The parts of the link as written; false if there are too many or too few. */
static bool split(bytes link, struct link *out)
{
    *out = (struct link){ 0 };
    while (link.len > 0 && link.data[0] == '/')
        link = bytes_from(link, 1);
    while (link.len > 0 && link.data[link.len - 1] == '/')
        link.len--;
    while (link.len > 0 && out->count < LINK_PARTS_MAX) {
        const uint8_t *slash = memchr(link.data, '/', link.len);
        size_t len = slash ? (size_t)(slash - link.data) : link.len;
        out->parts[out->count++] = bytes_of(link.data, len);
        link = bytes_from(link, slash ? len + 1 : len);
    }
    return link.len == 0 && (out->count == 2 || out->count == 4 || out->count == 6);
}

static bool part_is(const struct link *link, size_t at, const char *name)
{
    return link->count <= at || bytes_equal(link->parts[at], bytes_of_text(name));
}

static bool is_database(const struct call *call, bytes part)
{
    struct rid rid;

    return bytes_equal(part, call->database) ||
           (rid_parse(part, &rid) && rid.len == RID_DATABASE_BYTES &&
            rid_database(&rid) == call->database_id);
}

static status find_container(struct call *call, bytes part, const struct collection **out)
{
    struct rid rid;
    status s = catalog_find(&call->request, call->database, part, out);

    if (s.code != NOT_FOUND)
        return s;
    *out = NULL;
    if (!rid_parse(part, &rid) || rid.len != RID_CONTAINER_BYTES ||
        rid_database(&rid) != call->database_id)
        return STATUS_OK;
    *out = catalog_find_by_id(&call->request, rid_container(&rid));
    if (*out && !bytes_equal((*out)->definition.database, call->database))
        *out = NULL;
    return STATUS_OK;
}

static status find_target(struct call *call, const struct link *link, bool *is_there_out,
                          struct permission_target *out)
{
    const struct collection *collection;

    *is_there_out = is_database(call, link->parts[1]);
    if (!*is_there_out)
        return STATUS_OK;
    out->resource = rid_of_database(call->database_id);
    if (link->count == 2)
        return STATUS_OK;
    TRY(find_container(call, link->parts[3], &collection));
    *is_there_out = collection != NULL;
    if (collection) {
        out->resource = rid_of_container(call->database_id, collection->id);
        out->path_count = collection->definition.partition_path_count;
    }
    if (link->count == 6)
        out->item = link->parts[5];
    return STATUS_OK;
}

status permission_find_target(struct call *call, bytes link, struct permission_target *out)
{
    struct link written, decoded;
    bool is_there = false;

    *out = (struct permission_target){ 0 };
    if (!split(link, &written) || !part_is(&written, 0, "dbs") || !part_is(&written, 2, "colls") ||
        !part_is(&written, 4, "docs"))
        return fail_link(call, link, "is not a link to such a resource");
    TRY(find_target(call, &written, &is_there, out));
    if (!is_there && link_parse(call->arena, link, &decoded).code == OK &&
        decoded.count == written.count)
        TRY(find_target(call, &decoded, &is_there, out));
    if (is_there)
        return STATUS_OK;
    return call_fail(call, FAIL_NOT_FOUND,
                     "The resource '%.*s' of the permission does not exist in the database "
                     "'%.*s', to which the user belongs.",
                     (int)link.len, (const char *)link.data, (int)call->database.len,
                     (const char *)call->database.data);
}

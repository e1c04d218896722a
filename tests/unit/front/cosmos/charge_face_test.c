/* What requests are charged over the face: the figures of docs/request-charge.md, and C-11: neither time to
 * live nor dead documents have a part in them. */
#include <stdio.h>

#include "tests/support/cosmos_face.h"

static const char pk[] = "x-ms-documentdb-partitionkey: ['a']";

static void make_container(struct cosmos_face *f, const char *name, const char *more)
{
    const char *body = arena_format(f->world.arena,
                                    "{'id':'%s','partitionKey':{'paths':['/pk']}%s}", name, more);

    CHECK_ANSWER(cosmos_ask(f, "POST /dbs/d/colls", "", body), 201);
}

static void open_with_database(struct cosmos_face *f)
{
    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
}

/* Charge and status of a request to a container. */
static const char *charge_in(struct cosmos_face *f, const char *container, const char *method,
                             const char *path, const char *headers, const char *body)
{
    const char *request = arena_format(f->world.arena, "%s /dbs/d/colls/%s/%s", method, container,
                                       path);
    struct cosmos_answer a = cosmos_ask(f, request, headers, body);
    bytes charge = cosmos_header(&a, "x-ms-request-charge");

    return arena_format(f->world.arena, "%.*s in %u", (int)charge.len, (const char *)charge.data,
                        a.status);
}

static void put_item(struct cosmos_face *f, const char *container, int id, const char *more)
{
    const char *body = arena_format(f->world.arena, "{'id':'i%d','pk':'a','n':%d%s}", id, id, more);

    CHECK_STRING(charge_in(f, container, "POST", "docs", pk, body), "5.15 in 201");
}

TEST(charge, items_cost_what_the_page_says)
{
    struct cosmos_face f;

    open_with_database(&f);
    make_container(&f, "c", "");
    make_container(&f, "bare", ",'indexingPolicy':{'indexingMode':'none','automatic':false}");
    CHECK_STRING(charge_in(&f, "c", "POST", "docs", pk, "{'id':'x','pk':'a','b':[1,{'c':2}]}"),
                 "5.20 in 201");
    CHECK_STRING(charge_in(&f, "bare", "POST", "docs", pk, "{'id':'x','pk':'a','b':[1,{'c':2}]}"),
                 "5.00 in 201");
    CHECK_STRING(charge_in(&f, "c", "GET", "docs/x", pk, ""), "1.00 in 200");
    CHECK_STRING(charge_in(&f, "c", "GET", "docs/y", pk, ""), "1.00 in 404");
    CHECK_STRING(charge_in(&f, "c", "PUT", "docs/x", pk, "{'id':'x','pk':'a'}"), "5.10 in 200");
    CHECK_STRING(charge_in(&f, "c", "PATCH", "docs/x", pk, "[{'op':'set','path':'/n','value':1}]"),
                 "6.15 in 200");
    CHECK_STRING(charge_in(&f, "c", "POST", "docs", pk, "{'id':5}"), "1.00 in 400");
    CHECK_STRING(charge_in(&f, "c", "DELETE", "docs/x", pk, ""), "5.00 in 204");
    cosmos_face_close(&f);
}

TEST(charge, time_to_live_costs_nothing)
{
    struct cosmos_face f;

    open_with_database(&f);
    make_container(&f, "off", "");
    make_container(&f, "never", ",'defaultTtl':-1");
    make_container(&f, "on", ",'defaultTtl':10");
    static const char *const containers[] = { "off", "never", "on" };
    EACH_ROW(containers, container) {
        put_item(&f, *container, 1, "");
        put_item(&f, *container, 2, ",'ttl':-1");
        put_item(&f, *container, 3, ",'ttl':100");
        CHECK_STRING(charge_in(&f, *container, "PATCH", "docs/i1", pk,
                               "[{'op':'set','path':'/ttl','value':2147483647}]"),
                     "6.15 in 200");
        CHECK_STRING(charge_in(&f, *container, "GET", "docs/i3", pk, ""), "1.00 in 200");
    }
    cosmos_face_close(&f);
}

/* Everything that a client may ask of the living ones, the dead ones and nobody. */
static const char *charges_of_all(struct cosmos_face *f, const char *container)
{
    static const char *const queries[] = {
        "SELECT * FROM c",
        "SELECT * FROM c WHERE c.n >= 0",
        "SELECT * FROM c WHERE c.n = 15",
        "SELECT c.id FROM c ORDER BY c.n DESC",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 2",
        "SELECT * FROM c WHERE c.pk = @pk AND c.id = @id",
        "SELECT TOP 3 * FROM c ORDER BY c.n",
    };
    struct buffer all = buffer_in(f->world.arena);

    EACH_ROW(queries, query) {
        const char *body = arena_format(f->world.arena,
                                        "{'query':'%s','parameters':[{'name':'@id','value':'i40'},"
                                        "{'name':'@pk','value':'a'}]}",
                                        *query);
        buffer_append_format(
            &all, "%s: %s\n", *query,
            charge_in(f, container, "POST", "docs", "x-ms-documentdb-isquery: true", body));
    }
    buffer_append_format(&all, "feed: %s\n", charge_in(f, container, "GET", "docs", "", ""));
    buffer_append_format(&all, "read: %s\n", charge_in(f, container, "GET", "docs/i40", pk, ""));
    buffer_append_format(&all, "delete: %s\n",
                         charge_in(f, container, "DELETE", "docs/i40", pk, ""));
    buffer_append_format(&all, "replace: %s\n",
                         charge_in(f, container, "PUT", "docs/i40", pk, "{'id':'i40','pk':'a'}"));
    buffer_append_byte(&all, 0);
    CHECK(!all.is_failed);
    return (const char *)all.data;
}

TEST(charge, dead_documents_cost_nothing_purged_or_not)
{
    struct cosmos_face f;

    open_with_database(&f);
    make_container(&f, "alone", ",'defaultTtl':-1");
    make_container(&f, "mixed", ",'defaultTtl':-1");
    for (int i = 0; i < 100; i++) {
        if (i >= 10 && i < 20) {
            put_item(&f, "alone", i, "");
            put_item(&f, "mixed", i, "");
        } else {
            put_item(&f, "mixed", i, ",'ttl':10");
        }
    }
    world_pass(&f.world, 10000);
    const char *want = charges_of_all(&f, "alone");
    CHECK_THAT(strstr(want, "SELECT * FROM c: 2.38 in 200") && !strstr(want, "in 400"), "%s", want);
    CHECK_STRING(charges_of_all(&f, "mixed"), want);
    CHECK(world_purge(&f.world).documents > 0);
    CHECK_STRING(charges_of_all(&f, "mixed"), want);
    /* Creating over a dead one is a create. */
    put_item(&f, "mixed", 40, "");
    put_item(&f, "alone", 40, "");
    CHECK_STRING(charges_of_all(&f, "mixed"), charges_of_all(&f, "alone"));
    cosmos_face_close(&f);
}

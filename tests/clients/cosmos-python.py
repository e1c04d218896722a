#!/usr/bin/python3
"""The Cosmos face through python3-azure-cosmos, an older client that differs from the one in JavaScript: it reads
feeds with GET, addresses resources by their resource ids, speaks an older version of the protocol and keeps
sessions by default.

    MAYFLY=build/mayfly tests/clients/cosmos-python.py

Needs Debian's own Python, for which the client is packaged.
"""
import contextlib
import os
import sys

import azure.cosmos.cosmos_client as cosmos_client
import azure.cosmos.documents as documents
import azure.cosmos.errors as errors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from server import KEY, Server, equal, run, test  # noqa: E402  (the path must be set first)


class World:
    def __init__(self, server):
        self.server = server
        self.client = connect(server.url)
        self.database = self.client.CreateDatabase({"id": "py"})
        self.count = 0

    def container(self, **properties):
        self.count += 1
        definition = {"id": f"c{self.count}", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}, **properties}
        return self.client.CreateContainer("dbs/py", definition)


def connect(url, policy=None):
    return cosmos_client.CosmosClient(url, {"masterKey": KEY}, policy)


@contextlib.contextmanager
def world():
    with Server() as server:
        yield World(server)


def fails(code, call, *arguments):
    try:
        call(*arguments)
    except errors.HTTPFailure as failure:
        equal(failure.status_code, code)
        return failure
    raise AssertionError(f"succeeded, want failure {code}")


def key(value):
    return {"partitionKey": value}


CROSS = {"enableCrossPartitionQuery": True}


@test
def the_account_can_be_read(w):
    account = w.client.GetDatabaseAccount()
    equal(account.WritableLocations[0]["databaseAccountEndpoint"], w.server.url + "/")
    equal(account.ConsistencyPolicy["defaultConsistencyLevel"], "Session")


@test
def databases_are_made_and_found_and_deleted(w):
    made = w.client.CreateDatabase({"id": "other"})
    equal(w.client.ReadDatabase("dbs/other"), made)
    equal(w.client.ReadDatabase(made["_self"]), made)
    assert "other" in [d["id"] for d in w.client.ReadDatabases()]
    parameters = [{"name": "@id", "value": "other"}]
    query = {"query": "SELECT * FROM root r WHERE r.id=@id", "parameters": parameters}
    equal([d["id"] for d in w.client.QueryDatabases(query)], ["other"])
    fails(409, w.client.CreateDatabase, {"id": "other"})
    w.client.DeleteDatabase(made["_self"])
    fails(404, w.client.ReadDatabase, "dbs/other")


@test
def containers_are_made_and_found_and_changed_and_deleted(w):
    made = w.container()
    equal(made["partitionKey"]["paths"], ["/pk"])
    equal(w.client.ReadContainer(made["_self"])["_rid"], made["_rid"])
    assert made["id"] in [c["id"] for c in w.client.ReadContainers("dbs/py")]
    query = f"SELECT * FROM c WHERE c.id='{made['id']}'"
    equal([c["id"] for c in w.client.QueryContainers(w.database["_self"], query)], [made["id"]])
    made["defaultTtl"] = 77
    equal(w.client.ReplaceContainer(made["_self"], made)["defaultTtl"], 77)
    w.client.DeleteContainer(made["_self"])
    fails(404, w.client.ReadContainer, f"dbs/py/colls/{made['id']}")


@test
def items_live_their_life_by_names(w):
    link = f"dbs/py/colls/{w.container()['id']}"
    made = w.client.CreateItem(link, {"id": "x", "pk": "a", "n": 1, "deep": {"list": [1, "é"]}})
    item = f"{link}/docs/x"
    equal(w.client.ReadItem(item, key("a")), made)
    equal(w.client.ReplaceItem(item, {"id": "x", "pk": "a", "n": 2}, key("a"))["n"], 2)
    equal(w.client.UpsertItem(link, {"id": "x", "pk": "a", "n": 3})["n"], 3)
    fails(409, w.client.CreateItem, link, {"id": "x", "pk": "a"})
    w.client.DeleteItem(item, key("a"))
    fails(404, w.client.ReadItem, item, key("a"))
    fails(404, w.client.DeleteItem, item, key("a"))


@test
def items_live_their_life_by_resource_ids(w):
    container = w.container()
    made = w.client.CreateItem(container["_self"], {"id": "x", "pk": "a", "n": 1})
    equal(w.client.ReadItem(made["_self"], key("a")), made)
    equal(w.client.ReplaceItem(made["_self"], {"id": "x", "pk": "a", "n": 2}, key("a"))["n"], 2)
    equal([i["n"] for i in w.client.ReadItems(container["_self"])], [2])
    equal([i["n"] for i in w.client.QueryItems(container["_self"], "SELECT * FROM c WHERE c.n=2", key("a"))], [2])
    w.client.DeleteItem(made["_self"], key("a"))
    fails(404, w.client.ReadItem, made["_self"], key("a"))


@test
def a_resource_id_of_something_deleted_finds_nothing_new(w):
    container = w.container()
    old = w.client.CreateItem(container["_self"], {"id": "x", "pk": "a"})
    w.client.DeleteItem(old["_self"], key("a"))
    new = w.client.CreateItem(container["_self"], {"id": "x", "pk": "a"})
    assert new["_rid"] != old["_rid"]
    fails(404, w.client.ReadItem, old["_self"], key("a"))
    equal(w.client.ReadItem(new["_self"], key("a")), new)


@test
def a_feed_is_read_page_by_page(w):
    container = w.container()
    for n in range(11):
        w.client.CreateItem(container["_self"], {"id": f"i{n}", "pk": f"p{n % 3}", "n": n})
    feed = w.client.ReadItems(container["_self"], {"maxItemCount": 4})
    equal(sorted(i["n"] for i in feed), list(range(11)))
    sizes = []
    feed = w.client.ReadItems(container["_self"], {"maxItemCount": 4})
    while True:
        block = feed.fetch_next_block()
        if not block:
            break
        sizes.append(len(block))
    equal(sum(sizes), 11)
    assert max(sizes) <= 4


@test
def queries_answer_across_partitions(w):
    link = w.container()["_self"]
    for n in range(10):
        w.client.CreateItem(link, {"id": f"i{n}", "pk": f"p{n % 3}", "n": n, "name": "abcdefghij"[n]})

    def ask(text, parameters=None, options=None):
        query = {"query": text, "parameters": parameters or []}
        return list(w.client.QueryItems(link, query, options or dict(CROSS)))

    equal(sorted(i["n"] for i in ask("SELECT * FROM c WHERE c.n > 6")), [7, 8, 9])
    equal([i["name"] for i in ask("SELECT c.name FROM c WHERE c.n = @n", [{"name": "@n", "value": 4}])], ["e"])
    equal(ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    equal(ask("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n"), [0, 1, 2])
    equal(ask("SELECT VALUE COUNT(1) FROM c"), [10])
    equal(ask("SELECT VALUE SUM(c.n) FROM c"), [45])
    equal(ask("SELECT VALUE AVG(c.n) FROM c"), [4.5])
    equal(ask("SELECT VALUE MIN(c.n) FROM c"), [0])
    equal(ask("SELECT VALUE MAX(c.n) FROM c"), [9])
    equal(sorted(ask("SELECT VALUE c.n FROM c", options=key("p1"))), [1, 4, 7])
    equal(ask("SELECT VALUE c.n FROM c ORDER BY c.n", options={**CROSS, "maxItemCount": 3}), list(range(10)))
    fails(400, ask, "SELECT * FORM c")


@test
def the_language_answers_groups_joins_and_subqueries(w):
    composite = [[{"path": "/g", "order": "descending"}, {"path": "/n", "order": "ascending"}]]
    policy = {"includedPaths": [{"path": "/*"}], "excludedPaths": [], "compositeIndexes": composite}
    link = w.container(indexingPolicy=policy)["_self"]
    for n in range(12):
        item = {"id": f"i{n}", "pk": f"p{n % 4}", "n": n, "g": "xyz"[n % 3], "l": [{"v": v} for v in range(n % 3)]}
        w.client.CreateItem(link, item)

    def ask(text, parameters=None, options=None):
        query = {"query": text, "parameters": parameters or []}
        return list(w.client.QueryItems(link, query, options or dict(CROSS)))

    counts = ask("SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g")
    equal(sorted((r["g"], r["k"], r["s"]) for r in counts), [("x", 4, 18), ("y", 4, 22), ("z", 4, 26)])
    equal(sorted(ask("SELECT DISTINCT VALUE c.g FROM c")), ["x", "y", "z"])
    equal(len(ask("SELECT c.id, l.v FROM c JOIN l IN c.l")), 12)
    equal(ask("SELECT VALUE c.n FROM c ORDER BY c.g DESC, c.n", options={**CROSS, "maxItemCount": 5}),
          [2, 5, 8, 11, 1, 4, 7, 10, 0, 3, 6, 9])
    equal(ask("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @o LIMIT 2", [{"name": "@o", "value": 4}]), [4, 5])
    equal(sorted(ask("SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE l FROM l IN c.l WHERE l.v = 1)")),
          [2, 5, 8, 11])
    equal(ask("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)"), [3])
    equal(sorted(ask("SELECT VALUE c.n & 3 FROM c WHERE c.n IN (5, 6)")), [1, 2])


@test
def partition_keys_of_all_kinds_work(w):
    link = w.container()["_self"]
    for value in ["text", "pé", 5, 1.5, True, None, ""]:
        w.client.CreateItem(link, {"id": "x", "pk": value, "v": repr(value)})
    for value in ["text", "pé", 5, 1.5, True, ""]:
        found = list(w.client.QueryItems(link, "SELECT * FROM c", key(value)))
        equal([i["v"] for i in found], [repr(value)])


@test
def ids_may_hold_odd_characters(w):
    link = f"dbs/py/colls/{w.container()['id']}"
    for name in ["with space", "ünï", "50%", "a+b", "カ", "a;b,c=d&e", "(x)*!'~"]:
        made = w.client.CreateItem(link, {"id": name, "pk": "a"})
        equal(w.client.ReadItem(f"{link}/docs/{name}", key("a")), made)
        w.client.DeleteItem(f"{link}/docs/{name}", key("a"))


@test
def etags_guard_against_lost_writes(w):
    link = w.container()["_self"]
    made = w.client.CreateItem(link, {"id": "x", "pk": "a", "n": 1})

    def guarded(kind, etag):
        return {"partitionKey": "a", "accessCondition": {"type": kind, "condition": etag}}

    old = guarded("IfMatch", made["_etag"])
    changed = w.client.ReplaceItem(made["_self"], {"id": "x", "pk": "a", "n": 2}, old)
    fails(412, w.client.ReplaceItem, made["_self"], {"id": "x", "pk": "a", "n": 3}, old)
    fails(412, w.client.DeleteItem, made["_self"], old)
    w.client.ReadItem(made["_self"], guarded("IfNoneMatch", changed["_etag"]))
    equal(w.client.last_response_headers["etag"], changed["_etag"])


@test
def offers_tell_the_throughput(w):
    definition = {"id": "offered", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
    made = w.client.CreateContainer("dbs/py", definition, {"offerThroughput": 900})
    offers = list(w.client.QueryOffers(f"SELECT * FROM c WHERE c.resource='{made['_self']}'"))
    equal([o["content"]["offerThroughput"] for o in offers], [900])
    offers[0]["content"]["offerThroughput"] = 1000
    equal(w.client.ReplaceOffer(offers[0]["_self"], offers[0])["content"]["offerThroughput"], 1000)
    assert made["_self"] in [o["resource"] for o in w.client.ReadOffers()]


@test
def users_and_permissions_give_tokens(w):
    container = w.container()
    w.client.CreateItem(container["_self"], {"id": "x", "pk": "a", "n": 1})
    user = w.client.CreateUser(w.database["_self"], {"id": "u"})
    definition = {"id": "p", "permissionMode": documents.PermissionMode.Read, "resource": container["_self"]}
    permission = w.client.CreatePermission(user["_self"], definition)
    assert permission["_token"].startswith("type=resource&")
    equal([p["id"] for p in w.client.ReadPermissions(user["_self"])], ["p"])
    limited = cosmos_client.CosmosClient(w.server.url, {"permissionFeed": [permission]})
    equal([i["n"] for i in limited.ReadItems(container["_self"])], [1])
    fails(403, limited.CreateItem, container["_self"], {"id": "y", "pk": "a"})
    w.client.DeleteUser(user["_self"])


@test
def C_1_to_C_7_time_to_live_works_as_for_everybody(w):
    container = w.container(defaultTtl=1000)
    link = container["_self"]
    inherits = w.client.CreateItem(link, {"id": "inherits", "pk": "a"})
    own = w.client.CreateItem(link, {"id": "own", "pk": "a", "ttl": 100})
    never = w.client.CreateItem(link, {"id": "never", "pk": "a", "ttl": -1})
    for bad in (0, -2, None, "5", 1.5):
        failure = fails(400, w.client.CreateItem, link, {"id": "bad", "pk": "a", "ttl": bad})
        assert "The input ttl" in str(failure), failure

    def living():
        by_feed = sorted(i["id"] for i in w.client.ReadItems(link))
        by_query = sorted(i["id"] for i in w.client.QueryItems(link, "SELECT * FROM c", dict(CROSS)))
        equal(by_query, by_feed)
        equal(list(w.client.QueryItems(link, "SELECT VALUE COUNT(1) FROM c", dict(CROSS))), [len(by_feed)])
        return by_feed

    equal(living(), ["inherits", "never", "own"])
    now = w.server.advance(0)
    w.server.advance((own["_ts"] + 100) * 1000 - now)
    equal(living(), ["inherits", "never"])
    fails(404, w.client.ReadItem, own["_self"], key("a"))
    fails(404, w.client.ReplaceItem, own["_self"], {"id": "own", "pk": "a"}, key("a"))
    equal(w.client.CreateItem(link, {"id": "own", "pk": "a"})["id"], "own")
    now = w.server.advance(0)
    w.server.advance(max(0, (inherits["_ts"] + 1000) * 1000 - now))
    equal(living(), ["never", "own"])
    equal(w.client.ReadItem(never["_self"], key("a")), never)


@test
def everything_works_over_https(w):
    policy = documents.ConnectionPolicy()
    policy.SSLConfiguration = documents.SSLConfiguration()
    policy.SSLConfiguration.SSLCaCerts = w.server.certificate
    client = connect(f"https://127.0.0.1:{w.server.port}", policy)
    container = w.container()
    made = client.CreateItem(container["_self"], {"id": "x", "pk": "a", "text": "x" * 100000})
    equal(w.client.ReadItem(made["_self"], key("a")), made)


if __name__ == "__main__":
    sys.exit(run(world))

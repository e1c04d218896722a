#!/usr/bin/env python3
"""Items against a naive model: random requests, the clock, changes of policy, kills and restarts.

    MAYFLY=build/mayfly tests/clients/cosmos-model.py        SEED=n replays one seed, SCALE=x makes it longer

Every reply is compared with what the model foretells: status, body, version, resource id. No query, feed, count or
usage figure shows the dead or misses the living; pages give what lived and stayed all the time exactly once. What
is done follows from the seed; the instant at which a second passes does not, so a run may differ in that.
"""
import email.utils
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from items_model import MISSING, Model, header_of, key_of, own_part  # noqa: E402
from server import Server, read_reply, request, signed  # noqa: E402

STEPS = 2500
SEEDS = 2
SECONDS_MAX = 10  # of one seed
CONTAINER = "/dbs/d/colls/c"
DOCS = CONTAINER + "/docs"
PKS = ["a", "b", 1, None, MISSING]
IDS = ["i1", "i2", "7", "i4", "true", "i 6?"]
SORTED_KINDS = ["undefined", "null", "bool", "number", "string"]


def kind_of(value):
    if value is MISSING:
        return "undefined"
    return {type(None): "null", bool: "bool", int: "number", float: "number", str: "string"}[type(value)]


def place_of(value):
    """Where a value stands in an order."""
    kind = kind_of(value)
    return (SORTED_KINDS.index(kind), 0 if kind in ("undefined", "null") else value)


class Cursor:
    """A query or feed of which some pages are still to come."""

    def __init__(self, ask, steady, by_index):
        self.ask = ask
        self.steady = dict(steady)  # items that lived and stayed as they are since the first page
        self.by_index = by_index
        self.given = []
        self.token = None


class SecondPassed(Exception):
    """A second passed within a request, so that no one second foretells all of its results; the model cannot go
    on, and the seed ends here."""


class Run:
    def __init__(self, server, seed):
        self.server = server
        self.random = random.Random(seed)
        self.seed = seed
        self.history = []
        self.rids = set()
        self.connection = server.connect(is_secure=seed % 2 == 0)
        self.second = 0
        self.is_lazy = False
        self.mode = "consistent"
        self.cursor = None
        self.name = f"c{seed}"
        self.model = Model(None)
        self.send("POST", "/dbs", {}, {"id": f"d{seed}"}, want=201)
        self.docs = f"/dbs/d{seed}/colls/c/docs"
        self.container = f"/dbs/d{seed}/colls/c"
        self.put_container("POST", f"/dbs/d{seed}/colls", None, want=201)

    # ---- talking ----------------------------------------------------------------------------------------

    def note(self, *what):
        self.history.append(" ".join(str(w) for w in what)[:3000])
        del self.history[:-12]

    def fail(self, why):
        raise AssertionError(f"seed {self.seed}: {why}\n  " + "\n  ".join(self.history))

    def send(self, method, target, headers, body=None, want=None):
        """The reply, and the seconds that the server may have taken for now."""
        text = "" if body is None else json.dumps(body)
        self.connection.sendall(signed(method, target, headers, text))
        reply = read_reply(self.connection, has_body=True)
        assert reply is not None, "closed"
        now = int(email.utils.parsedate_to_datetime(reply.headers["date"]).timestamp())
        assert now >= self.second, "the clock ran backwards"
        self.seconds = range(self.second, now + 1)
        self.second = now
        if want is not None and reply.status != want:
            self.fail(f"{method} {target}: {reply!r}, want {want}")
        return reply

    def put_container(self, method, target, default_ttl, want=200):
        body = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
                "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
                "indexingPolicy": {"indexingMode": self.mode, "automatic": self.mode != "none",
                                   "includedPaths": [{"path": "/*"}] if self.mode != "none" else []}}
        if default_ttl is not None:
            body["defaultTtl"] = default_ttl
        return self.send(method, target, {}, body, want=want)

    # ---- comparing --------------------------------------------------------------------------------------

    def agree(self, foretell, statuses, bodies):
        """Goes on from the copy of the model whose results are those of the server."""
        tried = []
        for second in self.seconds:
            model = self.model.copy()
            results = foretell(model, second)
            if [status for status, _ in results] == statuses:
                self.touch(model)
                self.model = model
                for (_, item), body in zip(results, bodies):
                    self.take(item, body)
                return
            tried.append([status for status, _ in results])
        # A request of several operations may judge the first in one second and commit the last in the next.
        if len(statuses) > 1 and len(self.seconds) > 1:
            raise SecondPassed
        self.fail(f"got {statuses}, want {tried} (now {list(self.seconds)})")

    def take(self, item, body):
        """What the server has made of an item: fills in what it decides, compares the rest."""
        if item is None:
            return
        if own_part(body) != item["doc"]:
            self.fail(f"the body is {body}, want {item['doc']}")
        if item["etag"] is None:
            item["ts"], item["etag"] = body["_ts"], body["_etag"]
            old = item.pop("old")
            if old is None and body["_rid"] in self.rids:
                self.fail(f"the resource id {body['_rid']} was used before")
            if old is not None and old["rid"] != body["_rid"]:
                self.fail(f"the resource id changed: {body}, was {old['rid']}")
            item["rid"] = body["_rid"]
            self.rids.add(body["_rid"])
            if body["_ts"] not in self.seconds:
                self.fail(f"_ts is {body['_ts']}, now {list(self.seconds)}")
        elif (body["_ts"], body["_etag"], body["_rid"]) != (item["ts"], item["etag"], item["rid"]):
            self.fail(f"another version: {body}, want {item}")

    def touch(self, model):
        """What is not the same any more is not steady."""
        if self.cursor:
            for key in list(self.cursor.steady):
                if model.items.get(key) is not self.model.items.get(key):
                    del self.cursor.steady[key]

    # ---- random things ------------------------------------------------------------------------------------

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def some_pk(self):
        return self.random.choice(PKS)

    def some_doc(self):
        r = self.random
        doc = {"id": r.choice(IDS), "n": r.randrange(20)}
        pk = self.some_pk()
        if pk is not MISSING:
            doc["pk"] = pk
        if self.chance(80):
            doc["u"] = r.randrange(8)
        if self.chance(80):
            doc["v"] = r.choice([0, 1, 2.5, -3, True, False, None, "", "x", "xy", "é", "y" * 30])
        if self.chance(40):
            doc["ttl"] = r.choice([1, 2, 3, 5, -1, 1000, 0, "5", None, 1.5] if self.chance(20) else
                                  [1, 2, 3, 4, 6, 8, -1, 100, 2147483647])
        return doc

    def some_etag(self, key):
        if not self.chance(30):
            return None
        item = self.model.items.get(key)
        etags = [i["etag"] for i in self.model.items.values()]
        return self.random.choice([item["etag"] if item else "\"nonsense\"", "*"] + etags[:1])

    def some_op(self, pk=None, in_batch=False):
        r = self.random
        kind = r.choice(["create", "create", "upsert", "upsert", "replace", "patch", "delete", "read"])
        if kind in ("create", "upsert", "replace"):
            doc = self.some_doc()
            if pk is not None:
                doc.pop("pk", None)
                if pk[0] is not MISSING:
                    doc["pk"] = pk[0]
            op = {"kind": kind, "doc": doc}
            if kind != "create":
                op["etag"] = self.some_etag(key_of(doc.get("pk", MISSING), doc["id"]))
            return op
        op = {"kind": kind, "pk": pk[0] if pk is not None else self.some_pk(), "id": r.choice(IDS)}
        key = key_of(op["pk"], op["id"])
        if kind == "read":
            item = self.model.items.get(key)
            if item and self.chance(20) and not in_batch:
                op["known"] = item["etag"]
            if item and self.chance(10) and not in_batch:
                op["by"] = item["rid"]
            return op
        op["etag"] = self.some_etag(key)
        if kind == "patch":
            op["edits"] = [r.choice([{"op": "incr", "path": "/n", "value": r.randrange(-3, 4)},
                                     {"op": "set", "path": "/v", "value": r.choice([1, "x", None])},
                                     {"op": "remove", "path": "/v"}, {"op": "remove", "path": "/ttl"},
                                     {"op": "set", "path": "/ttl", "value": r.choice([1, 2, 5, -1, 0])},
                                     {"op": "add", "path": "/u", "value": r.randrange(8)}])
                           for _ in range(r.randrange(1, 4))]
            if self.chance(20):
                op["only_above"] = r.randrange(20)
        return op

    # ---- single requests ------------------------------------------------------------------------------------

    def patch_body(self, op):
        if op.get("only_above") is None:
            return op["edits"]
        return {"condition": f"from c where c.n > {op['only_above']}", "operations": op["edits"]}

    def do_one(self):
        op = self.some_op()
        self.note("one", op)
        doc = op.get("doc")
        pk = doc.get("pk", MISSING) if doc else op["pk"]
        name = op.get("by") or (doc or op)["id"]
        target = self.docs + "/" + name.replace(" ", "%20").replace("=", "%3D")
        headers = {}
        if not doc or self.chance(70):
            headers["x-ms-documentdb-partitionkey"] = header_of(pk)
        if op.get("etag"):
            headers["if-match"] = op["etag"]
        if op.get("known"):
            headers["if-none-match"] = op["known"]
        if op["kind"] == "upsert":
            headers["x-ms-documentdb-is-upsert"] = "true"
        if op["kind"] in ("create", "upsert"):
            reply = self.send("POST", self.docs, headers, doc)
        elif op["kind"] == "patch":
            reply = self.send("PATCH", target, headers, self.patch_body(op))
        else:
            method = {"replace": "PUT", "read": "GET", "delete": "DELETE"}[op["kind"]]
            reply = self.send(method, target, headers, doc)
        body = reply.json if reply.status < 300 and reply.body else None
        if body and reply.headers["etag"] != body["_etag"]:
            self.fail(f"etag {reply.headers['etag']} and {body['_etag']}")
        self.agree(lambda model, now: model.one(now, op), [reply.status], [body])

    # ---- many operations in one request -----------------------------------------------------------------------

    def as_json(self, op, with_pk):
        out = {"operationType": op["kind"].capitalize()}
        if "doc" in op:
            out["resourceBody"] = op["doc"]
            if op["kind"] == "replace":
                out["id"] = op["doc"]["id"]
        else:
            out["id"] = op["id"]
        if op["kind"] == "patch":
            out["resourceBody"] = self.patch_body(op)
        if op.get("etag"):
            out["ifMatch"] = op["etag"]
        if with_pk:
            out["partitionKey"] = header_of(op["doc"].get("pk", MISSING) if "doc" in op else op["pk"])
        return out

    def compare_many(self, reply, foretell):
        if reply.status not in (200, 207):
            self.fail(f"{reply!r}")
        results = reply.json
        statuses = [result["statusCode"] for result in results]
        if reply.status != (207 if any(s >= 400 for s in statuses) else 200):
            self.fail(f"{reply.status} with {statuses}")
        self.agree(foretell, statuses, [result.get("resourceBody") for result in results])

    def do_batch(self):
        pk = [self.some_pk()]
        ops = [self.some_op(pk, True) for _ in range(self.random.randrange(1, 6))]
        self.note("batch", ops)
        headers = {"x-ms-cosmos-is-batch-request": "true", "x-ms-cosmos-batch-atomic": "true",
                   "x-ms-documentdb-partitionkey": header_of(pk[0])}
        reply = self.send("POST", self.docs, headers, [self.as_json(op, self.chance(20)) for op in ops])
        self.compare_many(reply, lambda model, now: model.batch(now, ops))

    def do_bulk(self):
        ops = [self.some_op(None, True) for _ in range(self.random.randrange(1, 9))]
        goes_on = self.chance(60)
        self.note("bulk", goes_on, ops)
        headers = {"x-ms-cosmos-is-batch-request": "true", "x-ms-cosmos-batch-atomic": "false",
                   "x-ms-cosmos-batch-continue-on-error": str(goes_on),
                   "x-ms-documentdb-partitionkeyrangeid": "0"}
        reply = self.send("POST", self.docs, headers, [self.as_json(op, True) for op in ops])
        self.compare_many(reply, lambda model, now: model.bulk(now, ops, goes_on))

    def do_clear(self):
        pk = self.some_pk()
        self.note("clear", pk)
        reply = self.send("POST", self.container + "/operations/partitionkeydelete",
                          {"x-ms-documentdb-partitionkey": header_of(pk),
                           **sign_as_container(self.container)})
        self.agree(lambda model, now: model.clear(now, pk), [reply.status], [None])

    # ---- queries and feeds --------------------------------------------------------------------------------------

    def page(self, ask, token):
        sql, parameters, pk, size = ask
        headers = {"x-ms-max-item-count": str(size)}
        if pk is not None:
            headers["x-ms-documentdb-partitionkey"] = header_of(pk[0])
        if token:
            headers["x-ms-continuation"] = token
        if sql is None:
            return self.send("GET", self.docs, headers)
        headers["x-ms-documentdb-isquery"] = "true"
        headers["content-type"] = "application/query+json"
        return self.send("POST", self.docs, headers, {"query": sql, "parameters": parameters})

    def some_condition(self):
        """(text, parameters, predicate over a document, whether an index may be asked)"""
        r = self.random
        n, value = r.randrange(20), r.choice([0, 1, True, None, "x", ""])

        def is_same(other):
            return other is not MISSING and kind_of(other) == kind_of(value) and other == value

        return r.choice([
            ("", [], lambda d: True, False),
            ("WHERE c.n >= @n", [{"name": "@n", "value": n}], lambda d: d["n"] >= n, True),
            ("WHERE c.n < @n AND c.n != 3", [{"name": "@n", "value": n}],
             lambda d: d["n"] < n and d["n"] != 3, True),
            ("WHERE c.v = @v", [{"name": "@v", "value": value}], lambda d: is_same(d.get("v", MISSING)), True),
            ("WHERE IS_DEFINED(c.ttl) = true", [], lambda d: "ttl" in d, False),
            ("WHERE STARTSWITH(c.v, 'x') OR c.n = 5", [],
             lambda d: (isinstance(d.get("v"), str) and d["v"].startswith("x")) or d["n"] == 5, True),
            ("WHERE c.id = @i", [{"name": "@i", "value": "7"}], lambda d: d["id"] == "7", True),
            ("WHERE c.id IN ('i1', 'i2') AND c.pk = 'a'", [],
             lambda d: d["id"] in ("i1", "i2") and d.get("pk", MISSING) == "a", True),
        ])

    def start_cursor(self, size):
        where, parameters, holds, by_index = self.some_condition()
        order = self.random.choice(["", "", "ORDER BY c.n", "ORDER BY c.v DESC", "ORDER BY c.v"])
        pk = [self.some_pk()] if self.chance(40) else None
        sql = f"SELECT * FROM c {where} {order}"
        if self.chance(15):
            sql, parameters, holds, by_index, order = None, [], lambda d: True, False, ""
        cursor = Cursor((sql, parameters, pk, size), {}, by_index or order != "")
        cursor.holds, cursor.order = holds, order
        cursor.is_first = True
        return cursor

    def wanted(self, model, second, cursor):
        found = model.living(second, cursor.ask[2])
        return {key: item for key, item in found.items() if cursor.holds(item["doc"])}

    def next_page(self, cursor):
        """True if that was the last one."""
        reply = self.page(cursor.ask, cursor.token)
        if reply.status == 400 and cursor.token and "Invalid Continuation Token" in reply.json["message"] and \
                cursor.saw_policy:
            self.cursor = None
            return True
        if cursor.order and self.mode == "none":
            if reply.status != 400 or "order-by item is excluded" not in reply.json["message"]:
                self.fail(f"{cursor.ask}: {reply!r}, want the refusal of an order that no index has")
            if cursor is self.cursor:
                self.cursor = None
            return True
        if reply.status != 200:
            self.fail(f"{cursor.ask}: {reply!r}")
        rows = reply.json["Documents"]
        keys = [key_of(row.get("pk", MISSING), row["id"]) for row in rows]
        for second in self.seconds:
            model = self.model.copy()
            wanted = self.wanted(model, second, cursor)
            if all(key in wanted and row["_etag"] == wanted[key]["etag"] and own_part(row) == wanted[key]["doc"]
                   and row["_rid"] == wanted[key]["rid"] and row["_ts"] == wanted[key]["ts"]
                   for key, row in zip(keys, rows)):
                break
        else:
            self.fail(f"{cursor.ask}: {rows}, want some of {list(wanted.values())}")
        self.model = model
        # The page may have seen the last of these seconds, so whoever died until then is not steady.
        left = self.wanted(model.copy(), self.second, cursor)
        if cursor.is_first:
            cursor.steady = left
            cursor.is_first = False
        for key in list(cursor.steady):
            if key not in left:
                del cursor.steady[key]
        cursor.given += list(zip(keys, rows))
        cursor.token = reply.headers.get("x-ms-continuation")
        return not cursor.token

    def finish(self, cursor):
        keys = [key for key, _ in cursor.given]
        for key in cursor.steady:
            count = keys.count(key)
            if count != 1 and not (count == 0 and self.is_lazy and cursor.by_index):
                self.fail(f"{cursor.ask} gave {key} {count} times")
        if cursor.order:
            field = cursor.order.split()[2][2:]
            places = [place_of(row.get(field, MISSING)) for _, row in cursor.given]
            if places != sorted(places, reverse="DESC" in cursor.order):
                self.fail(f"{cursor.ask}: out of order: {places}")

    def do_query(self):
        cursor = self.start_cursor(self.random.choice([1, 2, 3, 7, 100, -1]))
        cursor.saw_policy = False
        self.note("query", cursor.ask)
        for _ in range(1000):
            if self.next_page(cursor):
                return self.finish(cursor)
        return self.fail("a query without an end")

    def do_slow_query(self):
        """A page now and then, with other requests in between."""
        if self.cursor is None:
            self.cursor = self.start_cursor(self.random.choice([1, 2, 3]))
            self.cursor.saw_policy = False
            self.note("slow query", self.cursor.ask)
        cursor = self.cursor
        if self.next_page(cursor) and self.cursor:
            self.cursor = None
            # What was given early may have changed its place since: only what stayed is in order.
            steady = [(key, row) for key, row in cursor.given if key in cursor.steady]
            cursor.given = steady
            self.finish(cursor)

    def ask_value(self, sql, pk):
        token, rows, first = None, [], self.second
        for _ in range(1000):
            reply = self.page((sql, [], pk, -1), token)
            self.seconds = range(first, self.second + 1)
            if reply.status != 200:
                self.fail(f"{sql}: {reply!r}")
            rows += reply.json["Documents"]
            token = reply.headers.get("x-ms-continuation")
            if not token:
                return rows
        return self.fail("an aggregate without an end")

    def do_figures(self):
        pk = [self.some_pk()] if self.chance(40) else None
        sql, figure = self.random.choice([
            ("SELECT VALUE COUNT(1) FROM c", lambda docs: [len(docs)]),
            ("SELECT VALUE SUM(c.n) FROM c", lambda docs: [sum(d["n"] for d in docs)]),
            ("SELECT VALUE MAX(c.n) FROM c", lambda docs: [max(d["n"] for d in docs)] if docs else []),
            ("SELECT DISTINCT VALUE c.n FROM c", lambda docs: sorted({d["n"] for d in docs})),
            (None, None),
        ])
        self.note("figures", sql, pk)
        if sql is None:
            reply = self.send("GET", self.container, {"x-ms-documentdb-populatequotainfo": "true"}, want=200)
            count = int(re.search(r"documentsCount=(\d+);", reply.headers["x-ms-resource-usage"]).group(1))
            got, pk, figure = [count], None, lambda docs: [len(docs)]
        else:
            got = self.ask_value(sql, pk)
        wanted = []
        for second in self.seconds:
            docs = [item["doc"] for item in self.model.copy().living(second, pk).values()]
            wanted.append(figure(docs))
        if (sorted(got) if "DISTINCT" in (sql or "") else got) not in wanted:
            self.fail(f"{sql} in {pk}: {got}, want {wanted}")

    # ---- policy, time, restarts -----------------------------------------------------------------------------------

    def do_policy(self):
        r = self.random
        default_ttl = r.choice([None, -1, 1, 2, 3, 5, 10, 1000])
        self.mode = r.choice(["consistent"] * 3 + ["lazy"] + (["none"] if default_ttl is None else []))
        self.note("policy", default_ttl, self.mode)
        reply = self.put_container("PUT", self.container, default_ttl)
        if reply.json.get("defaultTtl") != default_ttl:
            self.fail(f"{reply!r}")
        self.is_lazy = self.mode == "lazy"
        if self.cursor:
            self.cursor.saw_policy = True
        before = self.model
        self.model = before.copy()
        self.model.set_default_ttl(self.seconds[0], default_ttl)
        if len(self.seconds) > 1:
            self.look_again(before)
        self.touch_from(before)

    def look_again(self, before):
        """A second passed while the policy changed: the server is asked who died in it by the old one."""
        first = self.seconds[0]
        rows = {key_of(row.get("pk", MISSING), row["id"]): row for row in self.ask_value("SELECT * FROM c", None)}
        sure = self.model.copy()
        for model in (before.copy(), sure):
            model.settle(self.second)
            for key in [key for key in sure.items if key not in model.items]:
                del sure.items[key]
        self.model.settle(first)
        for key, row in rows.items():
            if key not in self.model.items or self.model.items[key]["etag"] != row["_etag"]:
                self.fail(f"the policy brought back {row}")
        for key in sure.items:
            if key not in rows:
                self.fail(f"the policy took {key} away")
        self.model.items = {key: self.model.items[key] for key in rows}

    def touch_from(self, before):
        after, self.model = self.model, before
        self.touch(after)
        self.model = after

    def do_time(self):
        by = self.random.choice([100, 400, 1000, 1000, 2000, 3500, 10000])
        self.note("time", by)
        self.connection.sendall(request("POST", "/_mayfly/clock", {}, json.dumps({"advanceMs": by})))
        reply = read_reply(self.connection)
        self.second = reply.json["nowMs"] // 1000

    def do_purge(self):
        self.note("purge")
        self.connection.sendall(request("POST", "/_mayfly/purge", {}, ""))
        assert read_reply(self.connection).status == 200

    def do_kill(self):
        self.note("kill")
        self.connection.close()
        self.server.restart(is_kill=self.chance(70))
        self.connection = self.server.connect(is_secure=self.seed % 2 == 0)

    def do_everything(self):
        """Every id of every partition key, and the feed."""
        self.note("everything")
        for pk in PKS:
            for name in IDS:
                op = {"kind": "read", "pk": pk, "id": name}
                reply = self.send("GET", self.docs + "/" + name.replace(" ", "%20"),
                                  {"x-ms-documentdb-partitionkey": header_of(pk)})
                body = reply.json if reply.status == 200 else None
                self.agree(lambda model, now, op=op: model.one(now, op), [reply.status], [body])

    def run(self, steps):
        acts = ([self.do_one] * 34 + [self.do_batch] * 12 + [self.do_bulk] * 12 + [self.do_query] * 12 +
                [self.do_slow_query] * 12 + [self.do_figures] * 6 + [self.do_time] * 9 + [self.do_policy] * 3 +
                [self.do_purge] * 1 + [self.do_clear] * 1)
        end = time.monotonic() + SECONDS_MAX * max(scale(), 1)
        for step in range(steps):
            if time.monotonic() > end:
                break
            self.random.choice(acts)()
            if step % 400 == 399:
                self.do_everything()
            if step % 600 == 599:
                self.do_kill()
        self.do_everything()
        return step + 1


def sign_as_container(container):
    """What is done to a container as a whole is signed as the container."""
    from server import sign
    return sign("POST", container, kind="colls", link=container.strip("/"))


def scale():
    return float(os.environ.get("SCALE") or 1)


def main():
    seeds = [int(os.environ["SEED"])] if os.environ.get("SEED") else range(1, 1 + max(1, round(SEEDS * scale())))
    failed = 0
    with Server() as server:
        for seed in seeds:
            try:
                steps = Run(server, seed).run(round(STEPS * max(scale(), 1)))
                print(f"seed {seed}: {steps} steps")
            except SecondPassed:
                print(f"seed {seed}: ends early, a second passed within a request")
            except AssertionError as why:
                failed += 1
                print(f"FAILED {why}")
    print(f"{len(seeds) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

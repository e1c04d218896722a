"""A container so plain that one sees that it is right: items in a dictionary, and whoever is due is taken out.

It knows nothing of how the server works. Every operation is carried out for one second of server time and says
what it should answer. Tests ask it with each second that the server may have seen, and go on from the copy that
foretold what the server did.
"""
import copy
import json

MISSING = object()
SYSTEM = ("_rid", "_self", "_etag", "_attachments", "_ts")
TTL_MAX = 2147483647


class Refused(Exception):
    def __init__(self, status):
        super().__init__(status)
        self.status = status


def header_of(pk):
    return json.dumps([{} if pk is MISSING else pk])


def key_of(pk, name):
    return (header_of(pk), name)


def is_ttl(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
            and (value == -1 or 1 <= value <= TTL_MAX))


def own_part(body):
    return {name: value for name, value in body.items() if name not in SYSTEM}


class Model:
    """Items by partition key and id: {"doc", "ts", "etag", "rid"}, and the version before as "old". What only
    the server knows is None until it is told."""

    def __init__(self, default_ttl):
        self.default_ttl = default_ttl  # None: off
        self.items = {}

    def copy(self):
        other = Model(self.default_ttl)
        other.items = dict(self.items)
        return other

    # ---- time to live -----------------------------------------------------------------------------------

    def deadline(self, item):
        if self.default_ttl is None:
            return None
        ttl = item["doc"].get("ttl", self.default_ttl)
        return None if ttl == -1 else item["ts"] + ttl

    def settle(self, now):
        for key, item in list(self.items.items()):
            deadline = self.deadline(item)
            if deadline is not None and deadline <= now:
                del self.items[key]

    def set_default_ttl(self, now, default_ttl):
        self.settle(now)
        self.default_ttl = default_ttl
        self.settle(now)

    # ---- one operation on what is there; raises Refused ---------------------------------------------------

    def check(self, doc):
        if "ttl" in doc and not is_ttl(doc["ttl"]):
            raise Refused(400)

    def check_unique(self, key, doc):
        for other, item in self.items.items():
            if other != key and other[0] == key[0] and item["doc"].get("u") == doc.get("u"):
                raise Refused(409)

    def match(self, item, etag):
        if etag is not None and etag != "*" and (item is None or item["etag"] != etag):
            raise Refused(412)

    def write(self, key, doc):
        """The new item, with what only the server knows left open."""
        self.check_unique(key, doc)
        old = self.items.get(key)
        item = {"doc": doc, "ts": None, "etag": None, "rid": None, "old": old}
        self.items[key] = item
        return (200 if old else 201), item

    def create(self, op):
        doc, key = op["doc"], key_of(op["doc"].get("pk", MISSING), op["doc"]["id"])
        self.check(doc)
        if key in self.items:
            raise Refused(409)
        return self.write(key, doc)

    def upsert(self, op):
        doc, key = op["doc"], key_of(op["doc"].get("pk", MISSING), op["doc"]["id"])
        self.check(doc)
        self.match(self.items.get(key), op.get("etag"))
        return self.write(key, doc)

    def replace(self, op):
        doc, key = op["doc"], key_of(op["doc"].get("pk", MISSING), op["doc"]["id"])
        self.check(doc)
        if key not in self.items:
            raise Refused(404)
        self.match(self.items[key], op.get("etag"))
        return self.write(key, doc)

    def patch(self, op):
        key = key_of(op["pk"], op["id"])
        item = self.items.get(key)
        if item is None:
            raise Refused(404)
        self.match(item, op.get("etag"))
        above = op.get("only_above")
        if above is not None and not item["doc"]["n"] > above:
            raise Refused(412)
        doc = copy.deepcopy(item["doc"])
        for edit in op["edits"]:
            name = edit["path"][1:]
            if edit["op"] == "remove":
                if name not in doc:
                    raise Refused(400)
                del doc[name]
            elif edit["op"] == "incr":
                doc[name] = doc.get(name, 0) + edit["value"]
            else:
                doc[name] = edit["value"]
        self.check(doc)
        return self.write(key, doc)

    def delete(self, op):
        key = key_of(op["pk"], op["id"])
        if key not in self.items:
            raise Refused(404)
        self.match(self.items[key], op.get("etag"))
        del self.items[key]
        return 204, None

    def read(self, op):
        item = self.items.get(key_of(op["pk"], op["id"]))
        if item is None:
            raise Refused(404)
        if op.get("known") is not None and op["known"] == item["etag"]:
            return 304, None
        return 200, item

    def carry_out(self, op):
        """(status, item that the reply shows or None); refused operations change nothing."""
        try:
            return getattr(self, op["kind"])(op)
        except Refused as refusal:
            return refusal.status, None

    # ---- whole requests: each gives the results of its operations ------------------------------------------

    def one(self, now, op):
        self.settle(now)
        return [self.carry_out(op)]

    def batch(self, now, ops):
        """All or none. What is wrong by itself is found before anything else."""
        self.settle(now)
        trial, results = self.copy(), []
        for op in ops:
            if "doc" in op and "ttl" in op["doc"] and not is_ttl(op["doc"]["ttl"]):
                return self.failed_batch(ops, len(results), 400)
            results.append(None)
        results = []
        for op in ops:
            status, item = trial.carry_out(op)
            if status >= 400:
                return self.failed_batch(ops, len(results), status)
            results.append((status, item))
        self.items = trial.items
        return results

    def failed_batch(self, ops, at, status):
        return [(status if i == at else 424, None) for i in range(len(ops))]

    def bulk(self, now, ops, goes_on):
        self.settle(now)
        results = []
        for op in ops:
            if results and not goes_on and any(status >= 400 for status, _ in results):
                results.append((424, None))
            else:
                results.append(self.carry_out(op))
        return results

    def clear(self, now, pk):
        self.settle(now)
        for key in [key for key in self.items if key[0] == header_of(pk)]:
            del self.items[key]
        return [(200, None)]

    # ---- what queries should find --------------------------------------------------------------------------

    def living(self, now, pk=None):
        self.settle(now)
        return {key: item for key, item in self.items.items() if pk is None or key[0] == header_of(pk[0])}

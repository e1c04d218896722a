#!/usr/bin/env python3
"""The Cosmos face byte by byte: signatures, encodings, broken and hostile requests, over http and https.

    MAYFLY=build/mayfly tests/clients/cosmos-wire.py

Whatever is sent, the server answers with an error that says why, in JSON, or closes the connection, and goes on
serving others.
"""
import base64
import contextlib
import email.utils
import hashlib
import hmac
import json
import os
import ssl
import sys
import time
import urllib.parse
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from server import KEY, Server, equal, read_reply, request, run, sign, signed, test  # noqa: E402

DOCS = "/dbs/d/colls/c/docs"
JSON = {"Content-Type": "application/json"}
PK = {"x-ms-documentdb-partitionkey": '["a"]'}
OTHER_KEY = base64.b64encode(bytes(64)).decode()


class World:
    def __init__(self, server):
        self.server = server
        equal(self.ask("POST", "/dbs", JSON, '{"id":"d"}').status, 201)
        definition = '{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1}'
        equal(self.ask("POST", "/dbs/d/colls", JSON, definition).status, 201)
        equal(self.ask("POST", DOCS, {**JSON, **PK}, '{"id":"x","pk":"a","n":1}').status, 201)

    def ask(self, method, target, headers=None, body="", is_secure=False, **signature):
        return self.server.send(signed(method, target, headers, body, **signature), is_secure)


@contextlib.contextmanager
def world():
    with Server() as server:
        yield World(server)


def refused(reply, *statuses):
    """Checks the shape of a refusal: a JSON object with code and message, told in the right headers."""
    assert reply is not None, "closed without an answer"
    assert reply.status in statuses, f"{reply!r}, want one of {statuses}"
    assert reply.headers["content-type"].startswith("application/json"), reply.headers
    body = reply.json
    assert isinstance(body["code"], str) and len(body["message"]) > 10, body
    return reply


# ---- signatures -------------------------------------------------------------------------------------


@test
def a_request_without_signature_is_refused(w):
    for target in ["/", "/dbs", "/dbs/d", "/dbs/d/colls/c/docs/x", "/nonsense"]:
        reply = w.server.send(request("GET", target, {}))
        refused(reply, 401, 400)
    reply = refused(w.server.send(request("GET", "/dbs", {})), 401)
    assert "authorization is missing" in reply.json["message"], reply


@test
def a_wrong_signature_is_refused(w):
    rows = [
        ("another key", {"key": OTHER_KEY}),
        ("another type", {"kind": "docs"}),
        ("another link", {"link": "dbs/other"}),
    ]
    for why, how in rows:
        reply = refused(w.ask("GET", "/dbs/d/colls", **how), 401)
        equal(reply.json["code"], "Unauthorized", why)
    other_verb = {**sign("POST", "/dbs/d/colls")}
    refused(w.server.send(request("GET", "/dbs/d/colls", other_verb)), 401)


@test
def a_malformed_authorization_is_refused(w):
    date = email.utils.formatdate(usegmt=True)
    good = sign("GET", "/dbs")["authorization"]
    empty = "type%3Dmaster%26ver%3D1.0%26sig%3D"
    for text in ["", "nonsense", "type%3Dmaster", empty, good[:-8], good + "A", good.replace("1.0", "9.9"),
                 good.replace("master", "nobody"), "type%3Daad%26ver%3D1.0%26sig%3Da.b.c", "%", "%zz",
                 empty + "A" * 5000]:
        refused(w.server.send(request("GET", "/dbs", {"authorization": text, "x-ms-date": date})), 400, 401)


@test
def a_signature_may_come_unescaped_or_escaped_in_lower_case(w):
    headers = sign("GET", "/dbs")
    plain = urllib.parse.unquote(headers["authorization"])
    equal(w.server.send(request("GET", "/dbs", {**headers, "authorization": plain})).status, 200)
    lower = headers["authorization"].replace("%3D", "%3d").replace("%2F", "%2f").replace("%2B", "%2b")
    equal(w.server.send(request("GET", "/dbs", {**headers, "authorization": lower})).status, 200)


@test
def a_date_out_of_the_window_is_refused(w):
    for offset in (-3600, -16 * 60, 16 * 60, 3600, -10 * 365 * 86400):
        date = email.utils.formatdate(time.time() + offset, usegmt=True)
        refused(w.ask("GET", "/dbs", date=date), 403)
    for offset in (-10 * 60, 10 * 60, 0):
        date = email.utils.formatdate(time.time() + offset, usegmt=True)
        equal(w.ask("GET", "/dbs", date=date).status, 200, f"{offset} s")


@test
def a_date_that_is_none_is_refused(w):
    for date in ["yesterday", "Thu, 99 Abc 2026 00:00:00 GMT", "2026-11-15T00:00:00Z", "0", " "]:
        refused(w.ask("GET", "/dbs", date=date), 400, 401, 403)
    headers = sign("GET", "/dbs")
    del headers["x-ms-date"]
    refused(w.server.send(request("GET", "/dbs", headers)), 400, 401, 403)


@test
def the_date_header_of_http_serves_where_x_ms_date_is_absent(w):
    date = email.utils.formatdate(usegmt=True)
    text = f"get\ndbs\n\n\n{date.lower()}\n"
    mac = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    token = urllib.parse.quote(f"type=master&ver=1.0&sig={mac}", safe="")
    equal(w.server.send(request("GET", "/dbs", {"authorization": token, "Date": date})).status, 200)


@test
def the_test_clock_does_not_move_the_window_of_signatures(w):
    w.server.advance(400 * 86400 * 1000)
    equal(w.ask("GET", "/dbs").status, 200)


@test
def what_cannot_be_seen_cannot_be_guessed_without_a_key(w):
    there = w.server.send(request("GET", "/dbs/d", {}))
    missing = w.server.send(request("GET", "/dbs/nowhere", {}))
    equal((there.status, there.json["code"]), (missing.status, missing.json["code"]))


# ---- paths ------------------------------------------------------------------------------------------


@test
def a_path_reads_the_same_in_both_encodings(w):
    names = ["a b", "é", "x?y", "what?", "50%", "a+b", "(x)", "a&b=c", "%41"]
    for name in names:
        body = json.dumps({"id": name, "pk": "a"})
        equal(w.ask("POST", DOCS, {**JSON, **PK}, body).status, 201)
    # As encodeURI does it, and with every byte escaped.
    for name in names:
        as_is = urllib.parse.quote(name, safe="~()*!'?&=+;,:@$-_.")
        for text in (as_is, "".join(f"%{b:02X}" for b in name.encode())):
            reply = w.ask("GET", f"{DOCS}/{text}", PK, link=f"dbs/d/colls/c/docs/{name}", kind="docs")
            equal((reply.status, reply.json.get("id")), (200, name), text)


def written_ways(name):
    """As encodeURI does it, with every byte escaped, and the same with small digits."""
    escaped = "".join(f"%{b:02X}" for b in name.encode())
    return urllib.parse.quote(name, safe="~()*!'?&=+;,:@$-_."), escaped, escaped.lower()


@test
def ids_of_every_legal_character_read_the_same_in_every_encoding(w):
    characters = [chr(c) for c in range(0x20, 0x7F) if chr(c) not in "/\\#"]
    for name in [f"u{c}v" for c in characters + ["\t", "\r\n", "\x7f", "é", "€", "😀", "%17", "%2F"]] + [".", ".."]:
        feeds = [("dbs/d/colls/c/docs", {"pk": "a"}, PK)]
        if "?" not in name:
            feeds += [("dbs", {}, {}), ("dbs/d/users", {}, {}),
                      ("dbs/d/colls", {"partitionKey": {"paths": ["/pk"], "kind": "Hash"}}, {})]
        for feed, properties, headers in feeds:
            made = w.ask("POST", f"/{feed}", {**JSON, **headers}, json.dumps({"id": name, **properties}))
            equal(made.status, 201, name)
            for text in written_ways(name):
                reply = w.ask("GET", f"/{feed}/{text}", headers, link=f"{feed}/{name}")
                equal((reply.status, reply.json.get("id")), (200, name), text)
            reply = w.ask("DELETE", f"/{feed}/{written_ways(name)[1]}", headers, link=f"{feed}/{name}")
            equal(reply.status, 204, name)


@test
def every_resource_answers_to_its_resource_id(w):
    equal(w.ask("POST", "/dbs/d/users", JSON, '{"id":"u"}').status, 201)
    permission = '{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}'
    equal(w.ask("POST", "/dbs/d/users/u/permissions", JSON, permission).status, 201)
    offer = w.ask("GET", "/offers").json["Offers"][0]
    equal(w.ask("POST", DOCS, {**JSON, **PK}, '{"id":"r","pk":"a"}').status, 201)
    places = ["/dbs/d", "/dbs/d/colls/c", f"{DOCS}/r", "/dbs/d/users/u", "/dbs/d/users/u/permissions/p",
              f"/offers/{offer['id']}"]
    feeds = {"/dbs/d": ["colls", "users"], "/dbs/d/users/u": ["permissions"],
             "/dbs/d/colls/c": ["docs", "pkranges", "sprocs", "triggers", "udfs", "conflicts"]}
    for place in places:
        headers = PK if place.startswith(DOCS) else {}
        named = w.ask("GET", place, headers).json
        own = "/" + named["_self"]
        for link in (named["_rid"].lower(), None):  # clients sign either of them
            reply = w.ask("GET", own, headers, **({"link": link} if link else {}))
            equal((reply.status, reply.json["_rid"], reply.json["id"]), (200, named["_rid"], named["id"]), own)
        for feed in feeds.get(place, []):
            reply = w.ask("GET", own + feed, link=named["_rid"].lower())
            equal((reply.status, reply.json["_rid"]), (200, named["_rid"]), own + feed)
    item = w.ask("GET", f"{DOCS}/r", PK).json
    for method, body, status in [("PUT", '{"id":"r","pk":"a","n":2}', 200), ("DELETE", "", 204)]:
        reply = w.ask(method, "/" + item["_self"], {**JSON, **PK}, body, link=item["_rid"].lower())
        equal(reply.status, status, method)


@test
def a_slash_at_the_end_or_the_front_changes_nothing(w):
    equal(w.ask("GET", "/dbs/d/").status, 200)
    equal(w.ask("GET", "/dbs/d/colls/c/docs/x/", PK).json["n"], 1)


@test
def a_query_string_is_no_part_of_a_name_before_the_item(w):
    equal(w.ask("GET", "/dbs/d/colls?x=1", kind="colls", link="dbs/d").status, 200)


@test
def paths_that_are_none_are_refused(w):
    for target in ["/nonsense", "/dbs/d/nonsense", "/dbs/d/colls/c/nonsense/x",
                   "/dbs/d/colls/c/docs/x/y/z/q/r/s/t", "/dbs//colls", "/%", "/dbs/%zz", "/dbs/%ff",
                   "/offers/a/b/c", "/dbs/d/colls/c/docs/x/attachments/y", "/dbs/%00"]:
        reply = w.server.send(request("GET", target, sign("GET", "/dbs")))
        refused(reply, 400, 401, 404, 405, 501)


@test
def verbs_that_a_resource_does_not_take_are_refused(w):
    for method, target in [("PUT", "/"), ("POST", "/"), ("DELETE", "/dbs"), ("PATCH", "/dbs/d"),
                           ("PUT", "/dbs/d"), ("DELETE", "/dbs/d/colls"), ("PATCH", "/dbs/d/colls/c"),
                           ("PUT", DOCS), ("POST", f"{DOCS}/x"), ("POST", "/dbs/d/colls/c/pkranges"),
                           ("DELETE", "/offers"), ("OPTIONS", "/dbs")]:
        refused(w.ask(method, target, JSON, "{}"), 400, 404, 405, 501)
    for method in ["TRACE", "CONNECT", "BREW", "get", "G@T"]:
        reply = w.server.send(request(method, "/dbs", sign("GET", "/dbs")))
        assert reply is None or reply.status >= 400, reply


@test
def a_head_request_gets_no_body(w):
    with w.server.connect() as connection:
        connection.sendall(signed("HEAD", "/dbs/d"))
        reply = read_reply(connection, has_body=False)
        assert reply.status in (200, 400, 405, 501), reply
        equal(reply.left, b"")


# ---- bodies and media types -------------------------------------------------------------------------


@test
def media_types_are_taken_as_they_come(w):
    number = 0
    for kind in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", None]:
        number += 1
        body = json.dumps({"id": f"m{number}", "pk": "a"})
        reply = w.ask("POST", DOCS, {**PK, "Content-Type": kind}, body)
        equal(reply.status, 201, str(kind))


@test
def strange_media_types_get_an_answer(w):
    for kind in ["text/plain", "application/xml", "multipart/form-data; boundary=x", "nonsense",
                 "application/query+json"]:
        reply = w.ask("POST", DOCS, {**PK, "Content-Type": kind}, '{"id":"media","pk":"a"}')
        assert reply.status in (201, 409) or refused(reply, 400, 415), reply


@test
def a_batch_in_hybrid_row_is_refused_cleanly(w):
    body = bytes([0x81, 0xFF, 0xFF, 0xFF, 0x7F, 0x00, 0x01, 0x02])
    headers = {**PK, "x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True",
               "Content-Type": "application/octet-stream"}
    refused(w.ask("POST", DOCS, headers, body), 400, 415, 501)


@test
def booleans_in_headers_are_read_in_any_case(w):
    for value in ["true", "True", "TRUE"]:
        body = json.dumps({"query": "SELECT VALUE COUNT(1) FROM c WHERE c.id='x'"})
        headers = {"Content-Type": "application/query+json", "x-ms-documentdb-isquery": value}
        reply = w.ask("POST", DOCS, headers, body)
        equal((reply.status, reply.json.get("Documents")), (200, [1]), value)
        headers = {**JSON, **PK, "x-ms-documentdb-is-upsert": value}
        equal(w.ask("POST", DOCS, headers, '{"id":"x","pk":"a","n":1}').status, 200, value)


@test
def nothing_above_399_has_an_empty_body(w):
    item = {**JSON, **PK}
    requests = [
        ("GET", "/dbs/nowhere", {}, ""),
        ("GET", "/dbs/d/colls/nowhere", {}, ""),
        ("GET", f"{DOCS}/nobody", PK, ""),
        ("DELETE", f"{DOCS}/nobody", PK, ""),
        ("PUT", f"{DOCS}/nobody", item, '{"id":"nobody","pk":"a"}'),
        ("POST", "/dbs", JSON, '{"id":"d"}'),
        ("POST", DOCS, item, '{"id":"x","pk":"a"}'),
        ("PUT", f"{DOCS}/x", {**item, "If-Match": '"no"'}, '{"id":"x","pk":"a"}'),
        ("POST", "/dbs/d/colls/c/sprocs", JSON, '{"id":"p","body":"x"}'),
        ("PATCH", f"{DOCS}/x", PK, "[]"),
        ("POST", DOCS, item, "x" * (3 * 1024 * 1024)),
        ("GET", "/offers/none", {}, ""),
        ("GET", "/dbs/d/users/nobody", {}, ""),
        ("GET", "/dbs/d/clientencryptionkeys", {}, ""),
        ("GET", "/dbs/d/colls/c/udfs/none", {}, ""),
    ]
    for is_secure in (False, True):
        for method, target, headers, body in requests:
            reply = w.ask(method, target, headers, body, is_secure)
            assert reply.status >= 400, f"{method} {target}: {reply!r}"
            refused(reply, reply.status)
            assert reply.headers["x-ms-activity-id"], target


@test
def what_http_itself_refuses_has_the_same_shape(w):
    rows = [
        ("GET /dbs HTTP/1.1\r\n\r\n", 400, "BadRequest"),
        ("NONSENSE /dbs HTTP/1.1\r\nHost: a\r\n\r\n", 501, "NotImplemented"),
        ("GET /dbs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "NotImplemented"),
        ("GET /dbs HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", 417, "ExpectationFailed"),
        ("GET /dbs HTTP/2.0\r\nHost: a\r\n\r\n", 505, "HTTPVersionNotSupported"),
        (f"GET /{'x' * 20000} HTTP/1.1\r\nHost: a\r\n\r\n", 414, "URITooLong"),
        (f"GET / HTTP/1.1\r\nHost: a\r\n{'X: y' * 30000}\r\n\r\n", 431, "RequestHeaderFieldsTooLarge"),
    ]
    for text, status, code in rows:
        reply = refused(w.server.send(text.encode()), status)
        equal(reply.json["code"], code)
        assert reply.headers["x-ms-activity-id"], code


# ---- framing ----------------------------------------------------------------------------------------

SMUGGLED = "GET /dbs/d HTTP/1.1\r\nHost: a\r\n\r\n"


@test
def requests_with_two_meanings_are_refused(w):
    head = "".join(f"{k}: {v}\r\n" for k, v in sign("POST", "/dbs").items())
    post = f"POST /dbs HTTP/1.1\r\nHost: a\r\n{head}"
    chunked = f"{post}Transfer-Encoding: chunked\r\n"
    shapes = [
        ("both lengths", f"{chunked}Content-Length: 5\r\n\r\n0\r\n\r\n{SMUGGLED}"),
        ("both, the other way", f"{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}"),
        ("two lengths", f"{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{SMUGGLED}"),
        ("a list of lengths", f"{post}Content-Length: 5, 6\r\n\r\n{SMUGGLED}"),
        ("a negative length", f"{post}Content-Length: -5\r\n\r\n{SMUGGLED}"),
        ("a length with a sign", f"{post}Content-Length: +5\r\n\r\n{SMUGGLED}"),
        ("a length in hex", f"{post}Content-Length: 0x5\r\n\r\n{SMUGGLED}"),
        ("an unknown transfer coding", f"{post}Transfer-Encoding: xchunked\r\n\r\n{SMUGGLED}"),
        ("a space before the colon", f"{post}Content-Length : 5\r\n\r\n{SMUGGLED}"),
        ("a space before the colon of chunks", f"{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{SMUGGLED}"),
        ("a folded header", f"{post}Content-Length:\r\n 5\r\nX: y\r\n folded\r\n\r\nabcde"),
        ("a bad chunk", f"{chunked}\r\nzz\r\n\r\n{SMUGGLED}"),
        ("a huge chunk", f"{chunked}\r\nffffffffffffffff\r\n{SMUGGLED}"),
        ("a NUL in a header", "GET /dbs HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
        ("two hosts", "GET /dbs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        ("no version", "GET /dbs\r\n\r\n"),
        ("another version", "GET /dbs HTTP/3.0\r\nHost: a\r\n\r\n"),
        ("nonsense", "nonsense\r\n\r\n"),
    ]
    for why, text in shapes:
        with w.server.connect() as connection:
            connection.sendall(text.encode("latin-1"))
            connection.shutdown(1)
            first = read_reply(connection)
            if first is None:
                continue
            assert first.status >= 400, f"{why}: {first!r}"
            second = read_reply(connection, first.left)
            assert second is None, f"{why}: a second answer {second!r}"
    equal(w.ask("GET", "/dbs/d").status, 200)


@test
def a_chunked_body_is_read_like_any_other(w):
    headers = {**sign("POST", DOCS), **JSON, **PK, "Transfer-Encoding": "chunked"}
    text = b'{"id":"chunked","pk":"a"}'
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, text[i:i + 1]) for i in range(len(text))) + b"0\r\n\r\n"
    reply = w.server.send(request("POST", DOCS, headers) + chunks)
    equal(reply.status, 201)


@test
def headers_too_large_are_refused(w):
    for headers in [{"X": "x" * 200000}, {f"X{i}": "y" for i in range(5000)}]:
        reply = w.server.send(signed("GET", "/dbs", headers))
        assert reply is None or reply.status in (400, 413, 431), reply
    reply = w.server.send(request("GET", "/dbs/" + "x" * 200000, sign("GET", "/dbs")))
    assert reply is None or reply.status in (400, 401, 413, 414, 431), reply
    equal(w.ask("GET", "/dbs/d").status, 200)


@test
def a_body_too_large_is_refused_whether_or_not_it_is_sent(w):
    headers = {**sign("POST", DOCS), **JSON, **PK}
    reply = w.server.send(request("POST", DOCS, {**headers, "Content-Length": str(10**9)}))
    refused(reply, 413)
    reply = w.server.send(request("POST", DOCS, headers, "x" * (3 * 1024 * 1024)))
    refused(reply, 413)
    assert 'Message: {"Errors":["Request size is too large"]}\r\n' in reply.json["message"], reply
    equal(w.ask("GET", "/dbs/d").status, 200)


@test
def a_request_that_comes_byte_by_byte_is_answered(w):
    for is_secure in (False, True):
        with w.server.connect(is_secure) as connection:
            for byte in signed("GET", "/dbs/d/colls/c/docs/x", PK):
                connection.sendall(bytes([byte]))
            equal(read_reply(connection).json["n"], 1)


@test
def requests_in_a_row_are_answered_in_order(w):
    targets = ["/dbs/d", "/dbs/nowhere", "/dbs/d/colls/c", "/dbs/d/colls/c/docs/x", "/dbs/d"]
    for is_secure in (False, True):
        with w.server.connect(is_secure) as connection:
            connection.sendall(b"".join(signed("GET", t, PK) for t in targets))
            left, statuses = b"", []
            for _ in targets:
                reply = read_reply(connection, left)
                left = reply.left
                statuses.append(reply.status)
            equal(statuses, [200, 404, 200, 200, 200])


@test
def writes_and_reads_in_a_row_see_each_other(w):
    with w.server.connect() as connection:
        parts = []
        headers = {**JSON, **PK, "x-ms-documentdb-is-upsert": "true"}
        for n in range(20):
            parts.append(signed("POST", DOCS, headers, json.dumps({"id": "row", "pk": "a", "n": n})))
            parts.append(signed("GET", f"{DOCS}/row", PK))
        connection.sendall(b"".join(parts))
        left = b""
        for n in range(20):
            for _ in range(2):
                reply = read_reply(connection, left)
                left = reply.left
                equal(reply.json["n"], n)


@test
def a_client_that_goes_away_in_the_middle_harms_nobody(w):
    whole = signed("POST", DOCS, {**JSON, **PK}, '{"id":"away","pk":"a"}')
    for is_secure in (False, True):
        for cut in range(1, len(whole), 37):
            with w.server.connect(is_secure) as connection:
                connection.sendall(whole[:cut])
    equal(w.ask("GET", "/dbs/d/colls/c/docs/away", PK).status, 404)
    equal(w.ask("GET", "/dbs/d").status, 200)


@test
def nonsense_instead_of_tls_harms_nobody(w):
    for data in [b"\x16\x03\x01\x00\x05nonsense", b"\x16\x03\x01\xff\xff" + b"\0" * 100, b"\x16",
                 b"\x80\x2e\x01\x03\x01", b"\x00" * 50, b"\xff" * 50]:
        with w.server.connect() as connection:
            connection.sendall(data)
            connection.shutdown(1)
            while connection.recv(4096):
                pass
    equal(w.ask("GET", "/dbs/d", is_secure=True).status, 200)


# ---- the same over https ----------------------------------------------------------------------------


@test
def everything_is_the_same_over_https(w):
    for target, headers in [("/dbs/d", {}), ("/dbs/d/colls/c", {}), ("/dbs/d/colls/c/docs/x", PK)]:
        equal(w.ask("GET", target, headers, is_secure=True).json, w.ask("GET", target, headers).json)
    account = w.ask("GET", "/", {"Host": f"localhost:{w.server.port}"}, is_secure=True).json
    equal(account["writableLocations"][0]["databaseAccountEndpoint"], f"https://localhost:{w.server.port}/")
    refused(w.server.send(request("GET", "/dbs", {}), True), 401)


@test
def a_large_reply_comes_whole_over_https(w):
    text = "é" * 300000
    body = json.dumps({"id": "large", "pk": "a", "text": text}, ensure_ascii=False)
    reply = w.ask("POST", DOCS, {**JSON, **PK}, body, True)
    equal((reply.status, reply.json["text"]), (201, text))
    equal(w.ask("GET", "/dbs/d/colls/c/docs/large", PK, is_secure=True).json["text"], text)


@test
def old_tls_is_refused(w):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # they are; that is the point
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        with w.server.connect() as connection, context.wrap_socket(connection):
            raise AssertionError("TLS 1.1 was spoken")
    except (ssl.SSLError, ConnectionResetError):
        pass


if __name__ == "__main__":
    sys.exit(run(world))

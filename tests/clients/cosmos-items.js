#!/usr/bin/env node
// Items one by one, through @azure/cosmos: create, read, replace, upsert, patch, delete; partition keys of all
// kinds, ids of all kinds, etags, sizes.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");
const { PartitionKeyBuilder } = require("@azure/cosmos");

let server;
let client;
let container;
let number = 0;

const newId = () => `item${++number}`;
const ifMatch = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
const ifNoneMatch = (condition) => ({ accessCondition: { type: "IfNoneMatch", condition } });

// What the user wrote, without what the server adds.
function own(resource) {
    const { _rid, _self, _etag, _ts, _attachments, ...rest } = resource;
    return rest;
}

// ---- the life of an item ----------------------------------------------------------------------------

test("an item is created with all its system properties", async () => {
    const { resource, statusCode, headers, etag } = await container.items.create({
        id: newId(),
        pk: "a",
        n: 1,
        deep: { list: [1, "x", null, true, 1.5] },
    });
    equal(statusCode, 201);
    equal(
        Buffer.from(resource._rid.replace(/-/g, "/"), "base64").length,
        16,
        "bytes of an item's resource id",
    );
    matches(resource._self, /^dbs\/[^/]+\/colls\/[^/]+\/docs\/[^/]+\/$/);
    matches(resource._etag, /^".+"$/);
    equal(resource._attachments, "attachments/");
    ok(Number.isInteger(resource._ts), "_ts in whole seconds");
    equal([etag, headers.etag], [resource._etag, resource._etag]);
    ok(Number(headers["x-ms-request-charge"]) > 1, "a create costs more than a read");
    matches(headers["x-ms-session-token"], /^0:-?\d+#\d+/);
});

test("an item reads back as it was written, in the order it was written", async () => {
    const item = {
        z: 1,
        id: newId(),
        pk: "a",
        a: { y: [], x: {} },
        "": "empty name",
        _private: 1,
        "name with spaces": "✓",
        text: 'quotes " and \\ and \u0000 and \u2028 and 🦟',
        big: 9007199254740991,
        small: -0.000001,
        list: [[], [[1]]],
    };
    await container.items.create(item);
    const { resource, statusCode } = await container.item(item.id, "a").read();
    equal(statusCode, 200);
    equal(own(resource), item);
    equal(Object.keys(own(resource)), Object.keys(item));
});

test("system properties that the user sends are overwritten", async () => {
    const id = newId();
    const { resource } = await container.items.create({
        id,
        pk: "a",
        _rid: "mine",
        _ts: 5,
        _etag: '"mine"',
        _self: "me",
    });
    ok(
        resource._rid !== "mine" &&
            resource._ts !== 5 &&
            resource._etag !== '"mine"' &&
            resource._self !== "me",
        "none of them is what was sent",
    );
    equal(own((await container.item(id, "a").read()).resource), { id, pk: "a" });
});

test("an item without id gets one from the client", async () => {
    const { resource } = await container.items.create({ pk: "a" });
    matches(resource.id, /^[0-9a-f-]{36}$/);
});

test("an item that exists cannot be created again, but may exist under another partition key", async () => {
    const id = newId();
    await container.items.create({ id, pk: "a", n: 1 });
    const error = await fails(409, container.items.create({ id, pk: "a", n: 2 }), /already exists/);
    equal(error.body.code, "Conflict");
    equal((await container.items.create({ id, pk: "b", n: 3 })).statusCode, 201);
    equal((await container.item(id, "a").read()).resource.n, 1);
    equal((await container.item(id, "b").read()).resource.n, 3);
});

test("a missing item reads as status 404, as the client wants it", async () => {
    const { statusCode, resource } = await container.item("nobody", "a").read();
    equal([statusCode, resource], [404, undefined]);
});

test("a replace gives a new etag and keeps the resource id", async () => {
    const id = newId();
    const created = (await container.items.create({ id, pk: "a", n: 1, old: true })).resource;
    const replaced = await container.item(id, "a").replace({ id, pk: "a", n: 2 });
    equal(replaced.statusCode, 200);
    equal(own(replaced.resource), { id, pk: "a", n: 2 });
    equal(replaced.resource._rid, created._rid);
    ok(replaced.resource._etag !== created._etag, "another etag");
    equal((await container.item(id, "a").read()).resource, replaced.resource);
});

test("a replace of a missing item is refused", async () => {
    const id = newId();
    const error = await fails(404, container.item(id, "a").replace({ id, pk: "a" }));
    equal(error.body.code, "NotFound");
});

test("a replace cannot change the id or the partition key", async () => {
    const id = newId();
    await container.items.create({ id, pk: "a" });
    await fails(400, container.item(id, "a").replace({ id: newId(), pk: "a" }));
    await fails(400, container.item(id, "a").replace({ id, pk: "b" }));
    equal(own((await container.item(id, "a").read()).resource), { id, pk: "a" });
});

test("an upsert inserts with 201 and replaces with 200", async () => {
    const id = newId();
    const first = await container.items.upsert({ id, pk: "a", n: 1 });
    equal(first.statusCode, 201);
    const second = await container.items.upsert({ id, pk: "a", n: 2 });
    equal(second.statusCode, 200);
    equal(second.resource._rid, first.resource._rid);
    equal((await container.item(id, "a").read()).resource.n, 2);
});

test("a delete answers 204 once and then 404", async () => {
    const id = newId();
    await container.items.create({ id, pk: "a" });
    const { statusCode, resource } = await container.item(id, "a").delete();
    equal(statusCode, 204);
    ok(!resource, "no body");
    await fails(404, container.item(id, "a").delete());
    equal((await container.item(id, "a").read()).statusCode, 404);
});

test("an item that was deleted and made again is another one", async () => {
    const id = newId();
    const first = (await container.items.create({ id, pk: "a" })).resource;
    await container.item(id, "a").delete();
    const second = (await container.items.create({ id, pk: "a" })).resource;
    ok(first._rid !== second._rid && first._etag !== second._etag, "other resource id and etag");
});

test("operations in a container that is not there answer 404", async () => {
    const nowhere = client.database("tests").container("nowhere");
    await fails(404, nowhere.items.create({ id: "x", pk: "a" }));
    await fails(404, nowhere.items.query("SELECT * FROM c").fetchAll());
    await fails(404, nowhere.item("x", "a").delete());
});

test("deleting a partition key deletes its items and no others", async () => {
    const own_ = await newContainer(client);
    for (const pk of ["a", "b"]) for (const id of ["1", "2", "3"]) await own_.items.create({ id, pk });
    equal((await own_.deleteAllItemsForPartitionKey("a")).statusCode, 200);
    const { resources } = await own_.items.readAll().fetchAll();
    equal(
        resources.map((r) => r.pk),
        ["b", "b", "b"],
    );
});

// ---- etags ------------------------------------------------------------------------------------------

test("a write under the right etag goes through, under an old one it does not", async () => {
    const id = newId();
    const item = container.item(id, "a");
    const old = (await container.items.create({ id, pk: "a", n: 1 })).resource._etag;
    const current = (await item.replace({ id, pk: "a", n: 2 }, ifMatch(old))).resource._etag;
    await fails(412, item.replace({ id, pk: "a", n: 3 }, ifMatch(old)), /precondition/);
    await fails(412, container.items.upsert({ id, pk: "a", n: 3 }, ifMatch(old)));
    await fails(412, item.patch([{ op: "set", path: "/n", value: 3 }], ifMatch(old)));
    await fails(412, item.delete(ifMatch(old)));
    equal((await item.read()).resource.n, 2);
    equal((await container.items.upsert({ id, pk: "a", n: 4 }, ifMatch(current))).statusCode, 200);
    equal((await item.delete(ifMatch("*"))).statusCode, 204, "a star matches what exists");
});

test("an upsert under an etag of an item that is not there is refused", async () => {
    await fails(412, container.items.upsert({ id: newId(), pk: "a" }, ifMatch('"00000000-0000"')));
});

test("a read that already has this etag is answered with 304 and nothing", async () => {
    const id = newId();
    const { resource } = await container.items.create({ id, pk: "a", n: 1 });
    const item = container.item(id, "a");
    const same = await item.read(ifNoneMatch(resource._etag));
    equal([same.statusCode, same.headers.etag], [304, resource._etag]);
    ok(!same.resource || same.resource.id === undefined, "no body");
    const { resource: changed } = await item.replace({ id, pk: "a", n: 2 });
    const other = await item.read(ifNoneMatch(resource._etag));
    equal([other.statusCode, other.resource], [200, changed]);
});

// ---- partition keys ---------------------------------------------------------------------------------

eachRow(
    "a partition key may be",
    [
        { why: "text", value: "p" },
        { why: "empty text", value: "" },
        { why: "non-ASCII", value: "pé 🦟" },
        { why: "a number", value: 42 },
        { why: "zero", value: 0 },
        { why: "a fraction", value: -1.5 },
        { why: "true", value: true },
        { why: "false", value: false },
        { why: "null", value: null },
        { why: "text with quotes", value: 'a"b\\c' },
        { why: "2,000 letters", value: "x".repeat(2000) },
    ],
    async ({ value }) => {
        const id = newId();
        equal((await container.items.create({ id, pk: value })).statusCode, 201);
        const item = container.item(id, value);
        equal((await item.read()).resource.pk, value);
        equal((await item.replace({ id, pk: value, n: 2 })).statusCode, 200);
        equal((await item.patch([{ op: "incr", path: "/n", value: 1 }])).resource.n, 3);
        equal((await container.items.upsert({ id, pk: value, n: 4 })).statusCode, 200);
        const found = await container.items
            .query("SELECT VALUE c.n FROM c WHERE c.id='" + id + "'", { partitionKey: value })
            .fetchAll();
        equal(found.resources, [4]);
        equal((await item.delete()).statusCode, 204);
    },
);

test('partition keys that look alike are different: 0, false, null, empty, missing, "0"', async () => {
    const id = newId();
    const values = [0, false, null, "", "0", undefined];
    for (const value of values)
        await container.items.create(
            value === undefined ? { id, v: "missing" } : { id, pk: value, v: String(value) },
        );
    for (const value of values)
        equal(
            (await container.item(id, value).read()).resource.v,
            value === undefined ? "missing" : String(value),
        );
});

test("an item without a partition key is found by undefined and by an empty object", async () => {
    const id = newId();
    await container.items.create({ id, n: 1 });
    equal((await container.item(id, undefined).read()).resource.n, 1);
    equal((await container.item(id, {}).read()).resource.n, 1);
    const found = await container.items
        .query(`SELECT VALUE c.n FROM c WHERE c.id='${id}'`, { partitionKey: {} })
        .fetchAll();
    equal(found.resources, [1]);
    equal((await container.item(id, null).read()).statusCode, 404, "null is another key");
});

test("a container without partition key of its own holds items without one", async () => {
    const { database } = await client.databases.createIfNotExists({ id: "tests" });
    const { container: plain } = await database.containers.create({ id: "unpartitioned" });
    await plain.items.create({ id: "x", n: 1 });
    equal((await plain.item("x").read()).resource.n, 1);
    equal((await plain.item("x").delete()).statusCode, 204);
});

test("a nested and quoted partition key is taken out of the item", async () => {
    const nested = await newContainer(client, { partitionKey: { paths: ['/a/"b c"/d'] } });
    await nested.items.create({ id: "x", a: { "b c": { d: "deep" } } });
    equal((await nested.item("x", "deep").read()).resource.a["b c"].d, "deep");
});

test("a hierarchical partition key needs all its parts for an item and a prefix for a query", async () => {
    const tree = await newContainer(client, {
        partitionKey: { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 },
    });
    for (const user of ["u1", "u2"])
        for (const session of [1, 2])
            await tree.items.create({ id: "x", tenant: "t", user, session, v: user + session });
    equal((await tree.item("x", ["t", "u1", 2]).read()).resource.v, "u12");
    const key = new PartitionKeyBuilder().addValue("t").addValue("u2").addValue(1).build();
    equal((await tree.item("x", key).read()).resource.v, "u21");
    const all = await tree.items
        .query("SELECT VALUE c.v FROM c ORDER BY c.v", { partitionKey: ["t", "u1"] })
        .fetchAll();
    equal(all.resources, ["u11", "u12"]);
    const whole = await tree.items.query("SELECT VALUE c.v FROM c", { partitionKey: ["t"] }).fetchAll();
    equal(whole.resources.length, 4);
    equal((await tree.items.query("SELECT * FROM c", { partitionKey: ["other"] }).fetchAll()).resources, []);
    equal((await tree.item("x", ["t", "u1", 2]).delete()).statusCode, 204);
    equal((await tree.item("x", ["t", "u1", 2]).read()).statusCode, 404);
});

test("parts of a hierarchical partition key may be null or missing", async () => {
    const tree = await newContainer(client, {
        partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 },
    });
    await tree.items.create({ id: "x", a: "t", b: null, v: 1 });
    await tree.items.create({ id: "x", a: "t", v: 2 });
    const none = new PartitionKeyBuilder().addValue("t").addNoneValue().build();
    const nul = new PartitionKeyBuilder().addValue("t").addNullValue().build();
    equal((await tree.item("x", nul).read()).resource.v, 1);
    equal((await tree.item("x", none).read()).resource.v, 2);
});

test("a partition key header that does not fit the item is refused with substatus 1001", async () => {
    const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: { id: newId(), pk: "a" },
        headers: { "content-type": "application/json", "x-ms-documentdb-partitionkey": '["b"]' },
    });
    equal([reply.status, reply.headers["x-ms-substatus"]], [400, "1001"], reply.text);
});

eachRow(
    "a bad partition key header is refused",
    [
        { why: "not JSON", header: "[" },
        { why: "no array", header: '"a"' },
        { why: "two parts for one path", header: '["a","b"]' },
        { why: "an array inside", header: "[[1]]" },
        { why: "an object that is not empty", header: '[{"a":1}]' },
    ],
    async ({ header }) => {
        const reply = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs/x`, {
            headers: { "x-ms-documentdb-partitionkey": header },
        });
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
    },
);

// ---- ids --------------------------------------------------------------------------------------------

const ODD_IDS = [
    { why: "spaces", id: "with some spaces" },
    { why: "a question mark", id: "what?now" },
    { why: "something like a query", id: "x?y=1&z=2" },
    { why: "an escape that is none", id: "%17%41" },
    { why: "a percent sign at the end", id: "100%" },
    { why: "a plus", id: "a+b" },
    { why: "umlauts", id: "Eintagsfliegenläufer" },
    { why: "Japanese", id: "カゲロウ" },
    { why: "an emoji", id: "🦟🦟" },
    { why: "a tab and line ends", id: "a\tb\r\nc" },
    { why: "quotes", id: "a\"b'c" },
    { why: "brackets", id: "<a>{b}[c]|^`" },
    { why: "only dots", id: "..." },
    { why: "a colon and an at", id: "mailto:a@b" },
    { why: "upper and lower case", id: "aBcD" },
    { why: "255 letters", id: "x".repeat(255) },
    { why: "1,023 bytes", id: "y".repeat(1023) },
    { why: "a space at the start", id: " x" },
    { why: "a semicolon and a comma", id: "a;b,c" },
];

eachRow("an item id may hold", ODD_IDS, async ({ id }) => {
    const { resource } = await container.items.create({ id, pk: "odd", n: 1 });
    equal(resource.id, id);
    const item = container.item(id, "odd");
    equal((await item.read()).resource, resource);
    equal((await item.replace({ id, pk: "odd", n: 2 })).statusCode, 200);
    equal((await item.patch([{ op: "incr", path: "/n", value: 1 }])).resource.n, 3);
    equal((await item.delete()).statusCode, 204);
});

eachRow("an item id reads the same when everything in the path is escaped", ODD_IDS, async ({ id }) => {
    await container.items.create({ id, pk: "escaped", n: 7 });
    const escaped = [...Buffer.from(id)].map((b) => `%${b.toString(16).padStart(2, "0")}`).join("");
    const target = `/dbs/tests/colls/${container.id}/docs/${escaped}`;
    const headers = { "x-ms-documentdb-partitionkey": '["escaped"]' };
    const reply = await server.signed("GET", target, { headers });
    equal([reply.status, reply.json && reply.json.n], [200, 7], reply.text);
    equal((await server.signed("DELETE", target, { headers })).status, 204);
});

test("ids differ by case", async () => {
    await container.items.create({ id: "CASE", pk: "a", n: 1 });
    await container.items.create({ id: "case", pk: "a", n: 2 });
    equal((await container.item("CASE", "a").read()).resource.n, 1);
    equal((await container.item("case", "a").read()).resource.n, 2);
});

eachRow(
    "a bad item is refused",
    [
        { why: "no id", body: { pk: "a" } },
        { why: "an empty id", body: { id: "", pk: "a" } },
        { why: "a number for an id", body: { id: 7, pk: "a" } },
        { why: "null for an id", body: { id: null, pk: "a" } },
        { why: "an id of 1,024 bytes", body: { id: "x".repeat(1024), pk: "a" } },
        { why: "a slash in the id", body: { id: "a/b", pk: "a" } },
        { why: "a backslash in the id", body: { id: "a\\b", pk: "a" } },
        { why: "a hash in the id", body: { id: "a#b", pk: "a" } },
        { why: "an array", body: [{ id: "x", pk: "a" }] },
        { why: "text", body: '"x"' },
        { why: "nothing", body: "" },
        { why: "half a document", body: '{"id":"x","pk":"a"' },
        { why: "a number too large", body: '{"id":"x","pk":"a","n":1e400}' },
        { why: "NaN", body: '{"id":"x","pk":"a","n":NaN}' },
        { why: "129 levels", body: `{"id":"x","pk":"a","n":${"[".repeat(129)}${"]".repeat(129)}}` },
        {
            why: "bytes that are not UTF-8",
            body: Buffer.from([...Buffer.from('{"id":"x","pk":"a","n":"'), 0xff, 0x22, 0x7d]),
        },
    ],
    async ({ body }) => {
        const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
            body,
            headers: { "content-type": "application/json", "x-ms-documentdb-partitionkey": '["a"]' },
        });
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
        ok(reply.json.message.length > 10, "says what is wrong");
    },
);

test("whole numbers of 64 bits are kept exactly", async () => {
    const id = newId();
    const body = `{"id":"${id}","pk":"a","max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993}`;
    const headers = { "content-type": "application/json", "x-ms-documentdb-partitionkey": '["a"]' };
    equal(
        (await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, { body, headers })).status,
        201,
    );
    const { text } = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs/${id}`, { headers });
    for (const number_ of ["9223372036854775807", "-9223372036854775808", "9007199254740993"])
        ok(text.includes(`:${number_}`), `${number_} in ${text}`);
});

// ---- sizes ------------------------------------------------------------------------------------------

test("an item just below 2 MB is stored and one above is refused with 413", async () => {
    const id = newId();
    const below = "x".repeat(2 * 1024 * 1024 - 1024);
    equal((await container.items.create({ id, pk: "big", text: below })).statusCode, 201);
    equal((await container.item(id, "big").read()).resource.text.length, below.length);
    const above = "x".repeat(2 * 1024 * 1024 + 1);
    const error = await fails(413, container.items.create({ id: newId(), pk: "big", text: above }));
    ok(
        error.body.message.startsWith('Message: {"Errors":["Request size is too large"]}\r\n'),
        error.body.message,
    );
    await fails(413, container.items.upsert({ id, pk: "big", text: above }));
    await fails(413, container.item(id, "big").replace({ id, pk: "big", text: above }));
    equal((await container.item(id, "big").read()).resource.text.length, below.length);
});

test("a patch cannot make an item larger than 2 MB", async () => {
    const id = newId();
    await container.items.create({ id, pk: "big", text: "x".repeat(1.5 * 1024 * 1024) });
    const operations = [{ op: "add", path: "/more", value: "y".repeat(1024 * 1024) }];
    await fails(413, container.item(id, "big").patch(operations));
    equal((await container.item(id, "big").read()).resource.more, undefined);
});

// ---- patch ------------------------------------------------------------------------------------------

eachRow(
    "a patch does what it says",
    [
        { why: "add a property", op: { op: "add", path: "/new", value: { a: 1 } }, want: { new: { a: 1 } } },
        { why: "add over an old one", op: { op: "add", path: "/n", value: 7 }, want: { n: 7 } },
        { why: "set a new one", op: { op: "set", path: "/new", value: 1 }, want: { new: 1 } },
        { why: "set an old one", op: { op: "set", path: "/n", value: null }, want: { n: null } },
        { why: "set a nested one", op: { op: "set", path: "/deep/x", value: 2 }, want: { deep: { x: 2 } } },
        { why: "replace", op: { op: "replace", path: "/text", value: "new" }, want: { text: "new" } },
        { why: "remove", op: { op: "remove", path: "/text" }, want: { text: undefined } },
        { why: "remove an element", op: { op: "remove", path: "/tags/0" }, want: { tags: ["b"] } },
        { why: "increment", op: { op: "incr", path: "/n", value: 5 }, want: { n: 6 } },
        { why: "decrement by a fraction", op: { op: "incr", path: "/n", value: -0.5 }, want: { n: 0.5 } },
        {
            why: "increment what is not there",
            op: { op: "incr", path: "/count", value: 3 },
            want: { count: 3 },
        },
        { why: "append", op: { op: "add", path: "/tags/-", value: "c" }, want: { tags: ["a", "b", "c"] } },
        { why: "insert", op: { op: "add", path: "/tags/1", value: "c" }, want: { tags: ["a", "c", "b"] } },
        { why: "set an element", op: { op: "set", path: "/tags/1", value: "c" }, want: { tags: ["a", "c"] } },
        {
            why: "replace an element",
            op: { op: "replace", path: "/tags/0", value: "c" },
            want: { tags: ["c", "b"] },
        },
        {
            why: "move",
            op: { op: "move", from: "/text", path: "/moved" },
            want: { text: undefined, moved: "t" },
        },
        {
            why: "a name with slash and tilde",
            op: { op: "set", path: "/a~1b~0c", value: 1 },
            want: { "a/b~c": 1 },
        },
    ],
    async ({ op, want }) => {
        const id = newId();
        const before = { id, pk: "a", n: 1, text: "t", deep: { x: 1 }, tags: ["a", "b"] };
        const { resource: old } = await container.items.create(before);
        const { resource, statusCode } = await container.item(id, "a").patch([op]);
        equal(statusCode, 200);
        const expected = { ...before, ...want };
        for (const name of Object.keys(expected)) if (expected[name] === undefined) delete expected[name];
        equal(own(resource), expected);
        ok(resource._etag !== old._etag, "another etag");
        equal((await container.item(id, "a").read()).resource, resource);
    },
);

eachRow(
    "a bad patch is refused and changes nothing",
    [
        { why: "replace what is missing", ops: [{ op: "replace", path: "/missing", value: 1 }] },
        { why: "remove what is missing", ops: [{ op: "remove", path: "/missing" }] },
        { why: "increment text", ops: [{ op: "incr", path: "/text", value: 1 }] },
        { why: "increment by text", ops: [{ op: "incr", path: "/n", value: "1" }] },
        { why: "no such operation", ops: [{ op: "twist", path: "/n", value: 1 }] },
        { why: "the id", ops: [{ op: "set", path: "/id", value: "other" }] },
        { why: "the partition key", ops: [{ op: "set", path: "/pk", value: "b" }] },
        { why: "a system property", ops: [{ op: "set", path: "/_ts", value: 1 }] },
        { why: "the resource id", ops: [{ op: "remove", path: "/_rid" }] },
        { why: "an index past the end", ops: [{ op: "add", path: "/tags/9", value: 1 }] },
        { why: "through a missing parent", ops: [{ op: "add", path: "/missing/x", value: 1 }] },
        { why: "a path without slash", ops: [{ op: "set", path: "n", value: 1 }] },
        { why: "no operations", ops: [] },
        {
            why: "eleven operations",
            ops: Array.from({ length: 11 }, () => ({ op: "incr", path: "/n", value: 1 })),
        },
        {
            why: "the second of two",
            ops: [
                { op: "set", path: "/n", value: 9 },
                { op: "remove", path: "/missing" },
            ],
        },
    ],
    async ({ ops }) => {
        const id = newId();
        const { resource } = await container.items.create({ id, pk: "a", n: 1, text: "t", tags: ["a", "b"] });
        await fails(400, container.item(id, "a").patch(ops));
        equal((await container.item(id, "a").read()).resource, resource);
    },
);

test("a patch with a condition is carried out only where it holds", async () => {
    const id = newId();
    await container.items.create({ id, pk: "a", n: 1 });
    const item = container.item(id, "a");
    const operations = [{ op: "incr", path: "/n", value: 10 }];
    equal((await item.patch({ operations, condition: "from c where c.n = 1" })).resource.n, 11);
    await fails(412, item.patch({ operations, condition: "from c where c.n = 1" }));
    equal((await item.read()).resource.n, 11);
});

test("a patch of a missing item is refused", async () => {
    await fails(404, container.item(newId(), "a").patch([{ op: "set", path: "/n", value: 1 }]));
});

// ---- charges ----------------------------------------------------------------------------------------

test("charges grow with the size and do not vary", async () => {
    const charge = async (promise) => (await promise).requestCharge;
    const text = "x".repeat(900);
    const created = await charge(container.items.create({ id: newId(), pk: "charge", text }));
    equal(await charge(container.items.create({ id: newId(), pk: "charge", text })), created);
    const large = newId();
    ok(
        (await charge(container.items.create({ id: large, pk: "charge", text: text.repeat(50) }))) > created,
        "a large one costs more",
    );
    const small = newId();
    await container.items.create({ id: small, pk: "charge" });
    equal(await charge(container.item(small, "charge").read()), 1, "a point read of up to 1 KB");
    ok((await charge(container.item(large, "charge").read())) > 1, "a large one costs more");
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        container = await newContainer(client);
    },
    after: stopAll,
});

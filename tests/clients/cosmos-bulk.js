#!/usr/bin/env node
// Several operations in one request, through @azure/cosmos: transactional batches and bulks.
"use strict";

const { test, eachRow, equal, ok, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

let server;
let client;
let container;
let number = 0;

const newKey = () => `key${++number}`;
const statuses = (results) => results.map((r) => r.statusCode);
const create = (id, pk, more) => ({ operationType: "Create", resourceBody: { id, pk, ...more } });
const read = async (id, pk) => (await container.item(id, pk).read()).resource;

// As the client sends it, past its own checks.
function post(body, { pk, isAtomic = true, more = {} }) {
    return server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body,
        headers: {
            "content-type": "application/json",
            "x-ms-cosmos-is-batch-request": "True",
            "x-ms-cosmos-batch-atomic": isAtomic ? "True" : "False",
            ...(pk
                ? { "x-ms-documentdb-partitionkey": JSON.stringify([pk]) }
                : { "x-ms-documentdb-partitionkeyrangeid": "0" }),
            ...more,
        },
    });
}

// ---- transactional batch ----------------------------------------------------------------------------

test("a batch carries out every kind of operation, in order", async () => {
    const pk = newKey();
    await container.items.create({ id: "old", pk, n: 1 });
    await container.items.create({ id: "gone", pk });
    const { result, code } = await container.items.batch(
        [
            create("new", pk, { n: 1 }),
            { operationType: "Upsert", resourceBody: { id: "up", pk, n: 1 } },
            { operationType: "Upsert", resourceBody: { id: "old", pk, n: 2 } },
            { operationType: "Read", id: "old" },
            { operationType: "Replace", id: "old", resourceBody: { id: "old", pk, n: 3 } },
            {
                operationType: "Patch",
                id: "old",
                resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] },
            },
            { operationType: "Delete", id: "gone" },
        ],
        pk,
    );
    equal(code, 200);
    equal(statuses(result), [201, 201, 200, 200, 200, 200, 204]);
    equal(result[3].resourceBody.n, 2, "a read sees what came before it in the batch");
    equal(result[5].resourceBody.n, 4);
    equal(result[6].resourceBody, undefined);
    for (const r of result.slice(0, 6)) equal(r.eTag, r.resourceBody._etag);
    ok(
        result.every((r) => r.requestCharge > 0),
        "each has a charge",
    );
    equal((await read("old", pk)).n, 4);
    equal(await read("gone", pk), undefined);
});

test("a delete and then a read of the same id in a batch fail as a whole", async () => {
    const pk = newKey();
    await container.items.create({ id: "x", pk });
    const { result, code } = await container.items.batch(
        [
            { operationType: "Delete", id: "x" },
            { operationType: "Read", id: "x" },
        ],
        pk,
    );
    equal([code, statuses(result)], [207, [424, 404]]);
    ok(await read("x", pk), "nothing was deleted");
});

test("a batch that fails leaves nothing behind", async () => {
    const pk = newKey();
    await container.items.create({ id: "taken", pk, n: 1 });
    const { result, code } = await container.items.batch(
        [
            create("a", pk),
            { operationType: "Upsert", resourceBody: { id: "taken", pk, n: 2 } },
            create("taken", pk),
            create("b", pk),
        ],
        pk,
    );
    equal([code, statuses(result)], [207, [424, 424, 409, 424]]);
    equal([await read("a", pk), await read("b", pk), (await read("taken", pk)).n], [undefined, undefined, 1]);
});

eachRow(
    "one operation that fails, fails a batch by its own rules",
    [
        { why: "an invalid ttl", op: (pk) => create("x", pk, { ttl: 0 }), status: 400 },
        {
            why: "a replace of nothing",
            op: (pk) => ({ operationType: "Replace", id: "x", resourceBody: { id: "x", pk } }),
            status: 404,
        },
        { why: "a delete of nothing", op: () => ({ operationType: "Delete", id: "x" }), status: 404 },
        {
            why: "a patch of nothing",
            op: () => ({
                operationType: "Patch",
                id: "x",
                resourceBody: { operations: [{ op: "set", path: "/n", value: 1 }] },
            }),
            status: 404,
        },
        {
            why: "an old etag",
            op: (pk) => ({
                operationType: "Replace",
                id: "there",
                ifMatch: '"old"',
                resourceBody: { id: "there", pk },
            }),
            status: 412,
        },
        {
            why: "a bad patch",
            op: () => ({
                operationType: "Patch",
                id: "there",
                resourceBody: { operations: [{ op: "remove", path: "/none" }] },
            }),
            status: 400,
        },
    ],
    async ({ op, status }) => {
        const pk = newKey();
        await container.items.create({ id: "there", pk });
        const { result, code } = await container.items.batch(
            [create("before", pk), op(pk), create("after", pk)],
            pk,
        );
        equal([code, statuses(result)], [207, [424, status, 424]]);
        equal(await read("before", pk), undefined);
    },
);

test("an operation of another partition key fails the batch", async () => {
    const pk = newKey();
    const other = newKey();
    const { status, json } = await post([create("a", pk), create("b", other)], { pk });
    equal([status, statuses(json)], [207, [424, 400]]);
    equal([await read("a", pk), await read("b", other)], [undefined, undefined]);
});

test("a batch under an etag goes through when it still holds", async () => {
    const pk = newKey();
    const { resource } = await container.items.create({ id: "x", pk, n: 1 });
    const replace = {
        operationType: "Replace",
        id: "x",
        ifMatch: resource._etag,
        resourceBody: { id: "x", pk, n: 2 },
    };
    equal(statuses((await container.items.batch([{ ...replace }], pk)).result), [200]);
    equal(statuses((await container.items.batch([{ ...replace }], pk)).result), [412]);
});

test("a batch of 100 operations goes through and one of 101 is refused", async () => {
    const pk = newKey();
    const hundred = Array.from({ length: 100 }, (_, i) => create(`i${i}`, pk));
    equal(statuses((await container.items.batch(hundred, pk)).result), Array(100).fill(201));
    const { status, json } = await post([...hundred, create("more", pk)], { pk });
    equal([status, json.code], [400, "BadRequest"]);
});

test("a batch can be told to send no bodies back", async () => {
    const pk = newKey();
    const { result } = await container.items.batch([create("x", pk)], pk, {
        contentResponseOnWriteEnabled: false,
    });
    equal([result[0].statusCode, result[0].resourceBody], [201, undefined]);
    ok(result[0].eTag, "the etag all the same");
});

eachRow(
    "a bad batch is refused as a whole",
    [
        { why: "no array", body: {} },
        { why: "no operation", body: [] },
        { why: "an operation that is text", body: ["Create"] },
        { why: "an unknown operation", body: [{ operationType: "Twist", id: "x" }] },
        { why: "no body to create", body: [{ operationType: "Create" }] },
        { why: "no id to read", body: [{ operationType: "Read" }] },
        { why: "not JSON", body: "[{" },
        { why: "HybridRow, which .NET sends", body: Buffer.from([0x81, 0x01, 0x00, 0x00, 0x00, 0x05, 0x06]) },
    ],
    async ({ body }) => {
        const { status, json, text } = await post(body, { pk: newKey() });
        const failures = status === 207 ? json : [{ ...json, statusCode: status }];
        ok(
            failures.length > 0 && failures.every((f) => f.statusCode === 400 && f.message),
            `status ${status}: ${text}`,
        );
    },
);

// ---- bulk -------------------------------------------------------------------------------------------

test("a bulk carries out each operation on its own, across partition keys", async () => {
    const [a, b] = [newKey(), newKey()];
    await container.items.create({ id: "old", pk: a, n: 1 });
    const result = await container.items.bulk([
        create("x", a),
        create("x", b),
        create("x", a),
        { operationType: "Read", id: "old", partitionKey: a },
        { operationType: "Replace", id: "nobody", partitionKey: b, resourceBody: { id: "nobody", pk: b } },
        {
            operationType: "Patch",
            id: "old",
            partitionKey: a,
            resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] },
        },
        { operationType: "Delete", id: "x", partitionKey: b },
        { operationType: "Read", id: "x", partitionKey: b },
    ]);
    equal(statuses(result), [201, 201, 409, 200, 404, 200, 204, 404]);
    equal((await read("old", a)).n, 2);
});

test("a bulk that is not to continue stops at the first failure", async () => {
    const pk = newKey();
    await container.items.create({ id: "taken", pk });
    const result = await container.items.bulk([create("a", pk), create("taken", pk), create("b", pk)], {
        continueOnError: false,
    });
    equal(statuses(result), [201, 409, 424]);
    ok(await read("a", pk), "what came before stays");
    equal(await read("b", pk), undefined);
});

test("an invalid ttl fails its own operation of a bulk only", async () => {
    const pk = newKey();
    const result = await container.items.bulk([create("a", pk, { ttl: -10 }), create("b", pk, { ttl: 100 })]);
    equal(statuses(result), [400, 201]);
});

test("a partition key that does not match the item fails its own operation of a bulk only", async () => {
    const [a, b] = [newKey(), newKey()];
    const result = await container.items.bulk([{ ...create("x", a), partitionKey: b }, create("y", a)]);
    equal(statuses(result), [400, 201]);
});

test("a bulk takes keys of all kinds", async () => {
    const id = newKey();
    const keys = ["text", 5, true, false, null, 1.5, "é🦟"];
    const result = await container.items.bulk([
        ...keys.map((pk) => create(id, pk)),
        { operationType: "Create", resourceBody: { id } },
    ]);
    equal(statuses(result), Array(keys.length + 1).fill(201));
    for (const pk of keys) equal((await read(id, pk)).pk, pk);
    ok((await container.item(id, undefined).read()).resource, "and none at all");
});

test("a bulk takes hierarchical keys", async () => {
    const tree = await newContainer(client, {
        partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 },
    });
    const result = await tree.items.bulk([
        { operationType: "Create", resourceBody: { id: "x", a: "1", b: "2" } },
        { operationType: "Read", id: "x", partitionKey: ["1", "2"] },
    ]);
    equal(statuses(result), [201, 200]);
});

test("an item too large refuses a bulk with 413 and the known sentence", async () => {
    const pk = newKey();
    const error = await fails(
        undefined,
        container.items.bulk([create("x", pk, { text: "x".repeat(2.4e6) })]),
    );
    ok(error.message.includes('Message: {"Errors":["Request size is too large"]}\r\n'), error.message);
});

test("the new way of bulks carries out 500 operations", async () => {
    const pk = newKey();
    const operations = Array.from({ length: 500 }, (_, i) => ({
        ...create(`i${i}`, pk + (i % 7), { n: i }),
        partitionKey: pk + (i % 7),
    }));
    const results = await container.items.executeBulkOperations(operations);
    equal(results.length, 500);
    equal(
        results.map((r) => (r.response ? r.response.statusCode : r.error.message)),
        Array(500).fill(201),
    );
    ok(
        results.every((r, i) => r.operationInput.resourceBody.n === i),
        "in order",
    );
    const again = await container.items.executeBulkOperations(operations.slice(0, 3));
    equal(
        again.map((r) => r.error && r.error.code),
        [409, 409, 409],
    );
});

test("a bulk of many bodies is cut by the client and comes back whole", async () => {
    const pk = newKey();
    const text = "x".repeat(30000);
    const result = await container.items.bulk(
        Array.from({ length: 60 }, (_, i) => create(`i${i}`, pk, { text, n: i })),
    );
    equal(statuses(result), Array(60).fill(201));
    equal(
        result.map((r) => r.resourceBody.n),
        Array.from({ length: 60 }, (_, i) => i),
    );
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        container = await newContainer(client);
    },
    after: stopAll,
});

#!/usr/bin/env node
// Time to live over the wire: every rule C-1 to C-13 of docs/time-to-live.md, by its name (C-8 is among the
// definitions, C-12 among the dead). Time is moved, not waited for. A document is dead exactly when server
// time reaches its deadline, so tests of the dead side move to that second; tests of the living side prove
// afterwards that it was not yet reached.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

const MARGIN_MS = 300;
const BAD_TTL = /The input ttl '.*' is invalid\. Ensure to provide a nonzero positive integer/;

let server;
let client;
let number = 0;

const newId = () => `item${++number}`;
const ttlOn = (defaultTtl = -1, more = {}) => newContainer(client, { defaultTtl, ...more });
const isThere = async (container, id, pk = "a") => (await container.item(id, pk).read()).statusCode === 200;

// ---- C-1 to C-3: what is stored ---------------------------------------------------------------------

test("C-1 every write sets _ts in whole seconds of server time, and reads leave it", async () => {
    const container = await newContainer(client);
    const id = newId();
    const item = container.item(id, "a");
    const replace = { operationType: "Replace", id, partitionKey: "a", resourceBody: { id, pk: "a" } };
    const writes = [
        ["create", async () => (await container.items.create({ id, pk: "a" })).resource],
        ["replace", async () => (await item.replace({ id, pk: "a", n: 1 })).resource],
        ["upsert", async () => (await container.items.upsert({ id, pk: "a", n: 2 })).resource],
        ["patch", async () => (await item.patch([{ op: "set", path: "/n", value: 3 }])).resource],
        ["batch", async () => (await container.items.batch([{ ...replace }], "a")).result[0].resourceBody],
        ["bulk", async () => (await container.items.bulk([{ ...replace }]))[0].resourceBody],
    ];
    for (const [name, write] of writes) {
        const from = Math.floor((await server.advance(10000)) / 1000);
        const written = await write();
        const to = Math.floor((await server.advance(0)) / 1000);
        ok(
            Number.isInteger(written._ts) && written._ts >= from && written._ts <= to,
            `${name}: ${from} <= ${written._ts} <= ${to}`,
        );
        await server.advance(5000);
        equal((await item.read()).resource._ts, written._ts, `read after ${name}`);
        await container.items.query("SELECT * FROM c").fetchAll();
        equal((await item.read()).resource._ts, written._ts, `query after ${name}`);
    }
});

eachRow(
    "C-2 a container takes defaultTtl",
    [
        { why: "-1", value: -1 },
        { why: "1", value: 1 },
        { why: "the largest", value: 2147483647 },
        { why: "a day", value: 86400 },
    ],
    async ({ value }) => {
        const container = await ttlOn(value);
        equal((await container.read()).resource.defaultTtl, value);
        const other = await newContainer(client);
        const { resource } = await other.read();
        equal((await other.replace({ ...resource, defaultTtl: value })).resource.defaultTtl, value);
    },
);

test("C-2 a defaultTtl of null means off and is not echoed", async () => {
    const container = await ttlOn(null);
    ok(!("defaultTtl" in (await container.read()).resource), "off");
});

eachRow(
    "C-2 a bad defaultTtl is refused and changes nothing",
    [
        { why: "0", value: 0 },
        { why: "-2", value: -2 },
        { why: "-10", value: -10 },
        { why: "a fraction", value: 1.5 },
        { why: "text", value: "60" },
        { why: "true", value: true },
        { why: "one too large", value: 2147483648 },
        { why: "an object", value: {} },
        { why: "an array", value: [60] },
    ],
    async ({ value }) => {
        await fails(400, newContainer(client, { defaultTtl: value }));
        const container = await ttlOn(60);
        const { resource } = await container.read();
        const error = await fails(400, container.replace({ ...resource, defaultTtl: value }));
        ok(error.body.message.length > 20, "says what is wrong");
        equal((await container.read()).resource, resource);
    },
);

eachRow(
    "C-3 an item takes ttl",
    [
        { why: "-1", raw: "-1" },
        { why: "1", raw: "1" },
        { why: "the largest", raw: "2147483647" },
        { why: "10 written as 1e1", raw: "1e1" },
        { why: "1 written as 1.0", raw: "1.0" },
    ],
    async ({ raw }) => {
        const container = await ttlOn();
        const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
            body: `{"id":"x","pk":"a","ttl":${raw}}`,
            headers: { "content-type": "application/json", "x-ms-documentdb-partitionkey": '["a"]' },
        });
        equal(reply.status, 201, reply.text);
    },
);

// Off containers check it just the same.
eachRow(
    "C-3 a bad ttl is refused on every way to write, and nothing is written",
    [
        { why: "0", value: 0 },
        { why: "-2", value: -2 },
        { why: "null", value: null },
        { why: "a fraction", value: 1.5 },
        { why: "text", value: "60" },
        { why: "true", value: true },
        { why: "one too large", value: 2147483648 },
        { why: "an object", value: {} },
        { why: "an array", value: [] },
    ],
    async ({ value }) => {
        for (const container of [await newContainer(client), await ttlOn(60)]) {
            const { resource: old } = await container.items.create({ id: "old", pk: "a", n: 1 });
            const item = container.item("old", "a");
            const bad = { id: "old", pk: "a", ttl: value };
            const fresh = { id: "fresh", pk: "a", ttl: value };
            await fails(400, container.items.create(fresh), BAD_TTL);
            await fails(400, container.items.upsert(fresh), BAD_TTL);
            await fails(400, container.items.upsert(bad), BAD_TTL);
            await fails(400, item.replace(bad), BAD_TTL);
            await fails(400, item.patch([{ op: "set", path: "/ttl", value }]), BAD_TTL);
            const operations = () => [
                { operationType: "Create", resourceBody: { ...fresh } },
                { operationType: "Upsert", resourceBody: { ...bad } },
                { operationType: "Replace", id: "old", partitionKey: "a", resourceBody: { ...bad } },
                {
                    operationType: "Patch",
                    id: "old",
                    partitionKey: "a",
                    resourceBody: { operations: [{ op: "set", path: "/ttl", value }] },
                },
            ];
            equal(
                (await container.items.bulk(operations())).map((r) => r.statusCode),
                [400, 400, 400, 400],
            );
            for (const operation of operations())
                equal(
                    (await container.items.batch([operation], "a")).result.map((r) => r.statusCode),
                    [400],
                );
            equal((await item.read()).resource, old);
            equal(await isThere(container, "fresh"), false);
        }
    },
);

test("C-3 the refusal of a bad ttl names the value and what to do", async () => {
    const container = await ttlOn();
    for (const [value, shown] of [
        [0, "0"],
        [null, "null"],
    ])
        await fails(
            400,
            container.items.create({ id: "x", pk: "a", ttl: value }),
            new RegExp(
                `The input ttl '${shown}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or '-1' which means never expire.`,
            ),
        );
});

test("C-3 body validation comes before everything else that could be wrong", async () => {
    const container = await ttlOn();
    const { resource } = await container.items.create({ id: "x", pk: "a" });
    await fails(400, container.items.create({ id: "x", pk: "a", ttl: 0 }));
    const accessCondition = { type: "IfMatch", condition: '"old"' };
    await fails(400, container.item("x", "a").replace({ ...resource, ttl: 0 }, { accessCondition }));
});

// ---- C-4, C-5, B-2: who dies when -------------------------------------------------------------------

eachRow(
    "C-4 the matrix",
    [
        { why: "off, no ttl", defaultTtl: undefined, ttl: undefined, dies: null },
        { why: "off, ttl -1", defaultTtl: undefined, ttl: -1, dies: null },
        { why: "off, ttl 50", defaultTtl: undefined, ttl: 50, dies: null },
        { why: "-1, no ttl", defaultTtl: -1, ttl: undefined, dies: null },
        { why: "-1, ttl -1", defaultTtl: -1, ttl: -1, dies: null },
        { why: "-1, ttl 50", defaultTtl: -1, ttl: 50, dies: 50 },
        { why: "100, no ttl", defaultTtl: 100, ttl: undefined, dies: 100 },
        { why: "100, ttl -1", defaultTtl: 100, ttl: -1, dies: null },
        { why: "100, ttl 50, shorter", defaultTtl: 100, ttl: 50, dies: 50 },
        { why: "100, ttl 500, longer", defaultTtl: 100, ttl: 500, dies: 500 },
    ],
    async ({ defaultTtl, ttl, dies }) => {
        const container = await newContainer(client, defaultTtl === undefined ? {} : { defaultTtl });
        const prepare = async () => {
            const id = newId();
            const { resource } = await container.items.create({
                id,
                pk: "a",
                ...(ttl === undefined ? {} : { ttl }),
            });
            return { id, deadline: resource._ts + (dies || 10000000) };
        };
        const { answer, id, deadline } = await server.before(MARGIN_MS, prepare, async (state) =>
            isThere(container, state.id),
        );
        equal(answer, true, "alive until its deadline");
        await server.advanceTo(deadline);
        equal(await isThere(container, id), dies === null, "after it");
    },
);

test("B-2 C-5 in the second of its deadline a document is dead for everybody", async () => {
    const container = await ttlOn(100);
    const prepare = async () => {
        const { resource } = await container.items.create({ id: newId(), pk: "a" });
        return { dead: resource, deadline: resource._ts + 100 };
    };
    const look = async ({ dead }) => {
        const query = {
            query: "SELECT VALUE c.id FROM c WHERE c.id = @id",
            parameters: [{ name: "@id", value: dead.id }],
        };
        const listed = (await container.items.readAll().fetchAll()).resources.filter(
            (r) => r.id === dead.id,
        ).length;
        const queried = (await container.items.query(query).fetchAll()).resources.length;
        const one = await container.items.query(query, { partitionKey: "a" }).fetchAll();
        return [await isThere(container, dead.id), queried, one.resources.length, listed];
    };
    const { answer, deadline, dead } = await server.before(1500, prepare, look);
    equal(answer, [true, 1, 1, 1], "just before");
    await server.advanceTo(deadline);
    equal(await look({ dead }), [false, 0, 0, 0], "from the deadline on");
});

test("B-2 ttl 1 lives at most a second", async () => {
    const container = await ttlOn();
    const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 1 });
    await server.advanceTo(resource._ts + 1);
    equal(await isThere(container, resource.id), false);
});

test("C-5 the largest ttl outlives the century", async () => {
    const container = await ttlOn();
    const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 2147483647 });
    await server.advance(3600 * 24 * 1000);
    equal((await container.item(resource.id, "a").read()).resource.ttl, 2147483647);
});

// ---- C-6, C-7: changes ------------------------------------------------------------------------------

eachRow(
    "C-6 a write starts the countdown anew",
    [
        { why: "replace", act: (c, id) => c.item(id, "a").replace({ id, pk: "a", ttl: 100 }) },
        { why: "upsert", act: (c, id) => c.items.upsert({ id, pk: "a", ttl: 100 }) },
        { why: "patch", act: (c, id) => c.item(id, "a").patch([{ op: "set", path: "/n", value: 1 }]) },
        {
            why: "batch",
            act: (c, id) =>
                c.items.batch([{ operationType: "Upsert", resourceBody: { id, pk: "a", ttl: 100 } }], "a"),
        },
        {
            why: "bulk",
            act: (c, id) =>
                c.items.bulk([{ operationType: "Upsert", resourceBody: { id, pk: "a", ttl: 100 } }]),
        },
    ],
    async ({ act }) => {
        const container = await ttlOn();
        const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 100 });
        await server.advanceTo(resource._ts + 60);
        await act(container, resource.id);
        const written = (await container.item(resource.id, "a").read()).resource;
        ok(written._ts >= resource._ts + 60, "a new _ts");
        await server.advanceTo(resource._ts + 110);
        equal(await isThere(container, resource.id), true, "past the old deadline");
        await server.advanceTo(written._ts + 100);
        equal(await isThere(container, resource.id), false, "at the new deadline");
    },
);

test("C-6 reading does not start the countdown anew", async () => {
    const container = await ttlOn();
    const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 100 });
    await server.advanceTo(resource._ts + 60);
    await container.item(resource.id, "a").read();
    await container.items.readAll().fetchAll();
    await server.advanceTo(resource._ts + 100);
    equal(await isThere(container, resource.id), false);
});

test("C-6 a write that fails does not start the countdown anew", async () => {
    const container = await ttlOn();
    const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 100 });
    await server.advanceTo(resource._ts + 60);
    const accessCondition = { type: "IfMatch", condition: '"old"' };
    await fails(412, container.item(resource.id, "a").replace(resource, { accessCondition }));
    await fails(400, container.item(resource.id, "a").patch([{ op: "remove", path: "/none" }]));
    await fails(409, container.items.create({ id: resource.id, pk: "a" }));
    await server.advanceTo(resource._ts + 100);
    equal(await isThere(container, resource.id), false);
});

eachRow(
    "C-6 an item's ttl can be changed",
    [
        { why: "to a longer one", ops: [{ op: "set", path: "/ttl", value: 1000 }], dies: 1000 },
        { why: "to a shorter one", ops: [{ op: "replace", path: "/ttl", value: 10 }], dies: 10 },
        { why: "to never", ops: [{ op: "set", path: "/ttl", value: -1 }], dies: null },
        { why: "by removing it: the default holds", ops: [{ op: "remove", path: "/ttl" }], dies: 500 },
        { why: "by an increment", ops: [{ op: "incr", path: "/ttl", value: 100 }], dies: 200 },
    ],
    async ({ ops, dies }) => {
        const container = await ttlOn(500);
        const prepare = async () => {
            const { resource } = await container.items.create({ id: newId(), pk: "a", ttl: 100 });
            const patched = (await container.item(resource.id, "a").patch(ops)).resource;
            return { id: resource.id, deadline: patched._ts + (dies || 100000) };
        };
        const { answer, id, deadline } = await server.before(MARGIN_MS, prepare, (state) =>
            isThere(container, state.id),
        );
        equal(answer, true);
        await server.advanceTo(deadline);
        equal(await isThere(container, id), dies === null);
    },
);

test("C-7 switching off stops every countdown, switching on counts from each _ts", async () => {
    const container = await ttlOn(1000);
    const { resource } = await container.items.create({ id: "own", pk: "a", ttl: 100 });
    await container.items.create({ id: "default", pk: "a" });
    const bare = { id: container.id, partitionKey: { paths: ["/pk"] } };
    await container.replace(bare);
    ok(!("defaultTtl" in (await container.read()).resource), "off");
    await server.advanceTo(resource._ts + 5000);
    equal([await isThere(container, "own"), await isThere(container, "default")], [true, true]);
    equal((await container.item("own", "a").read()).resource.ttl, 100, "the field stays");
    await container.replace({ ...bare, defaultTtl: -1 });
    equal(
        [await isThere(container, "own"), await isThere(container, "default")],
        [false, true],
        "-1 is not off",
    );
    await container.replace({ ...bare, defaultTtl: 1000 });
    equal([await isThere(container, "own"), await isThere(container, "default")], [false, false]);
});

// ---- C-9, C-10: indexing ----------------------------------------------------------------------------

test("C-9 time to live needs an index", async () => {
    const none = { indexingMode: "none", automatic: false };
    await fails(
        400,
        newContainer(client, { defaultTtl: 60, indexingPolicy: none }),
        /Indexing mode value cannot be 'none' when 'defaultTtl' is specified/,
    );
    const bare = await newContainer(client, { indexingPolicy: none });
    const { resource: before } = await bare.read();
    await fails(400, bare.replace({ ...before, defaultTtl: 60 }), /Indexing mode/);
    equal((await bare.read()).resource, before);
    const living = await ttlOn(60);
    const { resource: other } = await living.read();
    await fails(400, living.replace({ ...other, indexingPolicy: none }), /Indexing mode/);
    equal((await living.read()).resource, other);
});

test("C-10 with a lazy index no query shows a dead document", async () => {
    const container = await newContainer(client, {
        defaultTtl: 100,
        indexingPolicy: { indexingMode: "lazy", automatic: true },
    });
    equal((await container.read()).resource.indexingPolicy.indexingMode, "lazy");
    const { resource } = await container.items.create({ id: "x", pk: "a", n: 1 });
    await server.advanceTo(resource._ts + 101);
    for (const text of ["SELECT * FROM c", "SELECT * FROM c WHERE c.n = 1", "SELECT * FROM c ORDER BY c.n"])
        equal((await container.items.query(text).fetchAll()).resources, [], text);
    const { headers } = await container.read({ populateQuotaInfo: true });
    const progress = Number(headers["x-ms-documentdb-collection-index-transformation-progress"]);
    ok(progress >= 0 && progress <= 100, `progress is ${progress}`);
});

test("C-10 with a consistent index no query notices that time to live was switched on", async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 20; n++) await container.items.create({ id: `i${n}`, pk: "a", n });
    await container.replace({ id: container.id, partitionKey: { paths: ["/pk"] }, defaultTtl: 1000 });
    const { resources } = await container.items
        .query("SELECT VALUE c.n FROM c WHERE c.n >= 10 ORDER BY c.n")
        .fetchAll();
    equal(resources, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

// ---- C-11: charges ---------------------------------------------------------------------------------

test("C-11 charges do not depend on time to live", async () => {
    const charges = async (container, ttl) => {
        const id = "same";
        const body = (n) => ({ id, pk: "a", n, text: "some text", ...(ttl ? { other: 1 } : { other: 1 }) });
        const steps = [
            await container.items.create(body(1)),
            await container.item(id, "a").read(),
            await container.item(id, "a").replace(body(2)),
            await container.items.upsert(body(3)),
            await container.item(id, "a").patch([{ op: "set", path: "/n", value: 4 }]),
            await container.items.query("SELECT * FROM c", { partitionKey: "a" }).fetchAll(),
            await container.item(id, "a").delete(),
        ];
        return steps.map((s) => s.requestCharge);
    };
    const off = await charges(await newContainer(client));
    equal(await charges(await ttlOn(-1)), off);
    equal(await charges(await ttlOn(1000)), off);
});

test("C-11 B-7 charges do not depend on the dead, purged or not, and purging charges nothing", async () => {
    const container = await ttlOn();
    const work = async (key) => {
        const steps = [
            await container.items.create({ id: key, pk: "a", n: 1 }),
            await container.item(key, "a").read(),
            await container.items.query("SELECT * FROM c", { partitionKey: "a" }).fetchAll(),
            await container.items.query("SELECT VALUE COUNT(1) FROM c", { partitionKey: "a" }).fetchAll(),
            await container.item(key, "a").delete(),
        ];
        return steps.map((s) => s.requestCharge);
    };
    const empty = await work("x");
    for (let i = 0; i < 3; i++)
        await container.items.bulk(
            Array.from({ length: 100 }, (_, j) => ({
                operationType: "Create",
                resourceBody: { id: `d${i}-${j}`, pk: "a", ttl: 100 },
            })),
        );
    await server.advance(200 * 1000);
    equal(await work("x"), empty, "300 dead, not purged");
    await server.purge();
    equal(await work("x"), empty, "purged");
});

// ---- C-13 and the rest ------------------------------------------------------------------------------

test("C-13 only the top-level property ttl counts, for the whole document", async () => {
    const container = await ttlOn();
    const item = {
        id: "x",
        pk: "a",
        TTL: 1,
        Ttl: 0,
        " ttl": 0,
        nested: { ttl: 1, deeper: { ttl: 0 } },
        list: [{ ttl: 1 }],
    };
    await container.items.create(item);
    await server.advance(1000 * 1000);
    const { _rid, _self, _etag, _ts, _attachments, ...own } = (await container.item("x", "a").read())
        .resource;
    equal(own, item);
});

test("time to live works for partition keys of all kinds", async () => {
    const tree = await newContainer(client, {
        defaultTtl: 100,
        partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 },
    });
    const { resource } = await tree.items.create({ id: "x", a: "1", b: null });
    const flat = await ttlOn(100);
    await flat.items.create({ id: "none" });
    await flat.items.create({ id: "null", pk: null });
    await server.advanceTo(resource._ts + 105);
    equal((await tree.item("x", ["1", null]).read()).statusCode, 404);
    equal((await flat.item("none", undefined).read()).statusCode, 404);
    equal((await flat.item("null", null).read()).statusCode, 404);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
    },
    after: stopAll,
});

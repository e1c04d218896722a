#!/usr/bin/env node
// The dead, over the wire: the rules B-3 to B-7 of docs/time-to-live.md that a client of the Cosmos face can see, by
// their names. What holds for a dead document is tested twice, before and after the purger came by, since nobody
// must be able to tell the difference.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

let server;
let client;
let number = 0;

const newId = () => `item${++number}`;
const ttlOn = (defaultTtl = -1, more = {}) => newContainer(client, { defaultTtl, ...more });
const isThere = async (container, id, pk = "a") => (await container.item(id, pk).read()).statusCode === 200;

async function count(container) {
    return (await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources[0];
}

// A document that is dead and, if `isPurged`, gone from the disk too.
async function deadItem({ isPurged, properties = {}, container }) {
    const where = container || (await ttlOn());
    const { resource } = await where.items.create({ id: newId(), pk: "a", ttl: 100, n: 1, ...properties });
    await server.advanceTo(resource._ts + 100);
    if (isPurged) await server.purge();
    return { container: where, dead: resource, item: where.item(resource.id, "a") };
}

// ---- B-3: one now per request -----------------------------------------------------------------------

test("B-3 every page of a query has a time of its own", async () => {
    const container = await ttlOn();
    let last;
    for (let n = 0; n < 6; n++)
        last = (await container.items.create({ id: `i${n}`, pk: "a", n, ttl: n % 2 ? 100 : 1000 })).resource;
    const options = { maxItemCount: 2, partitionKey: "a" };
    const text = "SELECT VALUE c.n FROM c ORDER BY c.n";
    const first = await container.items.query(text, options).fetchNext();
    equal(first.resources, [0, 1]);
    await server.advanceTo(last._ts + 100);
    const rest = await container.items
        .query(text, { ...options, continuationToken: first.continuationToken })
        .fetchAll();
    equal(rest.resources, [2, 4], "the dead are gone from later pages, no living one is skipped");
});

test("B-3 a continuation goes on after a document that died since", async () => {
    const container = await ttlOn();
    for (let n = 0; n < 5; n++)
        await container.items.create({ id: `i${n}`, pk: "a", n, ...(n === 1 ? { ttl: 100 } : {}) });
    const options = { maxItemCount: 2, partitionKey: "a" };
    for (const text of ["SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT VALUE c.n FROM c"]) {
        const first = await container.items.query(text, options).fetchNext();
        const before = first.resources;
        await server.advance(200 * 1000);
        await server.purge();
        const rest = await container.items
            .query(text, { ...options, continuationToken: first.continuationToken })
            .fetchAll();
        equal([...new Set([...before, ...rest.resources, 1])].sort(), [0, 1, 2, 3, 4]);
        equal(
            rest.resources.filter((n) => before.includes(n)),
            [],
            "nothing twice",
        );
    }
});

// ---- B-4: dead means gone ---------------------------------------------------------------------------

const OPERATIONS = [
    { why: "read", status: 404, act: ({ item }) => item.read() },
    {
        why: "read with its etag",
        status: 404,
        act: ({ item, dead }) =>
            item.read({ accessCondition: { type: "IfNoneMatch", condition: dead._etag } }),
    },
    { why: "replace", status: 404, act: ({ item, dead }) => item.replace({ ...dead, n: 2 }) },
    { why: "patch", status: 404, act: ({ item }) => item.patch([{ op: "set", path: "/n", value: 2 }]) },
    {
        why: "patch of its ttl",
        status: 404,
        act: ({ item }) => item.patch([{ op: "set", path: "/ttl", value: -1 }]),
    },
    { why: "delete", status: 404, act: ({ item }) => item.delete() },
    {
        why: "create",
        status: 201,
        act: ({ container, dead }) => container.items.create({ id: dead.id, pk: "a" }),
    },
    {
        why: "upsert",
        status: 201,
        act: ({ container, dead }) => container.items.upsert({ id: dead.id, pk: "a" }),
    },
    {
        why: "upsert under its etag",
        status: 412,
        act: ({ container, dead }) =>
            container.items.upsert(
                { id: dead.id, pk: "a" },
                { accessCondition: { type: "IfMatch", condition: dead._etag } },
            ),
    },
];
for (const operationType of ["Create", "Upsert", "Read", "Replace", "Delete", "Patch"]) {
    const status = { Create: 201, Upsert: 201 }[operationType] || 404;
    const operation = (dead) => ({
        operationType,
        partitionKey: "a",
        id: dead.id,
        ...({ Create: 1, Upsert: 1, Replace: 1 }[operationType]
            ? { resourceBody: { id: dead.id, pk: "a" } }
            : {}),
        ...(operationType === "Patch"
            ? { resourceBody: { operations: [{ op: "set", path: "/n", value: 2 }] } }
            : {}),
    });
    OPERATIONS.push({
        why: `${operationType} in a batch`,
        status,
        act: async ({ container, dead }) => (await container.items.batch([operation(dead)], "a")).result[0],
    });
    OPERATIONS.push({
        why: `${operationType} in a bulk`,
        status,
        act: async ({ container, dead }) => (await container.items.bulk([operation(dead)]))[0],
    });
}

for (const isPurged of [false, true]) {
    const when = isPurged ? "after the purger came by" : "at once";
    eachRow(
        `B-4 a dead document is as if it had never been, ${when}`,
        OPERATIONS,
        async ({ status, act }) => {
            const state = await deadItem({ isPurged });
            let got;
            try {
                got = (await act(state)).statusCode;
            } catch (error) {
                got = error.code;
            }
            equal(got, status);
            equal(await isThere(state.container, state.dead.id), status === 201, "afterwards");
        },
    );

    test(`B-4 what is created over a dead document is another one, ${when}`, async () => {
        for (const way of ["create", "upsert"]) {
            const { container, dead } = await deadItem({ isPurged });
            const { resource } = await container.items[way]({ id: dead.id, pk: "a", fresh: true });
            ok(
                resource._rid !== dead._rid && resource._etag !== dead._etag,
                `${way}: other resource id and etag`,
            );
            ok(!("n" in resource) && !("ttl" in resource), `${way}: nothing of the old one`);
            equal((await container.item(dead.id, "a").read()).resource, resource);
        }
    });

    test(`B-4 a dead document is in no query, count or feed, ${when}`, async () => {
        const container = await ttlOn();
        await container.items.create({ id: "living", pk: "a", n: 5 });
        const { dead } = await deadItem({ isPurged, container });
        const ask = async (text) => (await container.items.query(text).fetchAll()).resources;
        equal(await ask("SELECT VALUE c.id FROM c"), ["living"]);
        equal(await ask(`SELECT * FROM c WHERE c.id = '${dead.id}'`), []);
        equal(await ask("SELECT VALUE COUNT(1) FROM c"), [1]);
        equal(await ask("SELECT VALUE SUM(c.n) FROM c"), [5]);
        equal(await ask("SELECT VALUE MIN(c.n) FROM c"), [5]);
        equal(await ask("SELECT VALUE AVG(c.n) FROM c"), [5]);
        equal(await ask("SELECT VALUE c.n FROM c ORDER BY c.n"), [5]);
        equal(await ask("SELECT TOP 1 VALUE c.n FROM c ORDER BY c.n"), [5]);
        equal(await ask("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 0 LIMIT 10"), [5]);
        equal(
            (await container.items.readAll().fetchAll()).resources.map((r) => r.id),
            ["living"],
        );
        const { json } = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs`);
        equal([json._count, json.Documents.map((r) => r.id)], [1, ["living"]]);
    });

    test(`B-4 a dead document holds no unique key, ${when}`, async () => {
        const container = await ttlOn(-1, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
        await deadItem({ isPurged, container, properties: { email: "x@y" } });
        equal((await container.items.create({ id: "next", pk: "a", email: "x@y" })).statusCode, 201);
        await fails(409, container.items.create({ id: "third", pk: "a", email: "x@y" }));
    });

    test(`B-4 C-12 a dead document uses no quota, ${when}`, async () => {
        const container = await ttlOn();
        const usage = async () => {
            const { headers } = await container.read({ populateQuotaInfo: true });
            return Object.fromEntries(
                headers["x-ms-resource-usage"]
                    .split(";")
                    .filter(Boolean)
                    .map((p) => p.split("=")),
            );
        };
        const empty = await usage();
        equal(empty.documentsCount, "0");
        for (let i = 0; i < 20; i++)
            await container.items.create({ id: `k${i}`, pk: "a", text: "x".repeat(5000), ttl: 100 });
        const full = await usage();
        equal(full.documentsCount, "20");
        ok(Number(full.documentsSize) > Number(empty.documentsSize), `size grew: ${full.documentsSize}`);
        await server.advance(101 * 1000);
        if (isPurged) await server.purge();
        equal(await usage(), empty);
    });

    // ---- B-5: dead is for ever ------------------------------------------------------------------------

    eachRow(
        `B-5 dead stays dead, ${when}`,
        [
            { why: "the default is raised", change: { defaultTtl: 2147483647 } },
            { why: "the default is set to never", change: { defaultTtl: -1 } },
            { why: "time to live is switched off", change: {} },
        ],
        async ({ change }) => {
            const container = await ttlOn(100);
            const { resource } = await container.items.create({ id: "default", pk: "a" });
            await container.items.create({ id: "own", pk: "a", ttl: 50 });
            await container.items.create({ id: "longer", pk: "a", ttl: 100000 });
            await server.advanceTo(resource._ts + 102);
            if (isPurged) await server.purge();
            await container.replace({ id: container.id, partitionKey: { paths: ["/pk"] }, ...change });
            equal(
                [
                    await isThere(container, "default"),
                    await isThere(container, "own"),
                    await isThere(container, "longer"),
                ],
                [false, false, true],
            );
            equal(await count(container), 1);
            await server.advance(10000);
            equal(await count(container), 1);
            equal((await container.items.create({ id: "default", pk: "a" })).statusCode, 201);
        },
    );
}

// ---- B-6, B-7: changes and purging -------------------------------------------------------------------

test("B-6 a change of the default holds for the next request and for all documents, at the same price", async () => {
    const small = await newContainer(client);
    const large = await newContainer(client);
    const operations = Array.from({ length: 100 }, (_, i) => ({
        operationType: "Create",
        resourceBody: { id: `i${i}`, pk: "a" },
    }));
    for (let round = 0; round < 5; round++)
        await large.items.bulk(
            operations.map((o) => ({ ...o, resourceBody: { ...o.resourceBody, pk: `p${round}` } })),
        );
    await server.advance(1000 * 1000);
    equal(await count(large), 500);
    const change = (container, defaultTtl) =>
        container.replace({ id: container.id, partitionKey: { paths: ["/pk"] }, defaultTtl });
    const charges = [(await change(small, 500)).requestCharge, (await change(large, 500)).requestCharge];
    equal(charges[0], charges[1]);
    equal(await count(large), 0);
    equal((await large.items.readAll().fetchAll()).resources, []);
});

test("B-6 a lower default kills what is older at once, and spares what is younger", async () => {
    const container = await ttlOn(10000);
    await container.items.create({ id: "old", pk: "a" });
    await server.advance(500 * 1000);
    await container.items.create({ id: "young", pk: "a" });
    await container.replace({ id: container.id, partitionKey: { paths: ["/pk"] }, defaultTtl: 400 });
    equal([await isThere(container, "old"), await isThere(container, "young")], [false, true]);
});

test("B-7 the purger gives back what died and leaves what lives", async () => {
    const container = await ttlOn();
    await server.purge();
    for (let i = 0; i < 50; i++) await container.items.create({ id: `d${i}`, pk: "a", ttl: 100 });
    for (let i = 0; i < 5; i++) await container.items.create({ id: `l${i}`, pk: "a" });
    await server.advance(200 * 1000);
    await server.purge();
    const again = await server.purge();
    equal([again.documents, again.isFrozen], [0, false]);
    equal(await count(container), 5);
});

test("B-12 the figures of the server tell of the dead and the purged", async () => {
    const { text } = await server.raw("GET", "/metrics");
    matches(text, /^mayfly_purge_passes_total \d+$/m);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
    },
    after: stopAll,
});

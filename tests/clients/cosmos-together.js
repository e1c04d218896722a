#!/usr/bin/env node
// Many clients at the same time, and servers that end and start again, through @azure/cosmos.
"use strict";

const { test, equal, ok, run } = require("./support/check");
const { start, stopAll, newContainer, temporaryDirectory, MAYFLY } = require("./support/server");
const { spawnSync } = require("node:child_process");

let server;
let client;

const times = (count, act) => Promise.all(Array.from({ length: count }, (_, i) => act(i)));
const codeOf = (promise) =>
    promise.then(
        (r) => r.statusCode,
        (e) => e.code,
    );
const tally = (codes) => codes.reduce((sum, code) => ({ ...sum, [code]: (sum[code] || 0) + 1 }), {});

// ---- at the same time -------------------------------------------------------------------------------

test("of many creates of one id exactly one wins", async () => {
    const container = await newContainer(client);
    const clients = Array.from({ length: 8 }, () =>
        server.client().database("tests").container(container.id),
    );
    for (let round = 0; round < 5; round++) {
        const codes = await times(48, (i) =>
            codeOf(clients[i % 8].items.create({ id: `r${round}`, pk: "a", winner: i })),
        );
        equal(tally(codes), { 201: 1, 409: 47 });
        const { resource } = await container.item(`r${round}`, "a").read();
        equal(codes[resource.winner], 201, "the one that was told so");
    }
});

test("of many creates over a dead document exactly one wins", async () => {
    const container = await newContainer(client, { defaultTtl: -1 });
    for (let round = 0; round < 5; round++) {
        const { resource } = await container.items.create({ id: `r${round}`, pk: "a", ttl: 50 });
        await server.advanceTo(resource._ts + 50);
        equal(
            tally(await times(32, (i) => codeOf(container.items.create({ id: `r${round}`, pk: "a", i })))),
            { 201: 1, 409: 31 },
        );
    }
});

test("of many writers under one etag exactly one wins", async () => {
    const container = await newContainer(client);
    let { resource } = await container.items.create({ id: "x", pk: "a", n: 0 });
    for (let round = 1; round <= 5; round++) {
        const accessCondition = { type: "IfMatch", condition: resource._etag };
        const codes = await times(32, (i) =>
            codeOf(container.item("x", "a").replace({ id: "x", pk: "a", n: round, i }, { accessCondition })),
        );
        equal(tally(codes), { 200: 1, 412: 31 });
        ({ resource } = await container.item("x", "a").read());
        equal([resource.n, codes[resource.i]], [round, 200]);
    }
});

test("etag loops lose no increment", async () => {
    const container = await newContainer(client);
    await container.items.create({ id: "x", pk: "a", n: 0 });
    const add = async () => {
        for (let attempt = 0; attempt < 1000; attempt++) {
            const { resource } = await container.item("x", "a").read();
            const accessCondition = { type: "IfMatch", condition: resource._etag };
            const code = await codeOf(
                container.item("x", "a").replace({ ...resource, n: resource.n + 1 }, { accessCondition }),
            );
            if (code === 200) return;
            equal(code, 412);
        }
        throw new Error("never won");
    };
    await times(24, add);
    equal((await container.item("x", "a").read()).resource.n, 24);
});

test("patches that increment lose nothing, without any etag", async () => {
    const container = await newContainer(client);
    await container.items.create({ id: "x", pk: "a", n: 0 });
    await times(200, () => container.item("x", "a").patch([{ op: "incr", path: "/n", value: 1 }]));
    equal((await container.item("x", "a").read()).resource.n, 200);
});

test("of many creates under one unique key exactly one wins", async () => {
    const container = await newContainer(client, {
        uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] },
    });
    const codes = await times(32, (i) =>
        codeOf(container.items.create({ id: `i${i}`, pk: "a", email: "x@y" })),
    );
    equal(tally(codes), { 201: 1, 409: 31 });
});

test("readers see a batch as a whole or not at all", async () => {
    const container = await newContainer(client);
    const write = (n) =>
        container.items.batch(
            Array.from({ length: 20 }, (_, i) => ({
                operationType: "Upsert",
                resourceBody: { id: `i${i}`, pk: "a", n },
            })),
            "a",
        );
    await write(0);
    let isWriting = true;
    let looks = 0;
    const reader = async () => {
        while (isWriting) {
            const { resources } = await container.items
                .query("SELECT VALUE c.n FROM c", { partitionKey: "a", maxItemCount: -1 })
                .fetchAll();
            equal(resources.length, 20);
            ok(
                resources.every((n) => n === resources[0]),
                `half a batch: ${resources}`,
            );
            looks++;
        }
    };
    const readers = [reader(), reader(), reader()];
    for (let n = 1; n <= 40; n++) await write(n);
    isWriting = false;
    await Promise.all(readers);
    ok(looks > 3, `looked ${looks} times`);
});

test("batches against each other leave no mixture", async () => {
    const container = await newContainer(client);
    const write = (n) =>
        container.items.batch(
            Array.from({ length: 10 }, (_, i) => ({
                operationType: "Upsert",
                resourceBody: { id: `i${i}`, pk: "a", n },
            })),
            "a",
        );
    await times(40, write);
    const { resources } = await container.items
        .query("SELECT VALUE c.n FROM c", { partitionKey: "a" })
        .fetchAll();
    equal(new Set(resources).size, 1);
});

test("batches that create the same items: exactly one wins", async () => {
    const container = await newContainer(client);
    const write = (n) =>
        container.items.batch(
            Array.from({ length: 10 }, (_, i) => ({
                operationType: "Create",
                resourceBody: { id: `i${(i + n) % 10}`, pk: "a", n },
            })),
            "a",
        );
    const replies = await times(16, write);
    equal(replies.filter((r) => r.code === 200).length, 1);
    const { resources } = await container.items
        .query("SELECT VALUE c.n FROM c", { partitionKey: "a" })
        .fetchAll();
    equal([resources.length, new Set(resources).size], [10, 1]);
});

test("containers can be made and deleted while others work", async () => {
    const { database } = await client.databases.createIfNotExists({ id: "tests" });
    const codes = await times(12, async (i) => {
        const { container } = await database.containers.create({ id: `busy${i}`, partitionKey: "/pk" });
        for (let n = 0; n < 5; n++) await container.items.create({ id: `i${n}`, pk: "a" });
        const { resources } = await container.items.readAll().fetchAll();
        await container.delete();
        return resources.length;
    });
    equal(codes, Array(12).fill(5));
});

test("of many that create one container exactly one wins", async () => {
    const { database } = await client.databases.createIfNotExists({ id: "tests" });
    equal(
        tally(
            await times(16, () =>
                codeOf(database.containers.create({ id: "contended", partitionKey: "/pk" })),
            ),
        ),
        { 201: 1, 409: 15 },
    );
});

// ---- ending and starting again ----------------------------------------------------------------------

test("after an orderly stop everything is there again, and the dead stay dead", async () => {
    const data = temporaryDirectory();
    const first = await start({ data });
    let own = first.client();
    let container = await newContainer(own, {
        defaultTtl: 1000,
        throughput: 700,
        uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] },
    });
    const definition = (await container.read()).resource;
    const kept = (await container.items.create({ id: "kept", pk: "a", ttl: -1, email: "x@y" })).resource;
    const dies = (await container.items.create({ id: "dies", pk: "a", ttl: 100, email: "d@y" })).resource;
    const later = (await container.items.create({ id: "later", pk: "a", email: "l@y" })).resource;
    const { user } = await own.database("tests").users.create({ id: "u" });
    const permission = (
        await user.permissions.create({ id: "p", permissionMode: "Read", resource: container.url })
    ).resource;
    await first.advanceTo(dies._ts + 100);
    const lsn = (headers) => Number(/#(\d+)/.exec(headers["x-ms-session-token"])[1]);
    const newest = await container.item("kept", "a").read();
    const before = await first.advance(0);
    equal(await first.stop(), 0);

    const second = await start({ data });
    ok((await second.advance(0)) >= before, "server time does not run back");
    own = second.client();
    container = own.database("tests").container(container.id);
    equal((await container.read()).resource, definition);
    const read = await container.item("kept", "a").read();
    equal(read.resource, kept);
    ok(lsn(read.headers) >= lsn(newest.headers), "sessions go on");
    equal((await container.item("dies", "a").read()).statusCode, 404);
    equal((await container.item("later", "a").read()).resource, later);
    equal(await codeOf(container.items.create({ id: "other", pk: "a", email: "x@y" })), 409);
    equal((await container.readOffer()).resource.content.offerThroughput, 700);
    equal((await own.database("tests").user("u").permission("p").read()).resource._rid, permission._rid);
    await second.advanceTo(later._ts + 1000);
    equal(
        (await container.items.readAll().fetchAll()).resources.map((r) => r.id),
        ["kept"],
    );
    equal(await second.stop(), 0);
    const check = spawnSync(MAYFLY, ["check", "--data", data], { encoding: "utf8" });
    equal(check.status, 0, check.stdout + check.stderr);
});

test("killed in the middle of writes, the server comes back with everything it had acknowledged", async () => {
    const data = temporaryDirectory();
    const first = await start({ data });
    const container = await newContainer(
        first.client({
            connectionPolicy: {
                enableBackgroundEndpointRefreshing: false,
                retryOptions: { maxRetryAttemptCount: 0 },
            },
        }),
        { defaultTtl: -1 },
    );
    const acknowledged = new Map();
    let isOver = false;
    const writer = async (w) => {
        for (let n = 0; !isOver && n < 10000; n++) {
            try {
                const id = `w${w}-${n}`;
                const { resource } = await container.items.create({ id, pk: `p${w}`, n });
                acknowledged.set(id, resource);
                if (acknowledged.size === 400) {
                    isOver = true;
                    await first.kill();
                }
            } catch (error) {
                if (!isOver) throw error;
            }
        }
    };
    await times(8, writer);
    ok(acknowledged.size >= 400, "enough");

    const second = await start({ data });
    const again = second.client().database("tests").container(container.id);
    const found = new Map(
        (await again.items.readAll({ maxItemCount: -1 }).fetchAll()).resources.map((r) => [r.id, r]),
    );
    for (const [id, resource] of acknowledged) equal(found.get(id), resource, id);
    equal((await again.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources, [found.size]);
    equal(await second.stop(), 0);
    const check = spawnSync(MAYFLY, ["check", "--data", data], { encoding: "utf8" });
    equal(check.status, 0, check.stdout + check.stderr);
});

test("a continuation and a resource token outlive a restart", async () => {
    const data = temporaryDirectory();
    const first = await start({ data });
    const container = await newContainer(first.client());
    for (let n = 0; n < 6; n++) await container.items.create({ id: `i${n}`, pk: "a", n });
    const options = { maxItemCount: 4, partitionKey: "a" };
    const text = "SELECT VALUE c.n FROM c ORDER BY c.n";
    const page = await container.items.query(text, options).fetchNext();
    equal(page.resources, [0, 1, 2, 3]);
    await first.stop();
    const second = await start({ data });
    const again = second.client().database("tests").container(container.id);
    const rest = await again.items
        .query(text, { ...options, continuationToken: page.continuationToken })
        .fetchAll();
    equal(rest.resources, [4, 5]);
    await second.stop();
});

run({
    before: async () => {
        server = await start();
        client = server.client();
    },
    after: stopAll,
});

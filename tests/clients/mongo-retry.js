#!/usr/bin/env node
// Retryable writes over kill -9: what a driver sends again after the server was killed is carried out once, and
// answered as it was. Messages are made by hand, because a driver would not send the same number again on purpose.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { Wire } = require("./support/wire");
const { Binary, Long, MongoClient } = require("mongodb");

const LOOKS_MAX = 5000;

let server;
let wire;

const session = (number) => ({ id: new Binary(Buffer.alloc(16, number), Binary.SUBTYPE_UUID) });

const numbered = (command, lsid, number) => ({ ...command, lsid, txnNumber: Long.fromNumber(number) });

async function killAndStart() {
    wire.close();
    await server.kill();
    server = await start({ data: server.data, options: ["--mongo", "127.0.0.1:0"] });
    wire = new Wire(server.mongoUrl, "retry");
}

async function all(collection) {
    const reply = await wire.send({ find: collection, filter: {}, sort: { _id: 1 }, batchSize: 10000 });
    return reply.cursor.firstBatch;
}

const insert = (collection, documents) => ({ insert: collection, documents, ordered: true });
const increment = (id, by, more = {}) => ({ q: { _id: id }, u: { $inc: { n: by } }, ...more });

test("every kind of write is answered again after kill -9, and changes nothing twice", async () => {
    const kinds = [
        { command: (c) => insert(c, [{ _id: 9 }]), want: [{ _id: 1, n: 1 }, { _id: 9 }] },
        {
            command: (c) => ({ update: c, updates: [increment(1, 1)] }),
            want: [{ _id: 1, n: 2 }],
        },
        {
            command: (c) => ({ update: c, updates: [increment(5, 1, { upsert: true }), increment(1, 3)] }),
            want: [
                { _id: 1, n: 4 },
                { _id: 5, n: 1 },
            ],
        },
        { command: (c) => ({ delete: c, deletes: [{ q: {}, limit: 1 }] }), want: [] },
        {
            command: (c) => ({ findAndModify: c, query: { _id: 1 }, update: { $inc: { n: 1 } }, new: true }),
            want: [{ _id: 1, n: 2 }],
        },
        { command: (c) => ({ findAndModify: c, query: {}, remove: true }), want: [] },
    ];
    const commands = kinds.map((kind, i) => numbered(kind.command(`kind${i}`), session(i + 1), 7));
    const first = [];
    for (let i = 0; i < kinds.length; i++) {
        equal((await wire.send(insert(`kind${i}`, [{ _id: 1, n: 1 }]))).n, 1);
        first.push(await wire.send(commands[i]));
        equal([first[i].ok, first[i].writeErrors], [1, undefined]);
    }
    await killAndStart();
    for (let i = 0; i < kinds.length; i++) {
        equal(await wire.send(commands[i]), first[i]);
        equal(await all(`kind${i}`), kinds[i].want);
        equal((await wire.send({ ...commands[i], txnNumber: Long.fromNumber(6) })).code, 225);
    }
});

// Sends it on a connection of its own and kills the server when it has begun to show; then sends it again.
async function interrupted(command, hasBegun) {
    const other = new Wire(server.mongoUrl, "retry");
    const lost = other.send(command).then(
        () => "answered",
        () => "lost",
    );
    let looks = 0;
    while (looks < LOOKS_MAX && !(await hasBegun())) looks++;
    ok(looks < LOOKS_MAX, "the command never began");
    await killAndStart();
    await lost;
    other.close();
    return wire.send(command);
}

test("statements of a bulk of updates are carried out once each, wherever kill -9 came", async () => {
    const STATEMENTS = 600;
    const DOCUMENTS = 20;
    await wire.send(insert("bulk", Array.from({ length: DOCUMENTS }, (_, i) => ({ _id: i, n: 0 }))));
    const updates = Array.from({ length: STATEMENTS }, (_, i) => increment(i % DOCUMENTS, 1));
    const reply = await interrupted(numbered({ update: "bulk", updates, ordered: true }, session(50), 1), async () => {
        const rows = await all("bulk");
        return rows[DOCUMENTS - 1].n > 0;
    });
    equal([reply.n, reply.nModified, reply.ok], [STATEMENTS, STATEMENTS, 1]);
    equal(
        (await all("bulk")).map((row) => row.n),
        Array.from({ length: DOCUMENTS }, () => STATEMENTS / DOCUMENTS),
    );
});

test("documents of a bulk of inserts are inserted once each, and deletes delete once each", async () => {
    const DOCUMENTS = 4000;
    const DELETED = 300;
    const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({ _id: i, a: "x".repeat(300) }));
    const count = async () => (await wire.send({ count: "many" })).n;
    const inserted = await interrupted(numbered(insert("many", documents), session(60), 1), async () => {
        return (await count()) > 0;
    });
    equal([inserted.n, inserted.writeErrors, await count()], [DOCUMENTS, undefined, DOCUMENTS]);
    const deletes = Array.from({ length: DELETED }, () => ({ q: {}, limit: 1 }));
    const deleted = await interrupted(numbered({ delete: "many", deletes }, session(60), 2), async () => {
        return (await count()) < DOCUMENTS;
    });
    equal([deleted.n, await count()], [DELETED, DOCUMENTS - DELETED]);
});

// ---- sessions ---------------------------------------------------------------------------------------

const MINUTE_MS = 60 * 1000;

test("refreshSessions keeps the last write of a session over hours and over kill -9", async () => {
    const lsid = session(77);
    const write = numbered(insert("refreshed", [{ _id: 1 }]), lsid, 5);
    await wire.send(write);
    for (let i = 0; i < 6; i++) {
        await server.advance(29 * MINUTE_MS);
        await server.purge();
        equal(await wire.send({ refreshSessions: [lsid] }), { ok: 1 });
        if (i === 3) await killAndStart();
    }
    equal(await wire.send(write), { n: 1, ok: 1 });
    for (let i = 0; i < 6; i++) {
        await server.advance(15 * MINUTE_MS);
        await server.purge();
    }
    equal((await wire.send(write)).writeErrors[0].code, 11000, "nobody has used it for its lifetime");
});

test("a session of the driver is kept by whatever it is used for, and ends with it", async () => {
    const client = new MongoClient(server.mongoUrl);
    const used = client.startSession();
    const db = client.db("retry");
    const write = { insert: "driven", documents: [{ _id: 1 }], txnNumber: Long.fromNumber(9) };
    try {
        await db.command(write, { session: used });
        for (let i = 0; i < 4; i++) {
            await server.advance(29 * MINUTE_MS);
            await server.purge();
            await db.collection("driven").findOne({}, { session: used });
        }
        equal((await db.command(write, { session: used })).writeErrors, undefined);
        await fails(14, db.command({ refreshSessions: [{ id: 5 }] }));
        await fails(14, db.command({ refreshSessions: used.id }));
        equal((await db.command({ refreshSessions: [used.id] })).ok, 1);
        equal((await db.command({ endSessions: [used.id] })).ok, 1);
    } finally {
        await used.endSession();
        await client.close();
    }
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        wire = new Wire(server.mongoUrl, "retry");
    },
    after: async () => {
        wire?.close();
        await stopAll();
    },
});

#!/usr/bin/env node
// What operators do with a running server, through the driver: look at what runs, stop it, ask why it is slow.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");

const LOOKS_MAX = 2000;
const SLOW_ROWS = 20000;

let server;
let client;
let watcher;
let db;

const admin = (command) => watcher.db("admin").command(command);

// Each document costs so much that the command runs for seconds.
const slowFilter = { $expr: { $lt: [{ $size: { $range: [0, 20000] } }, 0] } };

// Looks until there is such an operation; each look is a round trip.
async function awaitOperation(match) {
    for (let i = 0; i < LOOKS_MAX; i++) {
        const stages = [{ $currentOp: { allUsers: true, localOps: true } }, { $match: match }];
        const rows = await watcher.db("admin").aggregate(stages).toArray();
        if (rows.length > 0) return rows[0];
    }
    throw new Error(`no operation like ${JSON.stringify(match)} was seen`);
}

async function fill() {
    const slow = db.collection("slow");
    if ((await slow.estimatedDocumentCount()) > 0) return slow;
    await slow.insertMany(Array.from({ length: SLOW_ROWS }, (_, i) => ({ _id: i, a: i % 7 })));
    return slow;
}

test("a running command is seen in $currentOp and ends when it is killed", async () => {
    const slow = await fill();
    const failed = fails(11601, slow.find(slowFilter, { comment: "stop me" }).toArray());
    const row = await awaitOperation({ "command.comment": "stop me" });
    equal(
        [row.type, row.op, row.ns, row.active, row.appName, row.command.find],
        ["op", "query", "operations.slow", true, "shop", "slow"],
    );
    ok(/^127\.0\.0\.1:\d+$/.test(row.client), "the address of the client");
    ok(row.lsid.id && row.clientMetadata.driver.name.startsWith("nodejs"), "who runs it");
    equal((await admin({ killOp: 1, op: row.opid })).ok, 1);
    await failed;
    equal(await slow.countDocuments({ a: 3 }), Math.floor((SLOW_ROWS + 3) / 7), "the client goes on");
});

test("an update of many documents can be killed in the middle", async () => {
    const slow = await fill();
    const failed = fails(11601, slow.updateMany(slowFilter, { $set: { b: 1 } }, { comment: "stop me too" }));
    const row = await awaitOperation({ "command.comment": "stop me too" });
    equal(row.op, "update");
    await admin({ killOp: 1, op: row.opid });
    await failed;
});

test("a command is about its own database while it writes to another one", async () => {
    const slow = await fill();
    let isOver = false;
    const merge = [{ $match: { _id: { $lt: 2000 } } }, { $merge: { into: { db: "elsewhere", coll: "copy" } } }];
    const done = slow.aggregate(merge, { comment: "copies" }).toArray().finally(() => (isOver = true));
    const seen = new Set();
    const stages = [{ $currentOp: { allUsers: true } }, { $match: { "command.comment": "copies" } }];
    while (!isOver) for (const row of await watcher.db("admin").aggregate(stages).toArray()) seen.add(row.ns);
    await done;
    equal([...seen], ["operations.slow"]);
});

test("a cursor that waits for documents ends with an error when it is killed", async () => {
    const c = await db.createCollection("tail", { capped: true, size: 100000 });
    await c.insertOne({ _id: 1 });
    const cursor = c.find({}, { tailable: true, awaitData: true, maxAwaitTimeMS: 600000 });
    await cursor.next();
    const failed = fails(11601, cursor.next());
    const row = await awaitOperation({ ns: "operations.tail", op: "getmore" });
    await admin({ killOp: 1, op: row.opid });
    await failed;
});

test("an index build that is killed fails, and leaves nothing behind", async () => {
    const slow = await fill();
    for (let round = 0; round < 20; round++) {
        let isOver = false;
        const build = slow.createIndex({ a: 1, _id: -1 }).then(() => "built", (error) => error.code);
        const over = build.finally(() => (isOver = true));
        while (!isOver) {
            const stages = [{ $currentOp: { allUsers: true } }, { $match: { "command.createIndexes": "slow" } }];
            for (const row of await watcher.db("admin").aggregate(stages).toArray())
                await admin({ killOp: 1, op: row.opid });
        }
        const outcome = await over;
        if (outcome === 276) return equal((await slow.listIndexes().toArray()).length, 1);
        equal(outcome, "built", "it was faster than the look at it");
        await slow.dropIndexes();
    }
    throw new Error("every build was over before it was seen");
});

test("a slow command is one line of the log, without what it asked", async () => {
    const slow = await fill();
    await fails(50, slow.find({ ...slowFilter, secret: { $ne: 1 } }, { maxTimeMS: 150 }).toArray());
    const line = server.errors.split("\n").find((l) => /command\.slow .*command=find ns=operations\.slow .*code=50/.test(l));
    ok(line && /plan="COLLSCAN"/.test(line) && !/secret/.test(line), line || "no line");
});

test("an operation that is not there is killed without an error", async () => {
    equal((await admin({ killOp: 1, op: 12 })).ok, 1);
    await fails(14, admin({ killOp: 1, op: "x" }));
});

test("the driver explains finds, aggregations and writes", async () => {
    const c = db.collection("explained");
    await c.insertMany([{ a: 1 }, { a: 2 }, { a: 2 }]);
    await c.createIndex({ a: 1 });
    const found = await c.find({ a: 2 }).explain("executionStats");
    equal(found.queryPlanner.winningPlan.inputStage.indexBounds, { a: ["[2, 2]"] });
    equal([found.executionStats.nReturned, found.executionStats.totalDocsExamined], [2, 2]);
    equal(found.command, { find: "explained", filter: { a: 2 }, $db: "operations" });
    const grouped = await c.aggregate([{ $match: { a: 2 } }, { $group: { _id: "$a" } }]).explain("executionStats");
    equal([grouped.stages.length, grouped.stages[1].nReturned], [2, 1]);
    const updated = await c.updateMany({ a: 2 }, { $set: { b: 1 } }, { explain: "executionStats" });
    equal(updated.executionStats.executionStages.nWouldModify, 2);
    equal(await c.countDocuments({ b: 1 }), 0, "nothing was changed");
});

const failCommand = (mode, data = {}) => admin({ configureFailPoint: "failCommand", mode, data });

test("a write whose connection ends is tried again by the driver, and happens once", async () => {
    const c = db.collection("retried");
    await failCommand({ times: 1 }, { failCommands: ["insert"], closeConnection: true });
    await c.insertOne({ _id: 1, n: 0 });
    equal((await failCommand("off")).count, 1, "it did fail");
    await failCommand({ times: 1 }, { failCommands: ["update"], closeConnection: true });
    await c.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    equal((await failCommand("off")).count, 1);
    await failCommand({ times: 1 }, { failCommands: ["findAndModify"], errorCode: 91 });
    equal((await c.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { returnDocument: "after" })).n, 2);
    await failCommand("off");
    equal(await c.find().toArray(), [{ _id: 1, n: 2 }]);
});

test("an error of the write concern comes beside a write that was carried out", async () => {
    const c = db.collection("concerned");
    const writeConcernError = { code: 64, codeName: "WriteConcernTimeout", errmsg: "too late" };
    await failCommand({ times: 1 }, { failCommands: ["insert"], writeConcernError });
    await fails(64, c.insertOne({ _id: 1 }), /too late/);
    equal(await c.countDocuments({}), 1);
});

test("a command that is held longer than its time limit fails with that", async () => {
    const held = { failCommands: ["find"], blockConnection: true, blockTimeMS: 60, appName: "shop" };
    await failCommand("alwaysOn", held);
    await fails(50, db.collection("held").find({}, { maxTimeMS: 5 }).toArray());
    equal(await watcher.db("operations").collection("held").find({}, { maxTimeMS: 5000 }).toArray(), []);
    await failCommand("off");
});

test("the status of the server counts what clients do", async () => {
    const before = await admin({ serverStatus: 1 });
    const c = db.collection("counted");
    await c.insertMany([{ a: 1 }, { a: 2 }]);
    await c.find().toArray();
    const after = await admin({ serverStatus: 1 });
    equal(after.opcounters.insert - before.opcounters.insert, 2);
    equal(after.metrics.commands.find.total - before.metrics.commands.find.total, 1);
    equal(after.metrics.document.returned - before.metrics.document.returned, 2);
    ok(after.network.bytesIn > before.network.bytesIn && after.network.numRequests >= 4, "traffic");
    ok(after.connections.current > 0 && after.mem.resident > 0, "connections and memory");
    ok((await admin({ hostInfo: 1 })).system.numCores > 0, "the machine");
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = await MongoClient.connect(server.mongoUrl, { appName: "shop" });
        watcher = await MongoClient.connect(server.mongoUrl);
        db = client.db("operations");
    },
    after: async () => {
        await client?.close();
        await watcher?.close();
        await stopAll();
    },
});

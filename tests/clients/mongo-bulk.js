#!/usr/bin/env node
// client.bulkWrite of the npm driver: several collections in one command, over the wire as it is sent in earnest.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");

let server;
let client;
let db;
let commands = [];
let number = 0;
const newName = () => `c${++number}`;
const ns = (name) => `bulk.${name}`;

test("the server says that it is one which has the command", async () => {
    const hello = await db.command({ hello: 1 });
    equal([hello.minWireVersion, hello.maxWireVersion], [0, 25]);
    equal((await db.command({ buildInfo: 1 })).versionArray.slice(0, 2), [8, 0]);
    const parameter = await client.db("admin").command({ getParameter: 1, featureCompatibilityVersion: 1 });
    equal(parameter.featureCompatibilityVersion.version, "8.0");
});

test("one command writes to several collections and tells about each operation", async () => {
    const [a, b] = [newName(), newName()];
    commands = [];
    const result = await client.bulkWrite(
        [
            { name: "insertOne", namespace: ns(a), document: { _id: 1, n: 1 } },
            { name: "insertOne", namespace: ns(b), document: { _id: "x" } },
            { name: "updateOne", namespace: ns(a), filter: { _id: 1 }, update: { $inc: { n: 4 } } },
            { name: "updateMany", namespace: ns(a), filter: {}, update: { $set: { all: true } } },
            { name: "replaceOne", namespace: ns(b), filter: { _id: "y" }, replacement: { z: 1 }, upsert: true },
            { name: "deleteOne", namespace: ns(b), filter: { _id: "x" } },
            { name: "deleteMany", namespace: ns(b), filter: { _id: "nobody" } },
        ],
        { verboseResults: true },
    );
    equal(commands, ["bulkWrite"]);
    equal(
        [result.insertedCount, result.matchedCount, result.modifiedCount, result.upsertedCount, result.deletedCount],
        [2, 2, 2, 1, 1],
    );
    equal(result.insertResults.get(0), { insertedId: 1 });
    const upserted = result.updateResults.get(4);
    equal([upserted.upsertedId, upserted.didUpsert], ["y", true]);
    equal(result.deleteResults.get(6), { deletedCount: 0 });
    equal(await db.collection(a).find().toArray(), [{ _id: 1, n: 5, all: true }]);
    equal(await db.collection(b).find().toArray(), [{ _id: "y", z: 1 }]);
});

test("without an order every operation stands for itself", async () => {
    const a = newName();
    const models = [1, 1, 2, 2, 3].map((_id) => ({ name: "insertOne", namespace: ns(a), document: { _id } }));
    const error = await client.bulkWrite(models, { ordered: false }).catch((e) => e);
    equal([...error.writeErrors.keys()], [1, 3]);
    equal(error.writeErrors.get(1).code, 11000);
    equal(error.partialResult.insertedCount, 3);
    const first = await client.bulkWrite(models).catch((e) => e);
    equal([...first.writeErrors.keys()], [0]);
});

test("sort, hint, arrayFilters, let and pipelines reach their operation", async () => {
    const a = newName();
    await db.collection(a).insertMany([{ _id: 1, n: 3, l: [1, 5] }, { _id: 2, n: 9, l: [7] }]);
    await client.bulkWrite(
        [
            { name: "updateOne", namespace: ns(a), filter: {}, update: { $set: { top: 1 } }, sort: { n: -1 } },
            { name: "updateMany", namespace: ns(a), filter: {}, update: { $set: { "l.$[e]": 0 } }, arrayFilters: [{ e: { $gt: 4 } }], hint: { _id: 1 } },
            { name: "updateOne", namespace: ns(a), filter: { $expr: { $eq: ["$n", "$$three"] } }, update: [{ $set: { n: { $multiply: ["$n", "$$three"] } } }] },
        ],
        { let: { three: 3 } },
    );
    equal(await db.collection(a).find().sort({ _id: 1 }).toArray(), [
        { _id: 1, n: 9, l: [1, 0] },
        { _id: 2, n: 9, l: [0], top: 1 },
    ]);
});

test("more operations than one command takes are sent in several", async () => {
    const a = newName();
    const models = Array.from({ length: 100001 }, (_, i) => ({ name: "insertOne", namespace: ns(a), document: { _id: i } }));
    commands = [];
    const result = await client.bulkWrite(models, { ordered: false });
    equal(result.insertedCount, 100001);
    equal(commands.filter((name) => name === "bulkWrite").length, 2);
    equal(await db.collection(a).estimatedDocumentCount(), 100001);
});

test("rows that pass the size of a reply come by getMore", async () => {
    const a = newName();
    const ids = Array.from({ length: 2000 }, (_, i) => `${"y".repeat(9000)}${i}`);
    commands = [];
    const result = await client.bulkWrite(
        ids.map((_id) => ({ name: "updateOne", namespace: ns(a), filter: { _id }, update: { $set: { n: 1 } }, upsert: true })),
        { verboseResults: true },
    );
    equal(result.upsertedCount, 2000);
    equal(result.updateResults.get(1999).upsertedId, ids[1999]);
    ok(commands.includes("getMore"), `a cursor was left open: ${commands}`);
});

test("a bulk write is part of a transaction", async () => {
    const [a, b] = [newName(), newName()];
    await db.createCollection(a);
    const models = [a, b].map((name) => ({ name: "insertOne", namespace: ns(name), document: { _id: 1 } }));
    await client.withSession(async (session) => {
        session.startTransaction();
        await client.bulkWrite(models, { session });
        equal(await db.collection(a).countDocuments({}), 0);
        await session.abortTransaction();
        session.startTransaction();
        await client.bulkWrite(models, { session });
        await session.commitTransaction();
    });
    equal([await db.collection(a).countDocuments({}), await db.collection(b).countDocuments({})], [1, 1]);
});

test("a reply that was lost does not write twice", async () => {
    const a = newName();
    await client.db("admin").command({
        configureFailPoint: "failCommand",
        mode: { times: 1 },
        data: { failCommands: ["bulkWrite"], closeConnection: true },
    });
    const result = await client.bulkWrite([
        { name: "insertOne", namespace: ns(a), document: { _id: 1, n: 0 } },
        { name: "updateOne", namespace: ns(a), filter: { _id: 1 }, update: { $inc: { n: 1 } } },
    ]);
    equal([result.insertedCount, result.modifiedCount], [1, 1]);
    equal(await db.collection(a).find().toArray(), [{ _id: 1, n: 1 }]);
});

test("nothing can be written without an answer that has not been understood", async () => {
    const a = newName();
    const result = await client.bulkWrite([{ name: "insertOne", namespace: ns(a), document: { _id: 1 } }], {
        writeConcern: { w: 0 },
        ordered: false,
    });
    ok(!result.acknowledged, "no answer was asked for");
    equal(await db.collection(a).insertOne({ _id: 2 }), { acknowledged: true, insertedId: 2 });
    await fails(13, db.command({ bulkWrite: 1, ops: [{ insert: 0, document: {} }], nsInfo: [{ ns: ns(a) }] }), /admin/);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0", "--test-commands"] });
        client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000, monitorCommands: true });
        client.on("commandStarted", (event) => commands.push(event.commandName));
        await client.connect();
        db = client.db("bulk");
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

#!/usr/bin/env node
// Collations through the MongoDB driver, mongoose and mongosh: what people do with them, and what they see.
"use strict";

const { test, eachRow, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");
const mongoose = require("mongoose");
const { execFileSync } = require("node:child_process");
const path = require("node:path");

const MONGOSH = path.join(__dirname, "node_modules/mongosh/bin/mongosh.js");
const SHELL_MS_MAX = 50000;
const ENGLISH = { locale: "en", strength: 2 };

let server;
let client;
let db;
let number = 0;

async function filled(options = {}) {
    const collection = await db.createCollection(`c${++number}`, options);
    await collection.insertMany([
        { _id: 1, name: "ann", rank: "item10" },
        { _id: 2, name: "ANN", rank: "item2" },
        { _id: 3, name: "bob", rank: "Item1" },
        { _id: 4, name: "\u00c5sa", rank: "x" },
    ]);
    return collection;
}
const ids = (rows) => rows.map((row) => row._id);

eachRow(
    "a find follows its collation",
    [
        { why: "none", filter: { name: "Ann" }, want: [] },
        { why: "strength 2", filter: { name: "Ann" }, collation: ENGLISH, want: [1, 2] },
        { why: "strength 1", filter: { name: "asa" }, collation: { locale: "en", strength: 1 }, want: [4] },
        { why: "a range", filter: { name: { $gt: "ANN", $lt: "C" } }, collation: ENGLISH, want: [3, 4] },
        { why: "numbers", sort: { rank: 1 }, collation: { locale: "en", numericOrdering: true }, want: [3, 2, 1, 4] },
        { why: "no numbers", sort: { rank: 1 }, collation: { locale: "en" }, want: [3, 1, 2, 4] },
        { why: "bytes", sort: { rank: 1 }, want: [3, 1, 2, 4] },
        { why: "Swedish", sort: { name: -1 }, collation: { locale: "sv" }, want: [4, 3, 2, 1] },
    ],
    async ({ filter = {}, sort = { _id: 1 }, collation, want }) => {
        const collection = await filled();
        equal(ids(await collection.find(filter, { collation }).sort(sort).toArray()), want);
        await collection.createIndex({ name: 1 }, { collation: collation || { locale: "simple" } });
        await collection.createIndex({ rank: 1 }, { collation: { locale: "de" } });
        equal(ids(await collection.find(filter, { collation }).sort(sort).toArray()), want);
    },
);

test("writes of all kinds follow the collation of their operation", async () => {
    const collection = await filled();
    const collation = ENGLISH;
    equal((await collection.updateMany({ name: "Ann" }, { $set: { seen: 1 } }, { collation })).modifiedCount, 2);
    equal((await collection.updateOne({ name: "Ann" }, { $set: { seen: 2 } })).matchedCount, 0);
    const reply = await collection.bulkWrite([
        { updateOne: { filter: { name: "BOB" }, update: { $set: { seen: 3 } }, collation } },
        { deleteMany: { filter: { name: "Ann" }, collation } },
        { replaceOne: { filter: { name: "\u00e5SA" }, replacement: { name: "new" }, collation } },
    ]);
    equal([reply.modifiedCount, reply.deletedCount], [2, 2]);
    equal(await collection.findOneAndUpdate({ name: "NEW" }, { $set: { seen: 4 } }, { collation, returnDocument: "after" }),
          { _id: 4, name: "new", seen: 4 });
    equal(await collection.countDocuments({ name: "BOB" }, { collation }), 1);
    equal((await collection.findOneAndDelete({ name: "BOB" }, { collation }))._id, 3);
});

test("pipelines and distinct follow the collation of the command", async () => {
    const collection = await filled();
    const collation = ENGLISH;
    equal(await collection.distinct("name", {}, { collation }), ["ann", "bob", "\u00c5sa"]);
    equal(await collection.aggregate([{ $group: { _id: "$name", n: { $sum: 1 } } }, { $match: { n: 2 } }], { collation }).toArray(),
          [{ _id: "ann", n: 2 }]);
    const joined = await collection.aggregate([
        { $match: { _id: 1 } },
        { $lookup: { from: collection.collectionName, localField: "name", foreignField: "name", as: "same" } },
        { $project: { n: { $size: "$same" } } },
    ], { collation }).toArray();
    equal(joined, [{ _id: 1, n: 2 }]);
});

test("a unique index with a collation refuses names that differ in case only", async () => {
    const collection = await db.createCollection(`c${++number}`);
    await collection.createIndex({ name: 1 }, { unique: true, collation: ENGLISH });
    await collection.insertOne({ name: "Ann" });
    const error = await collection.insertOne({ name: "ANN" }).then(() => null, (e) => e);
    equal([error.code, error.keyPattern], [11000, { name: 1 }]);
    ok(error.keyValue.name.startsWith("0x"), "the key is no text");
    ok(error.message.includes('collation: {"locale":"en"'), error.message);
    const plan = await collection.find({ name: "aNN" }, { collation: ENGLISH }).explain();
    equal(plan.queryPlanner.winningPlan.inputStage.stage, "IXSCAN");
    equal((await collection.find({ name: "aNN" }).explain()).queryPlanner.winningPlan.stage, "COLLSCAN");
});

test("a collection gives its collation to finds, indexes and ids", async () => {
    const collection = await filled({ collation: ENGLISH });
    await collection.createIndex({ name: 1 });
    equal(ids(await collection.find({ name: "Ann" }).sort({ _id: 1 }).toArray()), [1, 2]);
    equal(await collection.find({ name: "Ann" }, { collation: { locale: "simple" } }).toArray(), []);
    equal((await collection.indexes()).map((row) => row.collation.strength), [2, 2]);
    await collection.insertOne({ _id: "Key" });
    await fails(11000, collection.insertOne({ _id: "KEY" }), /_id_/);
    equal(await collection.findOne({ _id: "kEY" }), { _id: "Key" });
    equal((await collection.updateOne({ _id: "KEY" }, { $set: { a: 1 } }, { upsert: true })).upsertedCount, 0);
    equal((await collection.deleteOne({ _id: "KEY" })).deletedCount, 1);
});

test("what is wrong with a collation is said with its field and value", async () => {
    const collection = await filled();
    await fails(2, collection.find({}, { collation: { locale: "nowhere" } }).toArray(), /'locale' is invalid/);
    await fails(2, collection.find({}, { collation: { locale: "en", strength: 9 } }).toArray(), /strength.*'9'/);
    const view = await db.createCollection(`c${++number}`, { viewOn: collection.collectionName, pipeline: [], collation: ENGLISH });
    equal(ids(await view.find({ name: "Ann" }).toArray()), [1, 2]);
    await fails(167, view.find({}, { collation: { locale: "de" } }).toArray(), /view/);
});

test("mongoose models have collations in schemas and queries", async () => {
    const connection = await mongoose.createConnection(server.mongoUrl, { dbName: "models" }).asPromise();
    const schema = new mongoose.Schema({ name: String }, { collation: ENGLISH });
    schema.index({ name: 1 }, { unique: true, collation: ENGLISH });
    const User = connection.model("User", schema);
    await User.createCollection();
    await User.syncIndexes();
    await User.create({ name: "Ann" });
    await fails(11000, User.create({ name: "ann" }), /name_1/);
    equal((await User.findOne({ name: "ANN" }).lean()).name, "Ann");
    equal((await User.find({ name: "ANN" }).collation({ locale: "simple" }).lean()).length, 0);
    equal(await User.syncIndexes(), []);
    await connection.close();
});

test("the shell lists collations and sorts by them", async () => {
    const script = `
        db = db.getSiblingDB("shell");
        db.createCollection("c", { collation: { locale: "fr_CA" } });
        db.c.insertMany(["cot\u00e9", "c\u00f4te", "cote", "C\u00f4t\u00e9"].map((s, i) => ({ _id: i, s })));
        print(EJSON.stringify(db.c.find().sort({ s: 1 }).toArray().map((d) => d._id)));
        print(EJSON.stringify(db.c.find().sort({ s: 1 }).collation({ locale: "fr" }).toArray().map((d) => d._id)));
        print(EJSON.stringify(db.getCollectionInfos()[0].options.collation));`;
    const out = execFileSync(process.execPath, [MONGOSH, server.mongoUrl, "--quiet", "--norc", "--eval", script],
                             { timeout: SHELL_MS_MAX, env: { ...process.env, HOME: server.data } });
    const [canadian, french, listed] = out.toString().trim().split("\n").map((line) => JSON.parse(line));
    equal([canadian, french], [[2, 1, 0, 3], [2, 0, 1, 3]]);
    equal([listed.locale, listed.backwards, listed.version], ["fr_CA", true, "57.1"]);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = await new MongoClient(server.mongoUrl).connect();
        db = client.db("collation");
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

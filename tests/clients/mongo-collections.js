#!/usr/bin/env node
// Kinds of collections through the npm driver: views, capped collections and their cursors, validators.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");

let server;
let client;
let db;
let number = 0;
const newName = () => `c${++number}`;

// ---- views ------------------------------------------------------------------------------------------

test("a view is asked like a collection and cannot be written to", async () => {
    const name = newName();
    await db.collection(name).insertMany([1, 2, 3, 4].map((n) => ({ _id: n, n, even: n % 2 === 0 })));
    const view = await db.createCollection(`${name}v`, { viewOn: name, pipeline: [{ $match: { even: true } }] });
    equal(await view.find({}, { projection: { n: 1 } }).sort({ n: -1 }).toArray(), [{ _id: 4, n: 4 }, { _id: 2, n: 2 }]);
    equal(await view.countDocuments(), 2);
    equal(await view.estimatedDocumentCount(), 2);
    equal(await view.distinct("n"), [2, 4]);
    equal(await view.aggregate([{ $group: { _id: null, s: { $sum: "$n" } } }]).toArray(), [{ _id: null, s: 6 }]);
    await fails(166, view.insertOne({ _id: 9 }), /view/);
    await fails(166, view.updateOne({ _id: 2 }, { $set: { n: 0 } }), /view/);
    await fails(166, view.deleteMany({}), /view/);
    await fails(166, view.createIndex({ n: 1 }), /view/);
    const [listed] = await db.listCollections({ name: `${name}v` }).toArray();
    equal([listed.type, listed.info.readOnly, listed.options.viewOn], ["view", true, name]);
    await db.command({ collMod: `${name}v`, viewOn: name, pipeline: [{ $match: { even: false } }] });
    equal(await view.distinct("n"), [1, 3]);
    equal((await db.collection("system.views").findOne({ _id: `kinds.${name}v` })).viewOn, name);
    await view.drop();
    equal(await db.collection(name).countDocuments(), 4);
});

test("what dies is gone from views at the same moment", async () => {
    const name = newName();
    await db.collection(name).createIndex({ at: 1 }, { expireAfterSeconds: 60 });
    const view = await db.createCollection(`${name}v`, { viewOn: name, pipeline: [{ $sort: { _id: 1 } }] });
    const above = await db.createCollection(`${name}w`, { viewOn: `${name}v`, pipeline: [{ $project: { _id: 1 } }] });
    await db.collection(name).insertMany([{ _id: 1, at: new Date(await server.advance(0)) }, { _id: 2 }]);
    equal(await above.find().toArray(), [{ _id: 1 }, { _id: 2 }]);
    await server.advance(60000);
    equal(await above.find().toArray(), [{ _id: 2 }]);
    equal(await view.countDocuments(), 1);
});

test("a view is nothing that Cosmos clients see", async () => {
    const name = newName();
    await db.collection(name).insertOne({ _id: "a" });
    await db.createCollection(`${name}v`, { viewOn: name, pipeline: [] });
    const cosmos = server.client().database("kinds");
    const ids = (await cosmos.containers.readAll().fetchAll()).resources.map((c) => c.id);
    ok(ids.includes(name) && !ids.includes(`${name}v`), ids.join());
    await fails(404, cosmos.container(`${name}v`).read());
    await fails(409, cosmos.containers.create({ id: `${name}v`, partitionKey: "/pk" }));
});

// ---- validators -------------------------------------------------------------------------------------

test("a validator refuses what it does not want and says why", async () => {
    const name = newName();
    const c = await db.createCollection(name, { validator: { n: { $gt: 0 } } });
    const error = await fails(121, c.insertOne({ _id: 7, n: -1 }), /validation/);
    equal(error.errInfo.failingDocumentId, 7);
    equal(error.errInfo.details.operatorName, "$gt");
    equal(error.errInfo.details.consideredValue, -1);
    await fails(2, db.command({ collMod: name, validator: { n: { $nope: 1 } } }));
    await fails(2, db.command({ collMod: name, validationLevel: "loose" }), /strict/);
    await c.insertOne({ _id: 8, n: -8 }, { bypassDocumentValidation: true });
    await fails(121, c.updateOne({ _id: 8 }, { $set: { x: 1 } }));
    await c.updateOne({ _id: 8 }, { $set: { x: 1 } }, { bypassDocumentValidation: true });
    await db.command({ collMod: name, validationLevel: "moderate" });
    await c.updateOne({ _id: 8 }, { $set: { x: 2 } });
    await fails(121, c.insertOne({ _id: 9, n: -9 }));
    await db.command({ collMod: name, validationAction: "warn" });
    await c.insertOne({ _id: 9, n: -9 });
    equal(await c.find().toArray(), [{ _id: 8, n: -8, x: 2 }, { _id: 9, n: -9 }]);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 });
        await client.connect();
        db = client.db("kinds");
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

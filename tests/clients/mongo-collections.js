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

// ---- capped collections -----------------------------------------------------------------------------

test("a capped collection keeps the newest documents in their order", async () => {
    const name = newName();
    const c = await db.createCollection(name, { capped: true, size: 100000, max: 5 });
    equal(await c.isCapped(), true);
    await c.insertMany([9, 8, 7, 6, 5, 4, 3].map((n) => ({ _id: n })));
    equal((await c.find().toArray()).map((d) => d._id), [7, 6, 5, 4, 3]);
    equal((await c.find().sort({ $natural: -1 }).limit(2).toArray()).map((d) => d._id), [3, 4]);
    await db.command({ collMod: name, cappedMax: 2 });
    await c.insertOne({ _id: 2 });
    equal((await c.find().toArray()).map((d) => d._id), [3, 2]);
    const stats = (await c.aggregate([{ $collStats: { storageStats: {} } }]).toArray())[0].storageStats;
    equal([stats.capped, stats.max, stats.count, stats.nindexes], [true, 2, 2, 1]);
    await db.command({ convertToCapped: name, size: 4096 });
    const cosmos = server.client().database("kinds").container(name);
    await cosmos.items.create({ id: "from-cosmos" });
    equal((await c.find().toArray()).map((d) => d._id), [2, "from-cosmos"]);
    const query = "select value c.id from c where c.id > '0' and c.n = 1 order by c.id";
    await c.updateMany({}, { $set: { n: 1 } });
    equal((await cosmos.items.query(query).fetchAll()).resources, ["2", "from-cosmos"]);
});

test("a capped collection is within its bounds after a crash", async () => {
    const data = server.data;
    const name = newName();
    const c = await db.createCollection(name, { capped: true, size: 100000, max: 50 });
    const done = [];
    const writing = (async () => {
        for (let n = 0; n < 100000; n++) {
            await c.insertMany([{ _id: 2 * n }, { _id: 2 * n + 1 }]);
            done.push(2 * n, 2 * n + 1);
        }
    })().catch(() => {});
    while (done.length < 120) await new Promise((resolve) => setImmediate(resolve));
    await server.kill();
    await client.close();
    await writing;
    await begin(data);
    const ids = (await db.collection(name).find().toArray()).map((d) => d._id);
    equal(ids.length, 50);
    equal(ids, [...ids].sort((a, b) => a - b));
    ok(ids.includes(done[done.length - 1]), "what was acknowledged is there");
});

test("a tailable cursor waits for what comes", async () => {
    const name = newName();
    const c = await db.createCollection(name, { capped: true, size: 100000, max: 10 });
    await c.insertMany([{ _id: 1 }, { _id: 2 }]);
    const cursor = c.find({}, { tailable: true, awaitData: true, maxAwaitTimeMS: 20000 });
    equal([(await cursor.next())._id, (await cursor.next())._id], [1, 2]);
    const waiting = cursor.next();
    await c.insertOne({ _id: 3 });
    equal((await waiting)._id, 3);
    const again = cursor.next();
    await server.client().database("kinds").container(name).items.create({ id: "x" });
    equal((await again)._id, "x");
    await c.insertMany([...Array(10).keys()].map((n) => ({ _id: 100 + n })));
    await fails(136, cursor.next());
    await fails(2, db.collection(newName() + "plain").insertOne({}).then(() =>
        db.collection(`c${number}plain`).find({}, { tailable: true }).toArray()), /capped/);
});

test("a killed session ends what it waits for", async () => {
    const c = await db.createCollection(newName(), { capped: true, size: 100000 });
    await c.insertOne({ _id: 1 });
    const session = client.startSession();
    const cursor = c.find({}, { tailable: true, awaitData: true, maxAwaitTimeMS: 600000, session });
    await cursor.next();
    const waiting = cursor.next().catch((error) => error);
    await c.countDocuments({});
    await db.command({ killSessions: [session.id] });
    ok(!(await waiting)?._id, "nothing came");
    await session.endSession();
});

test("a cursor that waits does not hold up the end of the server", async () => {
    const data = server.data;
    const name = newName();
    const c = await db.createCollection(name, { capped: true, size: 100000 });
    await c.insertOne({ _id: 1 });
    const cursor = c.find({}, { tailable: true, awaitData: true, maxAwaitTimeMS: 600000 });
    await cursor.next();
    const waiting = cursor.next().catch(() => {});
    await db.command({ ping: 1 });
    const started = Date.now();
    equal(await server.stop(), 0);
    ok(Date.now() - started < 4000, "it stopped at once");
    await client.close();
    await waiting;
    await begin(data);
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

test("a schema is a validator, and a filter that finds what does not keep to it", async () => {
    const name = newName();
    const schema = {
        bsonType: "object",
        title: "Students",
        required: ["name", "year"],
        properties: {
            name: { bsonType: "string", minLength: 2 },
            year: { bsonType: "int", minimum: 2017, maximum: 3017, description: "a year from 2017 on" },
            gpa: { bsonType: ["double", "null"] },
            tags: { bsonType: "array", uniqueItems: true, items: { enum: ["a", "b"] } },
        },
    };
    const c = await db.createCollection(name, { validator: { $jsonSchema: schema } });
    await c.insertOne({ _id: 1, name: "ann", year: 2020, gpa: null, tags: ["a", "b"] });
    const error = await fails(121, c.insertOne({ _id: 2, name: "x", year: 1999, tags: ["a", "c"] }), /validation/);
    const [rule] = error.errInfo.details.schemaRulesNotSatisfied;
    equal(error.errInfo.details.title, "Students");
    equal(rule.propertiesNotSatisfied.map((p) => p.propertyName), ["name", "year", "tags"]);
    equal(rule.propertiesNotSatisfied[1].description, "a year from 2017 on");
    equal(rule.propertiesNotSatisfied[2].details[0].itemIndex, 1);
    await fails(121, c.updateOne({ _id: 1 }, { $unset: { name: 1 } }));
    const bulk = await c.insertMany([{ name: "bob", year: 2021 }, { year: 1 }], { ordered: false }).catch((e) => e);
    equal([bulk.insertedCount, bulk.writeErrors[0].err.errInfo.details.operatorName], [1, "$jsonSchema"]);
    await c.insertOne({ _id: 3, year: "old" }, { bypassDocumentValidation: true });
    equal(await c.distinct("_id", { $nor: [{ $jsonSchema: schema }] }), [3]);
    equal(await c.countDocuments({ $jsonSchema: schema }), 2);
    equal((await db.listCollections({ name }).toArray())[0].options.validator, { $jsonSchema: schema });
    await fails(9, db.command({ collMod: name, validator: { $jsonSchema: { $ref: "x" } } }), /'\$ref' is not/);
});

async function begin(data) {
    server = await start({ data, options: ["--mongo", "127.0.0.1:0"] });
    client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 });
    await client.connect();
    db = client.db("kinds");
}

run({
    before: () => begin(undefined),
    after: async () => {
        await client.close();
        await stopAll();
    },
});

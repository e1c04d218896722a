#!/usr/bin/env node
// One collection through both faces: @azure/cosmos and the MongoDB driver side by side.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient, ObjectId, Decimal128 } = require("mongodb");

let server;
let cosmos;
let mongo;
let number = 0;

// A container of the Cosmos face, and the same collection of the other.
async function both(definition = {}) {
    const id = `c${++number}`;
    const { database } = await cosmos.databases.createIfNotExists({ id: "both" });
    const { container } = await database.containers.create({ id, partitionKey: "/pk", ...definition });
    return { container, collection: mongo.db("both").collection(id) };
}

// A collection of the MongoDB face, and the same container of the other.
function bothFromMongo() {
    const id = `m${++number}`;
    return { container: cosmos.database("both").container(id), collection: mongo.db("both").collection(id) };
}

const idsOf = (items) => items.map((item) => item.id).sort();

test("an item of the Cosmos face shows its id as _id", async () => {
    const { container, collection } = await both();
    await container.items.create({ id: "a", pk: "p", n: 1, deep: { list: [1, { x: null }] } });
    equal(await collection.findOne({ _id: "a" }), { _id: "a", id: "a", pk: "p", n: 1, deep: { list: [1, { x: null }] } });
    equal(await collection.countDocuments({ pk: "p", n: { $gte: 1 } }), 1);
    await collection.updateOne({ _id: "a" }, { $inc: { n: 5 } });
    equal((await container.item("a", "p").read()).resource.n, 6);
    equal((await collection.deleteOne({ _id: "a" })).deletedCount, 1);
    equal((await container.item("a", "p").read()).statusCode, 404);
});

test("a document of the MongoDB face has an id for Cosmos clients", async () => {
    const { container, collection } = await both();
    const oid = new ObjectId();
    await collection.insertMany([
        { _id: "text", pk: "p" },
        { _id: oid, pk: "p" },
        { _id: 7, pk: "p" },
        { _id: "own", id: "mine", pk: "p" },
    ]);
    const wanted = ["7", oid.toHexString(), "mine", "text"].sort();
    equal(idsOf((await container.items.readAll().fetchAll()).resources), wanted);
    equal(idsOf((await container.items.query("select c.id from c").fetchAll()).resources), wanted);
    for (const id of ["7", oid.toHexString(), "mine", "text"]) {
        equal((await container.item(id, "p").read()).resource.id, id);
        const query = { query: "select value c.id from c where c.id = @id", parameters: [{ name: "@id", value: id }] };
        equal((await container.items.query(query).fetchAll()).resources, [id]);
    }
    const { resource } = await container.item("7", "p").read();
    ok(resource._rid && resource._etag && resource._ts > 0, "system properties");
});

for (const [made, make] of [["Cosmos", both], ["MongoDB", bothFromMongo]]) {
    // A container without partition key paths takes an empty key.
    const key = (value) => (made === "Cosmos" ? value : []);
    const codeOf = (promise) => promise.then((reply) => reply.statusCode, (error) => error.code);

    test(`a document with an id of its own is one item, in a collection of the ${made} face`, async () => {
        const { container, collection } = await make();
        await collection.insertMany([
            { _id: "first", pk: "p" },
            { _id: "own", id: "mine", pk: "p", n: 1 },
            { _id: 7, id: "seven", pk: "p" },
        ]);
        const item = container.item("mine", key("p"));
        equal((await item.read()).resource.n, 1);
        equal((await container.item("own", key("p")).read()).statusCode, 404, "no document has two ids");
        equal(await codeOf(container.items.create({ id: "mine", pk: "p" })), 409);
        equal(await codeOf(container.items.create({ id: "own", pk: "p" })), 409, "the _id is in use");
        equal((await item.replace({ id: "mine", pk: "p", n: 2 })).statusCode, 200);
        equal(await collection.findOne({ _id: "own" }), { _id: "own", id: "mine", pk: "p", n: 2 });
        await item.patch([{ op: "incr", path: "/n", value: 1 }]);
        equal((await container.items.upsert({ id: "mine", pk: "p", n: 4 })).statusCode, 200);
        equal(await collection.findOne({ _id: "own" }), { _id: "own", id: "mine", pk: "p", n: 4 });
        await collection.updateOne({ _id: "own" }, { $set: { id: "renamed" } });
        equal((await item.read()).statusCode, 404);
        equal((await container.item("renamed", key("p")).read()).resource.n, 4);
        await collection.updateOne({ _id: "own" }, { $unset: { id: "" } });
        equal((await container.item("own", key("p")).read()).resource.n, 4);
        equal((await container.item("seven", key("p")).delete()).statusCode, 204);
        equal(await collection.countDocuments(), 2);
        equal(idsOf((await container.items.readAll().fetchAll()).resources), ["first", "own"]);
    });

    test(`an id given in an update or a transaction counts too, in a collection of the ${made} face`, async () => {
        const { container, collection } = await make();
        await collection.insertOne({ _id: "a", pk: "p" });
        await collection.updateOne({ _id: "a" }, { $set: { id: "b" } });
        equal((await container.item("b", key("p")).read()).statusCode, 200);

        const { container: other, collection: written } = await make();
        if (made === "MongoDB") await written.insertOne({ _id: "there", pk: "p" });
        await mongo.withSession((session) =>
            session.withTransaction(async () => {
                await written.insertOne({ _id: 1, id: "one", pk: "p" }, { session });
                await written.insertOne({ _id: 2, id: "two", pk: "p" }, { session });
            }),
        );
        equal((await other.item("one", key("p")).read()).statusCode, 200);
        equal((await other.item("2", key("p")).read()).statusCode, 404);
        equal((await other.item("two", key("p")).delete()).statusCode, 204);
        equal(await written.countDocuments({ _id: 2 }), 0);
    });
}

test("the id of a document that has died is free at once", async () => {
    const { container, collection } = await both({ defaultTtl: 100 });
    await collection.insertOne({ _id: "own", id: "mine", pk: "p" });
    await server.advance(100000);
    equal((await container.item("mine", "p").read()).statusCode, 404);
    equal((await container.items.create({ id: "mine", pk: "p" })).statusCode, 201);
    equal((await container.items.create({ id: "own", pk: "p" })).statusCode, 201);
});

test("a collection that the MongoDB face has made is a container of the other", async () => {
    const { container, collection } = bothFromMongo();
    await collection.insertMany([{ _id: 1, v: "one" }, { _id: "two", v: 2 }]);
    equal(idsOf((await container.items.readAll().fetchAll()).resources), ["1", "two"]);
    equal((await container.items.query("select value c.v from c where c.id = '1'").fetchAll()).resources, ["one"]);
});

test("types that JSON does not have are shown in extended notation", async () => {
    const { container, collection } = await both();
    const date = new Date("2026-03-01T00:00:00Z");
    await collection.insertOne({ _id: "x", pk: "p", date, amount: Decimal128.fromString("1.50"), who: new ObjectId("0123456789abcdef01234567") });
    const { resource } = await container.item("x", "p").read();
    equal(resource.date, { $date: "2026-03-01T00:00:00Z" });
    equal(resource.amount, { $numberDecimal: "1.50" });
    equal(resource.who, { $oid: "0123456789abcdef01234567" });
});

test("the time to live of a container holds for documents of both faces", async () => {
    const { container, collection } = await both({ defaultTtl: 100 });
    await container.items.create({ id: "cosmos", pk: "p" });
    await collection.insertMany([
        { _id: "mongo", pk: "p" },
        { _id: "own", pk: "p", ttl: 10 },
        { _id: "never", pk: "p", ttl: -1 },
    ]);
    await fails(2, collection.insertOne({ _id: "bad", pk: "p", ttl: 0 }), /ttl/);
    const ids = async () => (await collection.find().sort({ _id: 1 }).toArray()).map((d) => d._id);
    await server.advance(10000);
    equal(await ids(), ["cosmos", "mongo", "never"]);
    await server.advance(90000);
    equal(await ids(), ["never"]);
    equal(idsOf((await container.items.readAll().fetchAll()).resources), ["never"]);
    equal(await collection.estimatedDocumentCount(), 1);
    equal((await collection.updateOne({ _id: "mongo" }, { $set: { pk: "p", x: 1 } }, { upsert: true })).upsertedId, "mongo");
});

test("a TTL index holds for documents of both faces", async () => {
    const { container, collection } = await both();
    await collection.createIndex({ at: 1 }, { expireAfterSeconds: 60 });
    const at = new Date(await server.advance(0));
    await collection.insertOne({ _id: "mongo", pk: "p", at });
    await container.items.create({ id: "cosmos", pk: "p", at: at.toISOString() });
    await server.advance(60000);
    equal(idsOf((await container.items.readAll().fetchAll()).resources), ["cosmos"], "a text is no date");
    equal((await container.item("mongo", "p").read()).statusCode, 404);
});

test("the partition key of a document stays what it is", async () => {
    const { collection } = await both();
    await collection.insertOne({ _id: "a", pk: "p" });
    await fails(66, collection.updateOne({ _id: "a" }, { $set: { pk: "q" } }), /partition key/);
});

test("C-9 a container without indexing gets no time to live from either side", async () => {
    const { container, collection } = await both({ indexingPolicy: { indexingMode: "none", automatic: false } });
    await fails(67, collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 60 }), /indexing mode/);
    equal((await container.read()).resource.defaultTtl, undefined);
});

test("settings that both sides change at once are all kept", async () => {
    const { container, collection } = await both();
    const { resource } = await container.read();
    await Promise.all([
        collection.insertOne({ _id: "first", pk: "p" }),
        ...[10, 20, 30].map((ttl) => container.replace({ ...resource, defaultTtl: ttl })),
        collection.db.command({ collMod: collection.collectionName, validationLevel: "moderate" }),
        collection.createIndex({ n: 1 }, { name: "one" }),
        collection.createIndex({ n: 1 }, { name: "two" }),
    ].map((promise) => promise.catch((error) => error)));
    const [listed] = await collection.db.listCollections({ name: collection.collectionName }).toArray();
    equal(listed.options.validationLevel, "moderate");
    const names = (await collection.indexes()).filter((index) => index.key.n).map((index) => index.name);
    equal(names.length, 1, "one index of this meaning");
    ok([10, 20, 30].includes((await container.read()).resource.defaultTtl), "the time to live");
    equal(idsOf((await container.items.readAll().fetchAll()).resources), ["first"]);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        cosmos = server.client();
        mongo = await new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 }).connect();
    },
    after: async () => {
        await mongo.close();
        await stopAll();
    },
});

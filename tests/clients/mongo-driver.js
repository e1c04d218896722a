#!/usr/bin/env node
// The MongoDB face through the npm driver: handshake, documents, cursors, the catalog, errors.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { Wire } = require("./support/wire");
const { MongoClient, ObjectId, Binary, Decimal128, Timestamp, Long, MinKey, MaxKey } = require("mongodb");
const fs = require("node:fs");

let server;
let client;
let number = 0;
const clients = [];

const connect = async (more = "", options = {}) => {
    const made = new MongoClient(`${server.mongoUrl}/${more}`, { serverSelectionTimeoutMS: 5000, ...options });
    clients.push(made);
    await made.connect();
    return made;
};
const newCollection = () => client.db("test").collection(`c${++number}`);

// ---- connecting -------------------------------------------------------------------------------------

test("the driver sees a replica set with this server as its primary", async () => {
    const hello = await client.db("admin").command({ hello: 1 });
    equal(hello.hosts, [server.mongoUrl.replace("mongodb://", "")]);
    equal(hello.setName, "mayfly");
    equal(hello.isWritablePrimary, true);
    const named = await connect("?replicaSet=mayfly");
    equal((await named.db("admin").command({ ping: 1 })).ok, 1);
});

test("a client that connects directly works as well", async () => {
    const direct = await connect("?directConnection=true");
    equal((await direct.db("admin").command({ ping: 1 })).ok, 1);
});

test("a hello that waits for news is answered again and again, and another one at once", async () => {
    const MORE_TO_COME = 2;
    const EXHAUST_ALLOWED = 1 << 16;
    const wire = new Wire(server.mongoUrl, "admin");
    try {
        const { topologyVersion } = await wire.send({ hello: 1 });
        equal(wire.flags, 0);
        const waiting = { hello: 1, topologyVersion, maxAwaitTimeMS: 10 };
        equal((await wire.send(waiting)).topologyVersion, topologyVersion, "after its time");
        equal(wire.flags, 0, "nobody has asked for more");
        const stale = { processId: new ObjectId(), counter: Long.fromNumber(0) };
        const told = await wire.send({ hello: 1, topologyVersion: stale, maxAwaitTimeMS: 600000 });
        equal(told.topologyVersion, topologyVersion, "that of another server is news at once");
        let reply = await wire.send(waiting, EXHAUST_ALLOWED);
        for (let i = 0; i < 3; i++) {
            equal([reply.ok, reply.isWritablePrimary, wire.flags & MORE_TO_COME], [1, true, MORE_TO_COME]);
            reply = await wire.next();
        }
    } finally {
        wire.close();
    }
});

test("a client of the stable API begins with a message of the new kind", async () => {
    const stable = await connect("", { serverApi: { version: "1", strict: true } });
    equal((await stable.db("admin").command({ ping: 1 })).ok, 1);
    await fails(323, stable.db("admin").command({ buildInfo: 1 }), /API Version 1/);
});

test("messages may be compressed", async () => {
    const packed = await connect("?compressors=zlib");
    const c = packed.db("test").collection("packed");
    await c.insertMany(Array.from({ length: 50 }, (_, i) => ({ _id: i, text: "mayfly ".repeat(100) })));
    equal((await c.find().toArray()).length, 50);
});

test("the port speaks TLS too", async () => {
    const secret = await connect("?tls=true", { tlsCAFile: server.certificate });
    const c = secret.db("test").collection("secret");
    equal((await c.insertOne({ _id: 1 })).insertedId, 1);
    equal(await c.find().toArray(), [{ _id: 1 }]);
    ok(fs.existsSync(server.certificate), "the certificate is a file");
});

// ---- documents --------------------------------------------------------------------------------------

test("documents come back with their types and the order of their fields", async () => {
    const c = newCollection();
    const document = {
        _id: new ObjectId(),
        z: 1,
        a: Long.fromString("9007199254740993"),
        date: new Date(-1),
        binary: new Binary(Buffer.from("bytes"), 0x80),
        decimal: Decimal128.fromString("0.10"),
        stamp: new Timestamp({ t: 5, i: 6 }),
        nested: { b: [1, "two", null, true], c: { d: 1.5 } },
        least: new MinKey(),
        most: new MaxKey(),
        expression: /ab+c/i,
    };
    await c.insertOne(document);
    const found = await c.findOne({ _id: document._id }, { promoteLongs: false, promoteValues: false, bsonRegExp: true });
    equal(Object.keys(found), Object.keys(document));
    equal(found.a.toString(), "9007199254740993");
    equal(found.decimal.toString(), "0.10");
    equal(found.stamp.toString(), document.stamp.toString());
    const plain = await c.findOne({ _id: document._id });
    equal(plain.date, document.date);
    equal(plain.nested, document.nested);
    equal(plain.expression, document.expression);
});

test("ids of every type are kept apart", async () => {
    const c = newCollection();
    const ids = [1, "1", new ObjectId(), new Date(5), { a: 1 }, { a: 1, b: 2 }, true, 1.5, new Binary(Buffer.from("x"))];
    await c.insertMany(ids.map((_id, i) => ({ _id, i })));
    for (const [i, _id] of ids.entries()) equal((await c.findOne({ _id: { $eq: _id } })).i, i, String(_id));
    const error = await fails(11000, c.insertOne({ _id: new Long(1) }));
    equal([error.keyPattern, Number(error.keyValue._id)], [{ _id: 1 }, 1]);
});

test("an unacknowledged write is carried out", async () => {
    const c = newCollection();
    await c.insertOne({ _id: 1 }, { writeConcern: { w: 0 } });
    for (let i = 0; i < 100 && !(await c.findOne({ _id: 1 })); i++);
    ok(await c.findOne({ _id: 1 }), "it is there");
});

test("large batches and large documents go through", async () => {
    const c = newCollection();
    const many = Array.from({ length: 5000 }, (_, i) => ({ _id: i, text: "x".repeat(500) }));
    equal((await c.insertMany(many)).insertedCount, 5000);
    equal((await c.find().batchSize(700).toArray()).length, 5000);
    const size = 16 * 1024 * 1024 - 100;
    await c.insertOne({ _id: "large", text: "y".repeat(size) });
    equal((await c.findOne({ _id: "large" })).text.length, size);
});

// ---- cursors ----------------------------------------------------------------------------------------

test("a cursor that is closed early is ended on the server", async () => {
    const c = newCollection();
    await c.insertMany(Array.from({ length: 20 }, (_, i) => ({ _id: i })));
    const cursor = c.find({}, { batchSize: 2 });
    await cursor.next();
    const id = cursor.id;
    await cursor.close();
    await fails(43, client.db("test").command({ getMore: id, collection: c.collectionName }));
});

test("a cursor shows no document that has died between two batches", async () => {
    const c = newCollection();
    const { collectionName } = c;
    await server.client().databases.createIfNotExists({ id: "test" });
    await server
        .client()
        .database("test")
        .containers.create({ id: collectionName, partitionKey: "/pk", defaultTtl: 100 });
    await c.insertMany(Array.from({ length: 10 }, (_, i) => ({ _id: i, pk: 1, ...(i === 7 ? { ttl: -1 } : {}) })));
    const cursor = c.find({}, { batchSize: 3 });
    equal((await cursor.next())._id, 0);
    await server.advance(100000);
    const rest = (await cursor.toArray()).map((d) => d._id);
    equal(rest, [1, 2, 7], "what was fetched before, and what never dies");
});

// ---- the catalog ------------------------------------------------------------------------------------

test("collections are listed with what they are", async () => {
    const db = client.db("listed");
    await db.createCollection("one");
    await db.collection("two").insertOne({});
    equal((await db.listCollections({}, { nameOnly: true }).toArray()).map((c) => c.name).sort(), ["one", "two"]);
    const [one] = await db.listCollections({ name: "one" }).toArray();
    equal([one.type, one.info.readOnly, one.idIndex.name], ["collection", false, "_id_"]);
    await fails(48, db.createCollection("one"));
    ok((await client.db().admin().listDatabases()).databases.some((d) => d.name === "listed"), "listed");
    await db.dropDatabase();
    ok(!(await client.db().admin().listDatabases()).databases.some((d) => d.name === "listed"), "dropped");
});

test("unknown commands and options are refused by number", async () => {
    await fails(59, client.db("test").command({ nonsense: 1 }), /nonsense/);
    await fails(40415, client.db("test").command({ find: "c", colour: 1 }), /find\.colour/);
    await fails(115, client.db("test").command({ mapReduce: "c" }), /JavaScript/);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = await connect();
    },
    after: async () => {
        for (const made of clients) await made.close();
        await stopAll();
    },
});

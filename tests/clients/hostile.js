#!/usr/bin/env node
// What somebody sends who means no good: work without end, and clients that ask for it and leave. The server answers with an
// error that a client understands, within bounds of time and memory, and serves everybody else meanwhile.
"use strict";

const net = require("node:net");
const zlib = require("node:zlib");
const { serialize } = require("bson");
const { MongoClient } = require("mongodb");
const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { Wire } = require("./support/wire");
const { signature, start, stopAll } = require("./support/server");

const MONGO = ["--mongo", "127.0.0.1:0"];
const numbers = (count) => Array.from({ length: count }, (_, i) => i);
let server, client, db;

async function before() {
    server = await start({ options: MONGO });
    client = await MongoClient.connect(server.mongoUrl, { retryReads: false });
    db = client.db("hostile");
    await db.collection("one").insertOne({ _id: 1, a: numbers(100000) });
    await db.collection("alike").insertMany(numbers(5000).map((i) => ({ _id: i, g: 1 })));
    await db.collection("texts").insertMany(numbers(100).map((i) => ({ _id: i, s: "a".repeat(5000) + "b" })));
    const { database } = await server.client().databases.createIfNotExists({ id: "hostile" });
    const indexingPolicy = { indexingMode: "none", automatic: false };
    const { container } = await database.containers.create({ id: "c", partitionKey: "/id", indexingPolicy });
    await container.items.create({ id: "1", a: numbers(100000), s: "a".repeat(100000) + "b" });
}

async function until(claim, what) {
    const end = Date.now() + 20000;
    while (!(await claim())) {
        ok(Date.now() < end, `${what} within 20 s`);
        await new Promise((resolve) => setImmediate(resolve));
    }
}

// Every element is looked for in its own array, which does not have it: ten thousand million comparisons in one document.
const LOOK = { $size: { $filter: { input: "$a", as: "x", cond: { $in: [{ $subtract: [-1, "$$x"] }, "$a"] } } } };
const unwound = (times) => numbers(times).flatMap((i) => [{ $set: { [`b${i}`]: "$a" } }, { $unwind: `$b${i}` }]);
const alike = (as) => [{ $lookup: { from: "alike", localField: "g", foreignField: "g", as } }, { $unwind: `$${as}` }];

eachRow("maxTimeMS ends", [
    { why: "an expression that looks at one document for long", from: "one", pipeline: [{ $project: { x: LOOK } }] },
    { why: "a condition that does", from: "one", pipeline: [{ $match: { $expr: { $eq: [LOOK, 7] } } }] },
    { why: "$unwind of an array with itself, again and again", from: "one", pipeline: [...unwound(4), { $count: "n" }] },
    { why: "$lookup of all with all", from: "alike", pipeline: [...alike("o"), ...alike("p"), { $count: "n" }] },
    { why: "$graphLookup of all with all", from: "alike", pipeline: [{ $graphLookup: { from: "alike", startWith: "$g",
        connectFromField: "g", connectToField: "g", as: "o" } }, { $count: "n" }] },
], ({ from, pipeline }) => fails(50, db.collection(from).aggregate(pipeline, { maxTimeMS: 200 }).toArray()));

eachRow("a bound on memory or steps ends", [
    { why: "numbers without end", code: 146, from: "one", pipeline: [{ $project: { x: { $range: [0, 2147483647] } } }] },
    { why: "an array that doubles", code: 146, from: "one", pipeline: [{ $project: { x: { $reduce: { input: { $range: [0, 40] },
        initialValue: [1], in: { $concatArrays: ["$$value", "$$value"] } } } } }] },
    { why: "$push of everything", code: 292, from: "alike", pipeline: [{ $group: { _id: 1, x: { $push: { $map: {
        input: { $range: [0, 10000] }, in: "$$ROOT" } } } } }] },
    { why: "$densify in small steps", code: 5897900, from: "alike", pipeline: [{ $densify: { field: "_id",
        range: { step: 0.00001, bounds: [0, 1e6] } } }] },
    { why: "a regular expression that goes back and forth", code: 10334, from: "texts", pipeline: [{ $match: { s: /^(a|aa)+$/ } }] },
    { why: "$all of many in many", code: 10334, from: "one", pipeline: [{ $match: { a: { $all: numbers(100000) } } }] },
], ({ code, from, pipeline }) => fails(code, db.collection(from).aggregate(pipeline).toArray()));

test("nothing that a client sends is run as a program", async () => {
    const texts = db.collection("texts");
    await fails(238, texts.find({ $where: "sleep(1)" }).toArray());
    await fails(238, texts.aggregate([{ $project: { x: { $function: { body: "f", args: [], lang: "js" } } } }]).toArray());
    await fails(115, db.command({ mapReduce: "texts", map: "f", reduce: "f", out: { inline: 1 } }));
    await fails(115, db.command({ eval: "1" }));
});

test("a MongoDB read whose client is gone ends soon, and a write goes on", async () => {
    const wire = new Wire(server.mongoUrl, "hostile");
    const admin = client.db("admin");
    const running = async (comment) =>
        (await admin.command({ currentOp: 1, "command.comment": comment })).inprog.length > 0;
    const pipeline = [{ $project: { x: LOOK } }];
    wire.send({ aggregate: "one", pipeline, cursor: {}, comment: "abandoned" }).catch(() => 0);
    await until(() => running("abandoned"), "it runs");
    wire.close();
    await until(async () => !(await running("abandoned")), "it ends");
    const writer = new Wire(server.mongoUrl, "hostile");
    const updates = [{ q: {}, u: { $inc: { n: 1 } }, multi: true }];
    writer.send({ update: "alike", updates }).catch(() => 0);
    writer.socket.end();
    await until(async () => (await db.collection("alike").countDocuments({ n: 1 })) === 5000, "all are changed");
});

test("a query of Cosmos DB whose client is gone ends soon", async () => {
    const query = "SELECT VALUE COUNT(1) FROM c JOIN x IN c.a WHERE ARRAY_CONTAINS(c.a, -1 - x)";
    const body = JSON.stringify({ query, parameters: [] });
    const headers = { "content-type": "application/query+json", "x-ms-documentdb-isquery": "true",
        "x-ms-documentdb-query-enablecrosspartition": "true" };
    const target = "/dbs/hostile/colls/c/docs";
    const all = { ...signature("POST", target), ...headers, host: "x", "content-length": body.length };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const text = `POST ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
    const socket = net.connect(server.port, "127.0.0.1", () => socket.end(text));
    socket.on("error", () => 0);
    const told = /request\.slow request="POST dbs\/\*\/colls\/\*\/docs" place=\S+ ms=(\d+) status=400/;
    await until(() => told.test(server.errors), "it ends");
    const [, took] = told.exec(server.errors);
    ok(took < 15000, `long before its time is over, after ${took} ms`);
});

test("queries of Cosmos DB that multiply rows are refused by their number", async () => {
    const container = server.client().database("hostile").container("c");
    const ask = (query) => container.items.query(query).fetchAll();
    const error = await fails(400, ask("SELECT VALUE COUNT(1) FROM c JOIN x IN c.a JOIN y IN c.a JOIN z IN c.a"));
    matches(error.message, /make more than 10000000 rows/);
    await fails(400, ask("SELECT VALUE " + "NOT ".repeat(5000) + "true FROM c"), /nested more than 200 deep/);
    equal((await ask("SELECT VALUE RegexMatch(c.s, '^(a|aa)+$') FROM c").catch((e) => e)).code, 400);
});

test("what is no command is told to its client before the connection ends", async () => {
    let deep = { a: 1 };
    for (let i = 0; i < 150; i++) deep = { a: deep };
    const wire = new Wire(server.mongoUrl, "hostile");
    const { code, errmsg } = await wire.send({ insert: "c", documents: [deep] });
    equal([code, /nested deeper than 128 levels/.test(errmsg)], [15, true], errmsg);
    wire.close();
    const other = new Wire(server.mongoUrl, "hostile");
    const whole = serialize({ ping: 1, $db: "admin" });
    whole.writeInt32LE(whole.length + 1000, 0);
    const head = Buffer.alloc(21);
    head.writeInt32LE(head.length + whole.length, 0);
    head.writeInt32LE(2013, 12);
    other.socket.write(Buffer.concat([head, whole]));
    equal((await other.next()).code, 22);
    other.close();
    const bomb = zlib.deflateSync(Buffer.alloc(40000000));
    for (const [claimed, payload] of [[0x7fffffff, bomb], [-1, bomb], [100, bomb], [40000000, bomb], [40000000, Buffer.alloc(9)]]) {
        const packed = Buffer.alloc(25);
        packed.writeInt32LE(packed.length + payload.length, 0);
        packed.writeInt32LE(2012, 12);
        packed.writeInt32LE(2013, 16);
        packed.writeInt32LE(claimed, 20);
        packed.writeUInt8(2, 24);
        const socket = net.connect(new URL(server.mongoUrl).port, "127.0.0.1");
        await new Promise((resolve) => socket.on("close", resolve).on("error", () => 0).on("data", () => 0)
            .end(Buffer.concat([packed, payload])));
    }
    equal((await db.command({ ping: 1 })).ok, 1);
});

run({ before, after: async () => {
    if (client) await client.close();
    await stopAll();
} });

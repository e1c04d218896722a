#!/usr/bin/env node
// Aggregation through the npm driver: types of results, other collections, outputs, cursors, what expires, and
// random pipelines that must give the same with and without an index.
"use strict";

const { test, eachRow, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient, Long, Decimal128, Timestamp } = require("mongodb");

let server;
let client;
let db;
let number = 0;

const newName = () => `c${++number}`;

async function filled(documents) {
    const collection = db.collection(newName());
    await collection.insertMany(documents);
    return collection;
}

const compute = async (expression) =>
    (await db.aggregate([{ $documents: [{}] }, { $project: { r: expression } }], { promoteLongs: false }).toArray())[0].r;

// ---- expressions ------------------------------------------------------------------------------------

const when = new Date("2024-03-05T06:07:08.009Z");
eachRow(
    "an expression gives the value of its documentation",
    [
        { why: "sum", of: { $add: [1, 2] }, want: 3 },
        { why: "whole numbers past 32 bits", of: { $add: [2147483647, 1] }, want: Long.fromNumber(2147483648) },
        { why: "decimals", of: { $sqrt: Decimal128.fromString("4") }, want: Decimal128.fromString("2") },
        { why: "dates in a zone", of: { $dateToString: { date: when, timezone: "America/New_York", format: "%H:%M %z" } }, want: "01:07 -0500" },
        { why: "dates by month", of: { $dateAdd: { startDate: new Date("2024-01-31"), unit: "month", amount: 1 } }, want: new Date("2024-02-29") },
        { why: "patterns", of: { $regexFind: { input: "aXb", regex: /x/i } }, want: { match: "X", idx: 1, captures: [] } },
        { why: "conversion that fails", of: { $convert: { input: "x", to: "int", onError: "none" } }, want: "none" },
        { why: "seconds of a timestamp", of: { $tsSecond: new Timestamp({ t: 7, i: 1 }) }, want: Long.fromNumber(7) },
        { why: "sorted arrays", of: { $sortArray: { input: [3, 1, 2], sortBy: -1 } }, want: [3, 2, 1] },
    ],
    async ({ of, want }) => equal(await compute(of), want),
);

test("an expression that is refused says why", async () => {
    const collection = await filled([{ _id: 1 }]);
    const ask = (r) => collection.aggregate([{ $project: { r } }]).toArray();
    await fails(2, ask({ $divide: [1, 0] }), /divide by zero/);
    await fails(168, ask({ $nonsense: 1 }), /Unrecognized expression/);
    await fails(238, ask({ $function: { body: "f", args: [], lang: "js" } }), /JavaScript/);
    await fails(40485, ask({ $hour: { date: when, timezone: "Nowhere" } }), /time zone/);
});

test("variables of the command are known in every stage", async () => {
    const collection = await filled([{ _id: 1, n: 1 }, { _id: 2, n: 2 }]);
    const rows = await collection
        .aggregate([{ $match: { $expr: { $eq: ["$n", "$$wanted"] } } }, { $set: { w: "$$wanted" } }], { let: { wanted: 2 } })
        .toArray();
    equal(rows, [{ _id: 2, n: 2, w: 2 }]);
});

// ---- other collections ------------------------------------------------------------------------------

test("a lookup joins by values and by a pipeline", async () => {
    const users = await filled([{ _id: 1, name: "a" }, { _id: 2, name: "b" }]);
    const orders = await filled([{ _id: 10, user: 1, sum: 5 }, { _id: 11, user: 1, sum: 7 }, { _id: 12, user: 3, sum: 9 }]);
    await orders.createIndex({ user: 1 });
    const from = orders.collectionName;
    equal(
        await users.aggregate([{ $lookup: { from, localField: "_id", foreignField: "user", as: "o" } }, { $set: { o: { $sum: "$o.sum" } } }]).toArray(),
        [{ _id: 1, name: "a", o: 12 }, { _id: 2, name: "b", o: 0 }],
    );
    const pipeline = [{ $match: { $expr: { $and: [{ $eq: ["$user", "$$id"] }, { $gt: ["$sum", 5] }] } } }, { $project: { sum: 1 } }];
    equal(
        await users.aggregate([{ $match: { _id: 1 } }, { $lookup: { from, let: { id: "$_id" }, pipeline, as: "o" } }]).toArray(),
        [{ _id: 1, name: "a", o: [{ _id: 11, sum: 7 }] }],
    );
});

test("a lookup over an index reads what it needs", async () => {
    const many = db.collection(newName());
    await many.insertMany(Array.from({ length: 5000 }, (_, i) => ({ _id: i, group: i % 2500 })));
    await many.createIndex({ group: 1 });
    const started = process.hrtime.bigint();
    const [{ n }] = await many
        .aggregate([{ $lookup: { from: many.collectionName, localField: "group", foreignField: "group", as: "same" } }, { $group: { _id: null, n: { $sum: { $size: "$same" } } } }])
        .toArray();
    equal(n, 10000);
    // Without the index it would look at 25 million documents.
    ok(Number(process.hrtime.bigint() - started) < 20e9, "25 million documents were looked at");
});

test("what expires is gone from lookups, unions and outputs at its time", async () => {
    const plain = await filled([{ _id: 1 }]);
    const dying = db.collection(newName());
    await dying.createIndex({ at: 1 }, { expireAfterSeconds: 10 });
    const now = await server.advance(0);
    await dying.insertMany([{ _id: 1, of: 1, at: new Date(now) }, { _id: 2, of: 1 }]);
    const from = dying.collectionName;
    const lookup = [{ $lookup: { from, localField: "_id", foreignField: "of", as: "o" } }, { $project: { o: "$o._id" } }];
    const union = [{ $unionWith: from }, { $count: "n" }];
    equal(await plain.aggregate(lookup).toArray(), [{ _id: 1, o: [1, 2] }]);
    equal(await plain.aggregate(union).toArray(), [{ n: 3 }]);
    await server.advance(10000);
    equal(await plain.aggregate(lookup).toArray(), [{ _id: 1, o: [2] }]);
    equal(await plain.aggregate(union).toArray(), [{ n: 2 }]);
    const copy = newName();
    await dying.aggregate([{ $out: copy }]).toArray();
    equal(await db.collection(copy).find().toArray(), [{ _id: 2, of: 1 }]);
});

eachRow(
    "each batch is made of those who live at its own time (B-3, B-4)",
    [
        {
            why: "groups",
            stages: () => [{ $group: { _id: "$g", n: { $sum: 1 } } }, { $sort: { _id: 1 } }],
            want: [{ _id: 1, n: 2 }, { _id: 2, n: 1 }, { _id: 3, n: 1 }],
        },
        {
            why: "documents that were looked up, one by one",
            stages: (from) => [
                { $match: { _id: 1 } },
                { $lookup: { from, localField: "no", foreignField: "no", as: "o" } },
                { $unwind: "$o" },
                { $sort: { "o._id": 1 } },
                { $project: { o: "$o._id" } },
            ],
            want: [{ _id: 1, o: 1 }, { _id: 1, o: 3 }, { _id: 1, o: 5 }],
        },
    ],
    async ({ stages, want }) => {
        const dying = db.collection(newName());
        await dying.createIndex({ at: 1 }, { expireAfterSeconds: 10 });
        const at = new Date(await server.advance(0));
        await dying.insertMany([1, 2, 3, 4, 5, 6].map((n) => ({ _id: n, g: Math.ceil(n / 2), ...(n % 2 ? {} : { at }) })));
        const cursor = dying.aggregate(stages(dying.collectionName), { batchSize: 1 });
        const rows = [await cursor.next()];
        await server.advance(10000);
        for await (const row of cursor) rows.push(row);
        equal(rows, want);
    },
);

test("outputs are written where they belong", async () => {
    const source = await filled([{ _id: 1, n: 1 }, { _id: 2, n: 2 }]);
    const target = newName();
    equal(await source.aggregate([{ $set: { m: { $multiply: ["$n", 10] } } }, { $merge: target }]).toArray(), []);
    await source.aggregate([{ $match: { _id: 2 } }, { $project: { seen: { $literal: true } } }, { $merge: { into: target } }]).toArray();
    equal(await db.collection(target).find().sort({ _id: 1 }).toArray(), [{ _id: 1, n: 1, m: 10 }, { _id: 2, n: 2, m: 20, seen: true }]);
    await fails(11000, source.aggregate([{ $merge: { into: target, whenMatched: "fail" } }]).toArray());
    await fails(40601, source.aggregate([{ $out: target }, { $limit: 1 }]).toArray());
});

// ---- groups and windows -----------------------------------------------------------------------------

test("facets, buckets and windows give what they are asked", async () => {
    const c = await filled(Array.from({ length: 12 }, (_, i) => ({ _id: i, k: i % 3, n: i })));
    equal(
        await c
            .aggregate([
                {
                    $facet: {
                        best: [{ $group: { _id: "$k", top: { $topN: { n: 2, sortBy: { n: -1 }, output: "$n" } } } }, { $sort: { _id: 1 } }],
                        buckets: [{ $bucket: { groupBy: "$n", boundaries: [0, 5, 20] } }],
                        median: [{ $group: { _id: null, m: { $median: { input: "$n", method: "approximate" } } } }],
                    },
                },
            ])
            .toArray(),
        [
            {
                best: [{ _id: 0, top: [9, 6] }, { _id: 1, top: [10, 7] }, { _id: 2, top: [11, 8] }],
                buckets: [{ _id: 0, count: 5 }, { _id: 5, count: 7 }],
                median: [{ _id: null, m: 5 }],
            },
        ],
    );
    const running = await c
        .aggregate([
            { $match: { k: 0 } },
            {
                $setWindowFields: {
                    sortBy: { n: 1 },
                    output: { sum: { $sum: "$n", window: { documents: ["unbounded", "current"] } }, rank: { $rank: {} }, before: { $shift: { output: "$n", by: -1 } } },
                },
            },
            { $project: { _id: 0, sum: 1, rank: 1, before: 1 } },
        ])
        .toArray();
    equal(running, [
        { sum: 0, rank: 1, before: null },
        { sum: 3, rank: 2, before: 0 },
        { sum: 9, rank: 3, before: 3 },
        { sum: 18, rank: 4, before: 6 },
    ]);
});

test("cursors of pipelines give every row in batches", async () => {
    const c = await filled(Array.from({ length: 500 }, (_, i) => ({ _id: i, l: [1, 2] })));
    for (const stages of [[{ $unwind: "$l" }], [{ $unionWith: c.collectionName }], [{ $sort: { _id: -1 } }, { $unwind: "$l" }]])
        equal((await c.aggregate(stages, { batchSize: 7 }).toArray()).length, 1000, JSON.stringify(stages));
});

test("a stage that needs more than 100 MB goes on on disk, or is refused with 292", async () => {
    const c = await filled(Array.from({ length: 16 }, (_, i) => ({ _id: i, t: "x".repeat(1 << 20) })));
    const many = [{ $set: { l: Array.from({ length: 8 }, (_, i) => i) } }, { $unwind: "$l" }];
    const groups = [...many, { $group: { _id: { i: "$_id", l: "$l" }, t: { $push: "$t" } } }, { $count: "n" }];
    const sorted = [...many, { $sort: { l: -1, _id: 1 } }, { $project: { l: 1 } }];
    const memory = { allowDiskUse: false };
    await fails(292, c.aggregate(groups, memory).toArray(), /memory limit.*allowDiskUse/);
    await fails(292, c.aggregate(sorted, memory).toArray(), /memory limit.*allowDiskUse/);
    await fails(292, c.aggregate([...many, { $group: { _id: null, t: { $push: "$t" } } }]).toArray(), /memory limit/);
    equal((await c.aggregate(groups).toArray())[0].n, 128, "groups");
    const rows = await c.aggregate(sorted).toArray();
    equal(rows.map((row) => row.l * 100 + 15 - row._id), rows.map((_, i) => (7 - Math.floor(i / 16)) * 100 + 15 - (i % 16)), "order");
});

// ---- with and without an index ----------------------------------------------------------------------

// A small generator with a seed, so that a failure can be replayed.
function randomFrom(seed) {
    let state = seed >>> 0;
    return (bound) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * bound);
    };
}

function randomPipeline(below) {
    const value = () => [below(6), `s${below(4)}`, null][below(3)];
    const filter = () =>
        [{ a: value() }, { a: { $gt: below(6) } }, { a: { $in: [value(), value()] } }, { "b.c": below(4) }, { $or: [{ a: value() }, { l: below(4) }] }, { $expr: { $eq: ["$a", below(6)] } }][below(6)];
    const order = () => [{ a: 1, _id: 1 }, { a: -1, _id: 1 }, { "b.c": 1, _id: -1 }, { l: 1, _id: 1 }][below(4)];
    const stages = [];
    if (below(3)) stages.push({ $match: filter() });
    if (below(2)) stages.push({ $sort: order() });
    else stages.push({ $sort: { _id: 1 } });
    for (let i = below(4); i > 0; i--)
        stages.push(
            [
                { $match: filter() },
                { $skip: below(5) },
                { $limit: 1 + below(20) },
                { $set: { x: { $ifNull: ["$a", "none"] } } },
                { $unwind: { path: "$l", preserveNullAndEmptyArrays: below(2) === 1 } },
                { $project: { a: 1, l: 1, b: 1 } },
            ][below(6)],
        );
    if (below(3) === 0) stages.push({ $group: { _id: "$a", n: { $sum: 1 }, first: { $first: "$_id" } } }, { $sort: { _id: 1 } });
    return stages;
}

test("random pipelines give the same with and without indexes", async () => {
    const seed = Number(process.env.SEED || Date.now() % 1000000);
    const below = randomFrom(seed);
    const plain = db.collection(newName());
    const indexed = db.collection(newName());
    const documents = Array.from({ length: 60 }, (_, i) => {
        const d = { _id: i };
        if (below(5)) d.a = [below(6), `s${below(4)}`, null, [below(6), below(6)]][below(4)];
        if (below(3)) d.b = { c: below(4) };
        if (below(3)) d.l = Array.from({ length: below(4) }, () => below(4));
        return d;
    });
    await plain.insertMany(documents);
    await indexed.insertMany(documents);
    await indexed.createIndex({ a: 1, _id: 1 });
    await indexed.createIndex({ "b.c": 1 });
    await indexed.createIndex({ l: 1 });
    for (let i = 0; i < 150; i++) {
        const stages = randomPipeline(below);
        // Behind a stage that changes nothing, conditions and orders cannot be asked of the collection.
        const hidden = [{ $set: { y: "$$REMOVE" } }, ...stages];
        const want = await plain.aggregate(hidden).toArray();
        equal(await plain.aggregate(stages).toArray(), want, `SEED=${seed} plain ${JSON.stringify(stages)}`);
        equal(await indexed.aggregate(stages).toArray(), want, `SEED=${seed} indexed ${JSON.stringify(stages)}`);
    }
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 });
        await client.connect();
        db = client.db("test");
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

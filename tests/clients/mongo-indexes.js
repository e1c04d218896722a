#!/usr/bin/env node
// Indexes and collections of MongoDB clients: what createIndexes and collMod make of every value, what is
// refused and how, what is listed again; and mongoose with a schema that expires.
"use strict";

const { test, eachRow, equal, matches, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient, Decimal128, Long, Double, Int32, ObjectId } = require("mongodb");
const mongoose = require("mongoose");

let server;
let client;
let db;
let number = 0;

const newName = () => `c${++number}`;
const create = (name, ...indexes) => db.command({ createIndexes: name, indexes });
const ttl = (expireAfterSeconds, more = {}) => ({ key: { d: 1 }, name: "n", expireAfterSeconds, ...more });
const listed = async (name) => (await db.collection(name).indexes()).slice(1);

// ---- createIndexes ----------------------------------------------------------------------------------

eachRow(
    "createIndexes takes expireAfterSeconds",
    [
        { why: "0", value: 0, want: 0 },
        { why: "int32", value: new Int32(3600), want: 3600 },
        { why: "int64", value: Long.fromNumber(3600), want: 3600 },
        { why: "double", value: new Double(3600), want: 3600 },
        { why: "a fraction is cut", value: 3600.5, want: 3600 },
        { why: "decimal", value: Decimal128.fromString("3600"), want: 3600 },
        { why: "minus zero", value: new Double(-0.0), want: 0 },
        { why: "the largest", value: 2147483647, want: 2147483647 },
        { why: "more than the seconds since 1970", value: 2000000000, want: 2000000000 },
    ],
    async ({ value, want }) => {
        const name = newName();
        await create(name, ttl(value));
        const [row] = await db.collection(name).listIndexes({ promoteValues: false }).toArray().then((r) => r.slice(1));
        equal([row.expireAfterSeconds._bsontype, Number(row.expireAfterSeconds)], ["Int32", want]);
    },
);

eachRow(
    "createIndexes refuses expireAfterSeconds with 67",
    [
        { why: "text", value: "3600" },
        { why: "null", value: null },
        { why: "bool", value: true },
        { why: "date", value: new Date(0) },
        { why: "object", value: {} },
        { why: "array", value: [3600] },
        { why: "ObjectId", value: new ObjectId() },
        { why: "NaN", value: NaN },
        { why: "decimal NaN", value: Decimal128.fromString("NaN") },
        { why: "Infinity", value: Infinity },
        { why: "minus Infinity", value: -Infinity },
        { why: "decimal Infinity", value: Decimal128.fromString("Infinity") },
        { why: "2147483648", value: 2147483648 },
        { why: "the largest int64", value: Long.MAX_VALUE },
        { why: "1e15", value: 1e15 },
        { why: "-1", value: -1 },
        { why: "-1 as int64", value: Long.fromNumber(-1) },
        { why: "-1 as decimal", value: Decimal128.fromString("-1") },
        { why: "-0.5", value: -0.5 },
    ],
    async ({ value }) => {
        const name = newName();
        await fails(67, create(name, ttl(value)), /expireAfterSeconds/);
        await fails(26, db.collection(name).indexes());
    },
);

eachRow(
    "createIndexes refuses a TTL index",
    [
        { why: "on several fields", code: 67, spec: ttl(5, { key: { a: 1, b: 1 } }) },
        { why: "on _id", code: 197, spec: ttl(5, { key: { _id: 1 } }) },
        { why: "on everything", code: 67, spec: ttl(5, { key: { "$**": 1 } }) },
        { why: "on everything below", code: 67, spec: ttl(5, { key: { "a.$**": 1 } }) },
    ],
    ({ code, spec }) => fails(code, create(newName(), spec)),
);

test("expireAfterSeconds inside the key is a field like any other", async () => {
    const name = newName();
    await create(name, { key: { x: 1, expireAfterSeconds: 3600 }, name: "n" });
    equal(await listed(name), [{ v: 2, key: { x: 1, expireAfterSeconds: 3600 }, name: "n" }]);
});

test("the reply counts indexes, and says when there was nothing to do", async () => {
    const name = newName();
    const first = await create(name, ttl(5));
    equal([first.numIndexesBefore, first.numIndexesAfter, first.createdCollectionAutomatically], [1, 2, true]);
    const again = await create(name, ttl(5), { key: { _id: 1 }, name: "_id_1" });
    equal([again.numIndexesBefore, again.numIndexesAfter, again.createdCollectionAutomatically], [2, 2, false]);
    matches(again.note, /already exist/);
});

eachRow(
    "an index beside {d: 1} 'n' with 3600 seconds",
    [
        { why: "the same", spec: ttl(3600), code: 0, count: 1 },
        { why: "same name, other seconds", spec: ttl(60), code: 85, says: /collMod: "\w+", index: \{ name: "n", expireAfterSeconds: 60/ },
        { why: "same name, without", spec: { key: { d: 1 }, name: "n" }, code: 85 },
        { why: "same name, other key", spec: ttl(3600, { key: { e: 1 } }), code: 86 },
        { why: "same name, unique", spec: ttl(3600, { unique: true }), code: 86 },
        { why: "same name, sparse", spec: ttl(3600, { sparse: true }), code: 86 },
        { why: "same name, partial", spec: ttl(3600, { partialFilterExpression: { a: 1 } }), code: 86 },
        { why: "other name, the same", spec: ttl(3600, { name: "m" }), code: 85 },
        { why: "other name, other seconds", spec: ttl(60, { name: "m" }), code: 85, says: /name: "n", expireAfterSeconds: 60/ },
        { why: "other name, without", spec: { key: { d: 1 }, name: "m" }, code: 85 },
        { why: "other name and direction", spec: ttl(60, { name: "m", key: { d: -1 } }), code: 0, count: 2 },
        { why: "other name and collation", spec: ttl(60, { name: "m", collation: { locale: "en" } }), code: 0, count: 2 },
        { why: "other name and filter", spec: ttl(60, { name: "m", partialFilterExpression: { a: 1 } }), code: 0, count: 2 },
        { why: "other name, unique", spec: ttl(60, { name: "m", unique: true }), code: 0, count: 2 },
    ],
    async ({ spec, code, says, count }) => {
        const name = newName();
        await create(name, ttl(3600));
        if (code) await fails(code, create(name, spec), says);
        else await create(name, spec);
        equal((await listed(name)).length, count ?? 1);
    },
);

test("several clients may create the same index while others write", async () => {
    const name = newName();
    const c = db.collection(name);
    await c.insertMany(Array.from({ length: 3000 }, (_, i) => ({ _id: i, d: new Date(i % 3 ? 4e12 + i : i) })));
    const writes = Array.from({ length: 20 }, (_, i) => c.insertOne({ _id: `late${i}`, d: new Date(i % 2 ? 4e12 : 0) }));
    const replies = await Promise.all([1, 2, 3].map(() => create(name, ttl(60), { key: { d: 1, _id: 1 }, name: "m" })));
    await Promise.all(writes);
    equal(replies.map((r) => r.numIndexesAfter), [3, 3, 3]);
    equal((await c.find().toArray()).length, 2010);
    equal((await c.find({ d: { $gte: new Date(0) } }).hint("n").toArray()).length, 2010);
    equal((await c.find({ d: { $gte: new Date(0) } }).hint("m").toArray()).length, 2010);
});

test("a collation is listed with all its settings", async () => {
    const name = newName();
    await create(name, { key: { a: 1 }, name: "n", collation: { locale: "de", strength: 2 } });
    const [{ collation }] = await listed(name);
    equal([collation.locale, collation.strength, collation.caseLevel, collation.alternate], ["de", 2, false, "non-ignorable"]);
});

// ---- collMod ----------------------------------------------------------------------------------------

eachRow(
    "collMod takes expireAfterSeconds",
    [
        { why: "int32", value: 60, want: 60 },
        { why: "the same again", value: 3600, want: 3600 },
        { why: "int64", value: Long.fromNumber(60), want: 60 },
        { why: "a double is cut", value: 50.7, want: 50 },
        { why: "toward zero", value: -0.9, want: 0 },
        { why: "a decimal is rounded to the even neighbour", value: Decimal128.fromString("50.5"), want: 50 },
        { why: "up or down", value: Decimal128.fromString("51.5"), want: 52 },
        { why: "too much is cut to the largest", value: 2147483648, want: 2147483647 },
        { why: "Infinity too", value: Infinity, want: 2147483647 },
    ],
    async ({ value, want }) => {
        const name = newName();
        await create(name, ttl(3600));
        const reply = await db.command({ collMod: name, index: { name: "n", expireAfterSeconds: value } }, { promoteLongs: false });
        equal([reply.expireAfterSeconds_old._bsontype, Number(reply.expireAfterSeconds_old)], ["Long", 3600]);
        equal([reply.expireAfterSeconds_new._bsontype, Number(reply.expireAfterSeconds_new)], ["Long", want]);
        equal((await listed(name))[0].expireAfterSeconds, want);
    },
);

eachRow(
    "collMod refuses",
    [
        { why: "NaN", code: 72, index: { name: "n", expireAfterSeconds: NaN } },
        { why: "decimal NaN", code: 72, index: { name: "n", expireAfterSeconds: Decimal128.fromString("NaN") } },
        { why: "-1", code: 72, index: { name: "n", expireAfterSeconds: -1 } },
        { why: "minus Infinity", code: 72, index: { name: "n", expireAfterSeconds: -Infinity } },
        { why: "a text", code: 14, index: { name: "n", expireAfterSeconds: "60" } },
        { why: "a bool", code: 14, index: { name: "n", expireAfterSeconds: true } },
        { why: "an array", code: 14, index: { name: "n", expireAfterSeconds: [60] } },
        { why: "an object", code: 14, index: { name: "n", expireAfterSeconds: {} } },
        { why: "a date", code: 14, index: { name: "n", expireAfterSeconds: new Date(0) } },
        { why: "null", code: 72, index: { name: "n", expireAfterSeconds: null } },
        { why: "nothing to change", code: 72, index: { name: "n" } },
        { why: "nothing at all", code: 72, index: {} },
        { why: "no index", code: 72, index: { expireAfterSeconds: 60 } },
        { why: "name and key", code: 72, index: { name: "n", keyPattern: { d: 1 }, expireAfterSeconds: 60 } },
        { why: "an unknown field", code: 40415, index: { name: "n", expireAfterSeconds: 60, colour: 1 } },
        { why: "an unknown name", code: 27, index: { name: "x", expireAfterSeconds: 60 } },
        { why: "an unknown key", code: 27, index: { keyPattern: { x: 1 }, expireAfterSeconds: 60 } },
        { why: "a key that is none", code: 14, index: { keyPattern: "d", expireAfterSeconds: 60 } },
        { why: "a key of two indexes", code: 181, index: { keyPattern: { two: 1 }, expireAfterSeconds: 60 } },
        { why: "a compound index", code: 72, index: { name: "compound", expireAfterSeconds: 60 } },
        { why: "_id", code: 72, index: { name: "_id_", expireAfterSeconds: 60 } },
        { why: "a text index by its key", code: 27, index: { keyPattern: { t: "text" }, expireAfterSeconds: 60 } },
        { why: "hiding _id", code: 2, index: { name: "_id_", hidden: true } },
    ],
    async ({ code, index }) => {
        const name = newName();
        await create(
            name,
            ttl(3600),
            { key: { two: 1 }, name: "a" },
            { key: { two: 1 }, name: "b", sparse: true },
            { key: { a: 1, b: 1 }, name: "compound" },
            { key: { t: "text" }, name: "t" },
        );
        const before = await listed(name);
        await fails(code, db.command({ collMod: name, index }));
        equal(await listed(name), before);
    },
);

eachRow(
    "collMod refuses at the top",
    [
        { why: "an unknown collection", code: 26, name: "nowhere", given: { index: { name: "n", hidden: true } } },
        { why: "seconds of a plain collection", code: 72, given: { expireAfterSeconds: 60 } },
        { why: "off in a plain collection", code: 72, given: { expireAfterSeconds: "off" } },
        { why: "a pipeline that is not of a view", code: 72, given: { pipeline: [] } },
        { why: "a word", code: 72, clustered: true, given: { expireAfterSeconds: "never" } },
        { why: "an object", code: 14, clustered: true, given: { expireAfterSeconds: {} } },
        { why: "negative", code: 72, clustered: true, given: { expireAfterSeconds: -1 } },
        { why: "more than the seconds since 1970", code: 72, clustered: true, given: { expireAfterSeconds: 1e12 } },
    ],
    async ({ code, given, clustered, name = newName() }) => {
        if (name !== "nowhere")
            await db.createCollection(name, clustered ? { clusteredIndex: { key: { _id: 1 }, unique: true } } : {});
        await fails(code, db.command({ collMod: name, ...given }));
    },
);

test("collMod hides and shows, and says only what has changed", async () => {
    const name = newName();
    await create(name, ttl(3600));
    const change = (index) => db.command({ collMod: name, index: { name: "n", ...index } }).then(({ hidden_old, hidden_new, expireAfterSeconds_new }) => [hidden_old, hidden_new, expireAfterSeconds_new]);
    equal(await change({ hidden: true, expireAfterSeconds: 5 }), [false, true, 5]);
    equal(await change({ hidden: true }), [undefined, undefined, undefined]);
    equal((await listed(name))[0], { v: 2, key: { d: 1 }, name: "n", expireAfterSeconds: 5, hidden: true });
    equal(await change({ hidden: false }), [true, false, undefined]);
    equal((await listed(name))[0], { v: 2, key: { d: 1 }, name: "n", expireAfterSeconds: 5 });
});

// ---- create and rename ------------------------------------------------------------------------------

const optionsOf = async (name) => (await db.listCollections({ name }).toArray())[0].options;

eachRow(
    "create keeps and lists",
    [
        { why: "nothing", given: {}, want: {} },
        { why: "capped", given: { capped: true, size: 5000, max: 10 }, want: { capped: true, size: 5120, max: 10 } },
        {
            why: "a validator",
            given: { validator: { a: { $gt: 5 } }, validationLevel: "strict", validationAction: "error" },
            want: { validator: { a: { $gt: 5 } }, validationLevel: "strict", validationAction: "error" },
        },
        {
            why: "clustered",
            given: { clusteredIndex: { key: { _id: 1 }, unique: true, name: "k" }, expireAfterSeconds: 60 },
            want: { clusteredIndex: { v: 2, key: { _id: 1 }, name: "k", unique: true }, expireAfterSeconds: 60 },
        },
        { why: "a view", given: { viewOn: "other", pipeline: [{ $match: { a: 1 } }] }, want: { viewOn: "other", pipeline: [{ $match: { a: 1 } }] } },
    ],
    async ({ given, want }) => {
        const name = newName();
        await db.command({ create: name, ...given });
        equal(await optionsOf(name), want);
        await fails(48, db.command({ create: name, ...given }));
    },
);

eachRow(
    "create refuses",
    [
        { why: "capped without a size", code: 72, given: { capped: true } },
        { why: "a size without capped", code: 72, given: { size: 5 } },
        { why: "a pipeline without viewOn", code: 72, given: { pipeline: [] } },
        { why: "expiry without a clustered index", code: 72, given: { expireAfterSeconds: 5 } },
        { why: "a negative expiry", code: 72, given: { clusteredIndex: { key: { _id: 1 }, unique: true }, expireAfterSeconds: -1 } },
        { why: "an expiry beyond 1970", code: 72, given: { clusteredIndex: { key: { _id: 1 }, unique: true }, expireAfterSeconds: Long.MAX_VALUE } },
        { why: "clustered by another field", code: 197, given: { clusteredIndex: { key: { a: 1 }, unique: true } } },
        { why: "a time series by ids", code: 72, given: { timeseries: { timeField: "_id" } } },
        { why: "an unknown option", code: 40415, given: { colour: 1 } },
    ],
    async ({ code, given }) => {
        const name = newName();
        await fails(code, db.command({ create: name, ...given }));
        equal(await db.listCollections({ name }).toArray(), []);
    },
);

test("a view takes no documents and no indexes", async () => {
    const name = newName();
    await db.command({ create: name, viewOn: "other", pipeline: [] });
    const [row] = await db.listCollections({ name }).toArray();
    equal([row.type, row.info.readOnly], ["view", true]);
    await fails(166, db.collection(name).insertOne({}));
    await fails(166, create(name, ttl(5)));
    await fails(166, db.collection(name).indexes());
    equal(await db.collection(name).find().toArray(), []);
});

test("a validator refuses documents, unless it only warns", async () => {
    const name = newName();
    await db.createCollection(name, {
        validator: { n: { $gt: 5 }, s: { $type: "string" }, $expr: { $lt: [{ $rand: {} }, "$n"] } },
    });
    const c = db.collection(name);
    await c.insertOne({ _id: 1, n: 6, s: "x" });
    const error = await fails(121, c.insertOne({ _id: 2, n: 5, s: "x" }), /validation/);
    equal(error.errInfo?.failingDocumentId ?? error.errorResponse?.errInfo?.failingDocumentId, 2);
    await fails(121, c.updateOne({ _id: 1 }, { $set: { n: 1 } }));
    await fails(121, c.updateOne({ _id: 3 }, { $set: { n: 1 } }, { upsert: true }));
    await db.command({ collMod: name, validationAction: "warn" });
    await c.updateOne({ _id: 1 }, { $set: { n: 1 } });
    equal(await c.find().toArray(), [{ _id: 1, n: 1, s: "x" }]);
});

test("a renamed collection keeps its documents and indexes", async () => {
    const [from, to] = [newName(), newName()];
    await create(from, ttl(3600));
    await db.collection(from).insertOne({ _id: 1 });
    await db.collection(from).rename(to);
    equal([await db.collection(to).find().toArray(), (await listed(to)).length], [[{ _id: 1 }], 1]);
    await fails(26, db.collection(from).rename("x"));
    await db.collection(from).insertOne({ _id: 2 });
    await fails(48, db.collection(from).rename(to));
    await db.collection(from).rename(to, { dropTarget: true });
    equal(await db.collection(to).find().toArray(), [{ _id: 2 }]);
    await fails(20, client.db("admin").command({ renameCollection: `test.${to}`, to: `test.${to}` }));
});

// ---- mongoose ---------------------------------------------------------------------------------------

// ---- kinds ------------------------------------------------------------------------------------------

const stages = (plan) => (plan ? [plan.stage, ...stages(plan.inputStage)] : []);
const planOf = async (cursor) => (await cursor.explain("queryPlanner")).queryPlanner.winningPlan;

test("a hashed index serves equality", async () => {
    const c = db.collection(newName());
    await c.createIndex({ a: "hashed" });
    await c.insertMany([{ _id: 1, a: 5 }, { _id: 2, a: new Double(5) }, { _id: 3, a: "5" }]);
    equal((await c.find({ a: 5 }).sort({ _id: 1 }).toArray()).map((d) => d._id), [1, 2]);
    equal(stages(await planOf(c.find({ a: 5 }))), ["FETCH", "IXSCAN"]);
    equal(stages(await planOf(c.find({ a: { $gt: 5 } }))), ["COLLSCAN"]);
    await fails(16766, c.insertOne({ a: [1, 2] }), /array/);
});

test("a wildcard index serves whatever path is asked for", async () => {
    const c = db.collection(newName());
    await c.createIndex({ "$**": 1 }, { wildcardProjection: { secret: 0 } });
    await c.insertMany([
        { _id: 1, attributes: { color: "red", size: [1, 5] } },
        { _id: 2, attributes: { color: "blue" }, secret: 1 },
    ]);
    equal((await c.find({ "attributes.size": { $gt: 4 } }).toArray()).map((d) => d._id), [1]);
    const plan = await planOf(c.find({ "attributes.color": "red" }));
    equal(plan.inputStage.keyPattern, { $_path: 1, "attributes.color": 1 });
    equal(stages(await planOf(c.find({ secret: 1 }))), ["COLLSCAN"]);
});

test("a text index serves searches with scores", async () => {
    const c = db.collection(newName());
    equal(await c.createIndex({ title: "text", body: "text" }, { weights: { title: 3 } }), "title_text_body_text");
    await c.insertMany([
        { _id: 1, title: "Coffee", body: "How to roast" },
        { _id: 2, title: "Tea", body: "better than coffees" },
        { _id: 3, title: "Water", body: "" },
    ]);
    const found = await c
        .find({ $text: { $search: "coffee" } })
        .project({ _id: 1, score: { $meta: "textScore" } })
        .sort({ score: { $meta: "textScore" } })
        .toArray();
    equal(found, [{ _id: 1, score: 3 }, { _id: 2, score: 0.75 }]);
    equal(await c.countDocuments({ $text: { $search: "coffee -tea" } }), 1);
    const rows = await c
        .aggregate([{ $match: { $text: { $search: "roast coffee" } } }, { $sort: { s: { $meta: "textScore" } } },
            { $project: { title: 1, s: { $meta: "textScore" } } }, { $match: { s: { $gt: 1 } } }])
        .toArray();
    equal(rows.map((d) => d._id), [1]);
    const [index] = await listed(c.collectionName);
    equal([index.key, index.weights, index.textIndexVersion], [{ _fts: "text", _ftsx: 1 }, { body: 1, title: 3 }, 3]);
    await fails(67, c.createIndex({ other: "text" }), /only one text index/);
    await fails(2, c.find({ $text: { $search: "x" } }).hint({ _id: 1 }).toArray(), /hint/);
    const other = db.collection(newName());
    await other.insertOne({ _id: 1 });
    await fails(27, other.find({ $text: { $search: "x" } }).toArray(), /text index required/);
});

test("a mongoose schema that expires", async () => {
    const connection = await mongoose.createConnection(`${server.mongoUrl}/geese`, { serverSelectionTimeoutMS: 5000 }).asPromise();
    try {
        const schema = new mongoose.Schema({
            email: { type: String, unique: true },
            seen: { type: Date, expires: "1h" },
            tags: [String],
        });
        const User = connection.model("User", schema);
        await User.init();
        const rows = await User.collection.indexes();
        equal(rows.map((r) => [r.name, r.unique, r.expireAfterSeconds]), [
            ["_id_", undefined, undefined],
            ["email_1", true, undefined],
            ["seen_1", undefined, 3600],
        ]);
        equal(await User.syncIndexes(), [], "nothing to drop");
        const now = await server.advance(0);
        await User.create({ email: "a@b", seen: new Date(now) });
        await User.create({ email: "c@d", seen: new Date(now + 7200 * 1000) });
        await fails(11000, User.create({ email: "a@b" }), /email_1 dup key: \{ email: "a@b" \}/);
        await server.advance(3600 * 1000);
        equal((await User.find({})).map((u) => u.email), ["c@d"]);
        await User.create({ email: "a@b" });
    } finally {
        await connection.close();
    }
});

test("a mongoose schema with a text index", async () => {
    const connection = await mongoose.createConnection(`${server.mongoUrl}/geese`, { serverSelectionTimeoutMS: 5000 }).asPromise();
    try {
        const schema = new mongoose.Schema({ title: String, attributes: {} });
        schema.index({ title: "text" });
        schema.index({ "attributes.$**": 1 });
        const Post = connection.model("Post", schema);
        await Post.init();
        await Post.create({ title: "The quick brown foxes", attributes: { color: "red" } });
        await Post.create({ title: "Lazy dogs" });
        equal((await Post.find({ $text: { $search: "fox" } })).map((p) => p.title), ["The quick brown foxes"]);
        equal((await Post.find({ "attributes.color": "red" })).length, 1);
        equal(await Post.syncIndexes(), [], "nothing to drop");
    } finally {
        await connection.close();
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

#!/usr/bin/env node
// TTL indexes over the wire: the rules M-1 to M-13 of docs/time-to-live.md, by their names, and both faces of
// one collection. Time is moved, not waited for. A document is dead exactly when server time reaches its
// deadline; tests of the living side prove afterwards that it was not yet reached.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient, ObjectId, Timestamp, Decimal128, Long, Double } = require("mongodb");

const MARGIN_MS = 400;
const HOUR_MS = 3600 * 1000;

let server;
let client;
let cosmos;
let db;
let number = 0;

const admin = (command) => client.db("admin").command(command);
const newCollection = async (index = { d: 1 }, options = { expireAfterSeconds: 10 }) => {
    const c = db.collection(`c${++number}`);
    if (index) await c.createIndex(index, options);
    return c;
};
const ids = async (c, filter = {}) => (await c.find(filter).toArray()).map((d) => d._id).sort();
const at = async (byMs) => new Date((await server.advance(0)) + byMs);

// ---- M-1 to M-3: dates and deadlines ----------------------------------------------------------------

test("M-1 a document dies at the date in the field plus the seconds, to the millisecond", async () => {
    const c = await newCollection();
    const { date } = await server.before(
        MARGIN_MS,
        async () => {
            await c.deleteMany({});
            const first = await at(20000);
            await c.insertOne({ _id: 1, d: first });
            return { deadline: first.getTime() / 1000 + 10, date: first };
        },
        async () => equal(await ids(c), [1], "before the deadline"),
    );
    const left = date.getTime() + 10000 - (await server.advance(0));
    await server.advance(Math.max(0, left));
    equal(await ids(c), [], "at the deadline");
});

test("M-1 zero seconds means at the date", async () => {
    const c = await newCollection({ d: -1 }, { expireAfterSeconds: 0 });
    await c.insertMany([
        { _id: "past", d: await at(-1) },
        { _id: "future", d: await at(HOUR_MS) },
    ]);
    equal(await ids(c), ["future"]);
    await server.advance(HOUR_MS);
    equal(await ids(c), []);
});

test("M-2 the earliest of several dates counts, and other values beside them are ignored", async () => {
    const c = await newCollection({ "a.d": 1 });
    const soon = await at(5000);
    const late = await at(HOUR_MS);
    await c.insertMany([
        { _id: "array", a: { d: [late, "text", soon, null, 5] } },
        { _id: "path", a: [{ d: late }, { d: [late, soon] }, { x: 1 }, 7] },
        { _id: "late", a: { d: [late, late] } },
        { _id: "early", a: [{ d: late }] },
    ]);
    equal(await ids(c), ["array", "early", "late", "path"]);
    await server.advance(15000);
    equal(await ids(c), ["early", "late"]);
});

test("M-3 without a date there is no death, and dates of all times are dates", async () => {
    const c = await newCollection();
    const past = Math.floor(Date.now() / 1000) - 100000;
    const living = {
        missing: {},
        null: { d: null },
        number: { d: 5 },
        long: { d: Long.fromNumber(1) },
        decimal: { d: Decimal128.fromString("1") },
        text: { d: "2001-01-01" },
        bool: { d: true },
        objectId: { d: ObjectId.createFromTime(past) },
        timestamp: { d: new Timestamp({ t: past, i: 1 }) },
        regex: { d: /2001/ },
        array: { d: [1, "x", null] },
        empty: { d: [] },
        object: { d: { d: new Date(0) } },
        future: { d: new Date("2099-01-01") },
        far: { d: new Date(8640000000000000) },
    };
    for (const [_id, document] of Object.entries(living)) await c.insertOne({ _id, ...document });
    const dead = { before1970: new Date(-1), longAgo: new Date("0001-01-01"), epoch: new Date(0), early: new Date(-8640000000000000) };
    for (const [_id, d] of Object.entries(dead)) await c.insertOne({ _id, d });
    equal(await ids(c), Object.keys(living).sort());
    await server.advance(20 * 365 * 24 * HOUR_MS); // past 2038
    equal(await ids(c), Object.keys(living).sort());
});

// ---- M-4 and M-5 ------------------------------------------------------------------------------------

test("M-4 from the deadline on a document is as good as never there", async () => {
    const c = await newCollection();
    await c.createIndex({ u: 1 }, { unique: true });
    await c.insertMany([
        { _id: 1, u: 1, d: await at(0) },
        { _id: 2, u: 2, d: await at(HOUR_MS) },
    ]);
    await server.advance(10000);
    equal(await c.findOne({ _id: 1 }), null, "find");
    equal(await c.find({ u: 1 }).toArray(), [], "by index");
    equal((await db.command({ count: c.collectionName })).n, 1, "count");
    equal(await c.distinct("u"), [2], "distinct");
    equal((await c.updateOne({ _id: 1 }, { $set: { x: 1 } })).matchedCount, 0, "update");
    equal((await c.replaceOne({ _id: 1 }, { x: 1 })).matchedCount, 0, "replace");
    equal((await c.deleteOne({ _id: 1 })).deletedCount, 0, "delete");
    equal(await c.findOneAndUpdate({ _id: 1 }, { $set: { x: 1 } }), null, "findAndModify");
    const upserted = await c.updateOne({ _id: 1 }, { $set: { u: 1, d: await at(0) } }, { upsert: true });
    equal([upserted.upsertedId, upserted.matchedCount], [1, 0], "upsert inserts");
    await server.advance(10000);
    await c.insertOne({ _id: 1, u: 1 });
    equal((await c.findOne({ _id: 1 })).d, undefined, "insert begins a new life");
});

test("M-4 ttlMonitorEnabled off: nothing dies any more, and what is dead stays dead", async () => {
    const c = await newCollection();
    await c.insertOne({ _id: "dead", d: await at(-20000) });
    equal((await admin({ setParameter: 1, ttlMonitorEnabled: false })).was, true);
    try {
        await c.insertOne({ _id: "spared", d: await at(-20000) });
        await server.advance(HOUR_MS);
        await server.purge();
        equal(await ids(c), ["spared"]);
        equal((await admin({ getParameter: 1, ttlMonitorEnabled: 1 })).ttlMonitorEnabled, false);
    } finally {
        equal((await admin({ setParameter: 1, ttlMonitorEnabled: true })).was, false);
    }
    equal(await ids(c), [], "on again");
});

test("M-5 an index acts as soon as it is built, on older documents too", async () => {
    const c = await newCollection(null);
    await c.insertMany(Array.from({ length: 500 }, (_, i) => ({ _id: i, d: new Date(i % 2 ? 0 : 4e12) })));
    equal((await c.find().toArray()).length, 500);
    await c.createIndex({ d: 1 }, { expireAfterSeconds: 60 });
    equal((await c.find().toArray()).length, 250);
});

// ---- M-6 and M-7: the monitor -----------------------------------------------------------------------

test("M-6 the parameters of the monitor are there, with their defaults", async () => {
    const all = await admin({ getParameter: "*" });
    equal([all.ttlMonitorEnabled, all.ttlMonitorSleepSecs, all.ttlMonitorBatchDeletes], [true, 60, true]);
    equal([all.ttlMonitorSubPassTargetSecs, all.ttlIndexDeleteTargetTimeMS, all.ttlIndexDeleteTargetDocs], [60, 1000, 50000]);
    equal((await admin({ setParameter: 1, ttlMonitorSleepSecs: 1000 })).was, 60);
    equal((await admin({ setParameter: 1, ttlMonitorSleepSecs: 60 })).was, 1000);
    equal((await admin({ setParameter: 1, ttlIndexDeleteTargetDocs: 5, ttlMonitorBatchDeletes: false })).ok, 1);
    equal((await admin({ getParameter: 1, ttlIndexDeleteTargetDocs: 1 })).ttlIndexDeleteTargetDocs, 5);
});

eachRow(
    "M-6 a parameter is refused",
    [
        { why: "zero seconds", code: 2, given: { ttlMonitorSleepSecs: 0 } },
        { why: "negative", code: 2, given: { ttlMonitorSleepSecs: -1 } },
        { why: "too large", code: 2, given: { ttlMonitorSleepSecs: 2147483648 } },
        { why: "a text", code: 14, given: { ttlMonitorSleepSecs: "60" } },
        { why: "a text for a flag", code: 14, given: { ttlMonitorEnabled: "true" } },
        { why: "another case", code: 72, given: { ttlmonitorsleepsecs: 5 } },
        { why: "unknown", code: 72, given: { noSuchParameter: 5 } },
        { why: "none", code: 72, given: {} },
        { why: "one of several is wrong", code: 72, given: { ttlMonitorSleepSecs: 7, noSuchParameter: 5 } },
    ],
    async ({ code, given }) => {
        await fails(code, admin({ setParameter: 1, ...given }));
        equal((await admin({ getParameter: 1, ttlMonitorSleepSecs: 1 })).ttlMonitorSleepSecs, 60);
    },
);

test("M-6 a shorter sleep wakes the purger at once", async () => {
    const passes = async () =>
        Number(/^mayfly_purge_passes_total (\d+)$/m.exec((await server.raw("GET", "/metrics")).text)[1]);
    await admin({ setParameter: 1, ttlMonitorSleepSecs: 1000 });
    const before = await passes();
    await admin({ setParameter: 1, ttlMonitorSleepSecs: 1 });
    const until = Date.now() + 20000;
    let now = before;
    while (now < before + 2 && Date.now() < until) now = await passes();
    await admin({ setParameter: 1, ttlMonitorSleepSecs: 60 });
    ok(now >= before + 2, `${before} passes, then ${now}`);
});

test("M-6 the purger gives back what every collection has lost, and counts it", async () => {
    const status = async () => (await admin({ serverStatus: 1 })).metrics.ttl;
    const first = await newCollection();
    const second = await newCollection();
    await newCollection({ d: "hashed" });
    for (const c of [first, second]) await c.insertMany([{ d: await at(0) }, { d: await at(0) }, { x: 1 }]);
    await server.advance(10000);
    const before = await status();
    await server.purge();
    const after = await status();
    for (const c of [first, second]) equal((await ids(c)).length, 1);
    ok(after.passes > before.passes, `${before.passes} passes, then ${after.passes}`);
    ok(after.deletedDocuments >= 4, `${after.deletedDocuments} documents deleted`);
    equal(after.deletedKeys - before.deletedKeys, 2 * (after.deletedDocuments - before.deletedDocuments), "one of _id, one of d");
    ok(after.invalidTTLIndexSkips > before.invalidTTLIndexSkips, "the hashed index was passed over");
    const names = ["subPasses", "deletedKeys", "examinedDocuments", "examinedKeys", "durationMicros"];
    for (const name of names) ok(Number.isInteger(after[name]), name);
});

test("M-7 work in the background has its place in currentOp", async () => {
    ok(Array.isArray((await admin({ currentOp: 1 })).inprog), "a list");
});

test("M-7 the purger's removals are in the profile while it is on", async () => {
    const c = await newCollection();
    await db.command({ profile: 2 });
    await c.insertMany([{ d: await at(0) }, { d: await at(0) }, { x: 1 }]);
    await server.advance(10000);
    await server.purge();
    await db.command({ profile: 0 });
    const ns = `${db.databaseName}.${c.collectionName}`;
    const rows = await db.collection("system.profile").find({ appName: "TTLMonitor", ns }).toArray();
    equal([rows.reduce((n, row) => n + row.ndeleted, 0), rows[0]?.op], [2, "remove"]);
});

// ---- M-8: one purger --------------------------------------------------------------------------------

test("M-8 one server purges: its data are closed to every other one, and who takes them over goes on", async () => {
    const first = await start({ options: ["--mongo", "127.0.0.1:0"] });
    const others = [new MongoClient(first.mongoUrl), new MongoClient(first.mongoUrl)];
    try {
        const [c, seen] = others.map((other) => other.db("one").collection("c"));
        const { set, members } = await others[0].db("admin").command({ replSetGetStatus: 1 });
        equal([members.map(({ stateStr }) => stateStr), typeof set], [["PRIMARY"], "string"]);
        await c.createIndex({ d: 1 }, { expireAfterSeconds: 10 });
        const now = await first.advance(0);
        await c.insertMany([{ _id: 1, d: new Date(now) }, { _id: 2, d: new Date(now + HOUR_MS) }, { _id: 3 }]);
        const refused = await start({ data: first.data }).catch((error) => error.message);
        ok(/ended with [1-9].*another server is using/.test(refused), `a second server: ${refused}`);
        await first.advance(10000);
        await first.purge();
        equal(await ids(seen), [2, 3], "others see them go");
        const { metrics } = await others[1].db("admin").command({ serverStatus: 1 });
        equal(metrics.ttl.deletedDocuments, 1, "once");
        await first.kill();
    } finally {
        for (const other of others) await other.close();
    }
    const second = await start({ data: first.data, options: ["--mongo", "127.0.0.1:0"] });
    const heir = new MongoClient(second.mongoUrl);
    try {
        await second.advance(HOUR_MS + 10000);
        await second.purge();
        equal(await ids(heir.db("one").collection("c")), [3]);
        const { metrics } = await heir.db("admin").command({ serverStatus: 1 });
        equal(metrics.ttl.deletedDocuments, 1, "what was purged before is not purged again");
    } finally {
        await heir.close();
    }
    equal(await second.stop(), 0);
});

// ---- M-9: an index like any other -------------------------------------------------------------------

test("M-9 a TTL index serves queries, sorts and hints, and a hidden one still expires", async () => {
    const c = await newCollection();
    const dates = [3, 1, 2].map((n) => new Date(4e12 + n));
    await c.insertMany(dates.map((d, i) => ({ _id: i, d })));
    equal((await c.find({ d: { $gte: dates[2] } }).hint("d_1").sort({ d: 1 }).toArray()).map((x) => x._id), [2, 0]);
    await c.insertOne({ _id: "soon", d: await at(0) });
    equal((await db.command({ collMod: c.collectionName, index: { name: "d_1", hidden: true } })).hidden_new, true);
    await fails(2, c.find({}).hint("d_1").toArray());
    await server.advance(10000);
    equal(await ids(c), [0, 1, 2]);
});

test("M-9 a unique TTL index forgets the dead", async () => {
    const c = await newCollection({ d: 1 }, { expireAfterSeconds: 10, unique: true });
    const d = await at(0);
    await c.insertOne({ _id: 1, d });
    const error = await fails(11000, c.insertOne({ _id: 2, d }));
    equal([error.keyPattern, error.keyValue], [{ d: 1 }, { d }]);
    await server.advance(10000);
    await c.insertOne({ _id: 3, d: new Date(4e12) });
    equal(await ids(c), [3]);
});

test("M-9 a partial TTL index expires only what it contains", async () => {
    const c = await newCollection({ d: 1 }, { expireAfterSeconds: 10, partialFilterExpression: { state: "done", n: { $gt: 5 } } });
    const d = await at(0);
    await c.insertMany([
        { _id: "in", d, state: "done", n: 6 },
        { _id: "state", d, state: "open", n: 6 },
        { _id: "number", d, state: "done", n: 5 },
    ]);
    await server.advance(10000);
    equal(await ids(c), ["number", "state"]);
    await c.updateOne({ _id: "state" }, { $set: { state: "done" } });
    equal(await ids(c), ["number"], "an update may put a document into the index");
});

test("M-9 of several TTL indexes the first to fall due wins", async () => {
    const c = await newCollection({ a: 1 }, { expireAfterSeconds: 100 });
    await c.createIndex({ b: 1 }, { expireAfterSeconds: 20 });
    await c.createIndex({ c: 1 }, { expireAfterSeconds: 0 });
    const now = await at(0);
    await c.insertMany([
        { _id: "a", a: now },
        { _id: "b", a: now, b: now },
        { _id: "c", a: now, b: now, c: new Date(now.getTime() + 5000) },
    ]);
    await server.advance(5000);
    equal(await ids(c), ["a", "b"]);
    await server.advance(15000);
    equal(await ids(c), ["a"]);
    await server.advance(80000);
    equal(await ids(c), []);
});

test("a dropped TTL index lets nobody die, and nobody rise", async () => {
    const c = await newCollection();
    await c.insertMany([
        { _id: "dead", d: await at(-10000) },
        { _id: "living", d: await at(HOUR_MS) },
    ]);
    await c.dropIndex("d_1");
    await server.advance(2 * HOUR_MS);
    equal(await ids(c), ["living"]);
    await c.insertOne({ _id: "dead", again: true });
    equal(await ids(c), ["dead", "living"]);
});

// ---- M-10 to M-13 -----------------------------------------------------------------------------------

test("M-10 the message of a conflict names the collMod that does what was meant", async () => {
    const c = await newCollection();
    const error = await fails(85, c.createIndex({ d: 1 }, { expireAfterSeconds: 3600 }));
    const call = /\{ collMod: "(\w+)", index: \{ name: "(\w+)", expireAfterSeconds: (\d+) \} \}/.exec(error.message);
    ok(call, error.message);
    await db.command({ collMod: call[1], index: { name: call[2], expireAfterSeconds: Number(call[3]) } });
    equal(await c.createIndex({ d: 1 }, { expireAfterSeconds: 3600 }), "d_1");
});

test("M-11 a capped collection may have a TTL index", async () => {
    const c = await db.createCollection(`capped${++number}`, { capped: true, size: 100000 });
    await c.createIndex({ d: 1 }, { expireAfterSeconds: 10 });
    await c.insertMany([{ _id: 1, d: await at(0) }, { _id: 2 }]);
    await server.advance(10000);
    equal(await ids(c), [2]);
});

test("M-12 collMod acts at once, on all documents, in both directions", async () => {
    const c = await newCollection({ d: 1 }, { expireAfterSeconds: 1000 });
    const change = (seconds) =>
        db.command({ collMod: c.collectionName, index: { keyPattern: { d: 1 }, expireAfterSeconds: seconds } }, { promoteLongs: false });
    await c.insertMany([
        { _id: "old", d: await at(-500000) },
        { _id: "young", d: await at(-5000) },
    ]);
    const reply = await change(100);
    equal([reply.expireAfterSeconds_old._bsontype, reply.expireAfterSeconds_new._bsontype], ["Long", "Long"]);
    equal([Number(reply.expireAfterSeconds_old), Number(reply.expireAfterSeconds_new)], [1000, 100]);
    equal(await ids(c), ["young"]);
    await change(100000);
    equal(await ids(c), ["young"], "dead is for ever");
    await fails(72, change(new Double(NaN)), /NaN/);
    equal(await ids(c), ["young"]);
});

test("M-12 a plain index becomes a TTL index", async () => {
    const c = await newCollection({ d: 1 }, {});
    await c.insertMany([{ _id: "dead", d: new Date(0) }, { _id: "living" }]);
    const reply = await db.command({ collMod: c.collectionName, index: { name: "d_1", expireAfterSeconds: 5 } });
    equal([reply.expireAfterSeconds_old, reply.expireAfterSeconds_new], [undefined, 5]);
    equal(await ids(c), ["living"]);
    equal((await c.indexes())[1].expireAfterSeconds, 5);
});

for (const type of ["hashed", "text", "2d", "2dsphere"]) {
    test(`M-13 a ${type} TTL index is taken with a note and never expires anything`, async () => {
        const c = db.collection(`c${++number}`);
        const reply = await db.command({
            createIndexes: c.collectionName,
            indexes: [{ key: { d: type }, name: "n", expireAfterSeconds: 1 }],
        });
        matches(reply.note, /never expire/);
        equal((await c.indexes())[1].expireAfterSeconds, 1);
        // A geographic index takes no dates at all.
        await c.insertOne({ _id: 1, d: type.startsWith("2d") ? [1, 2] : new Date(0) });
        equal(await ids(c), [1]);
        const changed = await db.command({ collMod: c.collectionName, index: { name: "n", expireAfterSeconds: 9 } });
        equal([changed.expireAfterSeconds_old, changed.expireAfterSeconds_new], [1, 9]);
        equal(await ids(c), [1]);
    });
}

// ---- clustered collections --------------------------------------------------------------------------

test("a clustered collection expires by the dates that are its ids", async () => {
    const c = await db.createCollection(`clustered${++number}`, {
        clusteredIndex: { key: { _id: 1 }, unique: true },
        expireAfterSeconds: 10,
    });
    const soon = await at(0);
    await c.insertMany([{ _id: soon }, { _id: await at(HOUR_MS), n: 1 }, { _id: new ObjectId(), n: 2 }, { _id: "text", n: 3 }]);
    equal((await c.find({}).toArray()).length, 4);
    await server.advance(10000);
    equal((await c.find({}).toArray()).map((d) => d.n).sort(), [1, 2, 3]);
    const options = async () => (await db.listCollections({ name: c.collectionName }).toArray())[0].options;
    equal((await options()).expireAfterSeconds, 10);
    await db.command({ collMod: c.collectionName, expireAfterSeconds: "off" });
    equal((await options()).expireAfterSeconds, undefined);
    await server.advance(2 * HOUR_MS);
    equal((await c.find({}).toArray()).length, 3);
    await db.command({ collMod: c.collectionName, expireAfterSeconds: 60 });
    equal((await c.find({}).toArray()).length, 2);
});

test("M-1 a measurement of a time series is gone at its date and not with its bucket", async () => {
    const c = await db.createCollection(`series${++number}`, {
        timeseries: { timeField: "t", metaField: "sensor", granularity: "hours" },
        expireAfterSeconds: 10,
    });
    await c.insertMany([{ t: await at(0), sensor: "a", n: 1 }, { t: await at(60000), sensor: "b", n: 2 }, { t: await at(HOUR_MS), n: 3 }]);
    const seen = async () => (await c.find({}).sort({ t: 1 }).toArray()).map((d) => d.n);
    equal(await seen(), [1, 2, 3]);
    await server.advance(10000);
    equal(await seen(), [2, 3]);
    equal(await c.countDocuments({ sensor: "b" }), 1);
    await server.advance(60000);
    equal(await seen(), [3]);
    await fails(2, c.insertOne({ n: 4 }), /'t' must be present/);
    const [listed] = await db.listCollections({ name: c.collectionName }).toArray();
    equal([listed.type, listed.options.expireAfterSeconds], ["timeseries", 10]);
    equal((await c.indexes()).map((i) => i.name), ["sensor_1_t_1"]);
    await db.command({ collMod: c.collectionName, expireAfterSeconds: "off" });
    await server.advance(2 * HOUR_MS);
    equal(await seen(), [3]);
    await db.command({ collMod: c.collectionName, expireAfterSeconds: 60 });
    equal(await seen(), []);
});

// ---- both faces of one collection -------------------------------------------------------------------

const container = async (properties = {}) => {
    const { database } = await cosmos.databases.createIfNotExists({ id: "test" });
    const id = `both${++number}`;
    await database.containers.create({ id, partitionKey: { paths: ["/pk"] }, ...properties });
    return { items: database.container(id).items, box: database.container(id), c: db.collection(id) };
};

test("both faces: defaultTtl and ttl hold for documents of MongoDB clients", async () => {
    const { c } = await container({ defaultTtl: 10 });
    await c.insertMany([
        { _id: "inherits", pk: "a" },
        { _id: "own", pk: "a", ttl: 100 },
        { _id: "never", pk: "a", ttl: -1 },
    ]);
    await server.advance(10000);
    equal(await ids(c), ["never", "own"]);
    await server.advance(90000);
    equal(await ids(c), ["never"]);
});

test("both faces: TTL indexes hold for documents of Cosmos clients as far as they have dates", async () => {
    const { c, items, box } = await container({ defaultTtl: -1 });
    await c.createIndex({ d: 1 }, { expireAfterSeconds: 10 });
    const d = await at(0);
    await c.insertMany([
        { _id: "mongo", pk: "a", d },
        { _id: "saved", pk: "a", d, ttl: -1 },
        { _id: "first", pk: "a", d: new Date(d.getTime() + HOUR_MS), ttl: 5 },
    ]);
    await items.create({ id: "cosmos", pk: "a", d: d.toISOString(), ttl: 20 });
    await server.advance(10000);
    equal(await ids(c), ["cosmos"], "-1 saves from the default, not from a TTL index; the earliest counts");
    equal((await box.item("mongo", "a").read()).statusCode, 404);
    await server.advance(10000);
    equal(await ids(c), []);
});

test("both faces: a TTL index on _ts is the collection's defaultTtl", async () => {
    const { c, items, box } = await container();
    const row = async () => (await c.indexes()).find((i) => i.key._ts);
    const ttl = async () => (await box.read()).resource.defaultTtl;
    equal(await row(), undefined, "off");
    await c.createIndex({ _ts: 1 }, { expireAfterSeconds: 10, name: "mine" });
    equal([await ttl(), await row()], [10, { v: 2, key: { _ts: 1 }, name: "mine", expireAfterSeconds: 10 }], "created");
    await c.insertOne({ _id: "m", pk: "a" });
    await items.create({ id: "c", pk: "a" });
    const changed = await db.command({ collMod: c.collectionName, index: { name: "mine", expireAfterSeconds: 20 } });
    equal([changed.expireAfterSeconds_old, changed.expireAfterSeconds_new, await ttl()], [10, 20, 20], "changed");
    await server.advance(20000);
    equal(await ids(c), []);
    const { resource } = await box.read();
    await box.replace({ ...resource, defaultTtl: 300 });
    equal((await row()).expireAfterSeconds, 300, "changed by Cosmos");
    await c.dropIndex("mine");
    equal([await ttl(), await row()], [undefined, undefined], "dropped");
    await box.replace({ id: resource.id, partitionKey: resource.partitionKey, defaultTtl: -1 });
    equal(await row(), { v: 2, key: { _ts: 1 }, name: "_ts_1", expireAfterSeconds: -1 }, "on, without a default");
    await fails(85, c.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 }), /collMod/);
    await fails(72, db.command({ collMod: c.collectionName, index: { name: "_ts_1", expireAfterSeconds: 0 } }));
});

test("both faces: everything survives a restart", async () => {
    const c = await newCollection({ d: 1 }, { expireAfterSeconds: 10, partialFilterExpression: { a: 1 } });
    const soon = await at(0);
    await c.insertMany([{ _id: 1, d: soon, a: 1 }, { _id: 2, d: soon }, { _id: 3, d: new Date(4e12), a: 1 }]);
    await server.advance(10000);
    await client.close();
    equal(await server.stop(), 0);
    await server.launch(["--mongo", "127.0.0.1:0"]);
    await connect();
    const again = db.collection(c.collectionName);
    equal(await ids(again), [2, 3]);
    equal((await again.indexes())[1], { v: 2, key: { d: 1 }, name: "d_1", partialFilterExpression: { a: 1 }, expireAfterSeconds: 10 });
});

async function connect() {
    client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 });
    await client.connect();
    cosmos = server.client();
    db = client.db("test");
}

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        await connect();
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

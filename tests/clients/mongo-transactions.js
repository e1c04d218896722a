#!/usr/bin/env node
// Transactions of the MongoDB face through the npm driver and mongoose: conflicts, deaths, time limits.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");
const mongoose = require("mongoose");

let server;
let client;
let db;
let names = 0;

// A new collection with these documents.
async function collection(documents) {
    const made = db.collection(`c${++names}`);
    await made.insertMany(documents);
    return made;
}

async function inSession(body) {
    const session = client.startSession();
    try {
        return await body(session);
    } finally {
        await session.endSession();
    }
}

const isTransient = (error) => error.hasErrorLabel("TransientTransactionError");

test("money is moved from one account to another, or not at all", async () => {
    const accounts = await collection([{ _id: "a", n: 100 }, { _id: "b", n: 0 }]);
    const journal = db.collection("journal");
    await inSession((session) =>
        session.withTransaction(async () => {
            await accounts.updateOne({ _id: "a" }, { $inc: { n: -30 } }, { session });
            await accounts.updateOne({ _id: "b" }, { $inc: { n: 30 } }, { session });
            await journal.insertOne({ moved: 30 }, { session });
            equal((await accounts.findOne({ _id: "b" }, { session })).n, 30, "inside");
            equal((await accounts.findOne({ _id: "b" })).n, 0, "outside");
        }),
    );
    equal(await accounts.find().sort({ _id: 1 }).toArray(), [{ _id: "a", n: 70 }, { _id: "b", n: 30 }]);
    equal(await journal.countDocuments({ moved: 30 }), 1);
    await inSession((session) =>
        fails(
            undefined,
            session.withTransaction(async () => {
                await accounts.deleteMany({}, { session });
                throw new Error("changed my mind");
            }),
            /changed my mind/,
        ),
    );
    equal(await accounts.countDocuments(), 2);
});

test("everything inside is read at one instant", async () => {
    const c = await collection(Array.from({ length: 10 }, (_, i) => ({ _id: i, n: i })));
    await c.createIndex({ n: 1 });
    await inSession(async (session) => {
        session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority" } });
        const cursor = c.find({ n: { $gte: 0 } }, { session, batchSize: 3 });
        equal((await cursor.next())._id, 0);
        await c.deleteMany({ n: { $gt: 4 } });
        await c.updateOne({ _id: 1 }, { $set: { n: 100 } });
        await c.insertOne({ _id: 99, n: 99 });
        equal((await cursor.toArray()).map((d) => d.n), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        equal(await c.countDocuments({}, { session }), 10);
        equal(await c.distinct("n", { n: { $lt: 3 } }, { session }), [0, 1, 2]);
        const sums = await c.aggregate([{ $group: { _id: null, n: { $sum: "$n" } } }], { session }).toArray();
        equal(sums, [{ _id: null, n: 45 }]);
        await session.commitTransaction();
    });
    equal(await c.countDocuments(), 6);
});

test("two sessions that change the same document conflict, and the second may try again", async () => {
    const c = await collection([{ _id: 1, n: 0 }]);
    const [a, b] = [client.startSession(), client.startSession()];
    a.startTransaction();
    b.startTransaction();
    await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: a });
    const error = await fails(112, c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: b }));
    ok(isTransient(error), "a label says that it may be tried again");
    await b.abortTransaction();
    await a.commitTransaction();
    b.startTransaction();
    await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: b });
    await b.commitTransaction();
    equal((await c.findOne({ _id: 1 })).n, 2);
    await Promise.all([a.endSession(), b.endSession()]);
});

test("many that count at the same time lose nothing", async () => {
    const c = await collection([{ _id: 1, n: 0 }]);
    const add = () =>
        inSession((session) =>
            session.withTransaction(async () => {
                const { n } = await c.findOne({ _id: 1 }, { session });
                await c.updateOne({ _id: 1 }, { $set: { n: n + 1 } }, { session });
            }),
        );
    await Promise.all(Array.from({ length: 12 }, add));
    equal((await c.findOne({ _id: 1 })).n, 12);
});

test("a write outside waits for the transaction that has written the document", async () => {
    const c = await collection([{ _id: 1, n: 0 }]);
    await inSession(async (session) => {
        session.startTransaction();
        await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
        let isDone = false;
        const outside = c.updateOne({ _id: 1 }, { $inc: { n: 10 } }).then(() => (isDone = true));
        equal(await c.findOne({ _id: 1 }), { _id: 1, n: 0 }, "who reads does not wait");
        ok(!isDone, "it waits");
        await session.commitTransaction();
        await outside;
    });
    equal((await c.findOne({ _id: 1 })).n, 11);
});

test("a write that waits for a transaction minds its time limit, and whoever kills it", async () => {
    const c = await collection([{ _id: 1, n: 0 }]);
    await inSession(async (session) => {
        session.startTransaction();
        await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
        const late = (comment, more) => c.db.command({ update: c.collectionName, comment, updates: [{ q: { _id: 1 }, u: { $inc: { n: 10 } } }], ...more });
        await fails(50, late("patient", { maxTimeMS: 100 }));
        await fails(50, c.db.command({ insert: c.collectionName, documents: [{ _id: 1 }], maxTimeMS: 100 }));
        const [own] = await client.db("admin").aggregate([{ $currentOp: { allUsers: true } }, { $match: { type: "idleSession" } }]).toArray();
        equal([own.transaction.parameters.autocommit, Buffer.from(own.lsid.id.buffer).toString("hex")], [false, Buffer.from(session.id.id.buffer).toString("hex")], "it is an idle session");
        const killed = fails(11601, late("killed"));
        const admin = client.db("admin");
        for (let i = 0; i < 2000; i++) {
            const stages = [{ $currentOp: { allUsers: true } }, { $match: { "command.comment": "killed" } }];
            const [row] = await admin.aggregate(stages).toArray();
            if (row) {
                await admin.command({ killOp: 1, op: row.opid });
                break;
            }
        }
        const error = await killed;
        ok(!error.writeErrors && !error.result?.writeErrors, "the command has failed, not one of its statements");
        await session.commitTransaction();
    });
    equal((await c.findOne({ _id: 1 })).n, 1);
});

test("a unique key is kept", async () => {
    const c = await collection([{ _id: 1, u: 1 }]);
    await c.createIndex({ u: 1 }, { unique: true });
    await inSession(async (session) => {
        session.startTransaction();
        const error = await fails(11000, c.insertOne({ _id: 2, u: 1 }, { session }));
        ok(!isTransient(error), "trying again does not help");
        await fails(251, c.findOne({}, { session }));
        await session.abortTransaction();
        session.startTransaction();
        await c.deleteOne({ _id: 1 }, { session });
        await c.insertOne({ _id: 2, u: 1 }, { session });
        await session.commitTransaction();
    });
    equal(await c.find().toArray(), [{ _id: 2, u: 1 }]);
});

test("what is not possible inside is refused, and said", async () => {
    const c = await collection([{ _id: 1 }]);
    const attempts = [
        (session) => c.estimatedDocumentCount({ session }),
        (session) => c.createIndex({ a: 1 }, { session }),
        (session) => db.listCollections({}, { session }).toArray(),
        (session) => c.aggregate([{ $out: "other" }], { session }).toArray(),
        (session) => client.db("admin").collection("x").findOne({}, { session }),
    ];
    for (const attempt of attempts) {
        await inSession(async (session) => {
            session.startTransaction();
            await fails(263, attempt(session));
            await session.abortTransaction();
        });
    }
});

test("a collection is made by the first document inside", async () => {
    const c = db.collection("made-inside");
    await inSession((session) => session.withTransaction(() => c.insertOne({ _id: 1 }, { session })));
    equal(await c.find().toArray(), [{ _id: 1 }]);
});

test("a transaction that takes too long is aborted", async () => {
    const c = await collection([{ _id: 1, n: 0 }]);
    await inSession(async (session) => {
        session.startTransaction();
        await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
        const outside = c.updateOne({ _id: 1 }, { $inc: { n: 10 } });
        await server.advance(60 * 1000);
        await outside; // the server has ended it, without being asked
        ok(isTransient(await fails(251, session.commitTransaction())), "may be run again");
    });
    equal((await c.findOne({ _id: 1 })).n, 10);
});

test("what expires meanwhile is there inside and gone outside", async () => {
    const c = await collection([{ _id: 0 }]);
    await c.createIndex({ at: 1 }, { expireAfterSeconds: 0 });
    const now = await server.advance(0);
    await c.insertMany([{ _id: 1, at: new Date(now + 5000) }, { _id: 2, at: new Date(now + 5000) }]);
    const [reads, writes] = [client.startSession(), client.startSession()];
    reads.startTransaction();
    writes.startTransaction();
    equal(await c.countDocuments({}, { session: reads }), 3);
    await c.updateOne({ _id: 1 }, { $unset: { at: 1 } }, { session: writes });
    await server.advance(5000);
    equal(await c.countDocuments(), 1);
    equal((await c.find({}, { session: reads }).toArray()).map((d) => d._id), [0, 1, 2]);
    await c.insertOne({ _id: 3 }, { session: reads });
    await reads.commitTransaction();
    ok(isTransient(await fails(112, writes.commitTransaction())), "the dead do not come back");
    equal((await c.find().toArray()).map((d) => d._id), [0, 3]);
    await Promise.all([reads.endSession(), writes.endSession()]);
});

test("a session sees what it has written, by times that only grow", async () => {
    const session = client.startSession({ causalConsistency: true });
    const c = await collection([{ _id: 1, n: 0 }]);
    let last = null;
    for (let i = 1; i <= 3; i++) {
        await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
        equal((await c.findOne({ _id: 1 }, { session, readConcern: { level: "majority" } })).n, i);
        ok(!last || session.operationTime.greaterThan(last), "the time of the operation grows");
        last = session.operationTime;
    }
    await session.endSession();
});

test("mongoose runs a function in a transaction", async () => {
    const connection = await mongoose.createConnection(`${server.mongoUrl}/goose`).asPromise();
    const Account = connection.model("Account", new mongoose.Schema({ _id: String, n: Number }));
    await Account.create([{ _id: "a", n: 5 }, { _id: "b", n: 5 }]);
    await connection.transaction(async (session) => {
        const a = await Account.findById("a").session(session);
        const b = await Account.findById("b").session(session);
        a.n -= 2;
        b.n += 2;
        await a.save({ session });
        await b.save({ session });
    });
    equal((await Account.find().sort("_id").lean()).map((d) => d.n), [3, 7]);
    const lost = new Account({ _id: "c", n: 1 });
    await fails(
        undefined,
        connection.transaction(async (session) => {
            await lost.save({ session });
            throw new Error("no");
        }),
        /no/,
    );
    ok(lost.isNew, "as if it had not been saved");
    equal(await Account.countDocuments(), 2);
    await connection.close();
});

test("the server stops at once while a write waits for a transaction", async () => {
    const other = await start({ options: ["--mongo", "127.0.0.1:0"] });
    const second = await MongoClient.connect(other.mongoUrl, { retryWrites: false });
    const c = second.db("db").collection("c");
    await c.insertOne({ _id: 1, n: 0 });
    const session = second.startSession();
    session.startTransaction();
    await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
    const outside = c.updateOne({ _id: 1 }, { $inc: { n: 10 } }).catch(() => null);
    await c.findOne({ _id: 1 });
    const begun = Date.now();
    await other.stop();
    ok(Date.now() - begun < 20000, "it does not wait for the end of the transaction");
    await outside;
    await second.close(true);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = await MongoClient.connect(server.mongoUrl);
        db = client.db("transactions");
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

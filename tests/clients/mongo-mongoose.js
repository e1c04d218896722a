#!/usr/bin/env node
// The MongoDB face through mongoose: models, saves, queries, indexes with an expiry.
"use strict";

const { test, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const mongoose = require("mongoose");

let server;
let User;
let Post;

test("a model is saved, changed and saved again", async () => {
    const ann = await new User({ name: "ann", tags: ["a"] }).save();
    ann.tags.push("b", "c");
    ann.age = 30;
    await ann.save();
    const found = await User.findById(ann._id).lean();
    equal([found.name, found.age, found.tags, found.__v], ["ann", 30, ["a", "b", "c"], 1]);
    ok(found.createdAt instanceof Date, "timestamps");
});

test("models are found by queries, with sort, projection and population", async () => {
    const [bob, cyd] = await User.create([{ name: "bob", age: 20 }, { name: "cyd", age: 40 }], { ordered: true });
    await Post.create([{ title: "one", author: bob._id }, { title: "two", author: cyd._id }], { ordered: true });
    const posts = await Post.find().sort({ title: -1 }).populate("author").lean();
    equal(posts.map((p) => [p.title, p.author.name]), [["two", "cyd"], ["one", "bob"]]);
    const names = await User.find({ age: { $gte: 20, $lt: 40 } }).select("name -_id").sort("name").lean();
    equal(names, [{ name: "ann" }, { name: "bob" }]);
    equal(await User.countDocuments({ name: /^[bc]/ }), 2);
    ok(await User.exists({ name: "bob" }), "exists");
    equal(await User.exists({ name: "nobody" }), null);
});

test("documents are updated in place, and made where there are none", async () => {
    const dan = await User.findOneAndUpdate(
        { name: "dan" },
        { $set: { age: 50 }, $setOnInsert: { tags: ["new"] } },
        { upsert: true, returnDocument: "after" },
    ).lean();
    equal([dan.age, dan.tags], [50, ["new"]]);
    const result = await User.updateMany({ age: { $gt: 30 } }, { $inc: { age: 1 } });
    equal([result.matchedCount, result.modifiedCount], [2, 2]);
    equal((await User.deleteOne({ name: "dan" })).deletedCount, 1);
    await fails(undefined, User.create({ age: "not a number" }));
});

test("the indexes of a schema are made, also those that expire documents", async () => {
    await User.init();
    const indexes = await User.collection.indexes();
    const expiring = indexes.find((i) => i.name === "expiresAt_1");
    equal(expiring.expireAfterSeconds, 3600);
    equal(await User.diffIndexes(), { toDrop: [], toCreate: [] });
    const user = await User.create({ name: "short", expiresAt: new Date(await server.advance(0)) });
    ok(await User.findById(user._id), "still there");
    await server.advance(3600 * 1000);
    equal(await User.findById(user._id), null, "gone at the deadline");
    equal(await User.countDocuments({ name: "short" }), 0);
});

test("a model of measurements is a time series, and they end when the schema says", async () => {
    const schema = new mongoose.Schema(
        { at: Date, sensor: { id: Number, room: String }, degrees: Number },
        { timeseries: { timeField: "at", metaField: "sensor", granularity: "minutes" }, autoCreate: false, expireAfterSeconds: 60 },
    );
    const Reading = mongoose.model("Reading", schema);
    await Reading.createCollection();
    const now = await server.advance(0);
    await Reading.create([1, 2, 3].map((id) => ({ at: new Date(now - id * 1000), sensor: { id, room: "a" }, degrees: 20 + id })));
    const rooms = await Reading.aggregate([{ $group: { _id: "$sensor.room", warmest: { $max: "$degrees" } } }]);
    equal(rooms, [{ _id: "a", warmest: 23 }]);
    equal((await Reading.updateMany({ "sensor.id": 2 }, { $set: { "sensor.room": "b" } })).modifiedCount, 1);
    await fails(72, Reading.updateOne({ "sensor.id": 2 }, { $set: { degrees: 0 } }));
    const [listed] = await mongoose.connection.db.listCollections({ name: "readings" }).toArray();
    equal([listed.type, listed.options.timeseries.bucketMaxSpanSeconds], ["timeseries", 86400]);
    await server.advance(58000);
    equal((await Reading.find().sort("-at")).map((r) => r.sensor.id), [1]);
    await server.advance(1000);
    equal(await Reading.countDocuments(), 0);
});

test("a query of a model is explained", async () => {
    const found = await User.find({ name: "ann" }).explain("queryPlanner");
    equal((Array.isArray(found) ? found[0] : found).queryPlanner.winningPlan.stage, "COLLSCAN");
    const counted = await User.aggregate([{ $match: { age: { $gt: 3 } } }]).explain();
    equal((Array.isArray(counted) ? counted[0] : counted).queryPlanner.namespace, "goose.users");
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        await mongoose.connect(`${server.mongoUrl}/goose`);
        const user = new mongoose.Schema(
            {
                name: { type: String, required: true },
                age: Number,
                tags: [String],
                expiresAt: { type: Date, expires: "1h" },
            },
            { timestamps: true },
        );
        const post = { title: String, author: { type: mongoose.Schema.Types.ObjectId, ref: "User" } };
        User = mongoose.model("User", user);
        Post = mongoose.model("Post", new mongoose.Schema(post));
        await Promise.all([User.init(), Post.init()]);
    },
    after: async () => {
        await mongoose.disconnect();
        await stopAll();
    },
});

#!/usr/bin/env node
// Where documents lie: 2dsphere and 2d indexes, $near, $geoWithin, $geoIntersects and $geoNear through the driver,
// and a mongoose schema with a 2dsphere index.
"use strict";

const { test, eachRow, equal, ok, fails, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { MongoClient } = require("mongodb");
const mongoose = require("mongoose");

let server;
let client;
let db;
let places;

const point = (...coordinates) => ({ type: "Point", coordinates });
const square = (x, y, size) => ({
    type: "Polygon",
    coordinates: [[[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]],
});
const names = async (cursor) => (await cursor.toArray()).map((d) => d._id);
const stages = (stage) => (stage ? [stage.stage, ...stages(stage.inputStage)] : []);
const winning = async (cursor) => (await cursor.explain("queryPlanner")).queryPlanner.winningPlan;

const cities = [
    { _id: "berlin", kind: "city", at: point(13.405, 52.52) },
    { _id: "potsdam", kind: "town", at: point(13.0645, 52.3906) },
    { _id: "hamburg", kind: "city", at: point(9.9937, 53.5511) },
    { _id: "paris", kind: "city", at: point(2.3522, 48.8566) },
    { _id: "suva", kind: "city", at: point(178.45, -18.1416) },
    { _id: "apia", kind: "town", at: [-171.7514, -13.8507] },
    { _id: "pole", kind: "town", at: point(0, 90) },
    { _id: "nowhere", kind: "town" },
    { _id: "park", kind: "area", at: square(13.3, 52.5, 0.05) },
];

test("the nearest come first, within distances in metres", async () => {
    const near = (more = {}) => ({ at: { $near: { $geometry: point(13.4, 52.5), ...more } } });
    equal(await names(places.find(near({ $maxDistance: 300000 }))), ["berlin", "park", "potsdam", "hamburg"]);
    equal(await names(places.find(near({ $minDistance: 20000, $maxDistance: 300000 }))), ["potsdam", "hamburg"]);
    equal(await names(places.find({ ...near(), kind: "town" })), ["potsdam", "pole", "apia"]);
    equal(await names(places.find(near()).limit(2)), ["berlin", "park"]);
    equal(await names(places.find(near()).sort({ _id: 1 }).limit(2)), ["apia", "berlin"]);
    equal(await names(places.find({ at: { $nearSphere: [179.9, -16], $maxDistance: 0.2 } })), ["suva", "apia"]);
    equal(await places.findOne(near({ $minDistance: 5000000 })).then((d) => d._id), "apia");
    equal((await names(places.find(near()).batchSize(2))).length, 8, "in batches");
    equal(await places.count(near({ $maxDistance: 300000 })), 4);
    equal((await places.findOneAndUpdate(near(), { $inc: { seen: 1 } }))._id, "berlin");
});

test("regions hold what lies in them, across the antimeridian too", async () => {
    const within = (shape) => places.find({ at: { $geoWithin: shape } }).sort({ _id: 1 });
    equal(await names(within({ $geometry: square(9, 52, 5) })), ["berlin", "hamburg", "park", "potsdam"]);
    equal(await names(within({ $centerSphere: [[-179, -16], 600 / 6378.1] })), ["suva"]);
    equal(await names(within({ $centerSphere: [[-179, -16], 1000 / 6378.1] })), ["apia", "suva"]);
    equal(await names(within({ $box: [[10, 50], [14, 53]] })), ["berlin", "potsdam"]);
    const cut = { type: "LineString", coordinates: [[13.2, 52.52], [13.5, 52.52]] };
    equal(await names(places.find({ at: { $geoIntersects: { $geometry: cut } } })), ["park"]);
    equal(await places.countDocuments({ at: { $geoWithin: { $centerSphere: [[13.4, 52.5], 0.01] } } }), 3);
});

test("explain tells that the index was used", async () => {
    const near = await winning(places.find({ at: { $near: { $geometry: point(0, 0) } } }).limit(1));
    equal(stages(near), ["LIMIT", "GEO_NEAR_2DSPHERE", "FETCH", "IXSCAN"]);
    equal(near.inputStage.indexName, "at_2dsphere");
    const within = await winning(places.find({ at: { $geoWithin: { $geometry: square(13, 52, 1) } } }));
    equal(stages(within), ["FETCH", "IXSCAN"]);
    equal(within.inputStage.keyPattern, { at: "2dsphere" });
    ok(within.inputStage.indexBounds.at.length > 1, "several cells");
    const planar = await winning(places.find({ at: { $geoWithin: { $box: [[0, 0], [1, 1]] } } }));
    equal(stages(planar), ["COLLSCAN"], "a plane is not the ball of the index");
});

test("$geoNear gives distances and places", async () => {
    const stage = { near: point(13.4, 52.5), distanceField: "d.m", includeLocs: "d.at", maxDistance: 50000 };
    const rows = await places.aggregate([{ $geoNear: stage }]).toArray();
    equal(rows.map((r) => r._id), ["berlin", "park", "potsdam"]);
    equal(rows.map((r) => Math.round(r.d.m / 100)), [23, 34, 258]);
    equal(rows[0].d.at, point(13.405, 52.52));
    const km = { ...stage, key: "at", query: { kind: "town" }, distanceMultiplier: 0.001, spherical: true };
    const [potsdam] = await places.aggregate([{ $geoNear: km }, { $limit: 1 }]).toArray();
    equal([potsdam._id, Math.round(potsdam.d.m)], ["potsdam", 26]);
    const counted = await places.aggregate([{ $geoNear: { near: [13.4, 52.5], spherical: true, distanceField: "d" } },
        { $group: { _id: null, n: { $sum: 1 } } }]).toArray();
    equal(counted[0].n, 8);
    equal(await names(db.collection("none").aggregate([{ $geoNear: stage }])), []);
});

eachRow(
    "$geoNear is refused",
    [
        { why: "as a second stage", code: 40603, pipeline: [{ $match: {} }, { $geoNear: { near: [1, 2], distanceField: "d" } }] },
        { why: "without a point", code: 5860400, pipeline: [{ $geoNear: { distanceField: "d" } }] },
        { why: "with a limit", code: 50858, pipeline: [{ $geoNear: { near: [1, 2], distanceField: "d", limit: 5 } }] },
        { why: "with a key that has no index", code: 291, pipeline: [{ $geoNear: { near: point(1, 2), distanceField: "d", key: "b" } }] },
        { why: "in $facet", code: 40600, pipeline: [{ $facet: { a: [{ $geoNear: { near: [1, 2], distanceField: "d" } }] } }] },
        { why: "as a condition", code: 5626500, pipeline: [{ $match: { at: { $near: [1, 2] } } }] },
    ],
    ({ code, pipeline }) => fails(code, places.aggregate(pipeline).toArray()),
);

test("without an index nearness is refused, and regions are found by looking at everything", async () => {
    const plain = db.collection("plain");
    await plain.insertMany([{ _id: 1, at: point(1, 1) }, { _id: 2, at: [50, 50] }]);
    await fails(291, plain.find({ at: { $near: { $geometry: point(0, 0) } } }).toArray(), /unable to find index/);
    await fails(27, plain.aggregate([{ $geoNear: { near: point(0, 0), distanceField: "d" } }]).toArray(), /2d or 2dsphere/);
    equal(await names(plain.find({ at: { $geoWithin: { $geometry: square(0, 0, 2) } } })), [1]);
});

test("an index refuses what is no geometry, before and after", async () => {
    await fails(16755, places.insertOne({ at: "here" }), /Can't extract geo keys/);
    await fails(16755, places.insertOne({ at: point(200, 0) }), /Can't extract geo keys/);
    await fails(16755, places.updateOne({ _id: "paris" }, { $set: { at: { type: "Polygon", coordinates: [] } } }));
    const old = db.collection("old");
    await old.insertOne({ at: "here" });
    await fails(16755, old.createIndex({ at: "2dsphere" }), /Can't extract geo keys/);
    equal((await old.indexes()).length, 1);
    await fails(67, old.createIndex({ at: "2dsphere", b: "text" }));
    await fails(16801, old.createIndex({ a: 1, at: "2d" }));
    equal((await places.indexes())[1]["2dsphereIndexVersion"], 3);
});

test("points in the plane have an index of their own", async () => {
    const plane = db.collection("plane");
    await plane.createIndex({ at: "2d", kind: 1 }, { min: -500, max: 500 });
    await plane.insertMany([[3, 4], [300, 400], [-6, 8]].map((at, i) => ({ _id: i, at, kind: i % 2 })));
    equal(await names(plane.find({ at: { $near: [0, 0] } })), [0, 2, 1]);
    equal(await names(plane.find({ at: { $near: [0, 0], $maxDistance: 10, $minDistance: 6 } })), [2]);
    equal(await names(plane.find({ at: { $geoWithin: { $center: [[0, 0], 5] } } })), [0]);
    equal(stages(await winning(plane.find({ at: { $near: [0, 0] } }))), ["GEO_NEAR_2D", "FETCH", "IXSCAN"]);
    equal(stages(await winning(plane.find({ at: { $geoWithin: { $box: [[0, 0], [9, 9]] } } }))), ["FETCH", "IXSCAN"]);
    await fails(16755, plane.insertOne({ at: [900, 0] }), /interval/);
    await fails(291, plane.find({ at: { $near: { $geometry: point(0, 0) } } }).toArray());
});

test("who dies between two batches is not shown as near", async () => {
    const mortal = db.collection("mortal");
    await mortal.createIndex({ at: "2dsphere" });
    await mortal.createIndex({ dies: 1 }, { expireAfterSeconds: 0 });
    const now = await server.advance(0);
    await mortal.insertMany([0, 1, 2, 3, 4, 5].map((i) => ({ _id: i, at: point(i, 0), dies: new Date(now + (i === 3 ? 1000 : 1e9)) })));
    const cursor = mortal.find({ at: { $near: { $geometry: point(0, 0) } } }).batchSize(2);
    const staged = mortal.aggregate([{ $geoNear: { near: point(0, 0), distanceField: "d" } }, { $sort: { d: -1 } }], { batchSize: 1 });
    equal([(await cursor.next())._id, (await cursor.next())._id, (await staged.next())._id], [0, 1, 5]);
    await server.advance(2000);
    equal(await names(cursor), [2, 4, 5]);
    equal(await names(staged), [4, 2, 1, 0]);
    equal(await names(mortal.find({ at: { $near: { $geometry: point(2.9, 0) } } }).limit(1)), [2]);
});

test("a schema of mongoose with a 2dsphere index finds what is near", async () => {
    await mongoose.connect(server.mongoUrl, { dbName: "geo" });
    const schema = new mongoose.Schema({ name: String, location: { type: { type: String, enum: ["Point"] }, coordinates: [Number] } });
    schema.index({ location: "2dsphere" });
    const Shop = mongoose.model("Shop", schema);
    await Shop.init();
    await Shop.create([{ name: "far", location: point(5, 5) }, { name: "near", location: point(1, 1) }]);
    const found = await Shop.find().where("location").near({ center: point(0, 0), maxDistance: 2000000, spherical: true });
    equal(found.map((s) => s.name), ["near", "far"]);
    equal((await Shop.find().where("location").within().circle({ center: [1, 1], radius: 0.01, spherical: true })).length, 1);
    equal(await Shop.diffIndexes(), { toDrop: [], toCreate: [] });
    await mongoose.disconnect();
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
        client = new MongoClient(server.mongoUrl, { serverSelectionTimeoutMS: 5000 });
        await client.connect();
        db = client.db("places");
        places = db.collection("places");
        await places.createIndex({ at: "2dsphere" });
        await places.insertMany(cities);
    },
    after: async () => {
        await client.close();
        await stopAll();
    },
});

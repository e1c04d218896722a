#!/usr/bin/env node
// The MongoDB face through mongosh: how it starts, and the helpers that people type.
"use strict";

const { test, equal, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { execFile } = require("node:child_process");
const path = require("node:path");

const MONGOSH = path.join(__dirname, "node_modules/mongosh/bin/mongosh.js");
const SHELL_SECONDS_MAX = 50;
let server;

// What the script prints, as JSON, line by line.
function shell(script) {
    const text = `const show = (v) => print(EJSON.stringify(v)); db = db.getSiblingDB("shell"); ${script}`;
    const words = [MONGOSH, server.mongoUrl, "--quiet", "--norc", "--eval", text];
    const options = { timeout: SHELL_SECONDS_MAX * 1000, env: { ...process.env, HOME: server.data } };
    return new Promise((resolve, reject) => {
        execFile(process.execPath, words, options, (error, out, errors) => {
            if (error) reject(new Error(`mongosh: ${error.message}\n${out}\n${errors}`));
            else resolve(out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)));
        });
    });
}

test("documents are inserted, found, changed and deleted from the shell", async () => {
    const shown = await shell(`
        show(db.version().split(".").length);
        show(db.users.insertOne({ _id: 1, name: "ann", tags: ["a", "b"] }).acknowledged);
        show(db.users.insertMany([{ _id: 2, name: "bob" }, { _id: 3, name: "cyd" }]).insertedIds);
        show(db.users.find({ name: /^[ab]/ }).sort({ _id: -1 }).toArray().map((d) => d.name));
        show(db.users.updateOne({ _id: 2 }, { $set: { age: 30 } }).modifiedCount);
        show(db.users.findOneAndUpdate({ _id: 1 }, { $push: { tags: "c" } }, { returnDocument: "after" }));
        show(db.users.countDocuments({ _id: { $gt: 1 } }));
        show(db.users.estimatedDocumentCount());
        show(db.users.distinct("tags"));
        show(db.users.aggregate([{ $group: { _id: null, n: { $sum: "$_id" } } }]).toArray());
        show(db.users.deleteMany({ _id: { $gte: 2 } }).deletedCount);
        show(db.users.replaceOne({ _id: 9 }, { name: "new" }, { upsert: true }).upsertedCount);
    `);
    equal(shown, [
        3,
        true,
        { 0: 2, 1: 3 },
        ["bob", "ann"],
        1,
        { _id: 1, name: "ann", tags: ["a", "b", "c"] },
        2,
        3,
        ["a", "b", "c"],
        [{ _id: null, n: 6 }],
        2,
        1,
    ]);
});

test("the helpers of operators work from the shell, or say why not", async () => {
    const [failed, told] = await shell(`
        db.c.insertMany([{ a: 1 }, { a: 2 }]); db.c.createIndex({ a: 1 });
        const helpers = {
            stats: () => db.stats().collections, collStats: () => Object.keys(db.c.stats().indexSizes).length, latency: () => db.c.latencyStats()[0].latencyStats.reads.ops,
            sizes: () => db.c.totalSize() + db.c.dataSize() + db.c.storageSize() + db.c.totalIndexSize(), host: () => db.hostInfo().system.numCores,
            status: () => db.serverStatus().connections.current, op: () => db.currentOp().inprog.length, rs: () => rs.status().members[0].uptime,
            conf: () => rs.conf().members[0].votes, hello: () => db.hello().setVersion, commands: () => Object.keys(db.adminCommand({ listCommands: 1 }).commands).length,
            help: () => db.commandHelp("find").length, connection: () => db.runCommand({ connectionStatus: 1 }).ok, me: () => db.runCommand({ whatsmyuri: 1 }).you.length,
            top: () => db.adminCommand({ top: 1 }).totals["shell.c"].insert.count, log: () => db.adminCommand({ getLog: "global" }).log.length,
            logs: () => db.adminCommand({ getLog: "*" }).names.length, level: () => db.getLogComponents().verbosity + 1, profile: () => db.setProfilingLevel(2).ok,
            profiled: () => db.c.find().toArray().length, rows: () => db.system.profile.countDocuments(), rowStats: () => db.system.profile.stats().count,
            off: () => db.setProfilingLevel(0).was, status2: () => db.getProfilingStatus().slowms, validate: () => db.c.validate().nrecords,
            build: () => db.serverBuildInfo().versionArray[0], options: () => db.serverCmdLineOpts().argv.length, users: () => db.getUsers().ok,
            roles: () => db.getRoles({ showBuiltinRoles: true }).roles.length, kill: () => db.killOp(12345).ok, plans: () => db.c.getPlanCache().list().length + 1,
        };
        const failed = [];
        for (const [name, run] of Object.entries(helpers)) {
            try { if (!(Number(run()) > 0)) failed.push(name + ": " + run()); } catch (error) { failed.push(name + ": " + error.message); }
        }
        show(failed);
        const refused = [() => db.adminCommand({ balancerStatus: 1 }), () => db.c.watch().tryNext(), () => db.shutdownServer(), () => rs.stepDown(), () => db.getReplicationInfo(), () => db.c.reIndex()];
        show(refused.map((run) => { try { run(); return "no error"; } catch (error) { return error.message; } }));
    `);
    equal(failed, []);
    const reasons = [/cluster of shards/, /change streams/, /SIGTERM/, /replica set of one/, /replset/, /drop and create/];
    reasons.forEach((reason, i) => equal([told[i], reason.test(told[i])], [told[i], true]));
});

test("collections, databases and indexes are listed from the shell", async () => {
    const shown = await shell(`
        db.one.insertOne({}); db.createCollection("two");
        show(db.getCollectionNames().filter((n) => n === "one" || n === "two").sort());
        show(db.getCollectionInfos({ name: "two" }).map((c) => c.type));
        show(db.getMongo().getDBNames().includes("shell"));
        show(db.one.createIndex({ a: 1 }));
        show(db.one.getIndexes().map((i) => i.name));
        show(db.one.drop());
        show(db.one.drop());
        show(db.hello().isWritablePrimary);
        show(db.adminCommand({ getParameter: 1, featureCompatibilityVersion: 1 }).featureCompatibilityVersion.version);
        try { db.runCommand({ nonsense: 1 }); } catch (e) { show(e.codeName); }
    `);
    equal(shown, [["one", "two"], ["collection"], true, "a_1", ["_id_", "a_1"], true, true, true, "8.0", "CommandNotFound"]);
});

test("the shell explains how documents are found, and shows what runs", async () => {
    const shown = await shell(`
        db.plan.insertMany([{ _id: 1, a: 1 }, { _id: 2, a: 2 }, { _id: 3, a: 2 }]);
        db.plan.createIndex({ a: 1 });
        const found = db.plan.find({ a: 2 }).explain("executionStats");
        show([found.queryPlanner.winningPlan.stage, found.queryPlanner.winningPlan.inputStage.indexName]);
        show([found.executionStats.nReturned, found.executionStats.totalKeysExamined].map(Number));
        show(db.plan.find({ b: 1 }).explain().queryPlanner.winningPlan.stage);
        show(Number(db.plan.explain("executionStats").distinct("a", { a: 2 }).executionStats.totalDocsExamined));
        show(db.plan.explain().aggregate([{ $match: { a: 2 } }, { $group: { _id: "$a" } }]).stages.length);
        const removed = db.plan.explain("executionStats").findOneAndDelete({ a: 2 });
        show([removed.executionStats.executionStages.stage, db.plan.countDocuments({})]);
        show(db.currentOp({ ns: "admin.$cmd.aggregate" }).ok);
        show(db.killOp(7).ok);
    `);
    equal(shown, [["FETCH", "a_1"], [2, 2], "COLLSCAN", 2, 2, ["DELETE", 3], 1, 1]);
});

test("the shell switches the profiler on and reads the profile", async () => {
    const shown = await shell(`
        db = db.getSiblingDB("profiled");
        show(db.getProfilingStatus().was);
        show(db.setProfilingLevel(2, { slowms: 0 }).was);
        db.c.insertOne({ _id: 1 });
        db.c.find({ a: 1 }).toArray();
        const rows = db.system.profile.find({ ns: "profiled.c" }).sort({ $natural: -1 }).limit(2).toArray();
        show(rows.map((r) => [r.op, r.planSummary || ""]));
        show(db.getCollectionNames().includes("system.profile"));
        show(db.setProfilingLevel(0, { slowms: 100 }).was);
        show(db.system.profile.drop());
    `);
    equal(shown, [0, 0, [["query", "COLLSCAN"], ["insert", ""]], true, 2, true]);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
    },
    after: stopAll,
});

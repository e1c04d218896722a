#!/usr/bin/env node
// Backups of running and of stopped servers, and what comes back from them.
"use strict";

const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { MongoClient, BSON } = require("mongodb");
const { test, equal, ok, matches, run } = require("./support/check");
const { start, stopAll, temporaryDirectory, MAYFLY } = require("./support/server");

const MONGO = ["--mongo", "127.0.0.1:0"];

function mayfly(...words) {
    const done = spawnSync(MAYFLY, words, { encoding: "utf8", timeout: 30000 });
    return { code: done.status, out: done.stdout, err: done.stderr };
}

// Ends by SIGKILL before its n-th call that changes a file (tests/preload/kill.c); false if it came to its end before.
const KILL = path.join(path.dirname(MAYFLY), "release", "kill.so");
function isKilledAt(n, ...words) {
    const env = { ...process.env, LD_PRELOAD: KILL, KILL_AT: String(n) };
    const done = spawnSync(MAYFLY, words, { encoding: "utf8", timeout: 30000, env });
    ok(!done.stderr.includes("LD_PRELOAD"), done.stderr);
    if (done.signal === null) equal([done.status, n > 5], [0, true], done.stderr);
    return done.signal === "SIGKILL";
}

// Every file below a directory with its content.
function contents(directory) {
    return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
        const name = path.join(directory, entry.name);
        return entry.isDirectory() ? contents(name) : [[name, fs.readFileSync(name).toString("latin1")]];
    });
}

// The path of the new backup.
function backup(data, to) {
    const done = mayfly("backup", "--data", data, "--to", to);
    equal([done.code, done.err], [0, ""]);
    return { path: /server (\S+): /.exec(done.out)[1], out: done.out };
}

// A new data directory from the newest backup, or from this one; checked.
function restore(from) {
    const to = path.join(temporaryDirectory(), "restored");
    const done = mayfly("restore", "--from", from, "--to", to);
    equal([done.code, done.err], [0, ""]);
    const check = mayfly("check", "--data", to);
    equal(check.code, 0, check.out + check.err);
    return to;
}

async function withMongo(server, body) {
    const client = await MongoClient.connect(server.mongoUrl);
    try {
        return await body(client);
    } finally {
        await client.close();
    }
}

test("everything that was acknowledged comes back from a backup under load", async () => {
    const server = await start({ options: MONGO });
    const to = temporaryDirectory();
    await withMongo(server, async (client) => {
        const docs = client.db("shop").collection("docs");
        let acknowledged = 0;
        let isDone = false;
        const writer = (async () => {
            for (; !isDone; acknowledged++) await docs.insertOne({ _id: acknowledged, text: "x".repeat(500) });
        })();
        while (acknowledged < 50) await new Promise(setImmediate);
        const before = acknowledged;
        // spawnSync would keep the writer from writing
        const { execFile } = require("node:child_process");
        const made = new Promise((resolve, reject) =>
            execFile(MAYFLY, ["backup", "--data", server.data, "--to", to], (error) => (error ? reject(error) : resolve())),
        );
        await made;
        isDone = true;
        await writer;
        const restored = await start({ options: MONGO, data: restore(to) });
        await withMongo(restored, async (other) => {
            const found = await other.db("shop").collection("docs").find().sort({ _id: 1 }).toArray();
            ok(found.length >= before && found.length <= acknowledged, `${found.length} of ${before} to ${acknowledged}`);
            equal(found.map((d) => d._id), [...found.keys()], "no gaps: it is one instant");
        });
        equal(await restored.stop(), 0);
    });
    equal(fs.existsSync(path.join(server.data, "checkpoint")), false);
    equal(await server.stop(), 0);
});

test("policies, indexes, users and both faces come along", async () => {
    const server = await start({ options: MONGO });
    const to = temporaryDirectory();
    const { database } = await server.client().databases.create({ id: "d" });
    const { container } = await database.containers.create({
        id: "c",
        partitionKey: "/pk",
        defaultTtl: 77,
        indexingPolicy: { includedPaths: [{ path: "/a/?" }], excludedPaths: [{ path: "/*" }] },
    });
    await container.items.create({ id: "i", pk: 1, a: 2, ttl: -1 });
    const names = (client) => client.db("m").collection("events").indexes();
    let wanted;
    await withMongo(server, async (client) => {
        const events = client.db("m").collection("events");
        await events.createIndex({ at: 1 }, { expireAfterSeconds: 3600, name: "gone" });
        await events.createIndex({ n: -1, word: 1 }, { unique: true });
        await events.insertOne({ n: 1, at: new Date() });
        wanted = await names(client);
        await client.db("admin").command({ createUser: "ann", pwd: "secret", roles: ["root"] });
    });
    backup(server.data, to);
    const policy = (await container.read()).resource;
    equal(await server.stop(), 0);

    const restored = await start({ options: MONGO, data: restore(to) });
    const same = restored.client().database("d").container("c");
    const { _self, ...shown } = (await same.read()).resource;
    equal(shown, (({ _self: _, ...rest }) => rest)(policy));
    equal((await same.item("i", 1).read()).resource.a, 2);
    const refused = await withMongo(restored, (client) => names(client).catch((error) => error.code));
    equal(refused, 13, "without a name nobody reads");
    const ann = await MongoClient.connect(restored.mongoUrl.replace("mongodb://", "mongodb://ann:secret@"));
    equal(await names(ann), wanted);
    equal(await ann.db("m").collection("events").countDocuments({ n: 1 }), 1);
    await ann.close();
    equal(await restored.stop(), 0);
});

test("the dead do not come back by a restore", async () => {
    const server = await start({ options: MONGO });
    const to = temporaryDirectory();
    const { database } = await server.client().databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/id", defaultTtl: -1 });
    await container.items.create({ id: "dead", ttl: 1 });
    await container.items.create({ id: "dying", ttl: 60 });
    await container.items.create({ id: "living" });
    await server.advance(2000);
    backup(server.data, to);
    // The clock is part of the backup: this server has been ahead of the machine's.
    const restored = await start({ data: restore(to) });
    const same = restored.client().database("d").container("c");
    const ids = async () => (await same.items.readAll().fetchAll()).resources.map((r) => r.id).sort();
    equal(await ids(), ["dying", "living"]);
    await restored.advance(60000);
    equal(await ids(), ["living"]);
    equal((await same.item("dying", "dying").read()).statusCode, 404);
    await restored.purge();
    equal(await restored.stop(), 0);
    equal(await server.stop(), 0);
});

test("a second backup links the tables of the first", async () => {
    const server = await start({ options: MONGO });
    const to = temporaryDirectory();
    const tables = (at) => fs.readdirSync(at).filter((name) => name.endsWith(".sst"));
    await withMongo(server, async (client) => {
        const docs = client.db("d").collection("c");
        await docs.insertMany(Array.from({ length: 3000 }, (_, i) => ({ _id: i, text: String(Math.random()).repeat(40) })));
        const first = backup(server.data, to);
        await docs.insertOne({ _id: "one more" });
        const second = backup(server.data, to);
        const shared = tables(second.path).filter((name) => tables(first.path).includes(name));
        ok(shared.length > 0, "some tables are in both");
        for (const name of shared) ok(fs.statSync(path.join(second.path, name)).nlink >= 2, `${name} is linked`);
        const copied = (out) => Number(/which (\S+) MB/.exec(out)[1]);
        ok(copied(second.out) < copied(first.out) / 2, `${copied(second.out)} of ${copied(first.out)} MB were copied`);
        // Each stands for itself: the first can go.
        fs.rmSync(first.path, { recursive: true });
        const restored = await start({ options: MONGO, data: restore(second.path) });
        equal(await withMongo(restored, (other) => other.db("d").collection("c").countDocuments()), 3001);
        equal(await restored.stop(), 0);
    });
    equal(await server.stop(), 0);
});

test("a damaged or missing file of a backup is named and nothing is restored", async () => {
    const server = await start();
    const to = temporaryDirectory();
    await server.client().databases.create({ id: "d" });
    const made = backup(server.data, to).path;
    equal(await server.stop(), 0);
    const table = fs.readdirSync(made).find((name) => name.endsWith(".sst"));
    const file = path.join(made, table);
    const good = fs.readFileSync(file);
    const bad = Buffer.from(good);
    bad[bad.length >> 1] ^= 1;
    const target = path.join(temporaryDirectory(), "to");
    const attempt = (pattern) => {
        const done = mayfly("restore", "--from", to, "--to", target);
        equal(done.code, 1);
        matches(done.err, pattern);
        equal(fs.existsSync(target), false);
    };
    fs.writeFileSync(file, bad);
    attempt(new RegExp(`${table} is damaged: its checksum`));
    fs.rmSync(file);
    attempt(new RegExp(`${table}: No such file`));
    fs.writeFileSync(file, good);
    const list = path.join(made, "SHA256SUMS");
    equal(spawnSync("sha256sum", ["-c", "--strict", "--quiet", list], { cwd: made }).status, 0);
    fs.appendFileSync(list, "nonsense\n");
    attempt(/SHA256SUMS is damaged: its last line is not/);
});

test("of two restores to one place one is done, and whole", async () => {
    const server = await start();
    const to = temporaryDirectory();
    await server.client().databases.create({ id: "d" });
    backup(server.data, to);
    equal(await server.stop(), 0);
    for (let round = 0; round < 5; round++) {
        const target = temporaryDirectory();
        const one = () =>
            new Promise((resolve) => {
                const child = spawn(MAYFLY, ["restore", "--from", to, "--to", target], { stdio: "ignore" });
                child.on("exit", resolve);
            });
        equal((await Promise.all([one(), one(), one()])).sort(), [0, 1, 1]);
        const check = mayfly("check", "--data", target);
        equal(check.code, 0, check.out + check.err);
    }
});

test("a restore that is killed at any instant leaves a whole database or what everybody refuses", async () => {
    const server = await start({ options: MONGO });
    const from = temporaryDirectory();
    await withMongo(server, (client) => client.db("m").collection("c").insertMany([{ _id: 1 }, { _id: 2 }]));
    backup(server.data, from);
    equal(await server.stop(), 0);
    const before = contents(from);
    let refused = 0, whole = 0, empty = 0;
    for (let n = 1; ; n++) {
        const to = path.join(temporaryDirectory(), "restored");
        const isKilled = isKilledAt(n, "restore", "--from", from, "--to", to);
        equal(contents(from), before, "nothing of the backup is touched");
        const check = mayfly("check", "--data", to);
        if (check.code === 0) {
            matches(check.out, /documents 2 /);
            whole++;
        } else if (!fs.existsSync(to) || fs.readdirSync(to).length === 0) {
            empty++;
        } else {
            refused++;
            const again = mayfly("restore", "--from", from, "--to", to);
            for (const done of [check, mayfly("serve", "--data", to), again]) {
                ok(done.code > 0, done.out);
                matches(done.err, /did not come to its end; .*remove/, `at ${n}`);
            }
            matches(mayfly("backup", "--data", to, "--to", temporaryDirectory()).err, /there is no database in/);
            fs.rmSync(to, { recursive: true });
        }
        if (whole === 0) equal(mayfly("restore", "--from", from, "--to", to).code, 0);
        else matches(mayfly("restore", "--from", from, "--to", to).err, /is not empty; .* so that nothing is lost/);
        if (!isKilled) break;
    }
    ok(refused > 10 && whole > 2 && empty > 0, `${refused} refused, ${whole} whole, ${empty} empty`);
});

test("a backup that is killed at any instant harms no other, and the next one is whole", async () => {
    const server = await start({ options: MONGO });
    const to = temporaryDirectory();
    await withMongo(server, (client) => client.db("m").collection("c").insertMany([{ _id: 1 }, { _id: 2 }]));
    const first = backup(server.data, to);
    const before = contents(first.path);
    for (let n = 1; isKilledAt(n, "backup", "--data", server.data, "--to", to); n += 3) {
        equal(contents(first.path), before, "nothing of the one before is touched");
        for (const name of fs.readdirSync(to).filter((each) => !each.endsWith(".partial")))
            equal(mayfly("check", "--data", path.join(to, name)).code, 0, `${name} at ${n}`);
    }
    const last = backup(server.data, to);
    equal(fs.readdirSync(to).filter((name) => name.endsWith(".partial")), []);
    equal(fs.existsSync(path.join(server.data, "checkpoint")), false);
    matches(mayfly("check", "--data", restore(last.path)).out, /documents 2 /);
    equal(await server.stop(), 0);
});

test("an import that is killed at any instant leaves a sound database, and a second one completes it", async () => {
    const from = temporaryDirectory();
    fs.mkdirSync(path.join(from, "m"));
    const lines = Array.from({ length: 5000 }, (_, i) => `{"_id":${i},"text":"${"x".repeat(200)}"}\n`);
    fs.writeFileSync(path.join(from, "m", "c.jsonl"), lines.join(""));
    fs.writeFileSync(path.join(from, "m", "c.metadata.json"), '{"indexes":[{"key":{"text":1},"name":"text_1"}]}');
    let partly = 0, n = 1;
    for (; ; n += 1 + (n >> 3)) {
        const data = path.join(temporaryDirectory(), "data");
        const isKilled = isKilledAt(n, "import", "--data", data, "--from", from);
        if (!isKilled) break;
        const before = mayfly("check", "--data", data);
        const again = mayfly("import", "--data", data, "--from", from, "--existing", "keep");
        equal(again.code, 0, `at ${n}: ${again.err}`);
        const [, written, kept] = /(\d+) documents, 0 replaced, (\d+) kept/.exec(again.out);
        equal(Number(written) + Number(kept), 5000);
        if (before.code === 0) matches(before.out, new RegExp(`documents ${kept} `));
        if (written > 0 && kept > 0) partly++;
        const check = mayfly("check", "--data", data);
        equal(check.code, 0, check.out + check.err);
        matches(check.out, /documents 5000 /);
    }
    ok(partly > 0, `of ${n} calls none left a part`);
});

test("what has rotted in a backup is not linked into the next", async () => {
    const server = await start();
    const to = temporaryDirectory();
    await server.client().databases.create({ id: "d" });
    const first = backup(server.data, to);
    equal(await server.stop(), 0);
    const table = path.join(first.path, fs.readdirSync(first.path).find((name) => name.endsWith(".sst")));
    const times = path.join(temporaryDirectory(), "times");
    equal(spawnSync("touch", ["-r", table, times]).status, 0);
    const bytes = fs.readFileSync(table);
    bytes[bytes.length >> 1] ^= 1;
    fs.writeFileSync(table, bytes);
    equal(spawnSync("touch", ["-r", times, table]).status, 0);
    const done = mayfly("backup", "--data", server.data, "--to", to);
    equal(done.code, 0);
    matches(done.err, /warning: .*\.sst is damaged; it is copied anew/);
    restore(to);
});

test("a restore touches nothing that is there", async () => {
    const server = await start();
    const to = temporaryDirectory();
    backup(server.data, to);
    const target = temporaryDirectory();
    fs.writeFileSync(path.join(target, "letter.txt"), "dear");
    const done = mayfly("restore", "--from", to, "--to", target);
    equal(done.code, 1);
    matches(done.err, /is not empty/);
    equal(fs.readdirSync(target), ["letter.txt"]);
    equal(await server.stop(), 0);
});

test("an incomplete backup does not count and is cleared away", async () => {
    const server = await start();
    const to = temporaryDirectory();
    const partial = path.join(to, "2020-01-01T00-00-00.000Z.partial");
    fs.mkdirSync(partial);
    fs.writeFileSync(path.join(partial, "000001.sst"), "half");
    fs.mkdirSync(path.join(to, "2099-01-01T00-00-00.000Z"));
    const none = mayfly("restore", "--from", to, "--to", path.join(to, "x"));
    matches(none.err, /there is no backup in/);
    backup(server.data, to);
    equal(fs.existsSync(partial), false);
    restore(to);
    equal(await server.stop(), 0);
});

test("a stopped server is copied from its files, and a missing one is said to be", async () => {
    const server = await start();
    const to = temporaryDirectory();
    await server.client().databases.create({ id: "kept" });
    await server.kill();
    matches(backup(server.data, to).out, /^backup of a stopped server/);
    const restored = await start({ data: restore(to) });
    equal((await restored.client().databases.readAll().fetchAll()).resources.map((d) => d.id), ["kept"]);
    equal(await restored.stop(), 0);
    const done = mayfly("backup", "--data", path.join(to, "nowhere"), "--to", to);
    equal(done.code, 1);
    matches(done.err, /there is no database in/);
    equal(mayfly("backup", "--data", server.data).code, 2);
    equal(mayfly("restore", "--from", to).code, 2);
});

// What a restore would do, by the client alone: options, documents, indexes.
async function restoreFiles(client, directory) {
    for (const database of fs.readdirSync(directory)) {
        for (const name of fs.readdirSync(path.join(directory, database)).filter((n) => n.endsWith(".bson"))) {
            const file = path.join(directory, database, name.slice(0, -5));
            const about = BSON.EJSON.parse(fs.readFileSync(`${file}.metadata.json`, "utf8"));
            const collection = await client.db(database).createCollection(about.collectionName, about.options);
            const bytes = fs.readFileSync(`${file}.bson`);
            const documents = [];
            for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at))
                documents.push(BSON.deserialize(bytes.subarray(at, at + bytes.readInt32LE(at)), { promoteValues: false }));
            if (documents.length > 0) await collection.insertMany(documents);
            const indexes = about.indexes.filter((index) => index.name !== "_id_");
            if (indexes.length > 0) await collection.createIndexes(indexes);
        }
    }
}

test("what is exported as BSON is the same again when it is put in", async () => {
    const server = await start({ options: MONGO });
    const { database } = await server.client().databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "items", partitionKey: "/pk", defaultTtl: 60 });
    await container.items.create({ id: "one", pk: 1, list: [1.5, null] });
    await container.items.create({ id: "dead", pk: 1, ttl: 1 });
    await withMongo(server, async (client) => {
        const odd = client.db("m").collection("a/b%c");
        await odd.insertMany([{ _id: 1, at: new Date(4e12), long: 2 ** 40 }, { _id: { deep: [1] }, bytes: Buffer.from("x") }]);
        await odd.createIndex({ at: 1 }, { expireAfterSeconds: 1e9, name: "gone" });
        await odd.createIndex({ long: -1 }, { unique: true, sparse: true });
        await client.db("m").createCollection("empty", { capped: true, size: 4096 });
    });
    await server.advance(2000);
    const to = path.join(temporaryDirectory(), "out");
    const done = mayfly("export", "--data", server.data, "--to", to, "--format", "bson");
    equal([done.code, done.err], [0, ""]);
    matches(done.out, /3 collections, 3 documents/);
    equal(fs.readdirSync(path.join(to, "m")).sort(), [
        "a%2Fb%25c.bson", "a%2Fb%25c.metadata.json", "a%2Fb%25c.times", "empty.bson", "empty.metadata.json", "empty.times"]);
    const about = JSON.parse(fs.readFileSync(path.join(to, "d", "items.metadata.json"), "utf8"));
    equal([about.mayfly.defaultTtl, about.mayfly.partitionPaths], [60, ["pk"]]);
    const other = await start({ options: MONGO });
    const all = async (client) => ({
        odd: await client.db("m").collection("a/b%c").find().sort({ at: 1 }).toArray(),
        indexes: await client.db("m").collection("a/b%c").indexes(),
        empty: (await client.db("m").listCollections({ name: "empty" }).toArray())[0].options,
        items: await client.db("d").collection("items").find().toArray(),
    });
    await withMongo(other, (client) => restoreFiles(client, to));
    equal(await withMongo(other, all), await withMongo(server, all));
    for (const each of [server, other]) equal(await each.stop(), 0);
});

test("an export as JSON has a living document in each line", async () => {
    const server = await start({ options: MONGO });
    await withMongo(server, async (client) => {
        await client.db("m").collection("c").insertMany([{ _id: 1, at: new Date(0) }, { _id: 2, text: "a\nb" }]);
        await client.db("admin").command({ createUser: "ann", pwd: "pass-word-1", roles: ["root"] });
    });
    await server.kill();
    const to = path.join(temporaryDirectory(), "out");
    const done = mayfly("export", "--data", server.data, "--to", to);
    equal([done.code, done.err], [0, ""]);
    const text = fs.readFileSync(path.join(to, "m", "c.jsonl"), "utf8");
    equal(text, '{"_id":1,"at":{"$date":"1970-01-01T00:00:00Z"}}\n{"_id":2,"text":"a\\nb"}\n');
    equal(fs.readdirSync(to), ["m"], "users are not documents");
    const again = mayfly("export", "--data", server.data, "--to", to);
    equal(again.code, 1);
    matches(again.err, /is not empty/);
    equal(mayfly("export", "--data", server.data).code, 2);
    equal(mayfly("export", "--data", server.data, "--to", to, "--format", "xml").code, 2);
});

// Everything that clients of both protocols can see of it.
async function seen(server) {
    const mongo = await withMongo(server, async (client) => ({
        odd: await client.db("m").collection("a/b%c").find({}, { promoteValues: false }).sort({ _id: 1 }).toArray(),
        indexes: await client.db("m").collection("a/b%c").indexes(),
        empty: (await client.db("m").listCollections({ name: "empty" }).toArray())[0].options,
        view: (await client.db("m").listCollections({ name: "seen" }).toArray())[0].options,
    }));
    const { resource } = await server.client().database("d").container("items").read();
    const { resources } = await server.client().database("d").container("items").items.query("SELECT * FROM c ORDER BY c.id").fetchAll();
    const own = ({ _rid, _etag, _self, _ts, _lsn, ...rest }) => rest;
    const policy = { partitionKey: resource.partitionKey, defaultTtl: resource.defaultTtl, indexing: resource.indexingPolicy,
        unique: resource.uniqueKeyPolicy };
    return { ...mongo, policy, items: resources.map(own), stamps: resources.map((item) => item._ts) };
}

async function fillForExport(server) {
    const { database } = await server.client().databases.create({ id: "d" });
    const { container } = await database.containers.create({
        id: "items", partitionKey: "/pk", defaultTtl: 600, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/u"] }] },
        indexingPolicy: { indexingMode: "consistent", includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/no/*" }] } });
    await container.items.create({ id: "one", pk: 1, u: 1, list: [1.5, null, { deep: "x" }] });
    await container.items.create({ id: "odd", _id: "not the key", pk: 2, u: 2 });
    await container.items.create({ id: "short", pk: 1, u: 3, ttl: 100 });
    await container.items.create({ id: "never", pk: 1, u: 4, ttl: -1 });
    await withMongo(server, async (client) => {
        const odd = client.db("m").collection("a/b%c");
        await odd.insertMany([
            { _id: 1, at: new Date(4e12), long: BSON.Long.fromString("9007199254740993"), big: BSON.Decimal128.fromString("1.50") },
            { _id: { deep: [1] }, bytes: Buffer.from("x"), re: /a/i, id: "own", when: new BSON.Timestamp({ t: 5, i: 6 }) },
            { _id: new BSON.ObjectId("0102030405060708090a0b0c"), at: new Date(), text: "a\u0000\n\u2028" },
        ]);
        await odd.createIndex({ at: 1 }, { expireAfterSeconds: 1e9, name: "gone" });
        await odd.createIndex({ long: -1 }, { unique: true, sparse: true });
        await client.db("m").createCollection("empty", { capped: true, size: 4096 });
        await client.db("m").createCollection("seen", { viewOn: "a/b%c", pipeline: [{ $match: { _id: 1 } }] });
    });
}

test("what is exported comes back equal by an import, in both formats, with its deadlines", async () => {
    const server = await start({ options: MONGO });
    await fillForExport(server);
    await server.advance(60000);
    const before = await seen(server);
    equal(before.items.length, 4);
    const at = await server.advance(0);
    for (const format of ["bson", "json"]) {
        const to = path.join(temporaryDirectory(), "out");
        equal(mayfly("export", "--data", server.data, "--to", to, "--format", format).code, 0);
        // Into a server that runs; its clock is moved to that of the other, so that deadlines can be compared.
        const other = await start({ options: MONGO });
        await other.advance(at - (await other.advance(0)));
        const done = mayfly("import", "--data", other.data, "--from", to);
        equal([done.code, done.err], [0, ""]);
        matches(done.out, /4 new collections, 7 documents, 0 replaced, 0 kept as they were, 0 already expired/);
        equal(await seen(other), before, format);
        const again = mayfly("import", "--data", other.data, "--from", to, "--existing", "keep");
        matches(again.out, /0 new collections, 0 documents, 0 replaced, 7 kept/);
        const replaced = mayfly("import", "--data", other.data, "--from", to, "--existing", "replace");
        matches(replaced.out, /0 documents, 7 replaced/);
        equal((await seen(other)).stamps, before.stamps, "replaced with the same times");
        const refused = mayfly("import", "--data", other.data, "--from", to);
        equal(refused.code, 1);
        matches(refused.err, /items\.\w+: (line|offset) \d+: a document with its key is there already; say --existing/);
        // The same item dies here at the same second as there.
        await other.advance(40000);
        equal((await seen(other)).items.map((item) => item.id), ["never", "odd", "one"]);
        equal(await other.stop(), 0);
        // Into a directory that nobody serves, and which does not exist yet; some have died meanwhile.
        const data = path.join(temporaryDirectory(), "data");
        const stopped = mayfly("import", "--data", data, "--from", to);
        equal([stopped.code, stopped.err.replace(/^.* (info|warning) .*\n/gm, "")], [0, ""]);
        equal(mayfly("check", "--data", data).code, 0);
        const opened = await start({ options: MONGO, data });
        const ids = (await seen(opened)).items.map((item) => item.id);
        ok(ids.includes("never") && ids.includes("one"), ids.join());
        await opened.advance(3600 * 1000);
        equal((await seen(opened)).items.map((item) => item.id), ["never"]);
        const late = mayfly("import", "--data", opened.data, "--from", to, "--existing", "replace");
        matches(late.out, /3 already expired/);
        equal((await seen(opened)).items.map((item) => item.id), ["never"], "the dead do not come back");
        equal(await opened.stop(), 0);
    }
    equal(await server.stop(), 0);
});

test("an import tells file and line or offset of what it cannot read, and keeps what was before", async () => {
    const server = await start({ options: MONGO });
    const from = temporaryDirectory();
    fs.mkdirSync(path.join(from, "m"));
    const write = (name, content) => fs.writeFileSync(path.join(from, "m", name), content);
    const clear = () => fs.readdirSync(path.join(from, "m")).forEach((name) => fs.rmSync(path.join(from, "m", name)));
    const refused = (pattern, existing = "keep") => {
        const done = mayfly("import", "--data", server.data, "--from", from, "--existing", existing);
        equal(done.code, 1, done.out);
        matches(done.err, pattern);
        clear();
        return done;
    };
    write("c.jsonl", '{"_id":1}\n\n{"_id":2\n');
    matches(refused(/c\.jsonl: line 3: JSON offset 8: expected/).out, /stopped in the middle.* 1 documents/);
    write("c.jsonl", '{"_id":2}\n{"at":{"$date":"soon"}}\n');
    refused(/c\.jsonl: line 2: "\$date" expects/);
    write("c.jsonl", '{"a":1}\n');
    refused(/line 1: it has neither an _id nor a text as id/);
    const one = BSON.serialize({ _id: 3 });
    write("c.bson", Buffer.concat([one, one.subarray(0, 9)]));
    refused(/c\.bson: offset 14: the file ends in the middle/);
    write("c.bson", Buffer.concat([BSON.serialize({ _id: 4 }), Buffer.from("not bson at all")]));
    refused(/offset 14: a document of \d+ bytes cannot be/);
    write("c.jsonl", '{"_id":5}\n{"_id":6}\n');
    write("c.times", "1700000000\n");
    refused(/line 2: the file \.times beside it has no line/);
    write("c.jsonl", '{"_id":7}\n');
    write("c.times", "1700000000\n1700000000\n");
    refused(/it was cut off/);
    write("c.bson.gz", "x");
    refused(/unpack it first/);
    for (let i = 0; i < 2; i++) { // a second try does not find a collection without the indexes
        write("bad.metadata.json", '{"indexes":[{"key":{"a":"sideways"},"name":"a"}]}');
        refused(/bad\.metadata\.json: /);
    }
    write("c.jsonl", '{"_id":[1]}\n');
    refused(/line 1: its _id is of type array/);
    write("a.jsonl", '{"_id":1}\n');
    write("system.buckets.t.bson", one);
    equal(/(\d+) new collections/.exec(refused(/buckets of a time series are not read; .* as t\.jsonl/).out)[1], "0");
    await withMongo(server, async (client) => {
        await client.db("m").createCollection("v", { viewOn: "c", pipeline: [] });
        await client.db("m").collection("u").createIndex({ k: 1 }, { unique: true });
        await client.db("m").collection("u").insertOne({ _id: "first", k: 0 });
    });
    write("v.jsonl", '{"_id":1}\n');
    refused(/m\.v is a view/);
    // Each document of a batch that fails is written once; a value that another one has is no document that is kept.
    const lines = Array.from({ length: 1000 }, (_, i) => `{"_id":${i},"k":${i}}\n`).join("");
    for (const [existing, counts] of [["replace", /999 documents, 0 replaced, 0 kept/], ["keep", /0 documents, 0 replaced, 999 kept/]]) {
        write("u.jsonl", lines);
        matches(refused(/u\.jsonl: line 1: another document has its value in a unique index/, existing).out, counts);
    }
    // What cannot be sent together is sent one behind the other, and nothing was written in the future.
    write("large.bson", Buffer.concat([3.9e6, 13e6].map((length, i) => BSON.serialize({ _id: i, text: "x".repeat(length) }))));
    write("large.times", "1700000000\n999999999999999999\n");
    const large = mayfly("import", "--data", server.data, "--from", from);
    equal([large.code, large.err], [0, ""]);
    const to = path.join(temporaryDirectory(), "out");
    equal(mayfly("export", "--data", server.data, "--to", to).code, 0);
    const [early, late] = fs.readFileSync(path.join(to, "m", "large.times"), "utf8").split("\n").map((line) => parseInt(line, 10));
    ok(early === 1700000000 && late > early && late <= Date.now() / 1000, `written at ${early} and ${late}`);
    clear();
    // As mongodump has it, with indexes and options in canonical notation.
    write("theirs.metadata.json", JSON.stringify({
        options: { validator: { a: { $exists: true } } }, collectionName: "theirs", type: "collection", uuid: "0",
        indexes: [{ v: { $numberInt: "2" }, key: { _id: { $numberInt: "1" } }, name: "_id_", ns: "m.theirs" },
            { v: { $numberInt: "2" }, key: { at: { $numberInt: "1" } }, name: "at_1", ns: "m.theirs", expireAfterSeconds: { $numberInt: "60" } }] }));
    write("theirs.bson", Buffer.concat([BSON.serialize({ _id: 1, a: 1, at: new Date() }), BSON.serialize({ _id: 2, at: new Date(0) })]));
    write("cosmos.jsonl", '{"id":"x","_rid":"a","_self":"b","_etag":"c","_attachments":"d","_ts":1700000000,"v":1}\n');
    const done = mayfly("import", "--data", server.data, "--from", from);
    equal([done.code, done.err], [0, ""]);
    matches(done.out, /2 new collections, 2 documents, .* 1 already expired/);
    await withMongo(server, async (client) => {
        const m = client.db("m");
        equal((await m.collection("c").find().sort({ _id: 1 }).toArray()).map((each) => each._id), [1, 2, 3, 4, 5, 7]);
        equal((await m.collection("theirs").indexes()).map((each) => [each.name, each.expireAfterSeconds]), [["_id_", undefined], ["at_1", 60]]);
        equal((await m.collection("theirs").find().toArray()).map((each) => each._id), [1]);
        equal(await m.collection("cosmos").findOne(), { _id: "x", id: "x", v: 1 });
    });
    equal(mayfly("import", "--data", server.data).code, 2);
    equal(mayfly("import", "--data", server.data, "--from", from, "--existing", "maybe").code, 2);
    const fresh = path.join(temporaryDirectory(), "data");
    for (const data of [server.data, fresh]) equal(mayfly("import", "--data", data, "--from", path.join(from, "absent")).code, 1);
    ok(!fs.existsSync(fresh), "nothing is made for files that are not there");
    equal(await server.stop(), 0);
});

test("names that are too long for a file are cut, and an export that failed is marked", async () => {
    const server = await start({ options: MONGO });
    const names = ["l".repeat(245), "%".repeat(100), `${"é".repeat(110)}x`, `${"%".repeat(99)}x`, "m".repeat(230)];
    await withMongo(server, async (client) => {
        for (const name of names) await client.db("m").collection(name).insertOne({ _id: name.length });
    });
    const to = path.join(temporaryDirectory(), "out");
    const done = mayfly("export", "--data", server.data, "--to", to, "--format", "bson");
    equal([done.code, done.err], [0, ""]);
    equal(fs.readdirSync(to), ["m"]);
    const about = fs.readdirSync(path.join(to, "m")).filter((name) => name.endsWith(".metadata.json"));
    const found = about.map((name) => JSON.parse(fs.readFileSync(path.join(to, "m", name), "utf8")).collectionName);
    equal(found.sort(), [...names].sort());
    ok(about.includes(`${"m".repeat(230)}.metadata.json`), "what fits is not cut");
    // Without space for files of this size: the mark stays and is named.
    const failed = path.join(temporaryDirectory(), "out");
    const words = ["export", "--data", server.data, "--to", failed];
    equal(spawnSync("sh", ["-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh", MAYFLY, ...words]).status, 1);
    ok(fs.readdirSync(failed).includes("UNFINISHED"), fs.readdirSync(failed).join());
    matches(mayfly(...words).err, /did not come to its end; remove it/);
    matches(mayfly("import", "--data", server.data, "--from", failed).err, /did not come to its end; export again/);
    const other = path.join(temporaryDirectory(), "data");
    equal(mayfly("import", "--data", other, "--from", to).code, 0);
    const reopened = await start({ options: MONGO, data: other });
    await withMongo(reopened, async (client) =>
        equal((await client.db("m").listCollections().toArray()).map((each) => each.name).sort(), [...names].sort()));
    equal(await reopened.stop(), 0);
    equal(await server.stop(), 0);
});

test("a server clears away what a backup has left that was killed", async () => {
    const first = await start();
    equal(await first.stop(), 0);
    const left = path.join(first.data, "checkpoint");
    fs.mkdirSync(left);
    fs.writeFileSync(path.join(left, "000001.sst"), "held");
    const second = await start({ data: first.data });
    equal(fs.existsSync(left), false);
    equal(await second.stop(), 0);
});

test("a server that runs clears away what a killed backup has left", async () => {
    const server = await start();
    const left = path.join(server.data, "checkpoint");
    const watcher = fs.watch(server.data);
    const gone = new Promise((resolve) => watcher.on("change", () => !fs.existsSync(left) && resolve("gone")));
    fs.mkdirSync(left);
    fs.writeFileSync(path.join(left, "000001.sst"), "held");
    const late = new Promise((resolve) => setTimeout(resolve, 10000, "late").unref());
    equal(await Promise.race([gone, late]), "gone");
    watcher.close();
    equal(await server.stop(), 0);
});

test("a copy into the data directory is refused, and so is what is no database", async () => {
    const server = await start();
    const link = path.join(temporaryDirectory(), "link");
    fs.symlinkSync(server.data, link);
    const before = fs.readdirSync(server.data).sort();
    for (const command of ["backup", "export"])
        for (const to of ["", "checkpoint", "new"].flatMap((name) => [path.join(server.data, name), path.join(link, name)])) {
            const done = mayfly(command, "--data", server.data, "--to", to);
            equal(done.code, 1, to);
            matches(done.err, /lies in the data directory/);
        }
    equal(fs.readdirSync(server.data).sort(), before);
    const to = temporaryDirectory();
    const made = backup(server.data, to);
    for (const words of [["backup", "--data", to, "--to", temporaryDirectory()], ["check", "--data", to]]) {
        const done = mayfly(...words);
        ok(done.code !== 0 && done.err.includes(`it holds backups, each a database by itself: ${made.path}`), done.err);
    }
    const file = mayfly("backup", "--data", path.join(server.data, "MAYFLY"), "--to", to);
    matches(file.err, /Not a directory/);
    equal(await server.stop(), 0);
});

test("progress is shown on a terminal, and only there", async () => {
    const server = await start({ options: MONGO });
    await withMongo(server, (client) => client.db("d").collection("c").insertMany(Array.from({ length: 100 }, (_, i) => ({ _id: i }))));
    const directory = temporaryDirectory();
    const at = (name) => path.join(directory, name);
    const steps = [
        ["backup", "--data", server.data, "--to", at("backups")],
        ["restore", "--from", at("backups"), "--to", at("restored")],
        ["export", "--data", server.data, "--to", at("export")],
        ["import", "--data", at("imported"), "--from", at("export")],
    ];
    for (const words of steps) {
        // `script` gives it a terminal.
        const shown = spawnSync("script", ["-qec", [MAYFLY, ...words].join(" "), "/dev/null"], { encoding: "utf8" });
        equal(shown.status, 0, shown.stdout);
        matches(shown.stdout, /\r\w+ .* %  [\d.]+ of [\d.]+ MB, \d+ MB\/s/);
        fs.rmSync(words[words[0] === "import" ? 2 : 4], { recursive: true });
        const plain = mayfly(...words);
        equal([plain.code, plain.err], [0, ""], "nothing but its result");
    }
    equal(await server.stop(), 0);
});

test("only the owner of the data can ask for a checkpoint", async () => {
    const server = await start();
    equal((await server.raw("POST", "/_mayfly/checkpoint")).status, 404);
    const socket = path.join(server.data, "control");
    equal(fs.statSync(socket).mode & 0o777, 0o700);
    equal(fs.statSync(server.data).mode & 0o777, 0o700);
    const ask = (method, target) =>
        new Promise((resolve, reject) => {
            const request = http.request({ socketPath: socket, method, path: target }, (reply) => {
                reply.resume();
                reply.on("end", () => resolve(reply.statusCode));
            });
            request.on("error", reject);
            request.end();
        });
    equal(await ask("GET", "/healthz"), 200);
    equal(await ask("GET", "/_mayfly/checkpoint"), 405);
    equal(await ask("POST", "/dbs"), 404);
    equal((await server.raw("POST", "/_mayfly/confirm-clock")).status, 404);
    equal(mayfly("confirm-clock", "--data", server.data).code, 0);
    equal(await server.stop(), 0);
    matches(server.errors, /clock\.confirmed/);
    equal(fs.existsSync(socket), false);
    const late = mayfly("confirm-clock", "--data", server.data);
    equal(late.code, 1);
    matches(late.err, /no server has .* open/);
});

run({ after: stopAll });

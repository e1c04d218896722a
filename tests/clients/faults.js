#!/usr/bin/env node
// What can go wrong under a server: a full disk, damaged files, other formats, no descriptors, sudden and orderly ends
// under load through both faces. ROUNDS=n kills more often.
"use strict";

const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { MongoClient } = require("mongodb");
const { test, equal, ok, matches, run } = require("./support/check");
const { start, stopAll, temporaryDirectory, MAYFLY } = require("./support/server");

const MONGO = ["--mongo", "127.0.0.1:0"];
const ROUNDS = Number(process.env.ROUNDS) || 4;

function command(program, ...words) {
    const done = spawnSync(program, words, { encoding: "utf8", timeout: 30000 });
    return { code: done.status, out: done.stdout, err: done.stderr };
}

const check = (data) => command(MAYFLY, "check", "--data", data);

// Limits of a process that runs: what a full disk or table looks like to it.
function limit(server, what) {
    const done = command("prlimit", "--pid", String(server.process.pid), what);
    equal([done.code, done.err], [0, ""]);
}

async function connect(server) {
    return MongoClient.connect(server.mongoUrl, { serverSelectionTimeoutMS: 5000, retryWrites: false });
}

test("a full disk stops writes, is told, and a restart goes on where they stopped", async () => {
    const server = await start({ options: MONGO });
    const { database } = await server.client().databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/id" });
    await container.items.create({ id: "before" });
    const client = await connect(server);
    limit(server, "--fsize=1:");
    const refused = await container.items.create({ id: "during" }).catch((error) => error);
    ok(refused.code >= 500, `status ${refused.code}`);
    const again = await server.signed("POST", "/dbs", { body: { id: "more" } });
    equal(again.status, 503);
    matches(again.json.message, /disk/);
    const other = await client.db("d").collection("m").insertOne({ _id: 1 }).catch((error) => error);
    matches(other.message, /disk/);
    const health = await server.raw("GET", "/healthz");
    equal([health.status, health.json.status], [503, "writes stopped"]);
    matches(health.json.reason, /disk/);
    matches((await server.raw("GET", "/metrics")).text, /\nmayfly_commit_writes_stopped 1\n/);
    equal((await container.item("before", "before").read()).statusCode, 200, "reads go on");
    equal(await client.db("d").collection("c").countDocuments(), 1);
    await client.close();
    limit(server, "--fsize=unlimited:");
    equal(await server.stop(), 0);
    equal(check(server.data).code, 0);
    const next = await start({ data: server.data });
    equal((await next.raw("GET", "/healthz")).status, 200);
    const same = next.client().database("d").container("c");
    equal((await same.item("before", "before").read()).statusCode, 200);
    equal((await same.items.create({ id: "after" })).statusCode, 201);
    equal(await next.stop(), 0);
});

test("a damaged file is named and nothing of it is served", async () => {
    const server = await start({ options: MONGO });
    const text = () => crypto.randomBytes(600).toString("base64");
    const client = await connect(server);
    await client.db("d").collection("c").insertMany(Array.from({ length: 200 }, (_, i) => ({ _id: i, text: text() })));
    await client.close();
    equal(command(MAYFLY, "backup", "--data", server.data, "--to", temporaryDirectory()).code, 0);
    equal(await server.stop(), 0);
    const sizes = fs
        .readdirSync(server.data)
        .filter((name) => name.endsWith(".sst"))
        .map((name) => [fs.statSync(path.join(server.data, name)).size, name]);
    const [size, name] = sizes.sort((a, b) => b[0] - a[0])[0];
    const file = fs.openSync(path.join(server.data, name), "r+");
    fs.writeSync(file, Buffer.alloc(64, 0x5a), 0, 64, Math.floor(size / 3));
    fs.closeSync(file);
    const found = check(server.data);
    ok(found.code !== 0, "the check finds it");
    const damaged = await start({ options: MONGO, data: server.data });
    const other = await connect(damaged);
    const answer = await other.db("d").collection("c").find().toArray().catch((error) => error);
    ok(answer instanceof Error, "the whole is not served");
    matches(answer.message, /damaged/);
    await other.close();
    await damaged.stop();
    matches(damaged.errors, new RegExp(`storage_failed .*checksum mismatch.*${name}`));
});

test("a directory of another format is refused and left alone", async () => {
    const server = await start();
    equal(await server.stop(), 0);
    const mark = path.join(server.data, "MAYFLY");
    const files = fs.readdirSync(server.data).sort();
    for (const text of ["mayfly storage format 2\n", "mayfly storage format 0\n", "garbage"]) {
        fs.writeFileSync(mark, text);
        const done = command(MAYFLY, "serve", "--data", server.data, "--cosmos", "127.0.0.1:0", "--mongo", "none");
        equal(done.code, 1);
        matches(done.err, /does not name a storage format that this server knows/);
        equal(fs.readFileSync(mark, "utf8"), text);
    }
    equal(fs.readdirSync(server.data).sort(), files);
});

test("data of the first format are read by this version", async () => {
    const data = path.join(temporaryDirectory(), "data");
    fs.mkdirSync(data, { mode: 0o700 });
    const archive = path.join(__dirname, "fixtures/format-1.tar.gz");
    equal(command("tar", "xzf", archive, "-C", data).code, 0);
    const before = check(data);
    equal(before.code, 0, before.out + before.err);
    const server = await start({ options: MONGO, data });
    const container = server.client().database("shop").container("sessions");
    equal((await container.read()).resource.defaultTtl, 3600);
    const { resources } = await container.items.query("SELECT VALUE c.id FROM c ORDER BY c.id").fetchAll();
    equal(resources, ["for-ever"], "one lives, the others died long ago");
    equal((await container.item("for-ever", "ann").read()).resource.n, 7);
    const client = await connect(server);
    const events = client.db("shop").collection("events");
    equal(await events.find().sort({ _id: 1 }).toArray(), [
        { _id: 1, word: "one", at: new Date("2100-01-01T00:00:00Z") },
        { _id: 2, word: "two" },
    ]);
    const indexes = (await events.indexes()).map(({ name, expireAfterSeconds: ttl }) => [name, ttl]);
    equal(indexes, [["_id_", undefined], ["at_1", 60], ["word_1", undefined]]);
    await client.close();
    equal(await server.stop(), 0);
    equal(check(data).code, 0);
});

test("directories that cannot be used are refused with the reason", () => {
    const file = path.join(temporaryDirectory(), "file");
    fs.writeFileSync(file, "");
    for (const [data, pattern] of [
        [file, /is not a directory/],
        ["/proc/mayfly", /cannot create the directory \/proc\/mayfly/],
        ["/nowhere/at/all", /cannot create the directory/],
    ]) {
        const done = command(MAYFLY, "serve", "--data", data, "--cosmos", "127.0.0.1:0", "--mongo", "none");
        equal([data, done.code], [data, 1]);
        matches(done.err, pattern);
    }
});

test("without a free descriptor clients are refused, and later served again", async () => {
    const server = await start({ options: ["--core-dumps"] }); // or nobody but root can count its descriptors
    const used = fs.readdirSync(`/proc/${server.process.pid}/fd`).length;
    limit(server, `--nofile=${used + 8}:`);
    const sockets = [];
    let refused = 0;
    for (let i = 0; i < 40; i++) {
        const socket = net.connect(server.port, "127.0.0.1");
        socket.on("error", () => refused++);
        socket.on("end", () => refused++);
        sockets.push(socket);
        await new Promise((resolve) => socket.once("connect", resolve).once("error", resolve));
    }
    // Those that the server could not take are closed by it; wait for the first of them.
    while (refused === 0) await new Promise((resolve) => sockets.forEach((s) => s.once("close", resolve).resume()));
    for (const socket of sockets) socket.destroy();
    limit(server, "--nofile=1024:");
    equal((await server.raw("GET", "/healthz")).status, 200);
    equal(await server.stop(), 0);
    matches(server.errors, /connection\.refused reason="no file descriptor left"/);
});

test("thousands of idle clients, slow senders and slow readers keep nobody from being served", async () => {
    const server = await start({ options: [...MONGO, "--core-dumps"] });
    const resident = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.process.pid}/status`, "utf8"))[1]) / 1024;
    const open = (port) => {
        const socket = net.connect(port, "127.0.0.1");
        socket.on("error", () => 0);
        return new Promise((resolve) => socket.once("connect", () => resolve(socket)).once("error", () => resolve(null)));
    };
    const mongoPort = Number(/:(\d+)$/.exec(server.mongoUrl)[1]);
    const before = resident();
    const idle = [];
    for (let i = 0; i < 20; i++)
        idle.push(...(await Promise.all(Array.from({ length: 100 }, (_, n) => open(n % 2 ? server.port : mongoPort)))));
    ok(idle.every((socket) => socket), "2,000 clients are accepted; raise the limit of descriptors (ulimit -n) if not");
    const senders = await Promise.all(Array.from({ length: 50 }, () => open(server.port)));
    for (const socket of senders) socket.write("POST /dbs HTTP/1.1\r\nContent-Le");
    const readers = await Promise.all(Array.from({ length: 20 }, () => open(server.port)));
    for (const socket of readers) {
        socket.pause();
        socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2000));
    }
    const client = await MongoClient.connect(server.mongoUrl);
    for (let i = 0; i < 20; i++) await client.db("m").collection("c").insertOne({ i });
    equal(await client.db("m").collection("c").countDocuments(), 20);
    await client.close();
    for (let i = 0; i < 20; i++) equal((await server.raw("GET", "/healthz")).status, 200);
    ok(resident() - before < 150, `2,000 idle, 50 slow senders, 20 slow readers: ${before} MB became ${resident()} MB`);
    for (const socket of [...idle, ...senders, ...readers]) socket.destroy();
    equal((await server.raw("GET", "/healthz")).status, 200);
    equal(await server.stop(), 0);
});

// Writers through both faces that remember what was acknowledged; they end when the server does.
function load(server, client, ledger) {
    const container = server.client().database("load").container("both");
    const collection = client.db("load").collection("both");
    const write = async (n, act) => {
        for (let i = 0; !ledger.isOver; i++) {
            const id = `${n}-${ledger.round}-${i}`;
            try {
                ledger.intended.add(id);
                await act(id, i);
                ledger.acknowledged.add(id);
            } catch {
                if (ledger.isEnding) return;
                throw new Error("a write failed before the end");
            }
        }
    };
    const remove = async () => {
        while (!ledger.isOver) {
            const id = [...ledger.acknowledged][0];
            if (id === undefined) {
                await new Promise(setImmediate);
                continue;
            }
            ledger.acknowledged.delete(id);
            try {
                await collection.deleteOne({ _id: id });
                ledger.gone.add(id);
            } catch {
                return;
            }
        }
    };
    const change = async () => {
        for (let i = 0; !ledger.isOver; i++) {
            try {
                const definition = (await container.read()).resource;
                await container.replace({ ...definition, defaultTtl: i % 2 ? -1 : 100000 });
                await collection.createIndex({ n: 1 });
                await collection.dropIndex("n_1");
                await server.purge();
            } catch {
                return;
            }
        }
    };
    return Promise.all([
        write("c", (id, i) => container.items.create({ id, pk: 1, n: i })),
        write("m", (id, i) => collection.insertOne({ _id: id, pk: 1, n: i })),
        write("t", async (id, i) => {
            await container.items.upsert({ id, pk: 1, n: i, ttl: 1 });
            ledger.dying.add(id);
        }),
        remove(),
        change(),
    ]);
}

async function underLoad(server, ledger, end) {
    const client = await connect(server);
    Object.assign(ledger, { isOver: false, isEnding: false, round: (ledger.round ?? 0) + 1 });
    const work = load(server, client, ledger);
    const wanted = ledger.intended.size + 60;
    while (ledger.intended.size < wanted) await new Promise(setImmediate);
    ledger.isEnding = true;
    await end();
    ledger.isOver = true;
    await work;
    await client.close().catch(() => 0);
}

async function verify(server, ledger) {
    await server.advance(2000);
    const client = await connect(server);
    const found = new Set((await client.db("load").collection("both").find().toArray()).map((d) => d._id));
    for (const id of ledger.acknowledged) {
        if (!ledger.dying.has(id)) ok(found.has(id), `${id} was acknowledged and is lost`);
    }
    for (const id of found) ok(ledger.intended.has(id) && !ledger.gone.has(id), `${id} is back or was never written`);
    for (const id of ledger.dying) ok(!found.has(id), `${id} is dead and seen`);
    await client.close();
}

async function prepare() {
    const server = await start({ options: MONGO });
    const { database } = await server.client().databases.create({ id: "load" });
    await database.containers.create({ id: "both", partitionKey: "/pk", defaultTtl: -1 });
    return { server, ledger: { intended: new Set(), acknowledged: new Set(), gone: new Set(), dying: new Set() } };
}

test("kill -9 under the load of both faces loses nothing that was acknowledged", async () => {
    let { server, ledger } = await prepare();
    for (let i = 0; i < ROUNDS; i++) {
        await underLoad(server, ledger, () => server.kill());
        const checked = check(server.data);
        equal(checked.code, 0, checked.out + checked.err);
        server = await start({ options: MONGO, data: server.data });
        await verify(server, ledger);
    }
    equal(await server.stop(), 0);
});

test("SIGTERM under the load of both faces ends in order and loses nothing", async () => {
    const { server, ledger } = await prepare();
    let code;
    await underLoad(server, ledger, async () => (code = await server.stop()));
    equal(code, 0);
    equal(check(server.data).code, 0);
    const next = await start({ options: MONGO, data: server.data });
    await verify(next, ledger);
    equal(await next.stop(), 0);
});

run({ after: stopAll });

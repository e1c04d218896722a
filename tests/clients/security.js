#!/usr/bin/env node
// Who gets in, what is told of them, and what is never told: keys that are replaced, certificates that are renewed, the
// audit log, and secrets that appear nowhere.
"use strict";

const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const tls = require("node:tls");
const { MongoClient } = require("mongodb");
const { test, equal, ok, matches, run } = require("./support/check");
const { Wire } = require("./support/wire");
const { start, stopAll, temporaryDirectory, MAYFLY } = require("./support/server");

const MONGO = ["--mongo", "127.0.0.1:0"];
const makeKey = () => crypto.randomBytes(48).toString("base64");

function keyFile(text) {
    const file = path.join(temporaryDirectory(), "key");
    fs.writeFileSync(file, text, { mode: 0o600 });
    return file;
}

// Sends the signal and waits until the server has told of what it did.
async function signal(server, name, line) {
    const from = server.errors.length;
    server.process.kill(name);
    for (let i = 0; i < 30000; i++) {
        const found = server.errors.slice(from).split("\n").find((l) => line.test(l));
        if (found) return found;
        await new Promise((resolve) => server.process.stderr.once("data", resolve));
    }
    throw new Error(`no line ${line}`);
}

const statusWith = async (server, key, method = "GET", target = "/dbs", more = {}) =>
    (await server.signed(method, target, { key, ...more })).status;

test("keys are replaced while the server runs", async () => {
    const [old, next, last, reader] = [makeKey(), makeKey(), makeKey(), makeKey()];
    const file = keyFile(`primary = ${old}\n`);
    const server = await start({ options: ["--key-file", file] });
    equal(await statusWith(server, old), 200);
    equal(await statusWith(server, next), 401);

    fs.writeFileSync(file, `# both\nprimary = ${old}\nsecondary = ${next}\nprimary-read-only = ${reader}\n`);
    await signal(server, "SIGHUP", /reload\.done what=keys/);
    for (const key of [old, next, reader]) equal(await statusWith(server, key), 200);
    equal(await statusWith(server, next, "POST", "/dbs", { body: { id: "made" } }), 201);
    equal(await statusWith(server, reader, "POST", "/dbs", { body: { id: "not" } }), 403);
    equal(await statusWith(server, reader, "DELETE", "/dbs/made"), 403);

    fs.writeFileSync(file, `primary = ${next}\nsecondary = ${last}\n`);
    await signal(server, "SIGHUP", /reload\.done what=keys/);
    for (const key of [next, last]) equal(await statusWith(server, key), 200);
    for (const key of [old, reader]) equal(await statusWith(server, key), 401);

    fs.writeFileSync(file, "nonsense\n");
    matches(await signal(server, "SIGHUP", /reload\.failed what=keys/), /kept="as before"/);
    equal(await statusWith(server, next), 200, "the keys stay");
    equal(await server.stop(), 0);
});

test("a token outlives the step of its key from primary to secondary", async () => {
    const [old, next] = [makeKey(), makeKey()];
    const file = keyFile(`${old}\n`);
    const server = await start({ options: ["--key-file", file] });
    const client = server.client({ key: old });
    const { database } = await client.databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/id" });
    await container.items.create({ id: "i" });
    const { user } = await database.users.create({ id: "u" });
    const { resource } = await user.permissions.create({
        id: "p",
        permissionMode: "Read",
        resource: (await container.read()).resource._self,
    });
    const read = () =>
        server.raw("GET", "/dbs/d/colls/c/docs/i", {
            headers: {
                authorization: encodeURIComponent(resource._token),
                "x-ms-date": new Date().toUTCString(),
                "x-ms-documentdb-partitionkey": '["i"]',
            },
        });
    equal((await read()).status, 200);
    fs.writeFileSync(file, `primary = ${next}\nsecondary = ${old}\n`);
    await signal(server, "SIGHUP", /reload\.done what=keys/);
    equal((await read()).status, 200);
    fs.writeFileSync(file, `primary = ${next}\n`);
    await signal(server, "SIGHUP", /reload\.done what=keys/);
    equal((await read()).status, 401);
    equal(await server.stop(), 0);
});

const shownCertificate = (server) =>
    new Promise((resolve, reject) => {
        const socket = tls.connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () => {
            resolve({ of: socket.getPeerCertificate().fingerprint256, cipher: socket.getCipher().name, socket });
        });
        socket.on("error", reject);
    });

test("a certificate is renewed while the server runs, and open connections stay", async () => {
    const [first, second] = [await start(), await start()];
    const files = (from, to) => {
        for (const name of ["tls-cert.pem", "tls-key.pem"]) fs.copyFileSync(path.join(from, name), path.join(to, name));
    };
    const place = temporaryDirectory();
    files(first.data, place);
    const options = ["--cert", path.join(place, "tls-cert.pem"), "--key", path.join(place, "tls-key.pem")];
    const server = await start({ options });
    const before = await shownCertificate(server);
    files(second.data, place);
    await signal(server, "SIGHUP", /reload\.done what=certificate/);
    const after = await shownCertificate(server);
    ok(before.of !== after.of, "another certificate is shown");
    const answered = new Promise((resolve) => before.socket.once("data", resolve));
    before.socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    matches(String(await answered), /200 OK/);
    fs.writeFileSync(path.join(place, "tls-key.pem"), "nonsense");
    await signal(server, "SIGHUP", /reload\.failed what=certificate/);
    const kept = await shownCertificate(server);
    equal(kept.of, after.of);
    for (const shown of [before, after, kept]) shown.socket.destroy();
    for (const each of [first, second, server]) equal(await each.stop(), 0);
});

test("of TLS 1.2 only ciphers with forward secrecy are accepted", async () => {
    const server = await start();
    const attempt = (ciphers) =>
        new Promise((resolve) => {
            const socket = tls.connect(
                { host: "127.0.0.1", port: server.port, rejectUnauthorized: false, maxVersion: "TLSv1.2", ciphers },
                () => {
                    resolve(socket.getCipher().name);
                    socket.destroy();
                },
            );
            socket.on("error", () => resolve("refused"));
        });
    equal(await attempt("ECDHE-ECDSA-AES128-GCM-SHA256"), "ECDHE-ECDSA-AES128-GCM-SHA256");
    equal(await attempt("ECDHE-ECDSA-AES128-SHA"), "refused");
    equal(await attempt("AES128-SHA"), "refused");
    equal(await server.stop(), 0);
});

test("the audit log tells who came in, who was refused and who changed what", async () => {
    const file = path.join(temporaryDirectory(), "audit.log");
    const server = await start({ options: [...MONGO, "--audit-file", file] });
    const { database } = await server.client().databases.create({ id: "shop" });
    await database.containers.create({ id: "orders", partitionKey: "/id", defaultTtl: 60 });
    await server.signed("GET", "/dbs/shop/colls/orders/docs/secret-id", { key: makeKey() });
    const first = await MongoClient.connect(server.mongoUrl);
    await first.db("m").collection("c").createIndex({ at: 1 }, { expireAfterSeconds: 5, name: "t" });
    await first.db("m").command({ collMod: "c", index: { name: "t", expireAfterSeconds: 50 } });
    for (const n of [1, 2]) await first.db("m").collection("born").insertOne({ n });
    await first.db("m").createCollection("a result=done code=0 who=root");
    await first.db("admin").command({ createUser: "ann", pwd: "pass-word-1", roles: ["root"] });
    await first.close();
    const login = (name, word) => MongoClient.connect(server.mongoUrl.replace("//", `//${name}:${word}@`));
    await login("ann", "wrong-word-2").then(
        () => ok(false, "a wrong word is refused"),
        (error) => equal(error.code, 18),
    );
    const ann = await login("ann", "pass-word-1");
    await ann.db("m").dropCollection("c");
    await ann.close();
    const nobody = await MongoClient.connect(server.mongoUrl);
    await nobody.db("m\nfake").collection("x").findOne().catch(() => 0);
    await nobody.close();
    fs.renameSync(file, file + ".1");
    await signal(server, "SIGHUP", /reload\.done what=audit/);
    await server.client().database("shop").delete();
    equal(await server.stop(), 0);
    const lines = fs.readFileSync(file + ".1", "utf8");
    equal(lines.match(/made=collection/g), ["made=collection"], "once for each");
    for (const pattern of [
        /audit\.change .* who=- command=insert ns=m\.born made=collection result=done/,
        /audit\.change client=127\.0\.0\.1:\d+ who=primary request="POST \/dbs" id=shop status=201/,
        /audit\.change .* who=primary request="POST \/dbs\/shop\/colls" id=orders status=201/,
        /audit\.refused .* who=- request="GET \/dbs\/shop\/colls\/orders" status=401/,
        /audit\.change .* who=- command=createIndexes ns=m\.c result=done/,
        /audit\.change .* who=- command=collMod ns=m\.c result=done/,
        /audit\.change .* who=- command=create ns="m\.a result=done code=0 who=root" result=done/,
        /audit\.change .* who=- command=createUser ns=admin\S* user=ann \S+ result=done/,
        /audit\.refused .* who=ann@admin login=failed/,
        /audit\.login .* who=ann@admin result=accepted/,
        /audit\.change .* who=ann@admin command=drop ns=m\.c result=done/,
        /audit\.refused .* who=- command=find/,
    ])
        matches(lines, pattern);
    for (const line of lines.trim().split("\n")) matches(line, /^\d{4}-\S+Z info audit\.\w+ client=/);
    ok(!lines.includes("secret-id"), "no ids of items");
    matches(fs.readFileSync(file, "utf8"), /who=primary request="DELETE \/dbs\/shop" status=204/);
    equal(fs.statSync(file).mode & 0o777, 0o600);
});

test("a flood of refusals does not flood the audit log", async () => {
    const server = await start();
    const key = makeKey();
    for (let i = 0; i < 20; i++)
        await Promise.all(Array.from({ length: 20 }, () => server.signed("GET", "/dbs", { key })));
    const lines = server.errors.split("\n").filter((l) => l.includes("audit.refused"));
    ok(lines.length >= 1 && lines.length < 390, `${lines.length} lines for 400 refusals`);
    equal(await server.stop(), 0);
});

test("secrets appear in no log, no figure and no reply", async () => {
    const [key, reader] = [makeKey(), makeKey()];
    const words = [key, reader, "pass-word-1", "wrong-word-2", "document-content-3"];
    const audit = path.join(temporaryDirectory(), "audit.log");
    const options = [...MONGO, "--key-file", keyFile(`${key}\n${reader}\n`), "--audit-file", audit, "--log-level", "debug"];
    const server = await start({ options });
    const seen = [];
    for (const [each, target] of [[key, "/dbs"], [reader, "/dbs"], [makeKey(), "/dbs"], [key, "/dbs/none"]])
        seen.push((await server.signed("GET", target, { key: each })).text);
    const { database } = await server.client({ key }).databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/id" });
    await container.items.create({ id: "i", text: "document-content-3" });
    const client = await MongoClient.connect(server.mongoUrl);
    await client.db("m").collection("c").insertOne({ text: "document-content-3" });
    await client.db("admin").command({ setParameter: 1, logLevel: 5 }).catch(() => 0);
    await client.db("m").command({ profile: 1, slowms: 0 });
    await client.db("m").collection("c").findOne({ text: "document-content-3" });
    await client.db("admin").command({ createUser: "ann", pwd: "pass-word-1", roles: ["root"] });
    await client.close();
    await MongoClient.connect(server.mongoUrl.replace("//", "//ann:wrong-word-2@")).catch(() => 0);
    const ann = await MongoClient.connect(server.mongoUrl.replace("//", "//ann:pass-word-1@"));
    seen.push(JSON.stringify(await ann.db("admin").command({ getLog: "global" })));
    seen.push(JSON.stringify(await ann.db("admin").command({ usersInfo: "ann" })));
    seen.push(JSON.stringify(await ann.db("admin").command({ getCmdLineOpts: 1 })));
    seen.push(JSON.stringify(await ann.db("admin").command({ serverStatus: 1 })));
    await ann.close();
    seen.push((await server.raw("GET", "/metrics")).text);
    await signal(server, "SIGHUP", /reload\.done what=audit/);
    await signal(server, "SIGUSR1", /server\.status/);
    equal(await server.stop(), 0);
    seen.push(server.errors, fs.readFileSync(audit, "utf8"));
    for (const word of words) ok(!seen.some((text) => text.includes(word)), `${word} was shown`);
});

test("a status summary is written on SIGUSR1", async () => {
    const server = await start({ options: ["--log-level", "warning"] });
    const line = await signal(server, "SIGUSR1", /server\.status/);
    matches(line, /version=\S+ state=ok connections=\d+ requests=\d+ .* purged=\d+/);
    equal(await server.stop(), 0);
});

test("whatever the server writes is its owner's, and it leaves no core dump", async () => {
    const server = await start({ data: path.join(temporaryDirectory(), "made-by-itself") });
    equal(fs.statSync(server.data).mode & 0o777, 0o700);
    await server.client().databases.create({ id: "d" });
    for (const name of fs.readdirSync(server.data))
        equal([name, fs.statSync(path.join(server.data, name)).mode & 0o077], [name, 0]);
    // A process whose memory may not be dumped cannot be looked into by its own user either.
    const status = fs.readFileSync(`/proc/${server.process.pid}/status`, "utf8");
    matches(status, /NoNewPrivs:\s*1/);
    equal(await server.stop(), 0);
    fs.chmodSync(server.data, 0o755);
    const open = await start({ data: server.data });
    matches(open.errors, /directory\.open .* chmod 700/);
    equal(await open.stop(), 0);
});

test("a database is made although its audit file lies in its directory", async () => {
    const data = path.join(temporaryDirectory(), "data");
    fs.mkdirSync(data, { mode: 0o700 });
    const file = path.join(data, "audit.log");
    for (let i = 0; i < 2; i++) {
        const server = await start({ data, options: ["--audit-file", file] });
        equal((await server.signed("GET", "/dbs", { key: makeKey() })).status, 401);
        equal(await server.stop(), 0);
    }
    equal(fs.readFileSync(file, "utf8").split("audit.refused").length, 3);
});

const mayfly = (...words) => spawnSync(MAYFLY, words, { encoding: "utf8", timeout: 20000 });

test("a server gives up rights that it never needs", async () => {
    const facts = (server) => {
        const tasks = `/proc/${server.process.pid}/task`;
        const texts = fs.readdirSync(tasks).map((id) => fs.readFileSync(`${tasks}/${id}/status`, "utf8"));
        ok(texts.length > 1, "of all its threads");
        const of = (name) => [...new Set(texts.map((text) => new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)[1]))].join();
        return { calls: of("Seccomp"), privileges: of("NoNewPrivs"), user: of("Uid") };
    };
    const usual = await start();
    equal([facts(usual).calls, facts(usual).privileges], ["2", "1"], "no programs, no new rights");
    equal(await usual.stop(), 0);
    const open = await start({ options: ["--no-call-filter"] });
    equal([facts(open).calls, facts(open).privileges], ["0", "1"]);
    equal(await open.stop(), 0);
    const { status, stderr } = spawnSync(MAYFLY, ["serve", "--data", temporaryDirectory(), "--cosmos", "127.0.0.1:0", "--mongo", "none",
        "--user", "no-such-user"], { encoding: "utf8" });
    equal(status, 1);
    matches(stderr, /--user no-such-user: there is no such user/);
    if (process.getuid() !== 0) return; // only root can become somebody else
    const data = path.join(temporaryDirectory(), "data");
    fs.chmodSync(path.dirname(data), 0o755);
    fs.mkdirSync(data, 0o700);
    const id = Number(spawnSync("id", ["-u", "nobody"], { encoding: "utf8" }).stdout);
    fs.chownSync(data, id, id);
    const other = await start({ data, options: ["--user", "nobody"] });
    equal(facts(other).user, String(id));
    ok(fs.readdirSync(data).every((name) => fs.statSync(path.join(data, name)).uid === id), "all files are of that user");
    equal(await other.stop(), 0);
});

test("the audit log names what was changed, and what its owner asked of the server", async () => {
    const file = path.join(temporaryDirectory(), "audit.log");
    const key = makeKey();
    const keys = keyFile(`${key}\n`);
    const server = await start({ options: [...MONGO, "--audit-file", file, "--key-file", keys] });
    const { database } = await server.client({ key }).databases.create({ id: "my shop" });
    const { user } = await database.users.create({ id: "u" });
    const { container } = await database.containers.create({ id: "orders", partitionKey: "/id" });
    const self = (await container.read()).resource._self;
    await user.permissions.create({ id: "p", permissionMode: "Read", resource: self });
    await user.permission("p").delete();
    const client = await MongoClient.connect(server.mongoUrl);
    const [db, admin] = [client.db("m"), client.db("admin")];
    await db.collection("a").insertOne({ _id: 1 });
    await db.collection("a").rename("b");
    await db.collection("b").rename("gone", { dropTarget: true });
    await db.collection("gone").aggregate([{ $out: "o" }]).toArray();
    await db.collection("gone").aggregate([{ $merge: { into: { db: "n", coll: "x" } } }]).toArray();
    await db.collection("gone").aggregate([{ $match: { _id: 7 } }]).toArray();
    await admin.command({ killOp: 1, op: 123456 });
    await admin.command({ createUser: "ann", pwd: "pass-word-1", roles: ["root"] });
    await client.close();
    const ann = await MongoClient.connect(server.mongoUrl.replace("//", "//ann:pass-word-1@"));
    await ann.db("admin").command({ createUser: "bob", pwd: "pass-word-2", roles: [] });
    await ann.db("admin").command({ grantRolesToUser: "bob", roles: [{ role: "read", db: "m" }, "root"] });
    await ann.db("admin").command({ dropUser: "bob" });
    await ann.close();
    equal(mayfly("backup", "--data", server.data, "--to", path.join(temporaryDirectory(), "b")).status, 0);
    mayfly("confirm-clock", "--data", server.data);
    await signal(server, "SIGHUP", /reload\.done what=audit/);
    fs.writeFileSync(keys, "nonsense\n");
    await signal(server, "SIGHUP", /reload\.done what=audit/);
    equal(await server.stop(), 0);
    const lines = fs.readFileSync(file, "utf8");
    for (const pattern of [
        /request="POST \/dbs" id="my shop" status=201/,
        /request="POST \/dbs\/my shop\/users" id=u status=201/,
        /request="POST \/dbs\/my shop\/users\/u\/permissions" id=p status=201/,
        /request="DELETE \/dbs\/my shop\/users\/u\/permissions\/p" status=204/,
        /command=renameCollection ns=admin\.\$cmd from=m\.a to=m\.b result=done/,
        /command=renameCollection ns=admin\.\$cmd from=m\.b to=m\.gone result=done/,
        /command=aggregate ns=m\.gone to=m\.o result=done/,
        /command=aggregate ns=m\.gone to=n\.x result=done/,
        /command=killOp ns=admin\.\$cmd op=123456 result=/,
        /command=createUser ns=admin\.\$cmd user=ann roles=root@admin result=done/,
        /who=ann@admin command=createUser ns=admin\.\$cmd user=bob roles=- result=done/,
        /command=grantRolesToUser ns=admin\.\$cmd user=bob roles=read@m,root@admin result=done/,
        /command=dropUser ns=admin\.\$cmd user=bob result=done/,
        /audit\.change client=control who=owner request="POST \/_mayfly\/checkpoint" status=200/,
        /audit\.change client=control who=owner request="POST \/_mayfly\/confirm-clock" status=\d+/,
        /audit\.reload client=- who=SIGHUP what=keys result=done/,
        /audit\.reload client=- who=SIGHUP what=keys result=failed/,
    ])
        matches(lines, pattern);
    equal(lines.split("command=aggregate").length, 3, "one that reads is not told");
    ok(!lines.includes("pass-word"), "no secrets");
});

test("lines of the audit log that cannot be written are told, and a pipe is refused", async () => {
    const server = await start({ options: ["--audit-file", "/dev/full"] });
    for (let i = 0; i < 3; i++) await server.signed("GET", "/dbs", { key: makeKey() });
    equal(await server.stop(), 0);
    equal(server.errors.split("\n").filter((l) => /error audit\.failed .*No space left/.test(l)).length, 1);
    const pipe = path.join(temporaryDirectory(), "pipe");
    equal(spawnSync("mkfifo", [pipe]).status, 0);
    const ports = ["--cosmos", "127.0.0.1:0", "--mongo", "none"];
    const refused = mayfly("serve", "--storage", "memory", ...ports, "--audit-file", pipe);
    equal(refused.status, 1);
    matches(refused.stderr, /it is a pipe or a socket; expected the name of a file/);
});

test("a key file that others can read is warned of, at the start and when it is read again", async () => {
    const file = keyFile(`${makeKey()}\n`);
    fs.chmodSync(file, 0o644);
    const server = await start({ options: ["--key-file", file] });
    matches(server.errors, /warning keys\.open .* chmod 600/);
    await signal(server, "SIGHUP", /keys\.open/);
    equal(await server.stop(), 0);
    fs.chmodSync(file, 0o640);
    const closed = await start({ options: ["--key-file", file] });
    ok(!closed.errors.includes("keys.open"), "its group may read it");
    equal(await closed.stop(), 0);
});

// Whether the text is in memory that the process can write.
function isInMemory(pid, text) {
    const memory = fs.openSync(`/proc/${pid}/mem`, "r");
    const isIn = fs.readFileSync(`/proc/${pid}/maps`, "utf8").split("\n").some((line) => {
        const found = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
        if (!found) return false;
        const [from, to] = [parseInt(found[1], 16), parseInt(found[2], 16)];
        if (to - from > 1 << 28) return false;
        const bytes = Buffer.alloc(to - from);
        try {
            fs.readSync(memory, bytes, 0, bytes.length, from);
        } catch {
            return false; // a mapping of the kernel's own
        }
        return bytes.includes(text);
    });
    fs.closeSync(memory);
    return isIn;
}

// The state of SHA-256 behind one block, as a program has it in memory: whoever has that of a key can sign.
function hashState(block) {
    const { fractions, roots } = sha256Numbers();
    const turn = (x, n) => (x >>> n) | (x << (32 - n));
    const w = Array.from({ length: 16 }, (_, i) => block.readInt32BE(4 * i));
    for (let i = 16; i < 64; i++) {
        const [a, b] = [w[i - 15], w[i - 2]];
        w[i] = (w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))) | 0;
    }
    let [a, b, c, d, e, f, g, h] = roots;
    for (let i = 0; i < 64; i++) {
        const t = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + fractions[i] + w[i]) | 0;
        const u = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [a, b, c, d, e, f, g, h] = [(t + u) | 0, a, b, c, (d + t) | 0, e, f, g];
    }
    const out = Buffer.alloc(32);
    [a, b, c, d, e, f, g, h].forEach((word, i) => out.writeInt32LE((word + roots[i]) | 0, 4 * i));
    return out;
}

// The first bits behind the point of the square and cube roots of the first primes.
function sha256Numbers() {
    const primes = [];
    for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
    const bits = (x) => ((x - Math.floor(x)) * 4294967296) | 0;
    return { fractions: primes.map((p) => bits(Math.cbrt(p))), roots: primes.slice(0, 8).map((p) => bits(Math.sqrt(p))) };
}

// What a core dump would have of the process: all that it can write, but what it keeps out of dumps (dd in VmFlags).
function* dumpedMemory(pid) {
    const memory = fs.openSync(`/proc/${pid}/mem`, "r");
    const parts = fs.readFileSync(`/proc/${pid}/smaps`, "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
    for (const part of parts) {
        const found = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(part);
        if (!found || /^VmFlags:.* dd( |$)/m.test(part)) continue;
        const [from, to] = [parseInt(found[1], 16), parseInt(found[2], 16)];
        if (to - from > 1 << 28) continue;
        const bytes = Buffer.alloc(to - from);
        try {
            fs.readSync(memory, bytes, 0, bytes.length, from);
            yield bytes;
        } catch {
            // a mapping of the kernel's own
        }
    }
    fs.closeSync(memory);
}

test("keys are in no core dump, also where one is asked for", async () => {
    const key = makeKey();
    const directory = temporaryDirectory();
    const [cert, pem] = [path.join(directory, "cert.pem"), path.join(directory, "key.pem")];
    const made = spawnSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
        "-keyout", pem, "-out", cert], { encoding: "utf8" });
    equal(made.status, 0, made.stderr);
    const tlsKey = Buffer.from(crypto.createPrivateKey(fs.readFileSync(pem)).export({ format: "jwk" }).d, "base64url");
    const options = [...MONGO, "--key-file", keyFile(`${key}\n`), "--cert", cert, "--key", pem, "--core-dumps"];
    const server = await start({ options });
    const { database } = await server.client({ key }).databases.create({ id: "found-in-memory" });
    await database.containers.create({ id: "c", partitionKey: "/id" });
    const shown = spawnSync("openssl", ["s_client", "-connect", `127.0.0.1:${server.port}`], { input: "", encoding: "utf8" });
    matches(shown.stdout, /CN ?= ?localhost/);
    const raw = Buffer.from(key, "base64");
    const block = (pad) => Buffer.alloc(64, 0).map((_, i) => (raw[i] ?? 0) ^ pad);
    const secrets = { "the text of the key": key, "the key": raw, "what signs inside": hashState(block(0x36)),
        "what signs outside": hashState(block(0x5c)), "the key of the certificate": tlsKey,
        "the same backwards": Buffer.from(tlsKey).reverse() };
    let isControlFound = false;
    try {
        for (const bytes of dumpedMemory(server.process.pid)) {
            isControlFound ||= bytes.includes("found-in-memory");
            for (const [what, secret] of Object.entries(secrets))
                ok(!bytes.includes(secret), `${what} is not there`);
        }
        ok(isControlFound, "what is there is found");
    } catch (error) {
        if (!/EACCES|EPERM/.test(error.code)) throw error;
        console.log(`hint: nobody may look into the memory of others here (${error.code})`);
    }
    equal(await server.stop(), 0);
});

test("keys do not stay in the memory that they were read into", async () => {
    const [first, second] = [makeKey(), makeKey()];
    const file = keyFile(`primary = ${first}\nsecondary = ${second}\n`);
    const server = await start({ options: ["--key-file", file, "--core-dumps"] });
    try {
        fs.closeSync(fs.openSync(`/proc/${server.process.pid}/mem`, "r"));
    } catch (error) {
        console.log(`hint: nobody may look into the memory of others here (${error.code})`);
        equal(await server.stop(), 0);
        return;
    }
    ok(isInMemory(server.process.pid, file), "what is there is found");
    for (const key of [first, second]) ok(!isInMemory(server.process.pid, key), "after the start");
    const next = makeKey();
    fs.writeFileSync(file, `${next}\n`);
    await signal(server, "SIGHUP", /reload\.done what=keys/);
    equal(await statusWith(server, next), 200);
    ok(!isInMemory(server.process.pid, next), "after reading them again");
    equal(await server.stop(), 0);
});

test("what is wrong with a directory is told to those who confirm a clock", async () => {
    const refused = mayfly("confirm-clock", "--data", path.join(temporaryDirectory(), "nosuch"));
    equal(refused.status, 1);
    matches(refused.stderr, /there is no database in .*nosuch/);
});

// The rows of a table of the server, as lists of their words.
function rowsOf(file, pattern) {
    const text = fs.readFileSync(path.join(__dirname, "../../src/front", file), "utf8");
    return [...text.matchAll(pattern)].map((found) => found.slice(1));
}

test("no command of the table is for nobody, and none that writes for who only reads", async () => {
    const server = await start({ options: MONGO });
    const client = await MongoClient.connect(server.mongoUrl);
    await client.db("m").collection("c").insertOne({ _id: 1 });
    await client.db("admin").command({ createUser: "root", pwd: "pass-word", roles: ["root"] });
    await client.close();
    const as = (user) => MongoClient.connect(server.mongoUrl.replace("//", `//${user}:pass-word@`));
    const root = await as("root");
    await root.db("admin").command({ createUser: "reader", pwd: "pass-word", roles: [{ role: "read", db: "m" }] });
    const reader = await as("reader");
    const nobody = new Wire(server.mongoUrl, "admin");
    const state = async () => ({
        users: (await root.db("admin").command({ usersInfo: 1 })).users,
        collections: await root.db("m").listCollections().toArray(),
        databases: (await root.db("admin").admin().listDatabases({ nameOnly: true })).databases,
        documents: await root.db("m").collection("c").find().toArray(),
    });
    const before = await state();
    const commands = rowsOf("mongo/commands.def", /^COMMAND(?:_NOT)?\((\w+), (?:\w+, )?(ACCESS_\w+), ([^,]*), "/gm);
    ok(commands.length > 100, `${commands.length} commands`);
    const more = {
        bulkWrite: { bulkWrite: 1, ops: [{ insert: 0, document: { _id: 2 } }], nsInfo: [{ ns: "m.c" }] },
        insert: { insert: "c", documents: [{ _id: 2 }] },
        update: { update: "c", updates: [{ q: {}, u: { $set: { a: 1 } } }] },
        delete: { delete: "c", deletes: [{ q: {}, limit: 0 }] },
        findAndModify: { findAndModify: "c", update: { a: 1 } },
        findandmodify: { findandmodify: "c", remove: true },
        renameCollection: { renameCollection: "m.c", to: "m.d" },
        createUser: { createUser: "x", pwd: "pass-word", roles: [] },
    };
    for (const [name, access, traits] of commands) {
        const command = more[name] ?? { [name]: "c" };
        if (access !== "ACCESS_ANYONE") equal([name, (await nobody.send(command)).code], [name, 13]);
        if (!/TRAIT_WRITE/.test(traits) || name === "commitTransaction") continue;
        const db = reader.db(/TRAIT_ADMIN_ONLY/.test(traits) ? "admin" : "m");
        const reply = await db.command(command).catch((error) => error);
        const code = reply.code ?? reply.cursor?.firstBatch[0]?.code;
        equal([name, code], [name, 13]);
    }
    for (const stage of [{ $out: "x" }, { $merge: "x" }])
        equal((await reader.db("m").collection("c").aggregate([stage]).toArray().catch((error) => error)).code, 13);
    equal(await state(), before, "nothing has changed");
    nobody.close();
    await Promise.all([root.close(), reader.close()]);
    equal(await server.stop(), 0);
});

test("no route of the table is for nobody, and none that writes for a key that only reads", async () => {
    const [key, reader] = [makeKey(), makeKey()];
    const server = await start({ options: ["--key-file", keyFile(`${key}\n${reader}\n`)] });
    const routes = rowsOf("cosmos/routes.def", /^ROUTE\("(\w+)", "([^"]*)", FORM_(\w+), RIGHT_(\w+), /gm);
    ok(routes.length > 50, `${routes.length} routes`);
    const { database } = await server.client({ key }).databases.create({ id: "n" });
    const { container } = await database.containers.create({ id: "n", partitionKey: "/id" });
    await container.items.create({ id: "n" });
    await (await database.users.create({ id: "n" })).user.permissions.create({ id: "n", permissionMode: "All", resource: "dbs/n/colls/n" });
    const forms = { QUERY: { "x-ms-documentdb-isquery": "true", "content-type": "application/query+json" },
        PLAN: { "x-ms-cosmos-is-query-plan-request": "true", "content-type": "application/query+json" },
        BATCH: { "x-ms-cosmos-is-batch-request": "true" }, CHANGES: { "a-im": "Incremental feed" }, PLAIN: {} };
    for (const [method, place, form, right] of routes) {
        const target = "/" + place.replaceAll("*", "n");
        const how = { headers: { ...forms[form], "x-ms-documentdb-partitionkey": '["n"]' },
            body: method === "GET" || method === "DELETE" ? undefined : { id: "n", query: "SELECT * FROM c" } };
        equal([method, target, (await server.raw(method, target, how)).status], [method, target, 401]);
        // An operation is signed as what it works on.
        const signs = place.includes("/operations/") ? { link: "dbs/n/colls/n", type: "colls" } : {};
        const { status } = await server.signed(method, target, { key: reader, ...signs, ...how });
        if (right === "READ") ok(status !== 401 && status !== 403, `${method} ${target} is for who reads: ${status}`);
        else equal([method, target, status], [method, target, 403]);
    }
    equal((await container.items.readAll().fetchAll()).resources.length, 1, "nothing has changed");
    equal(await server.stop(), 0);
});

run({ after: stopAll });

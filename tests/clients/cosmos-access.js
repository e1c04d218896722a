#!/usr/bin/env node
// Who may do what, through @azure/cosmos: keys, users and permissions, https, sessions, enforced throughput.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { KEY, start, stopAll, newContainer, temporaryDirectory } = require("./support/server");
const { CosmosClient } = require("@azure/cosmos");
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");

// Keys of our own, 64 bytes each.
const OWN_KEY = Buffer.alloc(64, "master key of a test").toString("base64");
const READ_KEY = Buffer.alloc(64, "this one only reads").toString("base64");

let server;
let client;
let database;
let number = 0;

const newName = (kind) => `${kind}${++number}`;

// ---- keys -------------------------------------------------------------------------------------------

test("a wrong key is refused", async () => {
    const other = server.client({ key: OWN_KEY });
    const error = await fails(401, other.databases.readAll().fetchAll());
    equal(error.body.code, "Unauthorized");
});

test("a server with keys of its own takes no other", async () => {
    const file = path.join(temporaryDirectory(), "keys");
    fs.writeFileSync(file, `${OWN_KEY}\n${READ_KEY}\n`);
    const own = await start({ options: ["--key-file", file] });
    await fails(401, own.client({ key: KEY }).databases.create({ id: "d" }));
    equal((await own.client({ key: OWN_KEY }).databases.create({ id: "d" })).statusCode, 201);
    await own.stop();
});

test("the key that only reads reads everything and writes nothing", async () => {
    const file = path.join(temporaryDirectory(), "keys");
    fs.writeFileSync(file, `${OWN_KEY}\n${READ_KEY}\n`);
    const own = await start({ options: ["--key-file", file] });
    const container = await newContainer(own.client({ key: OWN_KEY }));
    await container.items.create({ id: "x", pk: "a", n: 1 });
    const reader = own.client({ key: READ_KEY });
    const readOnly = reader.database("tests").container(container.id);
    equal((await readOnly.item("x", "a").read()).resource.n, 1);
    equal((await readOnly.items.query("SELECT VALUE c.n FROM c").fetchAll()).resources, [1]);
    equal((await readOnly.items.readAll().fetchAll()).resources.length, 1);
    equal((await reader.databases.readAll().fetchAll()).resources.length, 1);
    equal((await readOnly.read()).resource.id, container.id);
    for (const attempt of [
        () => readOnly.items.create({ id: "y", pk: "a" }),
        () => readOnly.items.upsert({ id: "x", pk: "a" }),
        () => readOnly.item("x", "a").replace({ id: "x", pk: "a" }),
        () => readOnly.item("x", "a").delete(),
        () => readOnly.item("x", "a").patch([{ op: "set", path: "/n", value: 2 }]),
        () => readOnly.delete(),
        () => reader.databases.create({ id: "other" }),
        () => reader.database("tests").delete(),
        () => reader.database("tests").containers.create({ id: "other", partitionKey: "/pk" }),
        () => reader.database("tests").users.create({ id: "u" }),
    ])
        await fails(403, attempt());
    equal((await readOnly.item("x", "a").read()).resource.n, 1);
    await own.stop();
});

// ---- users and permissions --------------------------------------------------------------------------

test("a user is created, read, listed, queried, renamed and deleted", async () => {
    const id = newName("user");
    const created = await database.users.create({ id });
    equal(
        [created.statusCode, created.resource.id, created.resource._permissions],
        [201, id, "permissions/"],
    );
    await fails(409, database.users.create({ id }));
    equal((await database.user(id).read()).resource, created.resource);
    ok(
        (await database.users.readAll().fetchAll()).resources.some((u) => u.id === id),
        "listed",
    );
    const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: id }] };
    equal(
        (await database.users.query(query).fetchAll()).resources.map((u) => u.id),
        [id],
    );
    const renamed = newName("renamed");
    equal((await database.user(id).replace({ id: renamed })).resource.id, renamed);
    await fails(404, database.user(id).read());
    equal((await database.user(renamed).delete()).statusCode, 204);
    await fails(404, database.user(renamed).read());
});

test("a user can be upserted", async () => {
    const id = newName("user");
    equal((await database.users.upsert({ id })).statusCode, 201);
    equal((await database.users.upsert({ id })).statusCode, 200);
});

test("a permission is created, read, listed, replaced and deleted", async () => {
    const container = await newContainer(client);
    const { user } = await database.users.create({ id: newName("user") });
    const definition = { id: "p", permissionMode: "Read", resource: container.url };
    const created = await user.permissions.create(definition);
    equal(created.statusCode, 201);
    equal([created.resource.id, created.resource.permissionMode], ["p", "Read"]);
    matches(created.resource._token, /^type=resource&ver=1/);
    await fails(409, user.permissions.create(definition));
    equal((await user.permission("p").read()).resource.permissionMode, "Read");
    const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: "p" }] };
    equal((await user.permissions.query(query).fetchAll()).resources.length, 1);
    equal(
        (await user.permission("p").replace({ ...definition, permissionMode: "All" })).resource
            .permissionMode,
        "All",
    );
    equal((await user.permissions.upsert({ ...definition, id: "q" })).statusCode, 201);
    equal((await user.permissions.readAll().fetchAll()).resources.map((p) => p.id).sort(), ["p", "q"]);
    equal((await user.permission("p").delete()).statusCode, 204);
    await fails(404, user.permission("p").read());
});

eachRow(
    "a bad permission is refused",
    [
        { why: "no mode", permission: { permissionMode: undefined } },
        { why: "an unknown mode", permission: { permissionMode: "Some" } },
        { why: "no resource", permission: { resource: undefined } },
        { why: "a resource that is none", permission: { resource: "nonsense" } },
    ],
    async ({ permission }) => {
        const container = await newContainer(client);
        const { user } = await database.users.create({ id: newName("user") });
        const body = { id: "p", permissionMode: "All", resource: container.url, ...permission };
        await fails(400, user.permissions.create(body));
    },
);

// Of a request that shows this token.
const tokenHeaders = (token) => ({
    authorization: encodeURIComponent(token),
    "x-ms-date": new Date().toUTCString(),
    "x-ms-version": "2020-07-15",
    "x-ms-documentdb-partitionkey": '["a"]',
});

// A client that has nothing but the token of this permission.
async function holder(resource, permissionMode, more = {}, options = {}) {
    const { user } = await database.users.create({ id: newName("user") });
    const permission = (
        await user.permissions.create({ id: "p", permissionMode, resource, ...more }, options)
    ).resource;
    const limited = new CosmosClient({
        endpoint: server.url,
        permissionFeed: [permission],
        connectionPolicy: { enableBackgroundEndpointRefreshing: false },
    });
    return { limited, permission, user };
}

test("a token for a container reads and writes its items, and no others", async () => {
    const mine = await newContainer(client);
    const other = await newContainer(client);
    const { limited } = await holder(mine.url, "All");
    const container = limited.database("tests").container(mine.id);
    equal((await container.items.create({ id: "x", pk: "a", n: 1 })).statusCode, 201);
    equal((await container.item("x", "a").read()).resource.n, 1);
    equal((await container.items.query("SELECT VALUE c.n FROM c").fetchAll()).resources, [1]);
    equal((await container.item("x", "a").delete()).statusCode, 204);
    equal((await container.read()).resource.id, mine.id);
    const token = (await holder(mine.url, "All")).permission._token;
    const asked = await server.raw("GET", `/dbs/tests/colls/${other.id}/docs`, {
        headers: tokenHeaders(token),
    });
    equal(asked.status, 403, asked.text);
});

test("a token that only reads does not write", async () => {
    const mine = await newContainer(client);
    await mine.items.create({ id: "x", pk: "a", n: 1 });
    const { limited } = await holder(mine.url, "Read");
    const container = limited.database("tests").container(mine.id);
    equal((await container.item("x", "a").read()).resource.n, 1);
    await fails(403, container.items.create({ id: "y", pk: "a" }));
    await fails(403, container.item("x", "a").delete());
    await fails(403, container.item("x", "a").patch([{ op: "set", path: "/n", value: 2 }]));
});

test("a token for an item opens that item only", async () => {
    const mine = await newContainer(client);
    const { item } = await mine.items.create({ id: "x", pk: "a", n: 1 });
    await mine.items.create({ id: "y", pk: "a", n: 2 });
    const { permission } = await holder(item.url, "Read");
    const ask = (id) =>
        server.raw("GET", `/dbs/tests/colls/${mine.id}/docs/${id}`, {
            headers: tokenHeaders(permission._token),
        });
    equal((await ask("x")).status, 200);
    equal((await ask("y")).status, 403);
});

test("a token for a partition key opens that partition key only", async () => {
    const mine = await newContainer(client);
    await mine.items.create({ id: "x", pk: "a", n: 1 });
    await mine.items.create({ id: "x", pk: "b", n: 2 });
    const { limited } = await holder(mine.url, "All", { resourcePartitionKey: ["a"] });
    const container = limited.database("tests").container(mine.id);
    equal((await container.item("x", "a").read()).resource.n, 1);
    await fails(403, container.item("x", "b").read());
    equal(
        (await container.items.query("SELECT VALUE c.n FROM c", { partitionKey: "a" }).fetchAll()).resources,
        [1],
    );
    await fails(403, container.items.query("SELECT VALUE c.n FROM c", { partitionKey: "b" }).fetchAll());
    await fails(403, container.items.create({ id: "y", pk: "b" }));
});

test("a token that was tampered with opens nothing", async () => {
    const mine = await newContainer(client);
    const { permission } = await holder(mine.url, "Read");
    for (const token of [
        permission._token.replace(/.(?=;*$)/, (c) => (c === "A" ? "B" : "A")),
        "type=resource&ver=1.0&sig=;;",
        "type=resource&ver=1&sig=AAAA;BBBB;",
    ]) {
        const reply = await server.raw("GET", `/dbs/tests/colls/${mine.id}/docs`, {
            headers: tokenHeaders(token),
        });
        ok(reply.status === 401 || reply.status === 403, `status ${reply.status}`);
        ok(reply.json.message, "says why");
    }
});

test("with its container deleted and made again, a token is worth nothing", async () => {
    const mine = await newContainer(client);
    const { limited } = await holder(mine.url, "All");
    await mine.delete();
    await database.containers.create({ id: mine.id, partitionKey: "/pk" });
    const container = limited.database("tests").container(mine.id);
    const error = await container.items.create({ id: "x", pk: "a" }).then(
        () => null,
        (e) => e,
    );
    ok(error && (error.code === 401 || error.code === 403), `code ${error && error.code}`);
});

test("a token for a container is not for the rest of the account", async () => {
    const mine = await newContainer(client);
    const { permission } = await holder(mine.url, "All");
    const requests = [
        ["POST", "/dbs", { id: "more" }],
        ["DELETE", "/dbs/tests"],
        ["POST", "/dbs/tests/colls", { id: "more", partitionKey: { paths: ["/pk"] } }],
        ["GET", "/dbs/tests/users"],
        ["GET", "/dbs/tests"],
    ];
    for (const [method, target, body] of requests) {
        const reply = await server.raw(method, target, { body, headers: tokenHeaders(permission._token) });
        equal([reply.status, reply.json.code], [403, "Forbidden"], `${method} ${target}`);
    }
});

// ---- https ------------------------------------------------------------------------------------------

function secureClient(more = {}) {
    const agent = new https.Agent({ keepAlive: true, ca: fs.readFileSync(server.certificate) });
    return server.client({ endpoint: `https://127.0.0.1:${server.port}`, agent, ...more });
}

test("the same port speaks https, with the certificate it names", async () => {
    const secure = secureClient();
    const { resource } = await secure.getDatabaseAccount();
    equal(resource.writableLocations[0].databaseAccountEndpoint, `https://127.0.0.1:${server.port}/`);
    const container = await newContainer(secure, { defaultTtl: 100 });
    const created = (await container.items.create({ id: "x", pk: "a", text: "x".repeat(300000) })).resource;
    equal((await container.item("x", "a").read()).resource, created);
    equal(
        (await client.database("tests").container(container.id).item("x", "a").read()).resource,
        created,
        "over http too",
    );
    const operations = Array.from({ length: 50 }, (_, i) => ({
        operationType: "Create",
        resourceBody: { id: `b${i}`, pk: "a" },
    }));
    ok(
        (await container.items.bulk(operations)).every((r) => r.statusCode === 201),
        "a bulk",
    );
    equal((await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources, [51]);
    await server.advanceTo(created._ts + 100);
    equal((await container.item("x", "a").read()).statusCode, 404);
});

test("https works by the name localhost", async () => {
    const secure = secureClient({ endpoint: `https://localhost:${server.port}` });
    ok(Array.isArray((await secure.databases.readAll().fetchAll()).resources), "a list");
});

test("many https requests at a time come through", async () => {
    const container = await newContainer(secureClient());
    const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) => container.items.create({ id: `i${i}`, pk: `p${i % 5}` })),
    );
    ok(
        replies.every((r) => r.statusCode === 201),
        "all created",
    );
});

test("a client that does not know the certificate refuses the server", async () => {
    const doubtful = server.client({ endpoint: `https://127.0.0.1:${server.port}` });
    const error = await doubtful.databases
        .readAll()
        .fetchAll()
        .then(
            () => null,
            (e) => e,
        );
    matches(String(error && error.code), /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/);
});

test("a certificate of one's own is used", async () => {
    const copy = temporaryDirectory();
    const directory = path.dirname(server.certificate);
    const key = fs
        .readdirSync(directory)
        .map((f) => path.join(directory, f))
        .find(
            (f) => fs.statSync(f).isFile() && /PRIVATE KEY/.test(fs.readFileSync(f, "latin1").slice(0, 2000)),
        );
    fs.copyFileSync(server.certificate, path.join(copy, "cert.pem"));
    fs.copyFileSync(key, path.join(copy, "key.pem"));
    const own = await start({
        options: ["--cert", path.join(copy, "cert.pem"), "--key", path.join(copy, "key.pem")],
    });
    const agent = new https.Agent({ ca: fs.readFileSync(path.join(copy, "cert.pem")) });
    const secure = own.client({ endpoint: `https://127.0.0.1:${own.port}`, agent });
    equal((await secure.databases.create({ id: "d" })).statusCode, 201);
    await own.stop();
});

// ---- sessions ---------------------------------------------------------------------------------------

test("a client with session consistency reads its own writes and sends its token along", async () => {
    const sent = [];
    const spy = async (context, diagnostics, next) => {
        sent.push(context.headers["x-ms-session-token"]);
        return next(context);
    };
    const session = server.client({ consistencyLevel: "Session", plugins: [{ on: "request", plugin: spy }] });
    const container = await newContainer(session);
    for (let n = 0; n < 20; n++) {
        await container.items.upsert({ id: "x", pk: "a", n });
        equal((await container.item("x", "a").read()).resource.n, n);
        equal(
            (await container.items.query("SELECT VALUE c.n FROM c", { partitionKey: "a" }).fetchAll())
                .resources,
            [n],
        );
    }
    ok(sent.filter(Boolean).length > 10, `a token was sent ${sent.filter(Boolean).length} times`);
});

test("the session token grows with every write", async () => {
    const container = await newContainer(client);
    const lsn = (token) => Number(/#(\d+)/.exec(token)[1]);
    const first = (await container.items.create({ id: "x", pk: "a" })).headers["x-ms-session-token"];
    const second = (await container.item("x", "a").replace({ id: "x", pk: "a" })).headers[
        "x-ms-session-token"
    ];
    ok(lsn(second) > lsn(first), `${first} then ${second}`);
    const read = await container.item("x", "a").read();
    ok(lsn(read.headers["x-ms-session-token"]) >= lsn(second), "a read is not behind");
    const definition = (await container.read()).resource;
    equal(read.headers["x-ms-content-path"], definition._rid);
});

test("a session of a container that was made again goes on", async () => {
    const session = server.client({ consistencyLevel: "Session" });
    const container = await newContainer(session);
    for (let n = 0; n < 5; n++) await container.items.upsert({ id: "x", pk: "a", n });
    await container.delete();
    const again = (
        await session.database("tests").containers.create({ id: container.id, partitionKey: "/pk" })
    ).container;
    await again.items.create({ id: "y", pk: "a", n: 1 });
    equal((await again.item("y", "a").read()).resource.n, 1);
});

test("a session from before the data was lost is refused, and the client recovers", async () => {
    const container = await newContainer(client);
    await container.items.create({ id: "x", pk: "a", n: 1 });
    const headers = {
        "x-ms-documentdb-partitionkey": '["a"]',
        "x-ms-consistency-level": "Session",
        "x-ms-session-token": "0:-1#999999999",
    };
    const reply = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs/x`, { headers });
    equal([reply.status, reply.headers["x-ms-substatus"]], [404, "1002"]);
    const session = server.client({ consistencyLevel: "Session" }).database("tests").container(container.id);
    const read = await session.item("x", "a").read({ sessionToken: "0:-1#999999999" });
    equal(read.resource.n, 1);
});

eachRow(
    "a consistency level is taken",
    [
        { why: "Strong", level: "Strong" },
        { why: "BoundedStaleness", level: "BoundedStaleness" },
        { why: "ConsistentPrefix", level: "ConsistentPrefix" },
        { why: "Eventual", level: "Eventual" },
    ],
    async ({ level }) => {
        const container = await newContainer(client);
        await container.items.create({ id: "x", pk: "a" });
        const headers = { "x-ms-consistency-level": level, "x-ms-documentdb-partitionkey": '["a"]' };
        const reply = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs/x`, { headers });
        ok(reply.status === 200 || (reply.status === 400 && reply.json.message), `status ${reply.status}`);
    },
);

// ---- enforced throughput ----------------------------------------------------------------------------

test("without enforcement nobody is held up", async () => {
    const container = await newContainer(client, { throughput: 400 });
    const replies = await Promise.all(
        Array.from({ length: 300 }, (_, i) => container.items.create({ id: `i${i}`, pk: "a" })),
    );
    ok(
        replies.every((r) => r.statusCode === 201),
        "all created",
    );
});

test("with enforcement who asks too much is told to wait, and the client's retries bring all through", async () => {
    const strict = await start({ options: ["--enforce-throughput"] });
    let refused = 0;
    const count = async (context, diagnostics, next) => {
        try {
            return await next(context);
        } catch (error) {
            if (error.code === 429) refused++;
            throw error;
        }
    };
    const patient = strict.client({ plugins: [{ on: "request", plugin: count }] });
    const container = await newContainer(patient, { throughput: 400 });
    const text = "x".repeat(500);
    // Requests that came in together may overdraw the account together, so the next ones have to wait.
    for (let round = 0; round < 3; round++) {
        const replies = await Promise.all(
            Array.from({ length: 80 }, (_, i) =>
                container.items.create({ id: `i${round}-${i}`, pk: "a", text }),
            ),
        );
        ok(
            replies.every((r) => r.statusCode === 201),
            "all created in the end",
        );
    }
    ok(refused > 0, "some were told to wait");
    equal(
        (await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources,
        [240],
        "each once",
    );
    await strict.stop();
});

test("a refusal for throughput says how long to wait and writes nothing", async () => {
    const strict = await start({ options: ["--enforce-throughput"] });
    const container = await newContainer(strict.client(), { throughput: 400 });
    const target = `/dbs/tests/colls/${container.id}/docs`;
    const attempt = (i) =>
        strict.signed("POST", target, {
            body: { id: `i${i}`, pk: "a", text: "x".repeat(50000) },
            headers: { "content-type": "application/json", "x-ms-documentdb-partitionkey": '["a"]' },
        });
    let refused;
    for (let i = 0; i < 200 && !refused; i++) {
        const reply = await attempt(i);
        if (reply.status === 429) refused = { ...reply, i };
    }
    ok(refused, "somebody was refused");
    equal([refused.json.code, refused.headers["x-ms-substatus"]], ["TooManyRequests", "3200"]);
    ok(Number(refused.headers["x-ms-retry-after-ms"]) > 0, "a time to wait");
    const { status } = await strict.raw("GET", "/healthz");
    equal(status, 200, "pages of the server are not held up");
    await strict.stop();
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        ({ database } = await client.databases.createIfNotExists({ id: "tests" }));
    },
    after: stopAll,
});

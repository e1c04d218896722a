#!/usr/bin/env node
// The account, databases and offers, through @azure/cosmos.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer, MAYFLY } = require("./support/server");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

let server;
let client;
let databaseNumber = 0;

const newName = () => `d${++databaseNumber}`;
const ridBytes = (rid) => Buffer.from(rid.replace(/-/g, "/"), "base64").length;

// ---- the account ------------------------------------------------------------------------------------

test("the account says where to send requests", async () => {
    const { resource, headers } = await client.getDatabaseAccount();
    equal(
        resource.writableLocations.map((l) => l.databaseAccountEndpoint),
        [`${server.url}/`],
    );
    equal(
        resource.readableLocations.map((l) => l.databaseAccountEndpoint),
        [`${server.url}/`],
    );
    equal(resource.consistencyPolicy, "Session");
    equal(resource.enableMultipleWritableLocations, false);
    matches(headers["x-ms-activity-id"], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});

test("the account is not called localhost, which clients take for a sign to ask again and again", async () => {
    const { json } = await server.signed("GET", "/");
    ok(json.id && json.id !== "localhost", `id is ${json.id}`);
    equal(typeof json.queryEngineConfiguration, "string");
    ok(JSON.parse(json.queryEngineConfiguration).maxSqlQueryInputLength > 0, "query engine configuration");
});

test("the endpoint of the account is built from the name the client used", async () => {
    const { json } = await server.signed("GET", "/", { headers: { host: `localhost:${server.port}` } });
    equal(json.writableLocations[0].databaseAccountEndpoint, `http://localhost:${server.port}/`);
});

test("a client asks for the account once, not at every operation", async () => {
    let asked = 0;
    const count = async (context, diagnostics, next) => {
        if (context.path === "") asked++;
        return next(context);
    };
    const fresh = server.client({ plugins: [{ on: "request", plugin: count }] });
    const container = await newContainer(fresh);
    for (let i = 0; i < 5; i++) await container.items.create({ id: `i${i}`, pk: "a" });
    await container.items.readAll().fetchAll();
    ok(asked <= 1, `asked ${asked} times`);
});

test("a client that comes by the name localhost works as well", async () => {
    const named = server.client({ endpoint: `http://localhost:${server.port}` });
    const { resources } = await named.databases.readAll().fetchAll();
    ok(Array.isArray(resources), "a list");
});

test("the table of operations in the docs is up to date", async () => {
    const printed = spawnSync(MAYFLY, ["routes"], { encoding: "utf8" });
    equal(printed.status, 0, printed.stderr);
    const page = fs.readFileSync(path.join(__dirname, "../../docs/cosmos-coverage.md"), "utf8");
    ok(
        page === printed.stdout,
        "docs/cosmos-coverage.md is what `mayfly routes` prints; write it anew: build/mayfly routes > docs/cosmos-coverage.md",
    );
});

// ---- databases --------------------------------------------------------------------------------------

test("a database is created, read, listed and deleted", async () => {
    const id = newName();
    const created = await client.databases.create({ id });
    equal(created.statusCode, 201);
    const d = created.resource;
    equal(d.id, id);
    equal(ridBytes(d._rid), 4, "bytes of a database's resource id");
    equal(d._self, `dbs/${d._rid}/`);
    equal([d._colls, d._users], ["colls/", "users/"]);
    matches(d._etag, /^".+"$/);
    ok(Number.isInteger(d._ts) && d._ts > 1.7e9, "_ts in seconds");
    equal(created.headers.etag, d._etag);
    ok(Number(created.headers["x-ms-request-charge"]) > 0, "a charge");

    const read = await client.database(id).read();
    equal(read.statusCode, 200);
    equal(read.resource, d);
    const { resources } = await client.databases.readAll().fetchAll();
    equal(
        resources.find((other) => other.id === id),
        d,
    );

    equal((await client.database(id).delete()).statusCode, 204);
    await fails(404, client.database(id).read());
});

test("a database that exists cannot be created again", async () => {
    const id = newName();
    await client.databases.create({ id });
    await fails(409, client.databases.create({ id }), /already exists/);
});

test("createIfNotExists creates a database once and then finds it", async () => {
    const id = newName();
    equal((await client.databases.createIfNotExists({ id })).statusCode, 201);
    equal((await client.databases.createIfNotExists({ id })).statusCode, 200);
});

test("a database that was deleted and made again is another one", async () => {
    const id = newName();
    const first = await client.databases.create({ id });
    await client.database(id).delete();
    const second = await client.databases.create({ id });
    ok(first.resource._rid !== second.resource._rid, "another resource id");
});

test("deleting a database takes its containers along", async () => {
    const id = newName();
    const { database } = await client.databases.create({ id });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
    await container.items.create({ id: "x", pk: "a" });
    await database.delete();
    await fails(404, container.read());
    await client.databases.create({ id });
    await fails(404, container.read());
});

test("what is missing on the way to a resource is said to be missing", async () => {
    await fails(404, client.database("nowhere").read());
    await fails(404, client.database("nowhere").delete());
    await fails(404, client.database("nowhere").containers.create({ id: "c", partitionKey: "/pk" }));
    await fails(404, client.database("nowhere").containers.readAll().fetchAll());
    await fails(404, client.database("nowhere").container("c").read());
});

eachRow(
    "a database id may hold",
    [
        { why: "spaces", id: "with some spaces" },
        { why: "umlauts", id: "Datenbänke" },
        { why: "Japanese", id: "データベース" },
        { why: "an emoji", id: "mayfly 🦟" },
        { why: "percent signs that look like an escape", id: "50%41" },
        { why: "a plus and an ampersand", id: "a+b&c=d" },
        { why: "255 letters", id: "x".repeat(255) },
    ],
    async ({ id }) => {
        const { resource } = await client.databases.create({ id });
        equal(resource.id, id);
        equal((await client.database(id).read()).resource, resource);
        equal((await client.database(id).delete()).statusCode, 204);
    },
);

eachRow(
    "a bad database id is refused by the server",
    [
        { why: "no id", body: {} },
        { why: "an empty id", body: { id: "" } },
        { why: "a number", body: { id: 7 } },
        { why: "null", body: { id: null } },
        { why: "a slash", body: { id: "a/b" } },
        { why: "a backslash", body: { id: "a\\b" } },
        { why: "a hash", body: { id: "a#b" } },
        { why: "a question mark", body: { id: "a?b" } },
        { why: "a space at the end", body: { id: "a " } },
        { why: "256 letters", body: { id: "x".repeat(256) } },
        { why: "an array for a body", body: [] },
        { why: "text that is not JSON", body: "{" },
    ],
    async ({ body }) => {
        const reply = await server.signed("POST", "/dbs", {
            body,
            headers: { "content-type": "application/json" },
        });
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
    },
);

test("databases are read page by page", async () => {
    for (let i = 0; i < 5; i++) await client.databases.create({ id: newName() });
    const all = (await client.databases.readAll().fetchAll()).resources.map((d) => d.id);
    const paged = [];
    const pages = client.databases.readAll({ maxItemCount: 2 });
    for (let i = 0; pages.hasMoreResults() && i < 1000; i++) {
        const { resources } = await pages.fetchNext();
        ok((resources || []).length <= 2, "at most two to a page");
        paged.push(...(resources || []).map((d) => d.id));
    }
    equal(paged.sort(), all.sort());
});

test("databases answer to queries", async () => {
    const id = newName();
    await client.databases.create({ id });
    const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: id }] };
    const { resources } = await client.databases.query(query).fetchAll();
    equal(
        resources.map((d) => d.id),
        [id],
    );
    query.parameters[0].value = "nowhere";
    equal((await client.databases.query(query).fetchAll()).resources, []);
});

// ---- offers -----------------------------------------------------------------------------------------

test("a container's throughput can be read and replaced", async () => {
    const container = await newContainer(client, { throughput: 1000 });
    const { resource, offer } = await container.readOffer();
    const definition = (await container.read()).resource;
    equal(resource.content.offerThroughput, 1000);
    equal(
        [resource.offerVersion, resource.offerResourceId, resource.resource],
        ["V2", definition._rid, definition._self],
    );
    ok(resource._self.includes(resource.id), "_self holds the id");
    resource.content.offerThroughput = 2000;
    equal((await offer.replace(resource)).statusCode, 200);
    equal((await offer.read()).resource.content.offerThroughput, 2000);
    equal((await container.readOffer()).resource.content.offerThroughput, 2000);
});

test("autoscale throughput is kept with its maximum", async () => {
    const container = await newContainer(client, { maxThroughput: 4000 });
    const { resource } = await container.readOffer();
    equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
});

test("a database can have throughput of its own", async () => {
    const { database } = await client.databases.create({ id: newName(), throughput: 600 });
    const { resource } = await database.readOffer();
    equal(resource.content.offerThroughput, 600);
});

test("a container without throughput of its own still has an offer", async () => {
    const container = await newContainer(client);
    const { resource } = await container.readOffer();
    ok(resource.content.offerThroughput >= 400, "at least the smallest");
});

test("offers are listed and queried", async () => {
    const container = await newContainer(client, { throughput: 700 });
    const { _self } = (await container.read()).resource;
    const listed = (await client.offers.readAll().fetchAll()).resources.find((o) => o.resource === _self);
    equal(listed.content.offerThroughput, 700);
    const found = await client.offers.query(`SELECT * FROM root WHERE root.resource = "${_self}"`).fetchAll();
    equal(found.resources, [listed]);
});

test("an offer goes with its container", async () => {
    const container = await newContainer(client, { throughput: 500 });
    const { offer } = await container.readOffer();
    await container.delete();
    await fails(404, offer.read());
});

test("an offer cannot be replaced under another id or by nonsense", async () => {
    const container = await newContainer(client, { throughput: 500 });
    const { resource, offer } = await container.readOffer();
    await fails(400, offer.replace({ ...resource, id: "NotAllowed" }));
    for (const offerThroughput of [0, -1, 1.5, "many", 399]) {
        const content = { ...resource.content, offerThroughput };
        await fails(400, offer.replace({ ...resource, content }));
    }
    equal((await offer.read()).resource.content.offerThroughput, 500);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
    },
    after: stopAll,
});

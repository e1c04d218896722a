#!/usr/bin/env node
// Definitions of containers, through @azure/cosmos: what comes back, what is refused, what a replace keeps.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

let server;
let client;
let database;
let number = 0;

const newName = () => `definition${++number}`;
const ETAG_PATH = { path: '/"_etag"/?' };

async function create(properties) {
    const definition = { id: newName(), partitionKey: { paths: ["/pk"] }, ...properties };
    return (await database.containers.create(definition)).resource;
}

// Straight to the server, past the checks of the client.
const post = (body) =>
    server.signed("POST", "/dbs/definitions/colls", {
        body,
        headers: { "content-type": "application/json" },
    });

// ---- what comes back --------------------------------------------------------------------------------

test("a container comes back with every default filled in", async () => {
    const c = await create({ partitionKey: { paths: ["/pk"], version: 2 } });
    equal(c.indexingPolicy, {
        indexingMode: "consistent",
        automatic: true,
        includedPaths: [{ path: "/*" }],
        excludedPaths: [ETAG_PATH],
    });
    equal(c.partitionKey, { paths: ["/pk"], kind: "Hash", version: 2 });
    equal(c.geospatialConfig, { type: "Geography" });
    equal(c.conflictResolutionPolicy, {
        mode: "LastWriterWins",
        conflictResolutionPath: "/_ts",
        conflictResolutionProcedure: "",
    });
    equal(
        [c._docs, c._sprocs, c._triggers, c._udfs, c._conflicts],
        ["docs/", "sprocs/", "triggers/", "udfs/", "conflicts/"],
    );
    equal(Buffer.from(c._rid.replace(/-/g, "/"), "base64").length, 8, "bytes of a container's resource id");
    matches(c._self, /^dbs\/[^/]+\/colls\/[^/]+\/$/);
    matches(c._etag, /^".+"$/);
    ok(!("defaultTtl" in c), "time to live is off");
});

test("a container is created, read, listed, queried and deleted", async () => {
    const id = newName();
    const created = await database.containers.create({ id, partitionKey: "/pk" });
    equal(created.statusCode, 201);
    const read = await database.container(id).read();
    equal(read.resource, created.resource);
    equal(read.headers.etag, created.resource._etag);
    equal(read.headers["x-ms-documentdb-collection-index-transformation-progress"], "100");
    ok(!("x-ms-documentdb-collection-lazy-indexing-progress" in read.headers), "no lazy progress");
    const listed = (await database.containers.readAll().fetchAll()).resources.find((c) => c.id === id);
    equal(listed, created.resource);
    const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: id }] };
    equal((await database.containers.query(query).fetchAll()).resources, [created.resource]);
    equal((await database.container(id).delete()).statusCode, 204);
    await fails(404, database.container(id).read());
    await fails(404, database.container(id).delete());
});

test("a container that exists cannot be created again", async () => {
    const id = newName();
    await database.containers.create({ id, partitionKey: "/pk" });
    await fails(409, database.containers.create({ id, partitionKey: "/other" }));
    equal((await database.container(id).read()).resource.partitionKey.paths, ["/pk"]);
});

test("createIfNotExists creates a container once and then finds it", async () => {
    const id = newName();
    equal((await database.containers.createIfNotExists({ id, partitionKey: "/pk" })).statusCode, 201);
    equal((await database.containers.createIfNotExists({ id, partitionKey: "/pk" })).statusCode, 200);
});

test("a container that was deleted and made again is another one, and empty", async () => {
    const id = newName();
    const first = await database.containers.create({ id, partitionKey: "/pk" });
    await first.container.items.create({ id: "x", pk: "a" });
    await first.container.delete();
    const second = await database.containers.create({ id, partitionKey: "/pk" });
    ok(first.resource._rid !== second.resource._rid, "another resource id");
    equal((await second.container.items.readAll().fetchAll()).resources, []);
});

test("a partition key given as text means one path", async () => {
    equal((await create({ partitionKey: "/tenant" })).partitionKey.paths, ["/tenant"]);
});

eachRow(
    "a partition key is echoed",
    [
        { why: "nested", partitionKey: { paths: ["/a/b/c"], kind: "Hash", version: 2 } },
        { why: "quoted", partitionKey: { paths: ['/a/"b c"/d'], kind: "Hash", version: 2 } },
        {
            why: "hierarchical",
            partitionKey: { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 },
        },
        { why: "of the id", partitionKey: { paths: ["/id"], kind: "Hash", version: 2 } },
    ],
    async ({ partitionKey }) => {
        equal((await create({ partitionKey })).partitionKey, partitionKey);
    },
);

test("a container without a partition key gets one that no item has", async () => {
    const { resource } = await database.containers.create({ id: newName() });
    equal(resource.partitionKey.paths, ["/_partitionKey"]);
    const { status, json } = await post({ id: newName() });
    equal([status, json.partitionKey.paths], [201, ["/_partitionKey"]]);
});

test("an empty indexing policy means the default", async () => {
    const { indexingPolicy } = await create({ indexingPolicy: {} });
    equal([indexingPolicy.includedPaths, indexingPolicy.excludedPaths], [[{ path: "/*" }], [ETAG_PATH]]);
});

test("an indexing policy of one's own comes back with the etag excluded last", async () => {
    const { indexingPolicy } = await create({
        indexingPolicy: {
            indexingMode: "consistent",
            automatic: true,
            includedPaths: [{ path: "/*" }],
            excludedPaths: [{ path: "/secret/*" }],
        },
    });
    equal(indexingPolicy.excludedPaths, [{ path: "/secret/*" }, ETAG_PATH]);
});

test("composite indexes are echoed", async () => {
    const compositeIndexes = [
        [
            { path: "/a", order: "ascending" },
            { path: "/b", order: "descending" },
        ],
        [
            { path: "/c", order: "ascending" },
            { path: "/d", order: "ascending" },
        ],
    ];
    const { indexingPolicy } = await create({
        indexingPolicy: { includedPaths: [{ path: "/*" }], excludedPaths: [], compositeIndexes },
    });
    equal(indexingPolicy.compositeIndexes, compositeIndexes);
});

test("indexing can be switched off", async () => {
    const { indexingPolicy } = await create({ indexingPolicy: { indexingMode: "none", automatic: false } });
    equal(indexingPolicy.indexingMode, "none");
});

test("unique keys are echoed and hold", async () => {
    const uniqueKeyPolicy = { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/first", "/last"] }] };
    const c = await create({ uniqueKeyPolicy });
    equal(
        c.uniqueKeyPolicy.uniqueKeys.map((k) => k.paths),
        [["/email"], ["/first", "/last"]],
    );
    const { items } = database.container(c.id);
    await items.create({ id: "1", pk: "a", email: "x@y", first: "A", last: "B" });
    await fails(409, items.create({ id: "2", pk: "a", email: "x@y", first: "C", last: "D" }));
    await fails(409, items.create({ id: "2", pk: "a", email: "z@y", first: "A", last: "B" }));
    equal((await items.create({ id: "2", pk: "a", email: "z@y", first: "A", last: "C" })).statusCode, 201);
    equal(
        (await items.create({ id: "1", pk: "b", email: "x@y", first: "A", last: "B" })).statusCode,
        201,
        "another partition key has its own",
    );
});

eachRow(
    "other properties of a definition are kept",
    [
        { why: "geometry", property: { geospatialConfig: { type: "Geometry" } } },
        { why: "analytical storage", property: { analyticalStorageTtl: -1 } },
        {
            why: "own conflict path",
            property: {
                conflictResolutionPolicy: {
                    mode: "LastWriterWins",
                    conflictResolutionPath: "/version",
                    conflictResolutionProcedure: "",
                },
            },
        },
    ],
    async ({ property }) => {
        const c = await create(property);
        for (const [name, value] of Object.entries(property)) equal(c[name], value);
    },
);

eachRow(
    "a container id may hold",
    [
        { why: "spaces", id: "with some spaces" },
        { why: "Cyrillic", id: "поденка" },
        { why: "percent signs that look like an escape", id: "100%25" },
        { why: "an emoji", id: "🦟" },
    ],
    async ({ id }) => {
        const { container, resource } = await database.containers.create({ id, partitionKey: "/pk" });
        equal(resource.id, id);
        await container.items.create({ id: "x", pk: "a" });
        equal((await container.item("x", "a").read()).resource.pk, "a");
        await container.delete();
    },
);

// ---- what is refused --------------------------------------------------------------------------------

eachRow(
    "a bad definition is refused",
    [
        { why: "paths that are text", body: { id: "bad", partitionKey: { paths: "/pk" } } },
        { why: "no path at all", body: { id: "bad", partitionKey: { paths: [] } } },
        { why: "a path without slash", body: { id: "bad", partitionKey: { paths: ["pk"] } } },
        { why: "a path with a stray character", body: { id: "bad", partitionKey: { paths: ["/a*"] } } },
        { why: "a path that ends in a slash", body: { id: "bad", partitionKey: { paths: ["/pk/"] } } },
        { why: "an unknown kind", body: { id: "bad", partitionKey: { paths: ["/pk"], kind: "Rainbow" } } },
        {
            why: "two paths of kind Hash",
            body: { id: "bad", partitionKey: { paths: ["/a", "/b"], kind: "Hash" } },
        },
        {
            why: "four paths",
            body: {
                id: "bad",
                partitionKey: { paths: ["/a", "/b", "/c", "/d"], kind: "MultiHash", version: 2 },
            },
        },
        {
            why: "MultiHash without slash",
            body: { id: "bad", partitionKey: { paths: ["a", "/b"], kind: "MultiHash", version: 2 } },
        },
        {
            why: "an unknown indexing mode",
            body: {
                id: "bad",
                partitionKey: { paths: ["/pk"] },
                indexingPolicy: { indexingMode: "sometimes" },
            },
        },
        {
            why: "an index path that is none",
            body: {
                id: "bad",
                partitionKey: { paths: ["/pk"] },
                indexingPolicy: { includedPaths: [{ path: "a" }] },
            },
        },
        {
            why: "a unique key without paths",
            body: {
                id: "bad",
                partitionKey: { paths: ["/pk"] },
                uniqueKeyPolicy: { uniqueKeys: [{ paths: [] }] },
            },
        },
        { why: "a number for an id", body: { id: 7, partitionKey: { paths: ["/pk"] } } },
        { why: "an empty id", body: { id: "", partitionKey: { paths: ["/pk"] } } },
        { why: "a slash in the id", body: { id: "a/b", partitionKey: { paths: ["/pk"] } } },
        { why: "an id that ends in a space", body: { id: "a ", partitionKey: { paths: ["/pk"] } } },
        { why: "an array for a body", body: [] },
    ],
    async ({ body }) => {
        const before = (await database.containers.readAll().fetchAll()).resources.length;
        const reply = await post(body.id === "bad" ? { ...body, id: newName() } : body);
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
        equal((await database.containers.readAll().fetchAll()).resources.length, before);
    },
);

// ---- replace ----------------------------------------------------------------------------------------

test("a replace changes the indexing policy and leaves the items alone", async () => {
    const c = await create();
    const container = database.container(c.id);
    await container.items.create({ id: "x", pk: "a", n: 1 });
    const indexingPolicy = { ...c.indexingPolicy, excludedPaths: [{ path: "/blob/*" }] };
    const replaced = await container.replace({ ...c, indexingPolicy });
    equal(replaced.statusCode, 200);
    equal(replaced.resource.indexingPolicy.excludedPaths, [{ path: "/blob/*" }, ETAG_PATH]);
    equal(replaced.resource._rid, c._rid);
    ok(replaced.resource._etag !== c._etag, "another etag");
    equal((await container.item("x", "a").read()).resource.n, 1);
});

test("a replace cannot change the partition key, the id or the unique keys", async () => {
    const c = await create({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
    const container = database.container(c.id);
    await fails(400, container.replace({ ...c, partitionKey: { paths: ["/other"] } }));
    await fails(400, container.replace({ ...c, id: newName() }));
    await fails(400, container.replace({ ...c, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/x"] }] } }));
    equal((await container.read()).resource, c);
});

test("a replace under an old etag is refused and changes nothing", async () => {
    const c = await create();
    const container = database.container(c.id);
    await container.replace({ ...c, defaultTtl: 10 });
    const accessCondition = { type: "IfMatch", condition: c._etag };
    await fails(412, container.replace({ ...c, defaultTtl: 20 }, { accessCondition }));
    equal((await container.read()).resource.defaultTtl, 10);
});

test("a replace of a container that is not there is refused", async () => {
    await fails(
        404,
        database.container("nowhere").replace({ id: "nowhere", partitionKey: { paths: ["/pk"] } }),
    );
});

test("C-8 a replace that carries id and partition key only removes the time to live and nothing else", async () => {
    const c = await create({
        defaultTtl: 60,
        indexingPolicy: {
            includedPaths: [{ path: "/*" }],
            excludedPaths: [{ path: "/secret/*" }],
            compositeIndexes: [
                [
                    { path: "/a", order: "ascending" },
                    { path: "/b", order: "descending" },
                ],
            ],
        },
        uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] },
        conflictResolutionPolicy: {
            mode: "LastWriterWins",
            conflictResolutionPath: "/v",
            conflictResolutionProcedure: "",
        },
        geospatialConfig: { type: "Geometry" },
    });
    const { resource } = await database.container(c.id).replace({ id: c.id, partitionKey: c.partitionKey });
    const { defaultTtl, _etag, _ts, ...kept } = c;
    const { _etag: newEtag, _ts: newTs, ...got } = resource;
    equal(got, kept);
});

// ---- usage and the rest -----------------------------------------------------------------------------

test("the quota of a container is told when asked for", async () => {
    const container = await newContainer(client);
    await container.items.create({ id: "x", pk: "a" });
    const { headers } = await container.read({ populateQuotaInfo: true });
    ok(headers["x-ms-resource-quota"].includes("collectionSize=10485760"), headers["x-ms-resource-quota"]);
    matches(headers["x-ms-resource-usage"], /documentsCount=1(;|$)/);
});

test("the partition key ranges cover everything", async () => {
    const container = await newContainer(client);
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    let at = "";
    for (const range of resources.sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))) {
        equal(range.minInclusive, at);
        at = range.maxExclusive;
    }
    equal(at, "FF");
});

test("who reads the partition key ranges as changes is told when there are none", async () => {
    const container = await newContainer(client);
    const target = `/dbs/tests/colls/${container.id}/pkranges`;
    const first = await server.signed("GET", target, { headers: { "a-im": "Incremental feed" } });
    equal(first.status, 200);
    ok(first.headers.etag, "an etag");
    const headers = { "a-im": "Incremental feed", "if-none-match": first.headers.etag };
    const second = await server.signed("GET", target, { headers });
    equal([second.status, second.text], [304, ""]);
});

test("feeds of scripts and conflicts are there and empty", async () => {
    const container = await newContainer(client);
    equal((await container.conflicts.readAll().fetchAll()).resources, []);
    equal((await container.scripts.storedProcedures.readAll().fetchAll()).resources, []);
    equal((await container.scripts.triggers.readAll().fetchAll()).resources, []);
    equal((await container.scripts.userDefinedFunctions.readAll().fetchAll()).resources, []);
    const query = "SELECT * FROM root r WHERE r.id='x'";
    equal((await container.scripts.storedProcedures.query(query).fetchAll()).resources, []);
});

test("what the server does not do is refused by name", async () => {
    const container = await newContainer(client);
    const { scripts } = container;
    await fails(
        501,
        scripts.storedProcedures.create({ id: "p", body: "function () {}" }),
        /stored procedures/,
    );
    await fails(501, scripts.userDefinedFunctions.create({ id: "u", body: "function () {}" }), /functions/);
    await fails(
        501,
        scripts.triggers.create({
            id: "t",
            body: "function () {}",
            triggerType: "Pre",
            triggerOperation: "All",
        }),
        /triggers/,
    );
    const { items } = container;
    await fails(501, items.create({ id: "x", pk: "a" }, { preTriggerInclude: "t" }), /trigger t/);
    await fails(501, items.upsert({ id: "x", pk: "a" }, { postTriggerInclude: ["t"] }), /trigger t/);
    equal((await container.item("x", "a").read()).statusCode, 404);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        ({ database } = await client.databases.create({ id: "definitions" }));
    },
    after: stopAll,
});

#!/usr/bin/env node
// Queries and feeds of items, through @azure/cosmos: what the language answers, pages and continuations, plans,
// metrics, errors.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

let server;
let client;
let container;

// Twelve items under three partition keys. `n` is 0..11; `odd` is there in every second one only; `mixed` has a
// value of another type in each.
const MIXED = [null, false, true, -1, 2.5, "a", "b", [1], { x: 1 }];
const ITEMS = Array.from({ length: 12 }, (_, n) => ({
    id: `i${String(n).padStart(2, "0")}`,
    pk: `p${n % 3}`,
    n,
    name: "abcdefghijkl"[n],
    tags: [n, n % 2 ? "odd" : "even"],
    deep: { half: n / 2, list: [{ v: n }] },
    ...(n % 2 ? { odd: true } : {}),
    ...(n < MIXED.length ? { mixed: MIXED[n] } : {}),
}));

async function query(text, parameters, options) {
    const body = parameters
        ? { query: text, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) }
        : text;
    return (await container.items.query(body, options).fetchAll()).resources;
}

const ids = (resources) => resources.map((r) => r.id).sort();
const idsWhere = (claim) =>
    ITEMS.filter(claim)
        .map((i) => i.id)
        .sort();

// ---- what is selected -------------------------------------------------------------------------------

eachRow(
    "a filter chooses",
    [
        { why: "everything", where: "true", claim: () => true },
        { why: "equal numbers", where: "c.n = 3", claim: (i) => i.n === 3 },
        { why: "equal text", where: "c.name = 'c'", claim: (i) => i.name === "c" },
        { why: "text in double quotes", where: 'c.name = "c"', claim: (i) => i.name === "c" },
        { why: "unequal", where: "c.n != 3", claim: (i) => i.n !== 3 },
        { why: "unequal, the other way", where: "c.n <> 3", claim: (i) => i.n !== 3 },
        { why: "less", where: "c.n < 3", claim: (i) => i.n < 3 },
        { why: "at most", where: "c.n <= 3", claim: (i) => i.n <= 3 },
        { why: "more", where: "c.n > 8", claim: (i) => i.n > 8 },
        { why: "at least", where: "c.n >= 8", claim: (i) => i.n >= 8 },
        { why: "between", where: "c.n BETWEEN 3 AND 5", claim: (i) => i.n >= 3 && i.n <= 5 },
        { why: "text in order", where: "c.name > 'j'", claim: (i) => i.name > "j" },
        { why: "and", where: "c.n > 2 AND c.n < 5", claim: (i) => i.n > 2 && i.n < 5 },
        { why: "or", where: "c.n = 1 OR c.name = 'c'", claim: (i) => i.n === 1 || i.n === 2 },
        { why: "not", where: "NOT (c.n > 2)", claim: (i) => i.n <= 2 },
        { why: "and before or", where: "c.n = 1 OR c.n = 2 AND c.name = 'x'", claim: (i) => i.n === 1 },
        { why: "brackets", where: "(c.n = 1 OR c.n = 2) AND c.name = 'c'", claim: (i) => i.n === 2 },
        { why: "in a list", where: "c.n IN (1, 5, 99)", claim: (i) => i.n === 1 || i.n === 5 },
        { why: "not in a list", where: "c.n NOT IN (1, 5, 99)", claim: (i) => i.n !== 1 && i.n !== 5 },
        { why: "in a list of text", where: "c.name IN ('a', 'b')", claim: (i) => i.n < 2 },
        { why: "is there", where: "IS_DEFINED(c.odd)", claim: (i) => "odd" in i },
        { why: "is not there", where: "NOT IS_DEFINED(c.odd)", claim: (i) => !("odd" in i) },
        { why: "a flag", where: "c.odd", claim: (i) => i.odd === true },
        { why: "a flag that is missing is not its opposite", where: "c.odd = false", claim: () => false },
        { why: "null", where: "c.mixed = null", claim: (i) => i.mixed === null },
        {
            why: "not null",
            where: "c.mixed != null",
            claim: (i) => i.mixed !== undefined && i.mixed !== null,
        },
        { why: "an array as a whole", where: "c.mixed = [1]", claim: (i) => i.n === 7 },
        { why: "an object as a whole", where: "c.mixed = {'x': 1}", claim: (i) => i.n === 8 },
        { why: "numbers do not compare with text", where: "c.mixed > 'a'", claim: (i) => i.mixed === "b" },
        { why: "a nested property", where: "c.deep.half = 2.5", claim: (i) => i.n === 5 },
        { why: "a property by brackets", where: 'c["deep"]["half"] >= 5', claim: (i) => i.n >= 10 },
        { why: "an element", where: "c.tags[1] = 'odd'", claim: (i) => i.n % 2 === 1 },
        { why: "a property of an element", where: "c.deep.list[0].v = 7", claim: (i) => i.n === 7 },
        { why: "arithmetic", where: "c.n * 2 + 1 = 7", claim: (i) => i.n === 3 },
        { why: "a remainder", where: "c.n % 5 = 0", claim: (i) => i.n % 5 === 0 },
        { why: "negative numbers", where: "-c.n < -9", claim: (i) => i.n > 9 },
        { why: "the id", where: "c.id = 'i07'", claim: (i) => i.n === 7 },
        { why: "the partition key", where: "c.pk = 'p1'", claim: (i) => i.pk === "p1" },
        { why: "nothing", where: "false", claim: () => false },
    ],
    async ({ where, claim }) => {
        equal(ids(await query(`SELECT * FROM c WHERE ${where}`)), idsWhere(claim));
    },
);

test("a query without filter gives whole items with their system properties", async () => {
    const resources = await query("SELECT * FROM c");
    equal(
        ids(resources),
        idsWhere(() => true),
    );
    for (const r of resources) {
        const { _rid, _self, _etag, _ts, _attachments, ...own } = r;
        equal(own, ITEMS[r.n]);
        ok(_rid && _self && _etag && _ts && _attachments, "all of them");
    }
});

eachRow(
    "a projection gives",
    [
        {
            why: "properties in the order of the query",
            text: "SELECT c.name, c.n FROM c WHERE c.n = 1",
            want: [{ name: "b", n: 1 }],
        },
        { why: "another name", text: "SELECT c.n AS number FROM c WHERE c.n = 1", want: [{ number: 1 }] },
        {
            why: "the last name of a path",
            text: "SELECT c.deep.half FROM c WHERE c.n = 1",
            want: [{ half: 0.5 }],
        },
        {
            why: "no property that is missing",
            text: "SELECT c.n, c.odd FROM c WHERE c.n = 2",
            want: [{ n: 2 }],
        },
        { why: "null where null is", text: "SELECT c.mixed FROM c WHERE c.n = 0", want: [{ mixed: null }] },
        {
            why: "numbered names for expressions",
            text: "SELECT c.n + 1, c.n * 2 FROM c WHERE c.n = 3",
            want: [{ $1: 4, $2: 6 }],
        },
        {
            why: "an object of one's own",
            text: "SELECT {'a': c.n, 'b': c.name} AS o FROM c WHERE c.n = 1",
            want: [{ o: { a: 1, b: "b" } }],
        },
        { why: "a bare value", text: "SELECT VALUE c.name FROM c WHERE c.n = 1", want: ["b"] },
        { why: "a bare object", text: "SELECT VALUE {'n': c.n} FROM c WHERE c.n = 1", want: [{ n: 1 }] },
        { why: "a bare array", text: "SELECT VALUE [c.n, c.name] FROM c WHERE c.n = 1", want: [[1, "b"]] },
        {
            why: "no row for a value that is missing",
            text: "SELECT VALUE c.odd FROM c WHERE c.n = 2",
            want: [],
        },
        {
            why: "under any name for the item",
            text: "SELECT r.n FROM root r WHERE r.n = 1",
            want: [{ n: 1 }],
        },
        { why: "whatever case keywords have", text: "select value C.n from C where C.n in (1)", want: [1] },
        { why: "with comments", text: "SELECT VALUE c.n -- the number\nFROM c WHERE c.n = 1", want: [1] },
    ],
    async ({ text, want }) => {
        const got = await query(text);
        equal(got, want);
        equal(
            got.map((g) => (g && typeof g === "object" ? Object.keys(g) : null)),
            want.map((w) => (w && typeof w === "object" ? Object.keys(w) : null)),
            "order of names",
        );
    },
);

eachRow(
    "parameters may be",
    [
        { why: "numbers", where: "c.n = @v", v: 3, claim: (i) => i.n === 3 },
        { why: "text", where: "c.name = @v", v: "c", claim: (i) => i.n === 2 },
        { why: "text that would be code", where: "c.name = @v", v: "' OR true --", claim: () => false },
        { why: "true", where: "c.odd = @v", v: true, claim: (i) => i.odd },
        { why: "null", where: "c.mixed = @v", v: null, claim: (i) => i.mixed === null },
        { why: "arrays as a whole", where: "c.tags = @v", v: [4, "even"], claim: (i) => i.n === 4 },
        { why: "objects as a whole", where: "c.mixed = @v", v: { x: 1 }, claim: (i) => i.n === 8 },
        {
            why: "arrays to look into",
            where: "ARRAY_CONTAINS(@v, c.n)",
            v: [1, 2],
            claim: (i) => i.n === 1 || i.n === 2,
        },
    ],
    async ({ where, v, claim }) => {
        equal(ids(await query(`SELECT * FROM c WHERE ${where}`, { "@v": v })), idsWhere(claim));
    },
);

// ---- order, top, offset -----------------------------------------------------------------------------

eachRow(
    "an order gives",
    [
        {
            why: "numbers going up",
            text: "SELECT VALUE c.n FROM c ORDER BY c.n",
            want: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        },
        {
            why: "numbers going down",
            text: "SELECT VALUE c.n FROM c WHERE c.n < 4 ORDER BY c.n DESC",
            want: [3, 2, 1, 0],
        },
        {
            why: "text",
            text: "SELECT VALUE c.name FROM c WHERE c.n < 3 ORDER BY c.name DESC",
            want: ["c", "b", "a"],
        },
        {
            why: "a nested property",
            text: "SELECT VALUE c.n FROM c WHERE c.n < 3 ORDER BY c.deep.half DESC",
            want: [2, 1, 0],
        },
        {
            why: "the newest first",
            text: "SELECT VALUE c.n FROM c WHERE c.n < 2 ORDER BY c._ts DESC, c.n ASC",
            want: [0, 1],
        },
        { why: "the first of all", text: "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC", want: [11, 10] },
        {
            why: "a page by offset",
            text: "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 3 LIMIT 2",
            want: [3, 4],
        },
        {
            why: "nothing past the end",
            text: "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 30 LIMIT 2",
            want: [],
        },
        {
            why: "the rest at the end",
            text: "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 5",
            want: [10, 11],
        },
        { why: "no more than none", text: "SELECT TOP 0 * FROM c", want: [] },
        {
            why: "by type where types are mixed",
            text: "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.mixed) AND c.n < 7 ORDER BY c.mixed",
            want: [0, 1, 2, 3, 4, 5, 6],
        },
    ],
    async ({ text, want }) => {
        equal(await query(text), want);
    },
);

test("an order goes on over pages", async () => {
    for (const maxItemCount of [1, 5, 7]) {
        const got = await query("SELECT VALUE c.n FROM c ORDER BY c.n DESC", null, { maxItemCount });
        equal(got, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }
});

test("top and offset take parameters", async () => {
    equal(await query("SELECT TOP @k VALUE c.n FROM c ORDER BY c.n", { "@k": 3 }), [0, 1, 2]);
    equal(
        await query("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @o LIMIT @l", { "@o": 2, "@l": 2 }),
        [2, 3],
    );
});

test("top holds over all pages", async () => {
    equal((await query("SELECT TOP 5 * FROM c", null, { maxItemCount: 2 })).length, 5);
});

// ---- aggregates -------------------------------------------------------------------------------------

eachRow(
    "an aggregate gives",
    [
        { why: "a count", text: "SELECT VALUE COUNT(1) FROM c", want: [12] },
        { why: "a count under a filter", text: "SELECT VALUE COUNT(1) FROM c WHERE c.n > 8", want: [3] },
        { why: "a count of what is there", text: "SELECT VALUE COUNT(c.odd) FROM c", want: [6] },
        { why: "a count of nothing", text: "SELECT VALUE COUNT(1) FROM c WHERE false", want: [0] },
        { why: "a sum", text: "SELECT VALUE SUM(c.n) FROM c", want: [66] },
        { why: "a sum that skips what is missing", text: "SELECT VALUE SUM(c.none) FROM c", want: [0] },
        { why: "no sum with text in it", text: "SELECT VALUE SUM(c.name) FROM c", want: [] },
        {
            why: "no sum with null in it",
            text: "SELECT VALUE SUM(c.mixed) FROM c WHERE c.n IN (0, 3)",
            want: [],
        },
        { why: "the smallest", text: "SELECT VALUE MIN(c.n) FROM c WHERE c.n > 3", want: [4] },
        { why: "the largest", text: "SELECT VALUE MAX(c.n) FROM c", want: [11] },
        { why: "the first text", text: "SELECT VALUE MIN(c.name) FROM c", want: ["a"] },
        { why: "an average", text: "SELECT VALUE AVG(c.n) FROM c", want: [5.5] },
        { why: "a count by its name", text: "SELECT COUNT(1) AS many FROM c", want: [{ many: 12 }] },
        {
            why: "several in an object",
            text: "SELECT VALUE {n: COUNT(1), mean: AVG(c.n)} FROM c",
            want: [{ n: 12, mean: 5.5 }],
        },
        { why: "a count of what is true", text: "SELECT VALUE COUNTIF(c.n > 8) FROM c", want: [3] },
        { why: "a set", text: "SELECT VALUE MAKESET(c.odd) FROM c", want: [[true]] },
    ],
    async ({ text, want }) => {
        equal(await query(text), want);
    },
);

test("aggregates hold within a partition key", async () => {
    equal(await query("SELECT VALUE COUNT(1) FROM c", null, { partitionKey: "p1" }), [4]);
    equal(await query("SELECT VALUE SUM(c.n) FROM c", null, { partitionKey: "p1" }), [1 + 4 + 7 + 10]);
});

test("groups come each once, in pages of any size", async () => {
    const text = "SELECT c.pk, COUNT(1) AS many, SUM(c.n) AS sum FROM c GROUP BY c.pk";
    const want = [
        { pk: "p0", many: 4, sum: 18 },
        { pk: "p1", many: 4, sum: 22 },
        { pk: "p2", many: 4, sum: 26 },
    ];
    for (const options of [{}, { maxItemCount: 1 }, { forceQueryPlan: true, maxItemCount: 2 }])
        equal((await query(text, null, options)).sort((a, b) => a.sum - b.sum), want);
    equal(await query("SELECT c.pk FROM c GROUP BY c.pk ORDER BY SUM(c.n) DESC", null, { maxItemCount: 1 }), [
        { pk: "p2" },
        { pk: "p1" },
        { pk: "p0" },
    ]);
    await fails(400, query("SELECT c.pk, c.n FROM c GROUP BY c.pk"), /SC2102/);
});

// ---- pages ------------------------------------------------------------------------------------------

async function pagesOf(iterator) {
    const pages = [];
    for (let i = 0; iterator.hasMoreResults() && i < 100; i++) pages.push(await iterator.fetchNext());
    return pages;
}

test("a partition key limits a query to its items", async () => {
    equal(
        ids(await query("SELECT * FROM c", null, { partitionKey: "p1" })),
        idsWhere((i) => i.pk === "p1"),
    );
});

test("pages are as large as was asked for and together are everything once", async () => {
    for (const maxItemCount of [1, 4, 5, 12, 100]) {
        const pages = await pagesOf(container.items.query("SELECT * FROM c", { maxItemCount }));
        ok(
            pages.every((p) => p.resources.length <= maxItemCount),
            "none too large",
        );
        equal(
            ids(pages.flatMap((p) => p.resources)),
            idsWhere(() => true),
        );
    }
});

test("all items can be read as a feed", async () => {
    equal(
        ids((await container.items.readAll().fetchAll()).resources),
        idsWhere(() => true),
    );
    const pages = await pagesOf(container.items.readAll({ maxItemCount: 5 }));
    equal(
        ids(pages.flatMap((p) => p.resources || [])),
        idsWhere(() => true),
    );
});

test("a continuation goes on where the page ended, in another client too", async () => {
    const options = { maxItemCount: 5, partitionKey: "p1", maxDegreeOfParallelism: 1 };
    options.maxItemCount = 3;
    const first = await container.items.query("SELECT * FROM c ORDER BY c.n", options).fetchNext();
    equal(
        first.resources.map((r) => r.n),
        [1, 4, 7],
    );
    ok(
        first.continuationToken && Buffer.byteLength(first.continuationToken) <= 1024,
        "a token of at most 1 KB",
    );
    const other = server.client().database("tests").container(container.id);
    const second = await other.items
        .query("SELECT * FROM c ORDER BY c.n", { ...options, continuationToken: first.continuationToken })
        .fetchAll();
    equal(
        second.resources.map((r) => r.n),
        [10],
    );
});

test("a continuation goes on after the last item, whatever happened to it", async () => {
    const own = await newContainer(client);
    for (let n = 0; n < 6; n++) await own.items.create({ id: `i${n}`, pk: "a", n });
    const options = { maxItemCount: 2, partitionKey: "a" };
    const text = "SELECT * FROM c ORDER BY c.n";
    const first = await own.items.query(text, options).fetchNext();
    equal(
        first.resources.map((r) => r.n),
        [0, 1],
    );
    await own.item("i1", "a").delete();
    await own.item("i2", "a").delete();
    const rest = await own.items
        .query(text, { ...options, continuationToken: first.continuationToken })
        .fetchAll();
    equal(
        rest.resources.map((r) => r.n),
        [3, 4, 5],
    );
});

eachRow(
    "a continuation that the server did not give is refused",
    [
        { why: "nonsense", token: "nonsense" },
        { why: "JSON", token: '{"a":1}' },
        { why: "base64", token: "AAAAAAAAAAAAAAAA" },
    ],
    async ({ token }) => {
        const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
            body: { query: "SELECT * FROM c" },
            headers: {
                "content-type": "application/query+json",
                "x-ms-documentdb-isquery": "true",
                "x-ms-continuation": token,
                "x-ms-documentdb-query-enablecrosspartition": "true",
            },
        });
        equal(reply.status, 400, reply.text);
        matches(reply.json.message, /Invalid Continuation Token/);
    },
);

test("a continuation of one query or container does not serve another", async () => {
    const other = await newContainer(client);
    const ask = (target, text, token) =>
        server.signed("POST", `/dbs/tests/colls/${target.id}/docs`, {
            body: { query: text },
            headers: {
                "content-type": "application/query+json",
                "x-ms-documentdb-isquery": "true",
                "x-ms-max-item-count": "2",
                "x-ms-documentdb-query-enablecrosspartition": "true",
                ...(token ? { "x-ms-continuation": token } : {}),
            },
        });
    const token = (await ask(container, "SELECT * FROM c")).headers["x-ms-continuation"];
    equal((await ask(container, "SELECT * FROM c", token)).status, 200);
    equal((await ask(other, "SELECT * FROM c", token)).status, 400);
    equal((await ask(container, "SELECT * FROM c WHERE c.n > 3", token)).status, 400);
    const bent = token.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, (c) => (c === "A" ? "B" : "A"));
    equal((await ask(container, "SELECT * FROM c", bent)).status, 400);
});

eachRow(
    "a page size is taken or refused",
    [
        { why: "-1", size: "-1", status: 200, count: 12 },
        { why: "0 is the default", size: "0", status: 200, count: 12 },
        { why: "5", size: "5", status: 200, count: 5 },
        { why: "100000", size: "100000", status: 200, count: 12 },
        { why: "text", size: "abc", status: 400 },
        { why: "-2", size: "-2", status: 400 },
        { why: "a fraction", size: "1.5", status: 400 },
    ],
    async ({ size, status, count }) => {
        const reply = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs`, {
            headers: { "x-ms-max-item-count": size },
        });
        equal(reply.status, status, reply.text);
        if (status === 200)
            equal(
                [reply.json._count, reply.headers["x-ms-item-count"], reply.json.Documents.length],
                [count, String(count), count],
            );
    },
);

test("a feed has an envelope", async () => {
    const { json } = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs`);
    equal(Object.keys(json).sort(), ["Documents", "_count", "_rid"]);
    equal(json._rid, (await container.read()).resource._rid);
});

// ---- plans, metrics, errors -------------------------------------------------------------------------

test("queries answer the same when the client asks for a plan first", async () => {
    for (const text of [
        "SELECT * FROM c WHERE c.n > 3",
        "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n",
        "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 3",
        "SELECT VALUE AVG(c.n) FROM c",
        "SELECT VALUE MIN(c.n) FROM c",
        "SELECT VALUE MAX(c.n) FROM c",
        "SELECT VALUE SUM(c.n) FROM c",
    ]) {
        const sort = (list) => (text.includes("ORDER") ? list : list.map((v) => JSON.stringify(v)).sort());
        equal(sort(await query(text, null, { forceQueryPlan: true })), sort(await query(text)), text);
        equal(
            sort(await query(text, null, { forceQueryPlan: true, maxItemCount: 2 })),
            sort(await query(text)),
            text,
        );
    }
});

test("query metrics come when asked for and the client can read them", async () => {
    const { headers, resources } = await container.items
        .query("SELECT * FROM c WHERE c.n < 5", {
            populateQueryMetrics: true,
            maxItemCount: -1,
            partitionKey: "p0",
        })
        .fetchNext();
    equal(resources.length, 2);
    const metrics = headers["x-ms-documentdb-query-metrics"];
    const text = typeof metrics === "string" ? metrics : JSON.stringify(metrics);
    ok(text && text.length > 2, `metrics are ${text}`);
    const raw = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: { query: "SELECT * FROM c WHERE c.n < 5" },
        headers: {
            "content-type": "application/query+json",
            "x-ms-documentdb-isquery": "true",
            "x-ms-documentdb-populatequerymetrics": "true",
            "x-ms-documentdb-query-enablecrosspartition": "true",
        },
    });
    const pieces = raw.headers["x-ms-documentdb-query-metrics"].split(";").map((piece) => piece.split("="));
    ok(
        pieces.every(([name, value]) => name && Number.isFinite(Number(value))),
        "name=number, nothing else",
    );
    equal(Object.fromEntries(pieces).outputDocumentCount, "5");
});

eachRow(
    "a query that is wrong says where",
    [
        { why: "a misspelt keyword", text: "SELECT * FORM c", code: "SC1001" },
        { why: "nothing", text: "", code: "SC100" },
        { why: "a half filter", text: "SELECT * FROM c WHERE", code: "SC1002" },
        { why: "a stray character", text: "SELECT * FROM c WHERE c.n = 1 ; ", code: "SC1010" },
        { why: "text without end", text: "SELECT * FROM c WHERE c.name = 'a", code: "SC10" },
        { why: "an unknown name", text: "SELECT * FROM c WHERE x.n = 1", code: "SC2001" },
        { why: "an unknown function", text: "SELECT * FROM c WHERE NO_SUCH(c.n)", code: "SC2005" },
    ],
    async ({ text, code }) => {
        const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
            body: { query: text },
            headers: {
                "content-type": "application/query+json",
                "x-ms-documentdb-isquery": "true",
                "x-ms-documentdb-query-enablecrosspartition": "true",
            },
        });
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
        ok(reply.json.message.includes(code), reply.json.message);
        await fails(400, container.items.query({ query: text || " " }).fetchAll());
    },
);

test("all mistakes of a sound text are told together", async () => {
    const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: { query: "SELECT foo(c.x), d.y FROM c WHERE e.z = 1 AND LOWER() = 'a'" },
        headers: { "content-type": "application/query+json", "x-ms-documentdb-isquery": "true" },
    });
    equal(reply.status, 400);
    const { errors } = JSON.parse(/Message: (\{.*\})/.exec(reply.json.message)[1]);
    equal(
        errors.map((e) => [e.severity, e.code, e.location.start, e.location.end]),
        [
            ["Error", "SC2005", 7, 10],
            ["Error", "SC2001", 17, 18],
            ["Error", "SC2001", 34, 35],
            ["Error", "SC2050", 46, 53],
        ],
    );
});

eachRow(
    "a query request that is none is refused",
    [
        { why: "no query", body: {} },
        { why: "a number", body: { query: 5 } },
        { why: "an array", body: [] },
        { why: "not JSON", body: "SELECT" },
        { why: "parameters that are none", body: { query: "SELECT * FROM c", parameters: {} } },
        { why: "a parameter without name", body: { query: "SELECT * FROM c", parameters: [{ value: 1 }] } },
        { why: "a parameter that is not given", body: { query: "SELECT * FROM c WHERE c.n = @x" } },
    ],
    async ({ body }) => {
        const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
            body,
            headers: { "content-type": "application/query+json", "x-ms-documentdb-isquery": "true" },
        });
        equal([reply.status, reply.json && reply.json.code], [400, "BadRequest"], reply.text);
    },
);

test("a query that does not change costs the same every time", async () => {
    const charge = async () =>
        (await container.items.query("SELECT * FROM c WHERE c.n > 3", { partitionKey: "p1" }).fetchAll())
            .requestCharge;
    const first = await charge();
    ok(first > 0, "something");
    equal(await charge(), first);
});

test("queries are the same without an index", async () => {
    const bare = await newContainer(client, { indexingPolicy: { indexingMode: "none", automatic: false } });
    for (let n = 0; n < 5; n++) await bare.items.create({ id: `i${n}`, pk: "a", n });
    const { resources } = await bare.items
        .query("SELECT VALUE c.n FROM c WHERE c.n > 2", { partitionKey: "a" })
        .fetchAll();
    equal(resources.sort(), [3, 4]);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        container = await newContainer(client);
        for (const item of ITEMS) await container.items.create(item);
    },
    after: stopAll,
});

#!/usr/bin/env node
// The query language through @azure/cosmos: its own pipelines for orders, groups and aggregates, pages and their
// continuations, what dies between pages, parameters, metrics and errors.
"use strict";

const { test, eachRow, equal, ok, matches, fails, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

const TOKEN_BYTES_MAX = 1024;

let server;
let client;
let container;
let partition; // holds the items of p1 only

// Forty items under four partition keys. `n` is 0..39; `g` has seven values; `half` is a fraction; `maybe` is
// missing in every third; `mixed` has a value of each type in turn; `list` has n % 4 elements.
const MIXED = [null, false, true, -1, 2.5, "a", "", 0];
const ITEMS = Array.from({ length: 40 }, (_, n) => ({
    id: `i${String(n).padStart(2, "0")}`,
    pk: `p${n % 4}`,
    n,
    g: `g${n % 7}`,
    half: n / 2,
    name: `${"zyxwvutsrq"[n % 10]}${n}`,
    ...(n % 3 ? { maybe: n % 5 } : {}),
    mixed: MIXED[n % MIXED.length],
    list: Array.from({ length: n % 4 }, (_, i) => ({ v: n * 10 + i })),
}));

const spec = (text, parameters) => ({
    query: text,
    parameters: Object.entries(parameters || {}).map(([name, value]) => ({ name, value })),
});

async function query(text, options, parameters) {
    return (await container.items.query(spec(text, parameters), options).fetchAll()).resources;
}

async function pagesOf(iterator) {
    const pages = [];
    for (let i = 0; iterator.hasMoreResults() && i < 300; i++) pages.push(await iterator.fetchNext());
    return pages;
}

// Items without what the server adds to them.
const own = (rows) =>
    rows.map((row) =>
        row && row._rid ? Object.fromEntries(Object.entries(row).filter(([name]) => name[0] !== "_")) : row,
    );
const inAnyOrder = (rows) => rows.map((row) => JSON.stringify(row)).sort();

function plan(text, parameters, headers) {
    return server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: spec(text, parameters),
        headers: {
            "content-type": "application/query+json",
            "x-ms-cosmos-is-query-plan-request": "True",
            "x-ms-cosmos-query-version": "1.4",
            ...headers,
        },
    });
}

// Without them an order by several properties is refused.
const COMPOSITES = {
    includedPaths: [{ path: "/*" }],
    excludedPaths: [{ path: "/hidden/?" }],
    compositeIndexes: [
        [{ path: "/g" }, { path: "/n", order: "descending" }],
        [{ path: "/maybe" }, { path: "/id" }],
        [{ path: "/pk" }, { path: "/n", order: "descending" }],
    ],
};

// ---- the client's own steps -------------------------------------------------------------------------

const PIPELINES = [
    "SELECT * FROM c",
    "SELECT c.id, c.n FROM c WHERE c.n > 30",
    "SELECT VALUE c.maybe FROM c",
    "SELECT * FROM c ORDER BY c.n",
    "SELECT * FROM c ORDER BY c.n DESC",
    "SELECT c.id, c.n + 1, c.g AS h FROM c WHERE c.n > 5 OR c.g = 'g1' ORDER BY c.n DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.half",
    "SELECT VALUE c.maybe FROM c ORDER BY c.n",
    "SELECT VALUE r.name FROM root r ORDER BY r.name DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.g, c.n DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.maybe, c.id",
    "SELECT VALUE c.mixed FROM c WHERE IS_DEFINED(c.mixed) ORDER BY c.n",
    "SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT TOP 0 * FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 9",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 38 LIMIT 9",
    "SELECT VALUE c.n FROM c WHERE c.n < 0 ORDER BY c.n",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT VALUE COUNT(c.maybe) FROM c WHERE c.n > 3",
    "SELECT VALUE SUM(c.n) FROM c",
    "SELECT VALUE SUM(c.half) FROM c",
    "SELECT VALUE SUM(c.mixed) FROM c",
    "SELECT VALUE AVG(c.n) FROM c",
    "SELECT VALUE AVG(c.none) FROM c",
    "SELECT VALUE MIN(c.name) FROM c",
    "SELECT VALUE MAX(c.half) FROM c",
    "SELECT VALUE MIN(c.none) FROM c",
    "SELECT COUNT(1) AS count FROM c",
    "SELECT COUNT(1), AVG(c.n), MIN(c.n) AS least, MAX(c.name) FROM c",
    "SELECT VALUE COUNT(1) + 1 FROM c",
    "SELECT VALUE {'n': COUNT(1), 'm': MAX(c.n)} FROM c",
    "SELECT DISTINCT c.g FROM c",
    "SELECT DISTINCT c.g FROM c ORDER BY c.g",
    "SELECT DISTINCT c.g, c.pk FROM c ORDER BY c.g",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT DISTINCT VALUE c.mixed FROM c",
    "SELECT DISTINCT VALUE c.maybe FROM c ORDER BY c.maybe",
    "SELECT DISTINCT TOP 3 c.g FROM c ORDER BY c.g",
    "SELECT DISTINCT c.g FROM c ORDER BY c.g OFFSET 2 LIMIT 3",
    "SELECT c.g FROM c GROUP BY c.g",
    "SELECT c.g, COUNT(1) AS count FROM c GROUP BY c.g",
    "SELECT c.g AS group, c.pk, SUM(c.n), AVG(c.half) AS mean, MIN(c.name), MAX(c.n) FROM c GROUP BY c.g, c.pk",
    "SELECT COUNT(c.maybe) AS k, c.n % 3 AS rest FROM c WHERE c.n > 7 GROUP BY c.n % 3",
    "SELECT c.maybe, COUNT(1) AS k FROM c GROUP BY c.maybe",
    "SELECT c.mixed, COUNT(1) AS k FROM c GROUP BY c.mixed",
    "SELECT MIN(c.maybe), MAX(c.mixed), AVG(c.none), c.g FROM c GROUP BY c.g",
    "SELECT VALUE c.g FROM c GROUP BY c.g",
    "SELECT VALUE COUNT(1) FROM c GROUP BY c.g",
    "SELECT VALUE AVG(c.n) FROM c GROUP BY c.pk",
    "SELECT VALUE MIN(c.mixed) FROM c GROUP BY c.pk",
    "SELECT VALUE {'g': c.g, 'k': COUNT(1)} FROM c GROUP BY c.g",
    "SELECT c.g, COUNT(1) * 2 AS twice FROM c GROUP BY c.g",
    "SELECT c.g, COUNTIF(c.n > 20) AS k FROM c GROUP BY c.g",
    "SELECT COUNT(1) AS k, c.g FROM c GROUP BY c.g OFFSET 2 LIMIT 3",
    "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g ORDER BY c.g DESC",
    "SELECT VALUE MAKESET(c.g) FROM c",
    "SELECT VALUE COUNTIF(c.n > 20) FROM c",
    "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.g FROM c)",
    "SELECT COUNT(1) AS k, MIN(c.n), AVG(c.n), MAX(c.n) FROM c WHERE c.n < 0",
    "SELECT VALUE COUNT(1) FROM c WHERE c.n < 0",
    "SELECT VALUE SUM(c.n) FROM c WHERE c.n < 0",
    "SELECT VALUE MAX(c.n) FROM c WHERE c.n < 0",
    "SELECT c.g, COUNT(1) AS k FROM c WHERE c.n < 0 GROUP BY c.g",
    "SELECT DISTINCT c.g FROM c WHERE c.n < 0 ORDER BY c.g",
    "SELECT c.n -- 'no alias' FROM d\n AS m FROM c -- WHERE\n ORDER BY c.n -- DESC",
    "SELECT c.from, c.order, c['n'] value1 FROM c WHERE c.n IN (1, 2) ORDER BY c.n",
    "SELECT c.id, l.v FROM c JOIN l IN c.list",
    "SELECT c.id, l.v FROM c JOIN l IN c.list ORDER BY c.n DESC",
    "SELECT VALUE l.v FROM l IN c.list WHERE l.v > 100",
    "SELECT VALUE COUNT(1) FROM c JOIN l IN c.list",
    "SELECT VALUE SUM(l.v) FROM l IN c.list",
    "SELECT c.g, COUNT(1) AS k FROM c JOIN l IN c.list GROUP BY c.g",
    "SELECT c.id FROM c WHERE EXISTS(SELECT VALUE l FROM l IN c.list WHERE l.v > 300) ORDER BY c.id",
    "SELECT c.id, ARRAY(SELECT VALUE l.v FROM l IN c.list) AS vs FROM c ORDER BY c.n",
];

eachRow(
    "a query that the client puts together is answered like one that the server does",
    PIPELINES.map((text) => ({ why: text, text })),
    async ({ text }) => {
        // Rows that the order leaves equal come by key from the server, and by age from a plan.
        const isOrdered = text.includes("ORDER BY") && !text.includes("DISTINCT c.g, c.pk");
        const shown = (rows) => (isOrdered ? rows : inAnyOrder(rows));
        const want = shown(await query(text));
        for (const maxItemCount of [undefined, 1, 4]) {
            const got = shown(await query(text, { maxItemCount, forceQueryPlan: true }));
            equal(got, want, `in pages of ${maxItemCount}`);
        }
        // This client names a partition only where it has no plan.
        const alone = (await partition.items.query(text).fetchAll()).resources;
        equal(shown(own(await query(text, { partitionKey: "p1" }))), shown(own(alone)), "one partition");
    },
);

test("a forced plan keeps the characters of the query", async () => {
    const options = { forceQueryPlan: true };
    const text =
        'SELECT TOP 1 c.n AS größe, "日本" AS 名, "\u{1f600}é" AS t FROM c WHERE c.n = 1 ORDER BY c.n';
    equal(await query(text, options), [{ größe: 1, 名: "日本", t: "\u{1f600}é" }]);
    const error = await fails(400, container.items.query("SELECT 1 ORDER é").fetchAll());
    matches(JSON.parse(/Message: (\{.*\})/.exec(error.message)[1]).errors[0].message, /near 'é'/);
});

test("a forced plan keeps parameters", async () => {
    const parameters = { "@least": 30, "@skip": 2, "@count": 3 };
    const text = "SELECT VALUE c.n FROM c WHERE c.n > @least ORDER BY c.n DESC OFFSET @skip LIMIT @count";
    equal(await query(text, { forceQueryPlan: true }, parameters), [37, 36, 35]);
    equal(
        await query("SELECT VALUE COUNT(1) FROM c WHERE c.n > @least", { forceQueryPlan: true }, parameters),
        [9],
    );
});

test("searches are ranked alike with and without a plan", async () => {
    const own = await newContainer(client);
    const texts = [
        "a red fence",
        "red red paint",
        "the fence of the red house",
        "a blue door",
        "fences and paint",
    ];
    for (const [n, text] of texts.entries())
        await own.items.create({ id: `i${n}`, pk: `p${n % 2}`, text, v: [n, 1, 4 - n] });
    const words = "FullTextScore(c.text, 'red', 'fence')";
    const vector = "VectorDistance(c.v, [1, 1, 3])";
    for (const [order, best] of [
        [`RANK ${words}`, "i0"],
        [`RANK ${vector}`, "i1"],
        [vector, "i1"],
        [`RANK RRF(${words}, ${vector})`, undefined],
    ]) {
        const text = `SELECT TOP 4 c.id FROM c ORDER BY ${order}`;
        const want = (await own.items.query(text).fetchAll()).resources;
        equal(want.length, 4, text);
        if (best) equal(want[0].id, best, text);
        const got = (await own.items.query(text, { forceQueryPlan: true }).fetchAll()).resources;
        equal(got, want, text);
    }
});

// ---- plans ------------------------------------------------------------------------------------------

eachRow(
    "a plan says of a query",
    [
        { why: "its order", text: "SELECT * FROM c ORDER BY c.n DESC", want: { orderBy: ["Descending"] } },
        {
            why: "its first rows",
            text: "SELECT TOP @k * FROM c",
            want: { top: 3, offset: null, limit: null },
        },
        {
            why: "which rows it skips",
            text: "SELECT * FROM c OFFSET @k LIMIT 5",
            want: { top: null, offset: 3, limit: 5, rewrittenQuery: "SELECT *\nFROM c\nOFFSET 0 LIMIT 8" },
        },
        {
            why: "that rows differ",
            text: "SELECT DISTINCT c.g FROM c",
            want: { distinctType: "Unordered", rewrittenQuery: "" },
        },
        {
            why: "its aggregate",
            text: "SELECT VALUE AVG(c.n) FROM c",
            want: {
                aggregates: ["Average"],
                hasSelectValue: true,
                rewrittenQuery: 'SELECT VALUE [{"item": {"sum": SUM(c.n), "count": COUNT(c.n)}}]\nFROM c',
            },
        },
    ],
    async ({ text, want }) => {
        const { status, json } = await plan(text, { "@k": 3 });
        equal(status, 200);
        const got = Object.fromEntries(Object.keys(want).map((name) => [name, json.queryInfo[name]]));
        equal(got, want);
        equal(json.queryRanges, [{ min: "", max: "FF", isMinInclusive: true, isMaxInclusive: false }]);
    },
);

// ---- pages ------------------------------------------------------------------------------------------

const ORDERED = [
    { why: "by an index", text: "SELECT VALUE c.n FROM c ORDER BY c.n", want: ITEMS.map((i) => i.n) },
    {
        why: "by an index, backwards",
        text: "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
        want: ITEMS.map((i) => i.n).reverse(),
    },
    {
        why: "by what is computed",
        text: "SELECT VALUE c.n FROM c ORDER BY 0 - c.n",
        want: ITEMS.map((i) => i.n).reverse(),
    },
    {
        why: "by two properties",
        text: "SELECT VALUE c.n FROM c ORDER BY c.pk, c.n DESC",
        want: [...ITEMS].sort((a, b) => (a.pk < b.pk ? -1 : a.pk > b.pk ? 1 : b.n - a.n)).map((i) => i.n),
    },
];

eachRow("pages of an order together are the whole order", ORDERED, async ({ text, want }) => {
    for (const maxItemCount of [1, 7, 39, 40, 41]) {
        const pages = await pagesOf(container.items.query(text, { maxItemCount }));
        equal(
            pages.flatMap((p) => p.resources),
            want,
            `pages of ${maxItemCount}`,
        );
        ok(
            pages.every((p) => p.resources.length <= maxItemCount),
            "none is too large",
        );
    }
});

eachRow("a continuation stays within 1 KB", ORDERED, async ({ text, want }) => {
    const got = [];
    let continuationToken;
    for (let i = 0; i < 50; i++) {
        const page = await container.items.query(text, { maxItemCount: 3, continuationToken }).fetchNext();
        got.push(...page.resources);
        continuationToken = page.continuationToken;
        if (!continuationToken) break;
        ok(Buffer.byteLength(continuationToken) <= TOKEN_BYTES_MAX, `${continuationToken.length} bytes`);
    }
    equal(got, want);
});

eachRow(
    "a continuation stays within 1 KB with long values too",
    [
        { why: "ids", text: "SELECT c.t FROM c" },
        { why: "texts of an order", text: "SELECT c.t FROM c ORDER BY c.t" },
        { why: "rows that are told apart", text: "SELECT DISTINCT c.t FROM c", length: 3000 },
        { why: "keys of groups", text: "SELECT c.t FROM c GROUP BY c.t", length: 3000 },
    ],
    async ({ text, length = 150 }) => {
        const own = await newContainer(client);
        const long = "ö".repeat(length);
        for (let n = 0; n < 6; n++)
            await own.items.create({ id: `${long.slice(0, 127)}${n}`, pk: "a", t: long + n });
        const got = [];
        let continuationToken;
        for (let i = 0; i < 10; i++) {
            const page = await own.items.query(text, { maxItemCount: 2, continuationToken }).fetchNext();
            got.push(...page.resources.map((r) => r.t));
            continuationToken = page.continuationToken;
            if (!continuationToken) break;
            const bytes = Buffer.byteLength(continuationToken);
            ok(bytes <= TOKEN_BYTES_MAX, `${bytes} bytes`);
        }
        equal([got.length, new Set(got).size], [6, 6]);
    },
);

// ---- deaths between pages ---------------------------------------------------------------------------

eachRow(
    "what dies between pages is neither repeated nor takes a living item along",
    [
        { why: "as they come", text: "SELECT c.n FROM c" },
        { why: "by an index", text: "SELECT c.n FROM c ORDER BY c.n", isOrdered: true },
        { why: "by what is computed", text: "SELECT c.n FROM c ORDER BY c.n % 100", isOrdered: true },
        { why: "filtered by an index", text: "SELECT c.n FROM c WHERE c.n >= 0" },
        { why: "told apart", text: "SELECT DISTINCT c.n FROM c" },
        { why: "joined", text: "SELECT c.n FROM c JOIN l IN c.l WHERE l > 0" },
        { why: "grouped", text: "SELECT c.n FROM c GROUP BY c.n" },
        { why: "by two properties", text: "SELECT c.n FROM c ORDER BY c.one, c.n", isOrdered: true },
        {
            why: "behind an offset",
            text: "SELECT c.n FROM c ORDER BY c.n OFFSET 0 LIMIT 100",
            isOrdered: true,
        },
    ],
    async ({ text, isOrdered }) => {
        const compositeIndexes = [[{ path: "/one" }, { path: "/n" }]];
        const own = await newContainer(client, { defaultTtl: -1, indexingPolicy: { compositeIndexes } });
        for (let n = 0; n < 20; n++)
            await own.items.create({
                id: `i${n}`,
                pk: `p${n % 3}`,
                n,
                one: 1,
                l: [0, 1],
                ...(n % 2 ? { ttl: 1000 } : {}),
            });
        const first = await own.items.query(text, { maxItemCount: 6 }).fetchNext();
        equal(first.resources.length, 6);
        await server.advance(1000 * 1000);
        const rest = await own.items
            .query(text, { maxItemCount: 6, continuationToken: first.continuationToken })
            .fetchAll();
        const before = first.resources.map((r) => r.n);
        const after = rest.resources.map((r) => r.n);
        ok(
            after.every((n) => n % 2 === 0),
            `no dead one in ${after}`,
        );
        const living = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18];
        equal(
            [...before.filter((n) => n % 2 === 0), ...after].sort((a, b) => a - b),
            living,
            "every living one once",
        );
        if (isOrdered)
            equal(
                [...before, ...after],
                [...before, ...after].sort((a, b) => a - b),
            );
    },
);

test("aggregates over pages count nobody who died before their page", async () => {
    const own = await newContainer(client, { defaultTtl: -1 });
    for (let n = 0; n < 10; n++)
        await own.items.create({ id: `i${n}`, pk: "a", n, ...(n % 2 ? { ttl: 500 } : {}) });
    const count = async (forceQueryPlan) =>
        (await own.items.query("SELECT VALUE COUNT(1) FROM c", { forceQueryPlan }).fetchAll()).resources;
    equal(await count(false), [10]);
    await server.advance(500 * 1000);
    equal([await count(false), await count(true)], [[5], [5]]);
});

// ---- metrics ----------------------------------------------------------------------------------------

function ask(text, headers) {
    return server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: spec(text),
        headers: {
            "content-type": "application/query+json",
            "x-ms-documentdb-isquery": "true",
            "x-ms-documentdb-query-enablecrosspartition": "true",
            ...headers,
        },
    });
}

eachRow(
    "query metrics tell what was looked at",
    [
        { why: "an index finds one", text: "SELECT * FROM c WHERE c.n = 7", loaded: 1, output: 1, ratio: 1 },
        {
            why: "a scan looks at all",
            text: "SELECT * FROM c WHERE c.n + 1 = 8",
            loaded: 40,
            output: 1,
            ratio: 0.03,
        },
        { why: "nothing can be found", text: "SELECT * FROM c WHERE false", loaded: 0, output: 0 },
    ],
    async ({ text, loaded, output, ratio }) => {
        const reply = await ask(text, { "x-ms-documentdb-populatequerymetrics": "true" });
        const metrics = Object.fromEntries(
            reply.headers["x-ms-documentdb-query-metrics"].split(";").map((piece) => piece.split("=")),
        );
        equal(
            [Number(metrics.retrievedDocumentCount), Number(metrics.outputDocumentCount)],
            [loaded, output],
        );
        if (ratio !== undefined) equal(Number(metrics.indexUtilizationRatio), ratio);
    },
);

test("the client reads query metrics of every page", async () => {
    const iterator = container.items.query("SELECT * FROM c WHERE c.n < 10", {
        populateQueryMetrics: true,
        maxItemCount: 5,
        forceQueryPlan: true,
    });
    const pages = await pagesOf(iterator);
    equal(pages.flatMap((p) => p.resources || []).length, 10);
    ok(
        pages.some((p) => p.headers["x-ms-documentdb-query-metrics"]),
        "there are some",
    );
});

test("index metrics name the composite index that was walked", async () => {
    const reply = await ask("SELECT * FROM c ORDER BY c.g DESC, c.n", {
        "x-ms-cosmos-populateindexmetrics-V2": "true",
    });
    const metrics = JSON.parse(reply.headers["x-ms-cosmos-index-utilization"]);
    equal(
        metrics.UtilizedIndexes.CompositeIndexes.map((i) => i.IndexSpecs),
        [["/g ASC", "/n DESC"]],
    );
});

test("times in query metrics are those that it took", async () => {
    const reply = await ask("SELECT * FROM c WHERE c.n >= 0 AND UPPER(c.id) != 'X' ORDER BY c.n", {
        "x-ms-documentdb-populatequerymetrics": "true",
    });
    const metrics = Object.fromEntries(
        reply.headers["x-ms-documentdb-query-metrics"].split(";").map((piece) => {
            const [name, value] = piece.split("=");
            return [name, Number(value)];
        }),
    );
    ok(metrics.totalExecutionTimeInMs > 0, "it took some time");
    const parts = [
        "queryCompileTimeInMs",
        "queryLogicalPlanBuildTimeInMs",
        "queryPhysicalPlanBuildTimeInMs",
        "queryOptimizationTimeInMs",
        "VMExecutionTimeInMs",
        "indexLookupTimeInMs",
        "documentLoadTimeInMs",
        "writeOutputTimeInMs",
    ].map((name) => metrics[name]);
    ok(parts.every((time) => time >= 0), JSON.stringify(metrics));
    const sum = parts.reduce((a, b) => a + b, 0);
    ok(sum > 0 && sum <= metrics.totalExecutionTimeInMs + 0.05, JSON.stringify(metrics));
});

eachRow(
    "index metrics name the indexes that are not there",
    [
        { why: "none is missing", text: "SELECT * FROM c WHERE c.n = 7", paths: [], fields: [] },
        { why: "an excluded path", text: "SELECT * FROM c WHERE c.hidden = 7", paths: ["/hidden/?"], fields: [] },
        {
            why: "two filters",
            text: "SELECT * FROM c WHERE c.n > 7 AND c.hidden = 1",
            paths: ["/hidden/?"],
            fields: [["/hidden ASC", "/n ASC"]],
        },
        {
            why: "a filter and an order",
            text: "SELECT * FROM c WHERE c.other = 'p1' ORDER BY c.n DESC",
            paths: [],
            fields: [["/other ASC", "/n DESC"]],
        },
        {
            why: "the whole key of an item",
            text: "SELECT * FROM c WHERE c.id = 'i01' AND c.pk = 'p1'",
            paths: [],
            fields: [],
        },
        {
            why: "a composite index is there",
            text: "SELECT * FROM c WHERE c.g = 'g1' ORDER BY c.n",
            paths: [],
            fields: [],
        },
    ],
    async ({ text, paths, fields }) => {
        const reply = await ask(text, { "x-ms-cosmos-populateindexmetrics-V2": "true" });
        const { PotentialIndexes } = JSON.parse(reply.headers["x-ms-cosmos-index-utilization"]);
        equal(
            [
                PotentialIndexes.SingleIndexes.map((i) => i.IndexSpec),
                PotentialIndexes.CompositeIndexes.map((i) => i.IndexSpecs),
            ],
            [paths, fields],
        );
        const old = await ask(text, { "x-ms-cosmos-populateindexmetrics": "true" });
        const lists = JSON.parse(Buffer.from(old.headers["x-ms-cosmos-index-utilization"], "base64").toString());
        equal(Object.keys(lists), [
            "UtilizedSingleIndexes",
            "UtilizedCompositeIndexes",
            "PotentialSingleIndexes",
            "PotentialCompositeIndexes",
        ]);
        equal(lists.PotentialSingleIndexes, PotentialIndexes.SingleIndexes);
    },
);

test("the client shows index metrics", async () => {
    const { indexMetrics } = await container.items
        .query("SELECT * FROM c WHERE c.n = 7", { populateIndexMetrics: true })
        .fetchNext();
    matches(JSON.stringify(indexMetrics), /\/n\/\?/);
});

const UNSERVED = [
    { why: "no composite index", text: "SELECT * FROM c ORDER BY c.g, c.n", says: /composite index/ },
    {
        why: "a composite index too short",
        text: "SELECT * FROM c ORDER BY c.g, c.n DESC, c.id",
        says: /composite index/,
    },
    { why: "an excluded path", text: "SELECT * FROM c ORDER BY c.hidden", says: /is excluded/ },
];

eachRow("an order that no index gives is refused", UNSERVED, async ({ text, says }) => {
    const reply = await ask(text);
    equal(reply.status, 400);
    ok(says.test(reply.text), reply.text);
});

test("index metrics name the path that was looked up", async () => {
    const reply = await ask("SELECT * FROM c WHERE c.n = 7", {
        "x-ms-cosmos-populateindexmetrics-V2": "true",
    });
    const metrics = JSON.parse(reply.headers["x-ms-cosmos-index-utilization"]);
    equal(
        metrics.UtilizedIndexes.SingleIndexes.map((i) => i.IndexSpec),
        ["/n/?"],
    );
});

// ---- searches ---------------------------------------------------------------------------------------

eachRow(
    "searches put the best first, with and without a plan",
    [
        {
            why: "words",
            text: "SELECT TOP 3 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.t, 'red')",
            want: ["s1", "s0", "s2"],
        },
        {
            why: "vectors",
            text: "SELECT TOP 2 VALUE c.id FROM c ORDER BY VectorDistance(c.v, [0, 1])",
            want: ["s3", "s2"],
        },
        {
            why: "both",
            text: "SELECT VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'red'), VectorDistance(c.v, [0, 1])) OFFSET 0 LIMIT 2",
            want: ["s1", "s3"],
        },
        {
            why: "shapes",
            text: "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.at, {type: 'Point', coordinates: [0, 0]}) < 150000",
            want: ["s0", "s1"],
        },
    ],
    async ({ text, want }) => {
        const searched = await newContainer(client);
        const texts = ["a red bike", "red red helmet", "one red thing among many words", "nothing"];
        for (const [i, t] of texts.entries())
            await searched.items.create({
                id: `s${i}`,
                pk: `p${i}`,
                t,
                v: [4 - i, i * i],
                at: { type: "Point", coordinates: [i, 0] },
            });
        for (const options of [{}, { forceQueryPlan: true }, { forceQueryPlan: true, maxItemCount: 1 }])
            equal((await searched.items.query(text, options).fetchAll()).resources, want);
    },
);

// ---- errors -----------------------------------------------------------------------------------------

eachRow(
    "an error of the text names its place, and the client passes it on",
    [
        { why: "a misspelt word", text: "SELECT * FORM c", code: "SC1001", start: 9, end: 13, near: "FORM" },
        { why: "an unknown name", text: "SELECT x.a FROM c", code: "SC2001", start: 7, end: 8, near: "x" },
        {
            why: "the end",
            text: "SELECT * FROM c WHERE",
            code: "SC1002",
            start: 21,
            end: 21,
            near: "end-of-file",
        },
        {
            why: "a place counted in UTF-16",
            text: "SELECT * FROM c WHERE c.a = '\u{1f600}' x",
            code: "SC1001",
            start: 33,
            end: 34,
        },
    ],
    async ({ text, code, start: from, end, near }) => {
        const reply = await ask(text);
        equal([reply.status, reply.json.code], [400, "BadRequest"]);
        const inside = /Message: (\{.*\})\r\nActivityId/.exec(reply.json.message);
        const [error, ...others] = JSON.parse(inside[1]).errors;
        equal(others, []);
        equal([error.severity, error.code, error.location], ["Error", code, { start: from, end }]);
        if (near) ok(error.message.includes(near), error.message);
        const thrown = await fails(400, container.items.query(text).fetchAll());
        matches(thrown.message, new RegExp(code));
        await fails(400, container.items.query(text, { forceQueryPlan: true }).fetchAll());
    },
);

eachRow(
    "what is too much is refused with its limit",
    [
        {
            why: "nesting",
            text: `SELECT VALUE ${"(".repeat(250)}1${")".repeat(250)}`,
            limit: "200",
            code: "SC3000",
            start: 213,
        },
        { why: "length", text: `SELECT VALUE '${"x".repeat(520 * 1024)}'`, limit: "524288", code: "SC3020", start: 0 },
        {
            why: "joins",
            text: `SELECT VALUE 1 FROM c ${Array.from({ length: 11 }, (_, i) => `JOIN j${i} IN c.list`).join(" ")}`,
            limit: "limit is 10",
            code: "SC3002",
            start: 0,
        },
        {
            why: "order keys",
            text: `SELECT * FROM c ORDER BY ${Array(9).fill("c.n").join(", ")}`,
            limit: "8 items",
            code: "SC3000",
            start: 65,
        },
        {
            why: "list items",
            text: `SELECT * FROM c WHERE c.n IN (${Array(16500).fill("1").join(",")})`,
            limit: "1638",
            code: "SC3000",
            start: 32797,
        },
    ],
    async ({ text, limit, code, start: from }) => {
        const reply = await ask(text);
        equal([reply.status, reply.json.code], [400, "BadRequest"], reply.text.slice(0, 300));
        const inside = /Message: (\{.*\})\r\nActivityId/.exec(reply.json.message);
        const [error] = JSON.parse(inside[1]).errors;
        equal([error.code, error.location.start], [code, from]);
        ok(error.message.includes(limit), error.message);
        await fails(400, container.items.query(text).fetchAll());
    },
);

test("a user-defined function is refused by its name", async () => {
    const error = await fails(501, container.items.query("SELECT VALUE udf.tax(c.n) FROM c").fetchAll());
    matches(error.message, /udf\.tax.*not supported/);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
        container = await newContainer(client, { indexingPolicy: COMPOSITES });
        partition = await newContainer(client, { indexingPolicy: COMPOSITES });
        for (const item of ITEMS) await container.items.create(item);
        for (const item of ITEMS.filter((i) => i.pk === "p1")) await partition.items.create(item);
    },
    after: stopAll,
});

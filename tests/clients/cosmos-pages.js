#!/usr/bin/env node
// Pages of long keys and long texts, and pages whose server was started again in between, through @azure/cosmos and by
// hand: what the client carries stays short and goes on exactly where the page ended.
"use strict";

const { test, eachRow, equal, ok, run } = require("./support/check");
const { start, stopAll, newContainer } = require("./support/server");

const TOKEN_BYTES_MAX = 1024;
const PAGES_MAX = 200;

let server;
let client;

// Numbers from a seed, the same on every run.
function randomOf(seed) {
    let state = seed;
    return (below) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
    };
}

// Texts that begin alike for long: of one letter, a common front with its own end, or the front of one long text.
function textOf(random, family, most) {
    const letter = (i) => String.fromCharCode(97 + ((i * i + Math.floor(i / 7)) % 26));
    const own = () => String.fromCharCode(97 + random(26));
    const length = random(most);
    if (family === 0) return "x".repeat(length);
    if (family === 1)
        return Array.from({ length: most }, (_, i) => (i < most * 0.7 ? letter(i) : own())).join("");
    return Array.from({ length }, (_, i) => letter(i)).join("") + own();
}

const indexingPolicy = {
    compositeIndexes: [
        [
            { path: "/text", order: "ascending" },
            { path: "/n", order: "ascending" },
        ],
    ],
};

async function filled(family, count) {
    const container = await newContainer(client, { indexingPolicy, defaultTtl: -1 });
    const random = randomOf(family + 7);
    const keys = Array.from({ length: 3 }, () => textOf(random, family, 2000));
    const items = Array.from({ length: count }, (_, n) => ({
        id: `${textOf(random, family, 900)}${n}`,
        pk: keys[random(3)],
        n,
        even: n % 2 === 0,
        text: textOf(random, family, n % 10 ? 3000 : 200000),
    }));
    for (const item of items) await container.items.create(item);
    return { container, items };
}

async function page(container, body, token, items = 7) {
    const reply = await server.signed("POST", `/dbs/tests/colls/${container.id}/docs`, {
        body: { query: body },
        headers: {
            "content-type": "application/query+json",
            "x-ms-documentdb-isquery": "true",
            "x-ms-documentdb-query-enablecrosspartition": "true",
            "x-ms-max-item-count": String(items),
            ...(token ? { "x-ms-continuation": token } : {}),
        },
    });
    equal(reply.status, 200, reply.text);
    const next = reply.headers["x-ms-continuation"];
    ok(!next || next.length <= TOKEN_BYTES_MAX, `a token of ${next && next.length} bytes for ${body}`);
    return { rows: reply.json.Documents, next };
}

// All rows, with something done between the pages.
async function walk(container, body, between) {
    const rows = [];
    let token;
    for (let pages = 0; pages === 0 || token; pages++) {
        ok(pages < PAGES_MAX, `${body} ends`);
        const got = await page(container, body, token);
        rows.push(...got.rows);
        token = got.next;
        if (token && between) await between(pages);
    }
    return rows;
}

const QUERIES = [
    "SELECT VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c WHERE c.text >= ''",
    "SELECT VALUE c.n FROM c WHERE c.even = true",
    "SELECT VALUE c.n FROM c ORDER BY c.text",
    "SELECT VALUE c.n FROM c ORDER BY c.text DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.text, c.n",
    "SELECT VALUE c.n FROM c ORDER BY UPPER(c.text)",
    "SELECT VALUE c.n FROM c GROUP BY c.text, c.n",
];

eachRow(
    "tokens are short and whoever stays comes once, in order, however long keys and texts are",
    [
        { why: "texts of one letter", family: 0 },
        { why: "texts with a long common front", family: 1 },
        { why: "fronts of one text", family: 2 },
    ],
    async ({ family }) => {
        const { container, items } = await filled(family, 45);
        const random = randomOf(family + 99);
        const gone = new Set();
        const isSafe = (n) => n % 3 !== 0;
        for (const text of QUERIES) {
            const before = (await walk(container, text)).filter(isSafe);
            const after = await walk(container, text, async (number) => {
                const item = items[random(items.length / 3) * 3];
                if (gone.has(item.n)) return;
                if (number % 2) {
                    gone.add(item.n);
                    await container.item(item.id, item.pk).delete();
                } else {
                    await container.items.upsert({ ...item, text: textOf(random, family, 2500) });
                }
            });
            equal(after.filter(isSafe), before, text);
        }
    },
);

test("tokens of a feed are short whatever the keys are", async () => {
    const { container, items } = await filled(1, 20);
    const seen = [];
    let token;
    do {
        const reply = await server.signed("GET", `/dbs/tests/colls/${container.id}/docs`, {
            headers: { "x-ms-max-item-count": "3", ...(token ? { "x-ms-continuation": token } : {}) },
        });
        equal(reply.status, 200, reply.text);
        for (const item of reply.json.Documents) seen.push(item.n);
        token = reply.headers["x-ms-continuation"];
        ok(!token || token.length <= TOKEN_BYTES_MAX, `${token && token.length} bytes`);
        const last = reply.json.Documents[reply.json.Documents.length - 1];
        if (last) await container.item(last.id, last.pk).delete();
    } while (token);
    equal(
        seen.sort((a, b) => a - b),
        items.map((i) => i.n),
    );
});

eachRow(
    "a query goes on after the server was started again",
    [
        { why: "plain", text: "SELECT VALUE c.n FROM c" },
        { why: "in an order", text: "SELECT VALUE c.n FROM c ORDER BY c.text" },
        { why: "sorted", text: "SELECT VALUE c.n FROM c ORDER BY UPPER(c.text) DESC" },
        { why: "groups", text: "SELECT VALUE c.n FROM c GROUP BY c.n" },
    ],
    async ({ text }) => {
        const { container } = await filled(1, 12);
        const whole = await walk(container, text);
        let isNew = false;
        const parts = await walk(container, text, async () => {
            if (isNew) return;
            isNew = true;
            await server.stop();
            server = await start({ data: server.data });
            client = server.client();
        });
        equal(parts, whole);
    },
);

// ---- plans that clients follow ----------------------------------------------------------------------

const PLANNED = { forceQueryPlan: true, enableQueryControl: true, maxItemCount: 3 };

eachRow(
    "an order by a plan goes on in another client, by the age of what is equal",
    [
        { why: "ascending", text: "SELECT c.n FROM c ORDER BY c.k" },
        { why: "descending", text: "SELECT c.n FROM c ORDER BY c.k DESC" },
        { why: "by two keys", text: "SELECT c.n FROM c ORDER BY c.k, c.m" },
        { why: "the first ones", text: "SELECT TOP 11 c.n FROM c ORDER BY c.k" },
        { why: "of values without a literal", text: "SELECT c.n FROM c WHERE c.n > 3 ORDER BY c.list" },
        { why: "under a condition", text: "SELECT c.n FROM c WHERE c.n > 3 OR c.k = 0 ORDER BY c.k DESC" },
    ],
    async ({ text }) => {
        const container = await newContainer(client, {
            indexingPolicy: {
                compositeIndexes: [
                    [
                        { path: "/k", order: "ascending" },
                        { path: "/m", order: "ascending" },
                    ],
                ],
            },
        });
        for (let n = 0; n < 20; n++)
            await container.items.create({ id: `i${(n * 7) % 20}`, pk: "p", n, k: n % 2, m: n % 5, list: n % 3 });
        const options = { forceQueryPlan: true };
        const whole = (await container.items.query(text, options).fetchAll()).resources.map((r) => r.n);
        const parts = [];
        let token;
        let pages = 0;
        do {
            if (pages === 2) {
                await server.stop();
                server = await start({ data: server.data });
                client = server.client();
            }
            const { resources, continuationToken } = await server
                .client()
                .database("tests")
                .container(container.id)
                .items.query(text, { ...PLANNED, continuationToken: token })
                .fetchNext();
            for (const r of resources || []) parts.push(r.n);
            token = continuationToken;
            if (++pages > PAGES_MAX) throw new Error("it does not end");
            // Of the first n, the library gives a token behind the last one too.
        } while (token && JSON.parse(token).limit !== 0);
        equal(parts, whole);
    },
);

test("an order by a plan loses nobody when the last one given is deleted", async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 15; n++) await container.items.create({ id: `i${(n * 7) % 15}`, pk: "p", n, k: n % 2 });
    const seen = [];
    let token;
    do {
        const { resources, continuationToken } = await server
            .client()
            .database("tests")
            .container(container.id)
            .items.query("SELECT * FROM c ORDER BY c.k", { ...PLANNED, continuationToken: token })
            .fetchNext();
        for (const r of resources || []) seen.push(r.n);
        token = continuationToken;
        if (resources && resources.length) await container.item(resources[resources.length - 1].id, "p").delete();
    } while (token);
    equal(seen, [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13]);
});

run({
    before: async () => {
        server = await start();
        client = server.client();
    },
    after: stopAll,
});

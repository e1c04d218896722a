// The runner of the tests in node: named tests, run one after the other, counted on the last line.
//
//   const { test, equal, run } = require("./support/check");
//   test("a sentence that states one fact", async () => { equal(1 + 1, 2); });
//   run();
//
// FILTER=text runs only the tests whose name contains it. A test that takes longer than TEST_SECONDS_MAX
// fails, and ends the program, since nobody knows what it still holds.
"use strict";

const assert = require("node:assert");

const TEST_SECONDS_MAX = Number(process.env.TEST_SECONDS_MAX) || 60;
const tests = [];

function test(name, body) {
    if (name.split(" ").length < 3) throw new Error(`"${name}" is no sentence`);
    tests.push({ name, body });
}

// One test per row; the name of each is the sentence with the row's `why` behind it.
function eachRow(sentence, rows, body) {
    for (const row of rows) test(`${sentence}: ${row.why}`, () => body(row));
}

// Deep and strict: 1 is not "1", undefined is not null, no member may be missing or left over.
function equal(got, want, why) {
    try {
        assert.deepStrictEqual(got, want);
    } catch (error) {
        throw new Error((why ? `${why}: ` : "") + error.message.replace(/^Expected values/, "values"));
    }
}

function ok(claim, why) {
    if (!claim) throw new Error(`does not hold: ${why}`);
}

function matches(text, pattern) {
    if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} does not match ${pattern}`);
}

// The error of a promise that must fail; `code` is what the client reports, an HTTP status mostly.
async function fails(code, promise, pattern) {
    let value;
    try {
        value = await promise;
    } catch (error) {
        if (error.code !== code)
            throw new Error(`failed with ${error.code}, want ${code}: ${error.stack || error.message}`);
        if (pattern) matches(String(error.message), pattern);
        return error;
    }
    const shown = value && value.statusCode ? `status ${value.statusCode}` : JSON.stringify(value);
    throw new Error(`succeeded (${shown}), want failure ${code}`);
}

function limited(promise, name) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => {
            console.log(`FAILED ${name}\n    took longer than ${TEST_SECONDS_MAX} s`);
            reject(new Error("late"));
        }, TEST_SECONDS_MAX * 1000);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// The message, and of the stack only the lines of the tests themselves.
function told(error) {
    const lines = String((error && error.stack) || error).split("\n");
    return lines
        .filter((line) => !/^ +at /.test(line) || /clients\/(?!node_modules)/.test(line))
        .join("\n    ");
}

// Runs everything; `before` and `after` surround it all.
async function run({ before, after } = {}) {
    const filter = process.env.FILTER || "";
    const chosen = tests.filter((t) => t.name.includes(filter));
    let failed = 0;
    let passed = 0;
    if (chosen.length === 0) {
        console.log("no test matches");
        return;
    }
    try {
        if (before) await before();
        for (const { name, body } of chosen) {
            try {
                await limited(Promise.resolve().then(body), name);
                passed++;
            } catch (error) {
                failed++;
                if (error.message === "late") break;
                console.log(`FAILED ${name}\n    ${told(error)}`);
            }
        }
    } catch (error) {
        failed++;
        console.log(`FAILED before the first test\n    ${told(error)}`);
    }
    try {
        if (after) await after();
    } catch (error) {
        failed++;
        console.log(`FAILED after the last test\n    ${told(error)}`);
    }
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}

module.exports = { test, eachRow, equal, ok, matches, fails, run };

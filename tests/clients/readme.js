#!/usr/bin/env node
// The README keeps its word: its program runs as it stands there and prints what stands there.
"use strict";

const { test, equal, ok, run } = require("./support/check");
const { start, stopAll, temporaryDirectory } = require("./support/server");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const README = fs.readFileSync(path.join(__dirname, "../../README.md"), "utf8");

test("the program of the README prints what the README says", async () => {
    const program = /```js\n([^]*?)```/.exec(README);
    const output = /\$ node try\.js\n([^]*?)```/.exec(README);
    ok(program && output, "the README has a program and its output");
    ok(program[1].includes('"http://127.0.0.1:8081"'), "it goes to the usual port");
    const server = await start();
    const file = path.join(temporaryDirectory(), "try.js");
    fs.writeFileSync(file, program[1].replace("http://127.0.0.1:8081", server.url));
    // Debian 12's node keeps what the client needs behind a flag, which newer ones have given up.
    const flags = process.version.startsWith("v18.") ? ["--experimental-global-webcrypto"] : [];
    const printed = execFileSync(process.execPath, [...flags, file], {
        env: { ...process.env, NODE_PATH: path.join(__dirname, "node_modules") },
        encoding: "utf8",
        timeout: 30000,
    });
    equal(printed, output[1]);
});

// What mongosh prints for lines that are typed, without its prompts.
function typed(server, lines) {
    const mongosh = path.join(__dirname, "node_modules/mongosh/bin/mongosh.js");
    const printed = execFileSync(process.execPath, [mongosh, `${server.mongoUrl}/shop`, "--quiet", "--norc"], {
        input: lines.join("\n") + "\n",
        env: { ...process.env, HOME: server.data },
        encoding: "utf8",
        timeout: 50000,
    });
    return printed.split(PROMPT).filter(Boolean).map((text) => text.trim());
}

const PROMPT = "mayfly [direct: primary] shop> ";

test("the shell prints what the README says", async () => {
    const session = /\$ mongosh shop --quiet\n([^]*?)\n\$ curl -d '(.*?)'[^]*?\n\n([^]*?)```/.exec(README);
    ok(session, "the README has a session of mongosh, and a step of the clock in it");
    const server = await start({ options: ["--mongo", "127.0.0.1:0"] });
    for (const [part, clock] of [[session[1], session[2]], [session[3], undefined]]) {
        const lines = part.split("\n").filter(Boolean);
        const commands = lines.filter((line) => line.startsWith(PROMPT)).map((line) => line.slice(PROMPT.length));
        ok(commands.length > 0, "something is typed");
        equal(typed(server, commands), lines.filter((line) => !line.startsWith(PROMPT)));
        if (clock) await fetch(`${server.url}/_mayfly/clock`, { method: "POST", body: clock });
    }
});

run({ after: stopAll });

// A server process of its own for the tests, its clock, and requests signed by hand.
//
// start() gives a server on a free port in a temporary directory; stopAll() ends every one that was started,
// which the runner does at the end. Nothing here waits for time to pass: the server's clock is moved instead.
"use strict";

const { spawn } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

// Debian 12's node keeps this behind a flag; the client needs it.
globalThis.crypto ??= crypto.webcrypto;
const { CosmosClient } = require("@azure/cosmos");

// The well-known key of the emulator, which every tool has as its default.
const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const START_SECONDS_MAX = 30;
const STOP_SECONDS_MAX = 20;
const MAYFLY = path.resolve(process.env.MAYFLY || path.join(__dirname, "../../../build/mayfly"));

const running = new Set();
const directories = [];
const clients = [];

function temporaryDirectory() {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), "mayfly-clients-"));
    directories.push(made);
    return made;
}

async function start({ options = [], data = temporaryDirectory() } = {}) {
    const server = new Server(data);
    await server.launch(options);
    return server;
}

// Every server that still runs must stop in order.
async function stopAll() {
    for (const client of clients.splice(0)) client.dispose();
    const codes = [];
    for (const server of [...running]) codes.push(await server.stop(), server.errors);
    for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true });
    for (let i = 0; i < codes.length; i += 2)
        if (codes[i] !== 0) throw new Error(`a server ended with ${codes[i]}: ${codes[i + 1].slice(-2000)}`);
}

class Server {
    constructor(data) {
        this.data = data;
        this.errors = "";
    }

    async launch(options) {
        const words = ["serve", "--data", this.data, "--cosmos", "127.0.0.1:0", "--mongo", "none", "--test-commands"];
        this.process = spawn(MAYFLY, [...words, ...options], { stdio: ["ignore", "pipe", "pipe"] });
        running.add(this);
        this.process.stderr.on("data", (text) => (this.errors += text));
        this.ended = new Promise((resolve) => {
            this.process.on("error", (error) => resolve(error.message));
            this.process.on("exit", (code, signal) => resolve(signal || code));
        });
        await this.readUntilReady();
    }

    async readUntilReady() {
        const lines = readline.createInterface({ input: this.process.stdout });
        const timer = setTimeout(() => this.process.kill("SIGKILL"), START_SECONDS_MAX * 1000);
        for await (const line of lines) {
            const certificate = /^mayfly certificate (.+)$/.exec(line);
            const ready =
                /^mayfly ready cosmos=(http:\/\/127\.0\.0\.1:(\d+))(?: mongo=(mongodb:\/\/127\.0\.0\.1:\d+))?$/.exec(line);
            if (certificate) this.certificate = certificate[1];
            if (!ready) continue;
            clearTimeout(timer);
            this.url = ready[1];
            this.port = Number(ready[2]);
            this.mongoUrl = ready[3];
            return;
        }
        clearTimeout(timer);
        running.delete(this);
        throw new Error(`no ready line; ended with ${await this.ended}: ${this.errors}`);
    }

    // Ends it in the middle of whatever it does.
    async kill() {
        running.delete(this);
        this.process.kill("SIGKILL");
        return this.ended;
    }

    // Asks it to end; the exit code, or SIGKILL if it does not.
    async stop() {
        running.delete(this);
        this.process.kill("SIGTERM");
        const timer = setTimeout(() => this.process.kill("SIGKILL"), STOP_SECONDS_MAX * 1000);
        const code = await this.ended;
        clearTimeout(timer);
        return code;
    }

    // A client of the real library. `more` overrides anything.
    client(more = {}) {
        const client = new CosmosClient({
            endpoint: this.url,
            key: KEY,
            connectionPolicy: { enableBackgroundEndpointRefreshing: false },
            ...more,
        });
        clients.push(client);
        return client;
    }

    // One request over a connection of its own; nothing is added to it but Host and Content-Length.
    raw(method, target, { headers = {}, body, isSecure = false } = {}) {
        const send = isSecure ? https.request : http.request;
        const all = { ...headers };
        const data =
            body === undefined || Buffer.isBuffer(body)
                ? body
                : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
        if (data) all["content-length"] = data.length;
        return new Promise((resolve, reject) => {
            const request = send(
                {
                    host: "127.0.0.1",
                    port: this.port,
                    method,
                    path: target,
                    headers: all,
                    agent: false,
                    ca: isSecure ? fs.readFileSync(this.certificate) : undefined,
                },
                (reply) => {
                    const parts = [];
                    reply.on("data", (part) => parts.push(part));
                    reply.on("error", reject);
                    reply.on("end", () => resolve(readReply(reply, Buffer.concat(parts).toString("utf8"))));
                },
            );
            request.on("error", reject);
            request.end(data);
        });
    }

    // The same, signed; `link` and `type` are what is signed, by default what the path says.
    signed(method, target, { headers = {}, key = KEY, link, type, ...more } = {}) {
        const own = signature(method, target, { key, link, type });
        return this.raw(method, target, { headers: { ...own, ...headers }, ...more });
    }

    // Server time in milliseconds, after moving it by so much.
    async advance(byMs = 0) {
        const reply = await this.raw("POST", "/_mayfly/clock", { body: { advanceMs: byMs } });
        if (reply.status !== 200) throw new Error(`the clock did not move: ${reply.text}`);
        return reply.json.nowMs;
    }

    // Moves server time to this second exactly, or leaves it if it is past that.
    async advanceTo(second) {
        const now = await this.advance(0);
        return now >= second * 1000 ? now : this.advance(second * 1000 - now);
    }

    async purge() {
        const reply = await this.raw("POST", "/_mayfly/purge");
        if (reply.status !== 200) throw new Error(`the purger did not run: ${reply.text}`);
        return reply.json;
    }

    // Carries out `attempt` while server time is still before this second, and proves that it was: real time
    // passes too. `prepare` makes the state anew and gives the second; it is repeated if time ran out.
    async before(marginMs, prepare, attempt) {
        for (let round = 0; round < 10; round++) {
            const { deadline, ...state } = await prepare();
            const now = await this.advance(0);
            await this.advance(Math.max(0, deadline * 1000 - marginMs - now));
            const answer = await attempt(state);
            if ((await this.advance(0)) < deadline * 1000) return { answer, deadline, ...state };
        }
        throw new Error(`ten times ${marginMs} ms were not enough for one request`);
    }
}

function readReply(reply, text) {
    let json;
    try {
        json = JSON.parse(text);
    } catch {
        json = undefined;
    }
    return { status: reply.statusCode, headers: reply.headers, text, json };
}

// Headers of a signed request. What is signed is the decoded path: of /dbs/d/colls/c the resource itself, of
// /dbs/d/colls its parent.
function signature(method, target, { key = KEY, link, type, date = new Date() } = {}) {
    const parts = target
        .split("/")
        .filter((part) => part !== "")
        .map(decodeURIComponent);
    const isFeed = parts.length % 2 === 1;
    const signedType = type ?? (isFeed ? parts[parts.length - 1] : (parts[parts.length - 2] ?? ""));
    const signedLink = link ?? (isFeed ? parts.slice(0, -1) : parts).join("/");
    const text = date instanceof Date ? date.toUTCString() : date;
    const payload = `${method.toLowerCase()}\n${signedType.toLowerCase()}\n${signedLink}\n${text.toLowerCase()}\n\n`;
    const sum = crypto
        .createHmac("sha256", Buffer.from(key, "base64"))
        .update(payload, "utf8")
        .digest("base64");
    return {
        authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sum}`),
        "x-ms-date": text,
        "x-ms-version": "2020-07-15",
    };
}

let containerNumber = 0;

// A new container in the database "tests", with these properties.
async function newContainer(client, properties = {}, options = {}) {
    const { database } = await client.databases.createIfNotExists({ id: "tests" });
    const { container } = await database.containers.create(
        { id: `c${++containerNumber}`, partitionKey: { paths: ["/pk"] }, ...properties },
        options,
    );
    return container;
}

module.exports = { KEY, start, stopAll, temporaryDirectory, signature, newContainer, MAYFLY };

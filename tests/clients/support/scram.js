// The client's side of SCRAM, step by step, so that each step can be sent in another way, or badly.
"use strict";

const crypto = require("node:crypto");

const HASHES = { "SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1" };

class Scram {
    constructor(mechanism, user, password) {
        this.mechanism = mechanism;
        this.hash = HASHES[mechanism] ?? "sha256";
        const old = crypto.createHash("md5").update(`${user}:mongo:${password}`).digest("hex");
        this.password = this.hash === "sha1" ? old : password;
        this.bare = `n=${user},r=${crypto.randomBytes(18).toString("base64")}`;
    }

    // What saslStart carries, and speculativeAuthenticate of hello.
    start(more = {}) {
        const payload = Buffer.from(`n,,${this.bare}`);
        return { saslStart: 1, mechanism: this.mechanism, payload, options: { skipEmptyExchange: true }, ...more };
    }

    hmac(key, text) {
        return crypto.createHmac(this.hash, key).update(text).digest();
    }

    // The answer to the server's first step.
    finish({ conversationId, payload }) {
        const first = payload.toString();
        const [, nonce, salt, rounds] = /^r=(.*),s=(.*),i=(\d+)$/.exec(first);
        const length = this.hash === "sha1" ? 20 : 32;
        const salted = crypto.pbkdf2Sync(this.password, Buffer.from(salt, "base64"), Number(rounds), length, this.hash);
        const key = this.hmac(salted, "Client Key");
        const unproven = `c=biws,r=${nonce}`;
        const talk = `${this.bare},${first},${unproven}`;
        const signed = this.hmac(crypto.createHash(this.hash).update(key).digest(), talk);
        const proof = Buffer.from(key.map((byte, i) => byte ^ signed[i])).toString("base64");
        this.verifier = `v=${this.hmac(this.hmac(salted, "Server Key"), talk).toString("base64")}`;
        return { saslContinue: 1, conversationId, payload: Buffer.from(`${unproven},p=${proof}`) };
    }
}

module.exports = { Scram };

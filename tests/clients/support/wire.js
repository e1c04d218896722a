// A connection of the MongoDB protocol whose messages are made by hand, for what no driver sends on purpose.
"use strict";

const net = require("net");
const { serialize, deserialize } = require("bson");

const HEADER_BYTES = 16;
const MESSAGE_HEAD_BYTES = 21;
const OP_MSG = 2013;

// One connection that sends commands and reads replies, one after the other.
class Wire {
    constructor(url, database) {
        const { hostname, port } = new URL(url);
        this.database = database;
        this.socket = net.connect(Number(port), hostname);
        this.waiting = [];
        this.early = []; // replies that nobody has waited for yet
        this.input = Buffer.alloc(0);
        this.socket.on("data", (data) => this.take(data));
        this.socket.on("error", () => {});
        this.socket.on("close", () => this.waiting.splice(0).forEach(({ reject }) => reject(new Error("closed"))));
    }

    take(data) {
        this.input = Buffer.concat([this.input, data]);
        while (this.input.length >= HEADER_BYTES && this.input.length >= this.input.readInt32LE(0)) {
            const length = this.input.readInt32LE(0);
            this.flags = this.input.readUInt32LE(HEADER_BYTES);
            const reply = deserialize(this.input.subarray(MESSAGE_HEAD_BYTES, length));
            this.input = this.input.subarray(length);
            delete reply.$clusterTime;
            delete reply.operationTime;
            if (this.waiting.length > 0) this.waiting.shift().resolve(reply);
            else this.early.push(reply);
        }
    }

    // The reply, without the times, which are its own.
    send(command, flags = 0) {
        const body = serialize({ ...command, $db: this.database });
        const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
        head.writeInt32LE(MESSAGE_HEAD_BYTES + body.length, 0);
        head.writeInt32LE(OP_MSG, 12);
        head.writeUInt32LE(flags, HEADER_BYTES);
        this.socket.write(Buffer.concat([head, body]));
        return this.next();
    }

    // One that comes without being asked for; this.flags are those of the newest.
    async next() {
        if (this.early.length > 0) return this.early.shift();
        return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    }

    close() {
        this.socket.destroy();
    }
}

module.exports = { Wire };

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
        this.input = Buffer.alloc(0);
        this.socket.on("data", (data) => this.take(data));
        this.socket.on("error", () => {});
        this.socket.on("close", () => this.waiting.splice(0).forEach(({ reject }) => reject(new Error("closed"))));
    }

    take(data) {
        this.input = Buffer.concat([this.input, data]);
        while (this.input.length >= HEADER_BYTES && this.input.length >= this.input.readInt32LE(0)) {
            const length = this.input.readInt32LE(0);
            const reply = deserialize(this.input.subarray(MESSAGE_HEAD_BYTES, length));
            this.input = this.input.subarray(length);
            this.waiting.shift().resolve(reply);
        }
    }

    // Without the times, which are those of the reply.
    async send(command) {
        const body = serialize({ ...command, $db: this.database });
        const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
        head.writeInt32LE(MESSAGE_HEAD_BYTES + body.length, 0);
        head.writeInt32LE(OP_MSG, 12);
        this.socket.write(Buffer.concat([head, body]));
        const reply = await new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
        delete reply.$clusterTime;
        delete reply.operationTime;
        return reply;
    }

    close() {
        this.socket.destroy();
    }
}

module.exports = { Wire };

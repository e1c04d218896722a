#!/usr/bin/env node
// Users, passwords and rights over the MongoDB protocol, through the npm driver.
"use strict";

const { test, equal, ok, fails, eachRow, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
const { Scram } = require("./support/scram");
const { Wire } = require("./support/wire");
const { MongoClient } = require("mongodb");

let server;
const clients = [];

const connect = async (user, password, more = "") => {
    const name = user ? `${encodeURIComponent(user)}:${encodeURIComponent(password)}@` : "";
    const made = new MongoClient(server.mongoUrl.replace("//", `//${name}`) + "/" + more, { serverSelectionTimeoutMS: 5000 });
    clients.push(made);
    await made.connect();
    return made;
};

test("without users everything is allowed on this machine, and the first user ends that", async () => {
    const open = await connect();
    await open.db("shop").collection("c").insertOne({ _id: 1 });
    await open.db("admin").command({ createUser: "root", pwd: "r00t", roles: ["root"] });
    await fails(13, open.db("shop").collection("c").findOne({}));
    equal((await open.db("admin").command({ ping: 1 })).ok, 1);
});

eachRow(
    "a user gets in",
    [
        { why: "by default", more: "?authSource=admin" },
        { why: "with SCRAM-SHA-256", more: "?authSource=admin&authMechanism=SCRAM-SHA-256" },
        { why: "with SCRAM-SHA-1", more: "?authSource=admin&authMechanism=SCRAM-SHA-1" },
    ],
    async ({ more }) => {
        const client = await connect("root", "r00t", more);
        equal((await client.db("shop").collection("c").findOne({}))._id, 1);
        const status = await client.db("admin").command({ connectionStatus: 1 });
        equal(status.authInfo.authenticatedUsers, [{ user: "root", db: "admin" }]);
    },
);

test("a wrong password and an unknown name are told apart by nobody", async () => {
    const wrong = await fails(18, connect("root", "wrong", "?authSource=admin"));
    const unknown = await fails(18, connect("nobody", "wrong", "?authSource=admin"));
    equal(wrong.message, unknown.message);
});

test("names with commas and passwords of other alphabets work", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    await root.db("admin").command({ createUser: "a,b=c", pwd: "pässwörd", roles: ["readAnyDatabase"] });
    const client = await connect("a,b=c", "pässwörd", "?authSource=admin");
    equal((await client.db("shop").collection("c").findOne({}))._id, 1);
    await fails(13, client.db("shop").collection("c").insertOne({}));
});

test("a password is the same however its letters are typed, and may not hold control characters", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    await root.db("admin").command({ createUser: "nine", pwd: "I\u00adX", roles: ["readAnyDatabase"] });
    for (const typed of ["IX", "\u2168", "I\u00adX"]) {
        const client = await connect("nine", typed, "?authSource=admin&authMechanism=SCRAM-SHA-256");
        equal((await client.db("shop").collection("c").findOne({}))._id, 1);
    }
    await fails(18, connect("nine", "ix", "?authSource=admin&authMechanism=SCRAM-SHA-256"));
    const refused = await fails(2, root.db("admin").command({ createUser: "bell", pwd: "ring\u0007", roles: [] }));
    ok(/control characters/.test(refused.message), refused.message);
});

test("roles hold for the database on which they were given", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    await root.db("shop").command({ createUser: "clerk", pwd: "x", roles: ["read"] });
    const clerk = await connect("clerk", "x", "?authSource=shop");
    const c = clerk.db("shop").collection("c");
    equal((await c.findOne({}))._id, 1);
    await fails(13, c.insertOne({}));
    await fails(13, clerk.db("other").collection("c").findOne({}));
    await fails(13, clerk.db("shop").command({ createUser: "x", pwd: "x", roles: [] }));
    await root.db("shop").command({ grantRolesToUser: "clerk", roles: ["readWrite"] });
    equal((await c.insertOne({ _id: 2 })).insertedId, 2, "a role holds at once");
    const write = (namespace) => clerk.bulkWrite([{ name: "insertOne", namespace, document: {} }]);
    equal((await write("shop.c")).insertedCount, 1);
    await fails(13, write("other.c").catch((e) => Promise.reject(e.cause ?? e)), /not authorized on other/);
    await root.db("shop").command({ revokeRolesFromUser: "clerk", roles: ["readWrite"] });
    await fails(13, c.insertOne({}));
});

test("a collection is renamed by who administers its databases, and by nobody else", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    await root.db("shop").collection("old").insertOne({ _id: 1 });
    await root.db("shop").command({ createUser: "owner", pwd: "x", roles: ["dbOwner"] });
    await root.db("admin").command({ createUser: "keeper", pwd: "x", roles: [{ role: "dbAdmin", db: "admin" }] });
    const rename = (client, from, to) => client.db("admin").command({ renameCollection: from, to, dropTarget: true });
    const keeper = await connect("keeper", "x", "?authSource=admin");
    await fails(13, rename(keeper, "shop.old", "shop.new"));
    const owner = await connect("owner", "x", "?authSource=shop");
    await fails(13, rename(owner, "shop.old", "other.new"));
    equal((await rename(owner, "shop.old", "shop.new")).ok, 1);
    equal(await owner.db("shop").collection("new").countDocuments(), 1);
    for (const [db, user] of [["shop", "owner"], ["admin", "keeper"]]) await root.db(db).command({ dropUser: user });
});

// ---- roles -------------------------------------------------------------------------------------------

const ofShop = ["read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"];
const ofServer = ["clusterMonitor", "clusterManager", "hostManager", "clusterAdmin", "root"];
const readers = ["read", "readWrite", "dbOwner", "root"];
const writers = ["readWrite", "dbOwner", "root"];
const admins = ["dbAdmin", "dbOwner", "root"];
const builders = ["readWrite", ...admins];
const viewers = ["read", ...builders];
const watchers = ["clusterMonitor", "clusterAdmin", "root"];
const steerers = ["hostManager", "clusterAdmin", "root"];
const everybody = [...ofShop, ...ofServer];

const on = (db, may, ...commands) => commands.map((command) => ({ why: JSON.stringify(command), db, may, command }));
const pipeline = (...stages) => ({ aggregate: "c", pipeline: stages, cursor: {} });
const whole = (...stages) => ({ aggregate: 1, pipeline: stages, cursor: {} });
const roleRows = [
    ...on("shop", readers, { find: "c" }, { count: "c" }, { distinct: "c", key: "a" }, { dataSize: "shop.c" }, pipeline(),
        { explain: { find: "c" } }, pipeline({ $collStats: { count: {} } }, { $lookup: { from: "c", pipeline: [], as: "x" } })),
    ...on("shop", writers, { insert: "c", documents: [{}] }, { update: "c", updates: [{ q: { _id: "none" }, u: { $set: { a: 1 } } }] },
        { delete: "c", deletes: [{ q: { _id: "none" }, limit: 1 }] }, { findAndModify: "c", query: { _id: "none" }, remove: true }),
    ...on("shop", builders, { create: "made" }, { createIndexes: "c", indexes: [{ key: { a: 1 }, name: "a_1" }] },
        { dropIndexes: "c", index: "none" }, { drop: "none" }, { convertToCapped: "none", size: 1000 }),
    ...on("admin", builders, { renameCollection: "shop.none", to: "shop.other" }),
    ...on("shop", viewers, { listIndexes: "c" }, { listCollections: 1 }),
    ...on("shop", [...viewers, "clusterMonitor", "clusterAdmin"], { collStats: "c" }, { dbStats: 1 }, pipeline({ $collStats: { count: {} } })),
    ...on("shop", [...admins, "clusterMonitor", "clusterAdmin"], { find: "system.profile" }, { count: "system.profile" }, { profile: -1 },
        pipeline({ $indexStats: {} }), { ...pipeline(), aggregate: "system.profile" }),
    ...on("shop", admins, { collMod: "c" }, { validate: "c" }, { profile: 0 }, { drop: "system.profile" }, { planCacheClear: "c" }, { compact: "c" }),
    ...on("shop", ["userAdmin", "dbOwner", "root"], { usersInfo: 1 }, { createUser: "x", pwd: "", roles: [] }, { dropUser: "none" }),
    ...on("admin", ["root"], { usersInfo: { forAllDBs: true } }),
    ...on("admin", watchers, { serverStatus: 1 }, { hostInfo: 1 }, { getLog: "global" }, { top: 1 }, { getCmdLineOpts: 1 },
        { getParameter: 1, ttlMonitorEnabled: 1 }, { currentOp: 1 }, whole({ $currentOp: { allUsers: true } }),
        { listDatabases: 1, authorizedDatabases: false }),
    ...on("admin", [...watchers, "clusterManager"], { replSetGetStatus: 1 }, { replSetGetConfig: 1 }, { getDefaultRWConcern: 1 },
        whole({ $listLocalSessions: { allUsers: true } }), whole({ $listLocalSessions: { users: [{ user: "nobody", db: "shop" }] } })),
    ...on("admin", steerers, { setParameter: 1, cursorTimeoutMillis: 600000 }, { fsync: 1 }, { killOp: 1, op: 99 },
        { killAllSessions: [{ user: "nobody", db: "shop" }] }),
    ...on("admin", everybody, { ping: 1 }, { hello: 1 }, { connectionStatus: 1 }, { listDatabases: 1 }, { currentOp: 1, $ownOps: true },
        whole({ $currentOp: {} }), whole({ $listLocalSessions: {} }), { buildInfo: 1 }, { rolesInfo: 1 }),
    ...on("config", everybody, { ...pipeline({ $listSessions: {} }), aggregate: "system.sessions" }),
];
const byRole = {};

test("each role of MongoDB has a user", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    for (const role of ofShop) {
        await root.db("shop").command({ createUser: role, pwd: "x", roles: [role] });
        byRole[role] = await connect(role, "x", "?authSource=shop");
    }
    for (const role of ofServer) {
        await root.db("admin").command({ createUser: role, pwd: "x", roles: [role] }).catch(() => {});
        byRole[role] = role === "root" ? root : await connect(role, "x", "?authSource=admin");
    }
    await root.db("other").collection("c").insertOne({});
});

eachRow("a command is for those who have a role for it:", roleRows, async ({ db, may, command }) => {
    for (const role of everybody) {
        const code = await byRole[role].db(db).command(command).then(() => 0, (error) => error.code);
        equal(code === 13 ? "no" : "yes", may.includes(role) ? "yes" : "no", `${role} (${code})`);
    }
});

test("databases are listed for those who have a role on them", async () => {
    const names = async (role, more) =>
        (await byRole[role].db("admin").command({ listDatabases: 1, nameOnly: true, ...more })).databases.map(({ name }) => name);
    equal(await names("read"), ["shop"]);
    equal(await names("userAdmin"), ["shop"]);
    equal(await names("hostManager"), []);
    for (const role of ["clusterMonitor", "root"]) equal(await names(role), ["other", "shop"]);
    equal(await names("clusterMonitor", { authorizedDatabases: true }), []);
    equal(await names("root", { authorizedDatabases: true }), ["other", "shop"]);
});

test("who looks after the users of one database gives away no rights on others, and all may ask about themselves", async () => {
    const shop = byRole.userAdmin.db("shop");
    await fails(13, shop.command({ createUser: "eve", pwd: "x", roles: [{ role: "root", db: "admin" }] }));
    await fails(13, shop.command({ grantRolesToUser: "read", roles: [{ role: "readWrite", db: "other" }] }));
    await fails(13, shop.command({ usersInfo: { user: "root", db: "admin" } }));
    await fails(13, shop.command({ usersInfo: ["read", { user: "root", db: "admin" }] }));
    equal((await shop.command({ usersInfo: ["read", "dbAdmin"] })).users.length, 2);
    equal((await byRole.read.db("shop").command({ usersInfo: "read" })).users[0].roles, [{ role: "read", db: "shop" }]);
    await fails(13, byRole.read.db("shop").command({ usersInfo: "dbAdmin" }));
    await fails(13, byRole.hostManager.db("shop").command({ dropDatabase: 1 }));
    equal((await byRole.clusterAdmin.db("nothing").command({ dropDatabase: 1 })).ok, 1);
});

test("cursors are for those who opened them, and for who steers the server", async () => {
    const mine = byRole.readWrite.db("shop");
    const theirs = byRole.read.db("shop");
    await mine.collection("many").insertMany([{}, {}, {}, {}]);
    const open = async () => (await mine.command({ find: "many", batchSize: 1 })).cursor.id;
    const idle = async (role, options) =>
        (await byRole[role].db("admin").aggregate([{ $currentOp: { idleCursors: true, ...options } }, { $match: { type: "idleCursor" } }]).toArray()).length;
    const id = await open();
    const refused = await fails(13, theirs.command({ getMore: id, collection: "many" }));
    ok(/not created by the authenticated user/.test(refused.message), refused.message);
    await fails(13, theirs.command({ killCursors: "many", cursors: [id] }));
    equal([await idle("read"), await idle("readWrite"), await idle("clusterMonitor", { allUsers: true })], [0, 1, 1]);
    equal((await byRole.hostManager.db("shop").command({ killCursors: "many", cursors: [id] })).cursorsKilled, [id]);
    const other = await open();
    equal((await mine.command({ killCursors: "many", cursors: [other] })).cursorsKilled, [other]);
});

test("a session belongs to its user: another one with the same number is another session", async () => {
    const begin = async (role, like) => {
        const session = byRole[role].startSession();
        if (like) session.serverSession.id = like.serverSession.id;
        session.startTransaction();
        await byRole[role].db("shop").collection("many").findOne({}, { session });
        return session;
    };
    const idle = async () =>
        (await byRole.clusterMonitor.db("admin").aggregate([{ $currentOp: { allUsers: true } }, { $match: { type: "idleSession" } }]).toArray()).length;
    const mine = await begin("readWrite");
    const theirs = await begin("dbOwner", mine);
    equal(await idle(), 2, "both are open");
    await theirs.abortTransaction();
    equal(await idle(), 1);
    await byRole.dbOwner.db("admin").command({ killSessions: [mine.id] });
    equal(await idle(), 1, "nobody else's session is killed");
    await byRole.clusterAdmin.db("admin").command({ killAllSessions: [{ user: "dbOwner", db: "shop" }] });
    equal(await idle(), 1);
    await byRole.clusterAdmin.db("admin").command({ killAllSessions: [{ user: "readWrite", db: "shop" }] });
    equal(await idle(), 0);
    await fails(251, mine.commitTransaction());
    for (const session of [mine, theirs]) await session.endSession();
});

test("a connection is told what its user may do", async () => {
    const { authInfo } = await byRole.read.db("admin").command({ connectionStatus: 1, showPrivileges: true });
    equal(authInfo.authenticatedUserRoles, [{ role: "read", db: "shop" }]);
    equal(authInfo.authenticatedUserPrivileges.map(({ resource }) => resource), [{ db: "shop", collection: "" }]);
    ok(authInfo.authenticatedUserPrivileges[0].actions.includes("find"), "it may find");
    ok(!authInfo.authenticatedUserPrivileges[0].actions.includes("insert"), "and not insert");
});

test("the users of the roles go", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    for (const role of ofShop) await root.db("shop").command({ dropUser: role });
    for (const role of ofServer.slice(0, -1)) await root.db("admin").command({ dropUser: role });
});

test("a new password takes the place of the old one, and a dropped user is out at once", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    const clerk = await connect("clerk", "x", "?authSource=shop");
    await root.db("shop").command({ updateUser: "clerk", pwd: "y" });
    await fails(18, connect("clerk", "x", "?authSource=shop"));
    ok(await connect("clerk", "y", "?authSource=shop"), "the new one");
    await root.db("shop").command({ dropUser: "clerk" });
    await fails(13, clerk.db("shop").collection("c").findOne({}));
});

// ---- speculative authentication ---------------------------------------------------------------------

const wires = [];
const newWire = () => {
    const made = new Wire(server.mongoUrl, "admin");
    wires.push(made);
    return made;
};
const hello = (scram, more) => ({ hello: 1, speculativeAuthenticate: { ...scram.start({ db: "admin" }), ...more } });
const MECHANISMS = ["SCRAM-SHA-256", "SCRAM-SHA-1"];

for (const mechanism of MECHANISMS) {
    test(`hello begins ${mechanism}, and one saslContinue ends it`, async () => {
        const wire = newWire();
        const scram = new Scram(mechanism, "root", "r00t");
        const greeted = await wire.send(hello(scram));
        equal([greeted.ok, greeted.isWritablePrimary], [1, true]);
        equal(greeted.speculativeAuthenticate.done, false);
        equal((await wire.send({ usersInfo: 1 })).code, 13, "half of it is nothing");
        const last = await wire.send(scram.finish(greeted.speculativeAuthenticate));
        equal([last.ok, last.done, last.payload.toString()], [1, true, scram.verifier]);
        const status = await wire.send({ connectionStatus: 1 });
        equal(status.authInfo.authenticatedUsers, [{ user: "root", db: "admin" }]);
    });

    test(`hello begins ${mechanism} without skipEmptyExchange, and an empty step ends it`, async () => {
        const wire = newWire();
        const scram = new Scram(mechanism, "root", "r00t");
        const greeted = await wire.send(hello(scram, { options: {} }));
        const proven = await wire.send(scram.finish(greeted.speculativeAuthenticate));
        equal([proven.ok, proven.done, proven.payload.toString()], [1, false, scram.verifier]);
        const { conversationId } = proven;
        const last = await wire.send({ saslContinue: 1, conversationId, payload: Buffer.alloc(0) });
        equal([last.ok, last.done, last.payload.toString()], [1, true, ""]);
        equal((await wire.send({ usersInfo: 1 })).ok, 1);
    });

    test(`a speculation by ${mechanism} with a wrong password or name fails at its end, and the next try may succeed`, async () => {
        const wire = newWire();
        const faults = [];
        for (const [user, password] of [["root", "wrong"], ["nobody", "r00t"]]) {
            const scram = new Scram(mechanism, user, password);
            const greeted = await wire.send(hello(scram));
            equal(greeted.ok, 1);
            const refused = await wire.send(scram.finish(greeted.speculativeAuthenticate));
            equal([refused.ok, refused.code, refused.codeName], [0, 18, "AuthenticationFailed"]);
            faults.push(refused.errmsg);
            const again = await wire.send(scram.finish(greeted.speculativeAuthenticate));
            equal([again.ok, again.code], [0, 17], "a talk that has failed is over");
        }
        equal(faults[0], faults[1]);
        equal((await wire.send({ usersInfo: 1 })).code, 13);
        const scram = new Scram(mechanism, "root", "r00t");
        const last = await wire.send(scram.finish(await wire.send(scram.start())));
        equal([last.ok, last.done], [1, true]);
    });
}

eachRow(
    "a speculation is passed over, and hello answered",
    [
        { why: "an unknown mechanism", more: { mechanism: "SCRAM-SHA-512" } },
        { why: "a mechanism that is no text", more: { mechanism: 1 } },
        { why: "no mechanism", more: { mechanism: undefined } },
        { why: "no payload", more: { payload: undefined } },
        { why: "an empty payload", more: { payload: Buffer.alloc(0) } },
        { why: "a payload that is no SCRAM", more: { payload: Buffer.from("hello") } },
        { why: "a payload that asks for a channel", more: { payload: Buffer.from("y,,n=root,r=abc") } },
        { why: "a payload that is a number", more: { payload: 5 } },
        { why: "no database", more: { db: undefined } },
        { why: "a database that is no text", more: { db: 5 } },
    ],
    async ({ why, more }) => {
        const wire = newWire();
        const scram = new Scram("SCRAM-SHA-256", "root", "r00t");
        const greeted = await wire.send(hello(scram, more));
        equal([greeted.ok, greeted.isWritablePrimary, greeted.speculativeAuthenticate], [1, true, undefined], why);
        equal((await wire.send({ saslContinue: 1, conversationId: 1, payload: Buffer.from("c=biws") })).code, 17);
        equal((await wire.send({ usersInfo: 1 })).code, 13);
        const last = await wire.send(scram.finish(await wire.send(scram.start())));
        equal([last.ok, last.done], [1, true]);
    },
);

test("users outlive a restart", async () => {
    const { data } = server;
    for (const made of clients.splice(0)) await made.close();
    equal(await server.stop(), 0);
    server = await start({ data, options: ["--mongo", "127.0.0.1:0"] });
    await fails(13, (await connect()).db("shop").collection("c").findOne({}));
    const root = await connect("root", "r00t", "?authSource=admin");
    const { users } = await root.db("admin").command({ usersInfo: { forAllDBs: true } });
    equal(users.map(({ user }) => user).sort(), ["a,b=c", "nine", "root"]);
});

run({
    before: async () => {
        server = await start({ options: ["--mongo", "127.0.0.1:0"] });
    },
    after: async () => {
        for (const made of wires) made.close();
        for (const made of clients) await made.close();
        await stopAll();
    },
});

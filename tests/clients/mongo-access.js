#!/usr/bin/env node
// Users, passwords and rights over the MongoDB protocol, through the npm driver.
"use strict";

const { test, equal, ok, fails, eachRow, run } = require("./support/check");
const { start, stopAll } = require("./support/server");
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

test("a new password takes the place of the old one, and a dropped user is out at once", async () => {
    const root = await connect("root", "r00t", "?authSource=admin");
    const clerk = await connect("clerk", "x", "?authSource=shop");
    await root.db("shop").command({ updateUser: "clerk", pwd: "y" });
    await fails(18, connect("clerk", "x", "?authSource=shop"));
    ok(await connect("clerk", "y", "?authSource=shop"), "the new one");
    await root.db("shop").command({ dropUser: "clerk" });
    await fails(13, clerk.db("shop").collection("c").findOne({}));
});

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
        for (const made of clients) await made.close();
        await stopAll();
    },
});

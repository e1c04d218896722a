/* The server's own pages, on an engine in memory, without sockets. */
#include "tests/check.h"

#include "server/pages.h"
#include "storage/storage.h"

struct house {
    struct manual_time time;
    struct log log;
    struct metrics metrics;
    struct arena *arena;
    struct clock *clock;
    struct engine_sweep *sweep;
    struct storage *storage;
    struct pages pages;
    struct http_request request;
    bool is_far_away; /* the client is on another machine */
};

static struct house *house_open(bool has_test_commands)
{
    struct house *house = memory_take_zeroed(1, sizeof(*house));
    struct storage *inner;

    atomic_store(&house->time.wall, 1000000000000);
    house->log = log_to(2, LOG_SILENT);
    house->arena = arena_open(16 * 1024 * 1024);
    house->clock = clock_open(clock_source_manual(&house->time), LIMIT_CLOCK_LEAP_MS);
    house->sweep = engine_sweep_open();
    struct storage_options storage = { .log = &house->log,
                                       .metrics = &house->metrics,
                                       .sweeper = engine_sweeper(house->sweep) };
    CHECK_OK(storage_open_memory(&storage, &inner));
    CHECK_OK(storage_open_faulty(inner, &house->storage));
    struct engine_options engine = {
        .clock = house->clock, .log = &house->log, .metrics = &house->metrics, .is_manual = true
    };
    CHECK_OK(
        engine_open(house->storage, house->sweep, &engine, house->arena, &house->pages.engine));
    house->pages.has_test_commands = has_test_commands;
    return house;
}

static void house_close(struct house *house)
{
    engine_close(house->pages.engine);
    engine_sweep_close(house->sweep);
    clock_close(house->clock);
    arena_close(house->arena);
    memory_give(house);
}

static struct http_reply ask(struct house *house, const char *method, const char *path,
                             const char *body)
{
    house->request = (struct http_request){ .method = bytes_of_text(method),
                                            .path = bytes_of_text(path),
                                            .body = bytes_of_text(body),
                                            .is_head = strcmp(method, "HEAD") == 0 };
    struct http_exchange exchange = { .arena = house->arena,
                                      .request = &house->request,
                                      .is_loopback = !house->is_far_away };
    CHECK_EQ(pages_handle(&house->pages, &exchange), HTTP_ANSWERED, "");
    return exchange.reply;
}

TEST(pages, paths_of_pages_are_told_from_all_others)
{
    const struct {
        const char *path;
        bool is_known;
    } rows[] = {
        {"/healthz",                true },
        { "/metrics",               true },
        { "/_mayfly/clock",         true },
        { "/_mayfly/",              true },
        { "/_mayfly/anything/else", true },
        { "/_mayfly",               false},
        { "/healthz/",              false},
        { "/Healthz",               false},
        { "/",                      false},
        { "",                       false},
        { "/dbs",                   false},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(pages_knows(bytes_of_text(r->path)), r->is_known, "%s", r->path);
}

TEST(pages, test_commands_are_only_for_clients_on_this_machine)
{
    struct house *house = house_open(true);

    house->is_far_away = true;
    CHECK_EQ(ask(house, "POST", "/_mayfly/clock", "{\"advanceMs\":1}").status, 403, "");
    CHECK_EQ(ask(house, "POST", "/_mayfly/purge", "").status, 403, "");
    CHECK_EQ(ask(house, "GET", "/healthz", "").status, 200, "");
    house_close(house);
}

TEST(pages, each_path_answers_its_method_only)
{
    struct house *house = house_open(true);
    const struct {
        const char *method;
        const char *path;
        unsigned want;
    } rows[] = {
        {"GET",      "/healthz",       200},
        { "HEAD",    "/healthz",       200},
        { "POST",    "/healthz",       405},
        { "GET",     "/healthz/",      404},
        { "GET",     "/metrics",       200},
        { "DELETE",  "/metrics",       405},
        { "GET",     "/_mayfly/clock", 405},
        { "POST",    "/_mayfly/purge", 200},
        { "GET",     "/",              404},
        { "OPTIONS", "*",              404},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(ask(house, r->method, r->path, "").status, r->want, "%s %s", r->method, r->path);
    house_close(house);
}

TEST(pages, test_commands_are_unknown_unless_asked_for)
{
    struct house *house = house_open(false);

    CHECK_EQ(ask(house, "POST", "/_mayfly/clock", "{\"advanceMs\":1}").status, 404, "");
    CHECK_EQ(ask(house, "POST", "/_mayfly/purge", "").status, 404, "");
    CHECK_EQ(clock_now(house->clock), 1000000000000, "");
    house_close(house);
}

TEST(pages, the_clock_moves_by_what_was_asked)
{
    struct house *house = house_open(true);
    struct http_reply reply = ask(house, "POST", "/_mayfly/clock", "{\"advanceMs\":86400000}");

    CHECK_EQ(reply.status, 200, "");
    CHECK_TEXT(reply.body, "{\"nowMs\":1000086400000}");
    CHECK_EQ(clock_now(house->clock), 1000086400000, "");
    CHECK(!clock_is_leap_pending(house->clock));
    house_close(house);
}

TEST(pages, a_bad_step_of_the_clock_is_400_and_moves_nothing)
{
    struct house *house = house_open(true);
    const char *const bodies[] = { "",
                                   "{}",
                                   "[]",
                                   "7",
                                   "{\"advanceMs\":-1}",
                                   "{\"advanceMs\":0.5}",
                                   "{\"advanceMs\":null}",
                                   "{\"advanceMs\":\"1\"}",
                                   "{\"advanceMs\":9223372036854775807}",
                                   "{\"advanceMs\":1e300}",
                                   "{\"advanceMs\":1" };

    EACH_ROW(bodies, body)
        CHECK_EQ(ask(house, "POST", "/_mayfly/clock", *body).status, 400, "%s", *body);
    CHECK_EQ(clock_now(house->clock), 1000000000000, "");
    house_close(house);
}

TEST(pages, health_says_why_writes_are_stopped)
{
    struct house *house = house_open(true);

    CHECK_TEXT(ask(house, "GET", "/healthz", "").body, "{\"status\":\"ok\"}");
    storage_faulty_arm(house->storage, 1);
    CHECK_EQ(ask(house, "POST", "/_mayfly/clock", "{\"advanceMs\":5}").status >= 500, true, "");
    struct http_reply reply = ask(house, "GET", "/healthz", "");
    CHECK_EQ(reply.status, 503, "");
    CHECK(bytes_starts_with(reply.body,
                            BYTES_LITERAL("{\"status\":\"writes stopped\",\"reason\":\"")));
    CHECK_EQ(ask(house, "GET", "/metrics", "").status, 200, "reads go on");
    house_close(house);
}

/* Asked: a call of the Cosmos face as far as tests of its parts need one. */
#include "tests/support/asked.h"

void asked_open(struct asked *asked, const char *master_key, const char *read_only_key)
{
    *asked = (struct asked){ .time.wall = ASKED_NOW, .arena = arena_open(16 << 20) };
    struct cosmos_options options = { .machine_time = clock_source_manual(&asked->time),
                                      .master_key = master_key,
                                      .read_only_key = read_only_key };
    CHECK_OK(auth_open(&options, asked->arena, &asked->face.auth));
}

void asked_close(struct asked *asked)
{
    auth_close(asked->face.auth);
    arena_close(asked->arena);
}

void asked_for(struct asked *asked, const char *method, const char *target)
{
    asked->request = (struct http_request){ .method = bytes_of_text(method),
                                            .target = bytes_of_text(target),
                                            .headers = asked->headers };
    asked->exchange = (struct http_exchange){ .arena = asked->arena, .request = &asked->request };
    asked->call = (struct call){ .face = &asked->face,
                                 .exchange = &asked->exchange,
                                 .http = &asked->request,
                                 .arena = asked->arena };
    CHECK_OK(link_parse(asked->arena, asked->request.target, &asked->call.link));
    CHECK_EQ(route_find(&asked->request, &asked->call.link, &asked->call.route), ROUTE_FOUND, "%s",
             target);
}

void asked_header(struct asked *asked, const char *name, const char *value)
{
    CHECK(asked->request.header_count < ASKED_HEADERS);
    asked->headers[asked->request.header_count++] = (struct http_header){ bytes_of_text(name),
                                                                          bytes_of_text(value) };
    /* The form of a request depends on its headers. */
    CHECK_EQ(route_find(&asked->request, &asked->call.link, &asked->call.route), ROUTE_FOUND, "%s",
             name);
}

static unsigned http_status(struct asked *asked, status outcome)
{
    if (outcome.code == OK) {
        CHECK_EQ(asked->call.failure.kind, FAIL_NONE, "");
        return 200;
    }
    CHECK_THAT(asked->call.failure.kind != FAIL_NONE, "%s", outcome.message);
    return failure_status(asked->call.failure.kind);
}

unsigned asked_identify(struct asked *asked)
{
    asked->call.failure = (struct failure){ .kind = FAIL_NONE };
    return http_status(asked, auth_identify(&asked->call));
}

unsigned asked_permit(struct asked *asked)
{
    asked->call.failure = (struct failure){ .kind = FAIL_NONE };
    return http_status(asked, auth_permit(&asked->call));
}

/* One client of the server: a keep-alive connection, one signed request at a time, replies read to their end and queries
 * to their last page. */
#ifndef BENCH_SQL_MAYFLY_H
#define BENCH_SQL_MAYFLY_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "bench/request.h"

enum { CLIENT_REQUEST_BYTES = 128 * 1024, CLIENT_REPLY_BYTES = 8 << 20 };

struct client {
    int socket;
    char *request;
    char *reply; /* ends in NUL */
    const char *body, *end;
    unsigned status;
};

static inline void client_open(struct client *client, unsigned port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    client->socket = socket(AF_INET, SOCK_STREAM, 0);
    client->request = malloc(CLIENT_REQUEST_BYTES);
    client->reply = malloc(CLIENT_REPLY_BYTES);
    BENCH_CLAIM(client->socket >= 0 && client->request != NULL && client->reply != NULL);
    BENCH_CLAIM(connect(client->socket, (const struct sockaddr *)&to, sizeof(to)) == 0);
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static inline void client_close(struct client *client)
{
    close(client->socket);
    free(client->request);
    free(client->reply);
}

static inline struct text client_request(struct client *client)
{
    return text_in(client->request, CLIENT_REQUEST_BYTES);
}

/* The value of a header of the reply, copied up to the end of its line; false if it is not there. */
static inline bool client_header(const struct client *client, const char *name, char *out,
                                 size_t room)
{
    for (const char *line = strstr(client->reply, "\r\n"); line && line < client->body - 4;
         line = strstr(line + 2, "\r\n")) {
        const size_t len = strlen(name);
        if (strncasecmp(line + 2, name, len) != 0 || line[2 + len] != ':')
            continue;
        const char *value = line + 2 + len + 1 + strspn(line + 2 + len + 1, " ");
        const size_t value_len = strcspn(value, "\r");
        BENCH_CLAIM(value_len < room);
        memcpy(out, value, value_len);
        out[value_len] = '\0';
        return true;
    }
    return false;
}

/* Sends the request and reads the whole reply, which must have one of two statuses. */
static inline void client_call(struct client *client, const struct text *request, unsigned wanted,
                               unsigned or_wanted)
{
    size_t have = 0, whole = SIZE_MAX;

    for (size_t sent = 0; sent < request->len;) {
        const ssize_t n = send(client->socket, request->data + sent, request->len - sent, 0);
        BENCH_CLAIM(n > 0);
        sent += (size_t)n;
    }
    client->body = NULL;
    while (have < whole) {
        const ssize_t n = recv(client->socket, client->reply + have, CLIENT_REPLY_BYTES - 1 - have,
                               0);
        BENCH_CLAIM(n > 0);
        have += (size_t)n;
        client->reply[have] = '\0';
        const char *end = client->body ? NULL : strstr(client->reply, "\r\n\r\n");
        if (end) {
            char length[32];
            client->body = end + 4;
            BENCH_CLAIM(client_header(client, "content-length", length, sizeof(length)));
            whole = (size_t)(client->body - client->reply) + strtoul(length, NULL, 10);
            BENCH_CLAIM(whole < CLIENT_REPLY_BYTES);
        }
    }
    client->end = client->reply + have;
    client->status = (unsigned)strtoul(client->reply + sizeof("HTTP/1.1"), NULL, 10);
    if (client->status != wanted && client->status != or_wanted) {
        fprintf(stderr, "unexpected reply: %.2000s\n", client->reply);
        exit(1);
    }
}

static inline void client_put_body(struct text *request, const char *type, const char *body)
{
    put(request, "content-type: %s\r\ncontent-length: %zu\r\n\r\n%s", type, strlen(body), body);
}

/* What a query gave: its rows, and the number in its only row if that is a bare number. */
struct answer {
    long rows;
    long number;
};

/* Runs a query over all its pages. `body` is the JSON with text and parameters; `headers` were made by client_query_head
 * and hold the signature. */
static inline struct answer client_query(struct client *client, const struct text *headers,
                                         const char *body, unsigned *pages_out)
{
    static char continuation[8192];
    struct answer answer = { 0 };
    bool has_more = false;

    *pages_out = 0;
    do {
        struct text request = client_request(client);
        put(&request, "%.*s", (int)headers->len, headers->data);
        if (has_more)
            put(&request, "x-ms-continuation: %s\r\n", continuation);
        client_put_body(&request, "application/query+json", body);
        client_call(client, &request, 200, 200);
        const char *rows = strstr(client->body, "\"Documents\":[");
        BENCH_CLAIM(rows != NULL);
        /* Documents may have such a name too: the last one is the envelope's. */
        const char *count = client->end - 9;
        while (count > rows && strncmp(count, "\"_count\":", 9) != 0)
            count--;
        BENCH_CLAIM(count > rows);
        answer.rows += strtol(count + 9, NULL, 10);
        if (rows[13] != '{' && rows[13] != ']')
            answer.number = strtol(rows + 13, NULL, 10);
        has_more = client_header(client, "x-ms-continuation", continuation, sizeof(continuation));
        ++*pages_out;
    } while (has_more);
    return answer;
}

/* Everything of a query of this container but continuation and body. */
static inline void client_query_head(struct text *out, const char *container)
{
    char target[128], link[128];

    snprintf(target, sizeof(target), "/dbs/d/colls/%s/docs", container);
    snprintf(link, sizeof(link), "dbs/d/colls/%s", container);
    put_head(out, "POST", target, "docs", link);
    put(out, "x-ms-documentdb-isquery: true\r\nx-ms-max-item-count: 1000\r\n");
}

#endif

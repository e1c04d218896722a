/* Address: reading and writing listen addresses.
 *
 *   address = host ":" port        host = IPv4 | "[" IPv6 "]" | "localhost"
 *
 * Pure; callable from every thread. */
#include "server/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

enum { PORT_MAX = 65535, PORT_DIGITS_MAX = 5 };

static bool parse_port(const char *text, uint16_t *out)
{
    unsigned long port = 0;
    size_t len = strlen(text);

    if (len == 0 || len > PORT_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    if (port > PORT_MAX)
        return false;
    *out = (uint16_t)port;
    return true;
}

/* `host` without brackets. */
static bool parse_host(const char *host, bool is_bracketed, uint16_t port, struct address *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->socket;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->socket;

    *out = (struct address){ 0 };
    if (is_bracketed) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        out->socket_len = sizeof(*v6);
        return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
    }
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out->socket_len = sizeof(*v4);
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr) ==
           1;
}

status address_parse(struct arena *arena, const char *text, struct address *out)
{
    const char *colon = strrchr(text, ':');
    bool is_bracketed = text[0] == '[';
    const char *host_start = text + is_bracketed;
    const char *host_end = colon ? colon - is_bracketed : NULL;
    char host[INET6_ADDRSTRLEN];
    uint16_t port;

    *out = (struct address){ 0 };
    if (colon && host_end > host_start && (size_t)(host_end - host_start) < sizeof(host) &&
        (!is_bracketed || *host_end == ']') && parse_port(colon + 1, &port)) {
        size_t len = (size_t)(host_end - host_start);
        memcpy(host, host_start, len);
        host[len] = '\0';
        if (parse_host(host, is_bracketed, port, out))
            return STATUS_OK;
    }
    return status_fail(
        arena, INVALID,
        "\"%s\" is not an address; expected for example 127.0.0.1:8081 or [::1]:8081", text);
}

bool address_is_loopback(const struct address *address)
{
    if (address->socket.ss_family == AF_UNIX)
        return true;
    if (address->socket.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

void address_format(const struct address *address, char out[ADDRESS_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address->socket.ss_family == AF_UNIX) {
        snprintf(out, ADDRESS_TEXT_BYTES, "unix");
    } else if (address->socket.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, ADDRESS_TEXT_BYTES, "%s:%u", host, ntohs(v4->sin_port));
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, ADDRESS_TEXT_BYTES, "[%s]:%u", host, ntohs(v6->sin6_port));
    }
}

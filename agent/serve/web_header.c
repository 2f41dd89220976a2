/* SPDX-License-Identifier: Apache-2.0 */
/* web_header.c - see web_header.h. */
#include "agent/serve/web_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct web_client_key v4_key_of(uint32_t network_order)
{
    static const struct web_client_key loopback = {0, 1};
    const uint32_t address = ntohl(network_order);

    if (address >> 24 == IN_LOOPBACKNET)
        return loopback;
    return (struct web_client_key){0, (uint64_t)AF_INET << 32 | address};
}

struct web_client_key web_client_key_of(const struct sockaddr *address)
{
    struct web_client_key key = {0, 0};
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    uint32_t mapped;

    if (address->sa_family == AF_INET) {
        (void)memcpy(&v4, address, sizeof(v4));
        return v4_key_of(v4.sin_addr.s_addr);
    }
    if (address->sa_family != AF_INET6)
        return key;
    (void)memcpy(&v6, address, sizeof(v6));
    (void)memcpy(&mapped, &v6.sin6_addr.s6_addr[12], sizeof(mapped));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return v4_key_of(mapped);
    if (IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr))
        return v4_key_of(htonl(INADDR_LOOPBACK));
    (void)memcpy(&key.high, &v6.sin6_addr, sizeof(key.high));
    return key;
}

size_t web_header_size(const char *bytes, size_t size)
{
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);

    return end ? (size_t)(end - bytes) + 4 : 0;
}

const char *web_header_field(const char *header, size_t size, const char *name, size_t *out_size)
{
    const char *end = header + size, *line = memmem(header, size, "\r\n", 2), *next;
    const size_t name_size = strlen(name);

    for (; line; line = next) {
        line += 2;
        next = memmem(line, (size_t)(end - line), "\r\n", 2);
        if (!next || (size_t)(next - line) <= name_size || line[name_size] != ':' ||
            strncasecmp(line, name, name_size) != 0)
            continue;
        line += name_size + 1;
        while (line < next && (*line == ' ' || *line == '\t'))
            line++;
        *out_size = (size_t)(next - line);
        return line;
    }
    return NULL;
}

bool web_header_has_body(const char *header, size_t size)
{
    size_t value_size = 0;
    const char *length = web_header_field(header, size, "Content-Length", &value_size);

    return (length && (value_size != 1 || *length != '0')) ||
           web_header_field(header, size, "Transfer-Encoding", &value_size) ||
           web_header_field(header, size, "Expect", &value_size);
}

bool web_header_asks_for(const char *header, const char *path)
{
    const size_t size = strlen(path);

    if (strncmp(header, "GET ", 4) == 0)
        header += 4;
    else if (strncmp(header, "HEAD ", 5) == 0)
        header += 5;
    return strncmp(header, path, size) == 0 && (header[size] == ' ' || header[size] == '?');
}

static bool is_address(int family, const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(family, text, bytes) == 1;
}

bool web_header_host_allowed(const char *header)
{
    char host[64];
    bool bracketed;
    size_t size;

    if (!header)
        return false;
    bracketed = header[0] == '[';
    size = strcspn(header, bracketed ? "]" : ":");
    if (bracketed) {
        if (header[size] != ']')
            return false;
        header++;
        size--;
    }
    if (size == 0 || size >= sizeof(host))
        return false;
    (void)snprintf(host, sizeof(host), "%.*s", (int)size, header);
    header += size + (header[size] == ']');
    if (*header && (*header != ':' || header[1 + strspn(header + 1, "0123456789")] != '\0'))
        return false;
    if (bracketed)
        return is_address(AF_INET6, host);
    return strcmp(host, "localhost") == 0 || is_address(AF_INET, host);
}

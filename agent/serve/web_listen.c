/* SPDX-License-Identifier: Apache-2.0 */
/* web_listen.c - see web_listen.h. */
#include "agent/serve/web_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 128 };

bool web_address(const char *listen, char host[64], uint16_t *out_port)
{
    const char *colon = strrchr(listen, ':');
    size_t size = colon ? (size_t)(colon - listen) : 0;
    unsigned long port;
    char *end;

    if (size == 0 || colon[1] < '0' || colon[1] > '9')
        return false;
    port = strtoul(colon + 1, &end, 10);
    if (*end || port == 0 || port > UINT16_MAX)
        return false;
    if (listen[0] == '[' && size > 2 && listen[size - 1] == ']') {
        listen++;
        size -= 2;
    }
    if (size >= 64)
        return false;
    (void)snprintf(host, 64, "%.*s", (int)size, listen);
    *out_port = (uint16_t)port;
    return true;
}

/* A socket that listens at the address, or -1. */
static int listen_at_ip_address(const char *host, uint16_t port, struct err *err)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_v4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
    const int yes = 1;
    int fd;

    if (!is_v4 && inet_pton(AF_INET6, host, &v6.sin6_addr) != 1) {
        err_set(err, "%s is no IP address", host);
        return -1;
    }
    fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
             is_v4 ? sizeof(v4) : sizeof(v6)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    err_set(err, "%s", strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

bool web_listen_open(struct web_listen *out, const char *listen, struct err *err)
{
    char host[64];
    uint16_t port;

    *out = (struct web_listen){.fd = -1, .sock = {.fd = -1, .lock_fd = -1}};
    if (listen[0] == '/') {
        out->exposure = WEB_FILE;
        if (control_socket_open(&out->sock, listen, err))
            out->fd = out->sock.fd;
    } else if (web_address(listen, host, &port)) {
        out->exposure =
            strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ? WEB_LOOPBACK : WEB_ANYWHERE;
        out->fd = listen_at_ip_address(host, port, err);
    } else {
        err_set(err, "it is no ADDRESS:PORT, and no path");
    }
    return out->fd >= 0;
}

void web_listen_close(struct web_listen *listen)
{
    if (listen->exposure == WEB_FILE)
        control_socket_close(&listen->sock);
    else if (listen->fd >= 0)
        (void)close(listen->fd);
    listen->fd = -1;
}

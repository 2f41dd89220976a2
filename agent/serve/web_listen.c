/* SPDX-License-Identifier: Apache-2.0 */
/* web_listen.c - see web_listen.h. */
#include "agent/serve/web_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"

enum { BACKLOG = 128 };

/* What to do about an address and port that cannot be had. */
static const char *cure_of(int cause)
{
    switch (cause) {
    case EADDRINUSE:
        return "; another program listens there: end it, or name another port";
    case EADDRNOTAVAIL:
        return "; no network interface of this host has that address: name one of its own, or "
               "0.0.0.0 or [::] for all";
    case EACCES:
        return "; ports below 1024 need CAP_NET_BIND_SERVICE: name another port";
    case EAFNOSUPPORT:
        return "; this host has no IPv6: name an IPv4 address";
    default:
        return "";
    }
}

/* A socket with that address and port (0: any that is free), or -1. */
static int bind_to_ip_address(const struct conf_listen *where, uint16_t port, struct err *err)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_v4 = inet_pton(AF_INET, where->host, &v4.sin_addr) == 1;
    const int yes = 1;
    int fd;

    if (!is_v4)
        (void)inet_pton(AF_INET6, where->host, &v6.sin6_addr); /* as conf_listen has seen */
    fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
             is_v4 ? sizeof(v4) : sizeof(v6)) == 0)
        return fd;
    err_set(err, "%s%s", strerror(errno), cure_of(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* A socket that listens at the address, or -1. */
static int listen_at_ip_address(const struct conf_listen *where, struct err *err)
{
    int fd = bind_to_ip_address(where, where->port, err);

    if (fd < 0 || listen(fd, BACKLOG) == 0)
        return fd;
    err_set(err, "%s%s", strerror(errno), cure_of(errno)); /* in use, where both set SO_REUSEADDR */
    (void)close(fd);
    return -1;
}

bool web_listen_can_be(const char *listen, struct err *err)
{
    struct conf_listen where;
    int fd;

    if (conf_listen(listen, &where, err) != CONF_OK)
        return false;
    if (where.is_path)
        return control_socket_can_be(listen, err);
    fd = bind_to_ip_address(&where, 0, err);
    if (fd < 0) {
        err_within(err, "%s", where.host);
        return false;
    }
    (void)close(fd);
    return true;
}

bool web_listen_open(struct web_listen *out, const char *listen, struct err *err)
{
    struct conf_listen where;

    *out = (struct web_listen){.fd = -1, .sock = {.fd = -1, .lock_fd = -1}};
    if (conf_listen(listen, &where, err) != CONF_OK)
        return false;
    if (where.is_path) {
        out->exposure = WEB_FILE;
        if (control_socket_open(&out->sock, listen, CONTROL_SOCKET_OWNER, err))
            out->fd = out->sock.fd;
    } else {
        out->exposure = where.is_loopback ? WEB_LOOPBACK : WEB_ANYWHERE;
        out->fd = listen_at_ip_address(&where, err);
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

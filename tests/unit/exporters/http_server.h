/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - a server on the loopback that answers as badly as a test wants.
 *
 * Shape:   server_start, any number of requests, server_stop.
 * Threads: one of its own. What it answers and what it has seen is looked at or changed between
 *          server_lock and server_unlock, which wait for an answer under way.
 */
#ifndef TESTS_UNIT_EXPORTERS_HTTP_SERVER_H
#define TESTS_UNIT_EXPORTERS_HTTP_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum server_mode {
    SERVER_ANSWERS,    /* `answers`, one a request, the last one again and again */
    SERVER_IS_SILENT,  /* reads the request and says nothing */
    SERVER_READS_NONE, /* accepts and does not even read */
    SERVER_RESETS,     /* reads the request and resets the connection */
    SERVER_NEVER_ENDS  /* `answers[0]`, then `filler` for ever */
};

enum { SERVER_SEEN_MAX = 64 * 1024, SERVER_ANSWERS_MAX = 4 };

struct server {
    enum server_mode mode;
    const char *answers[SERVER_ANSWERS_MAX];
    const char *filler;
    char url[64];
    char seen[SERVER_SEEN_MAX];     /* the last request */
    char incoming[SERVER_SEEN_MAX]; /* the server's thread only */
    size_t size;                    /* of that */
    pthread_mutex_t lock;
    atomic_int requests, connections;
    atomic_bool stop;
    int listener;
    pthread_t thread;
};

static inline bool server_wait(struct server *server, int fd, short events)
{
    struct pollfd poller = {.fd = fd, .events = events};

    while (!atomic_load(&server->stop)) {
        if (poll(&poller, 1, 20) > 0)
            return true;
    }
    return false;
}

static inline void server_lock(struct server *server)
{
    (void)pthread_mutex_lock(&server->lock);
}

static inline void server_unlock(struct server *server)
{
    (void)pthread_mutex_unlock(&server->lock);
}

/* What the request says of its body's length. */
static inline size_t server_body_size(const char *request)
{
    const char *line = strcasestr(request, "\r\nContent-Length:");

    return line ? strtoul(line + 17, NULL, 10) : 0;
}

static inline bool server_read(struct server *server, int fd)
{
    char *text = server->incoming;
    const char *end = NULL;

    server->size = 0;
    for (;;) {
        size_t room = sizeof(server->incoming) - 1 - server->size;
        ssize_t got;

        if (room == 0 || !server_wait(server, fd, POLLIN))
            return false;
        got = recv(fd, text + server->size, room, 0);
        if (got <= 0)
            return false;
        server->size += (size_t)got;
        text[server->size] = '\0';
        end = end ? end : strstr(text, "\r\n\r\n");
        if (end && server->size >= (size_t)(end + 4 - text) + server_body_size(text))
            return true;
    }
}

static inline bool server_write(struct server *server, int fd, const char *text)
{
    size_t size = strlen(text);

    while (size > 0) {
        ssize_t sent;

        if (!server_wait(server, fd, POLLOUT))
            return false;
        sent = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return false;
        text += sent;
        size -= (size_t)sent;
    }
    return true;
}

static inline const char *server_answer(const struct server *server)
{
    int number = atomic_load(&server->requests) - 1;

    while (number > 0 && (number >= SERVER_ANSWERS_MAX || !server->answers[number]))
        number--;
    return server->answers[number];
}

/* Called with the lock. False: the connection is over. */
static inline bool server_reply(struct server *server, int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    bool closes;

    memcpy(server->seen, server->incoming, server->size + 1);
    (void)atomic_fetch_add(&server->requests, 1);
    if (server->mode == SERVER_RESETS) {
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        return false;
    }
    if (server->mode == SERVER_IS_SILENT)
        return true;
    /* Once it has the answer, a test may be over, and the text gone. */
    closes = strcasestr(server_answer(server), "Connection: close") != NULL;
    if (!server_write(server, fd, server_answer(server)))
        return false;
    while (server->mode == SERVER_NEVER_ENDS) {
        if (!server_write(server, fd, server->filler))
            return false;
    }
    return !closes;
}

/* One request. False: the connection is over. */
static inline bool server_serve(struct server *server, int fd)
{
    bool goes_on;

    if (server->mode == SERVER_READS_NONE) {
        while (server_wait(server, -1, 0))
            ;
        return false;
    }
    if (!server_read(server, fd))
        return false;
    server_lock(server);
    goes_on = server_reply(server, fd);
    server_unlock(server);
    return goes_on;
}

static inline void *server_run(void *ctx)
{
    struct server *server = ctx;

    while (server_wait(server, server->listener, POLLIN)) {
        int fd = accept(server->listener, NULL, NULL);

        if (fd < 0)
            continue;
        (void)atomic_fetch_add(&server->connections, 1);
        while (server_serve(server, fd))
            ;
        (void)close(fd);
    }
    return NULL;
}

/* Fills in `url`, too. */
static inline bool server_start(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);

    (void)pthread_mutex_init(&server->lock, NULL);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server->listener, 8) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &size) != 0)
        return false;
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d",
                   ntohs(address.sin_port));
    return pthread_create(&server->thread, NULL, server_run, server) == 0;
}

static inline void server_stop(struct server *server)
{
    atomic_store(&server->stop, true);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* web.c - see web.h. */
#include "agent/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/metrics.h"

enum { BODY_MAX = 1 << 20, REQUEST_MAX = 8 * 1024, BACKLOG = 16 };

/* A state that is older says that the main loop hangs. */
#define HEALTHY_NS (10 * NS_PER_S)

struct web {
    struct MHD_Daemon *daemon; /* owned */
    struct state_share *share; /* borrowed */
    bool loopback;             /* it listens there: no other name leads to it by right */
};

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

static bool is_address(int family, const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(family, text, bytes) == 1;
}

bool web_host_allowed(const char *header)
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

static bool is_fresh(const struct state *state)
{
    return state && clock_mono_ns() - state->taken_mono_ns < HEALTHY_NS;
}

/* Fills in the answer to a request for `path`; gives the status. */
static unsigned answer(struct web *web, const char *path, struct buf *out)
{
    struct state *state = state_share_get(web->share);
    unsigned status = MHD_HTTP_OK;

    if (strcmp(path, "/metrics") == 0 && state) {
        metrics_text(state, out);
    } else if (strcmp(path, "/healthz") == 0 && is_fresh(state)) {
        buf_add_str(out, "ok\n");
    } else if (strcmp(path, "/readyz") == 0 && is_fresh(state) && state->ready) {
        buf_add_str(out, "ready\n");
    } else if (strcmp(path, "/metrics") == 0 || strcmp(path, "/healthz") == 0 ||
               strcmp(path, "/readyz") == 0) {
        status = MHD_HTTP_SERVICE_UNAVAILABLE;
        buf_add_str(out, "not yet, or no more\n");
    } else {
        status = MHD_HTTP_NOT_FOUND;
        buf_add_str(out, "there are /metrics, /healthz and /readyz\n");
    }
    state_drop(state);
    return buf_failed(out) ? MHD_HTTP_INTERNAL_SERVER_ERROR : status;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const struct buf *text, const char *type)
{
    bool whole = !buf_failed(text);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        whole ? text->size : 0, whole ? text->data : NULL, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    struct web *web = cls;
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    unsigned status = MHD_HTTP_OK;
    enum MHD_Result result;
    struct buf text;

    (void)version;
    (void)upload;
    (void)upload_size;
    (void)request;
    buf_init(&text, BODY_MAX);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        status = MHD_HTTP_METHOD_NOT_ALLOWED;
    else if (web->loopback && !web_host_allowed(host))
        status = MHD_HTTP_MISDIRECTED_REQUEST;
    else
        status = answer(web, url, &text);
    result = send_text(connection, status, &text,
                       status == MHD_HTTP_OK && strcmp(url, "/metrics") == 0
                           ? "text/plain; version=0.0.4; charset=utf-8"
                           : "text/plain; charset=utf-8");
    buf_finish(&text);
    return result;
}

/* A socket that listens at the address, or -1. */
static int listen_at(const char *host, uint16_t port, struct err *err)
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

/* Starts the server's thread, without any signal of the agent's. */
static struct MHD_Daemon *start(struct web *web, int fd)
{
    struct MHD_Daemon *daemon;
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, web,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)WEB_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_S,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MAX, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

struct web *web_open(const char *listen, struct state_share *share, struct err *err)
{
    struct web *web = calloc(1, sizeof(*web));
    char host[64];
    uint16_t port;
    int fd = -1;

    if (!web)
        err_set(err, "out of memory");
    else if (!web_address(listen, host, &port))
        err_set(err, "it is no ADDRESS:PORT");
    else
        fd = listen_at(host, port, err);
    if (fd >= 0) {
        web->share = share;
        web->loopback = strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
        web->daemon = start(web, fd);
        if (web->daemon)
            return web;
        err_set(err, "out of memory or threads");
        (void)close(fd);
    }
    err_within(err, "[http] listen %s", listen);
    free(web);
    return NULL;
}

void web_close(struct web *web)
{
    if (!web)
        return;
    MHD_stop_daemon(web->daemon); /* which closes the socket, too */
    free(web);
}

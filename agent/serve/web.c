/* SPDX-License-Identifier: Apache-2.0 */
/* web.c - see web.h. */
#include "agent/serve/web.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/clock.h"
#include "agent/host/thread.h"
#include "agent/serve/metrics.h"
#include "agent/serve/web_internal.h"
#include "agent/serve/web_listen.h"

enum { REQUEST_MAX = 8 * 1024, STACK_BYTES = 512 * 1024 };

/* A state that is older says that the main loop hangs. */
#define HEALTHY_NS (10 * NS_PER_S)

static const char not_now[] = "not yet, or no more";

/* What belongs together, and is served or not. */
enum part { PART_ALWAYS, PART_PULL, PART_PAGE, PARTS };

struct web {
    struct MHD_Daemon *daemon; /* owned */
    struct web_sources sources;
    struct web_listen listen; /* owned */
    struct web_store store;
    atomic_bool parts[PARTS];
    atomic_bool stop;
};

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

static void answer_metrics(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);

    if (state)
        metrics_text(state, &answer->body);
    else
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, not_now);
    if (state)
        answer->type = "text/plain; version=0.0.4; charset=utf-8";
    state_drop(state);
}

static void answer_healthy(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);

    if (is_fresh(state))
        buf_add_str(&answer->body, "ok\n");
    else
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, not_now);
    state_drop(state);
}

static void answer_ready(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);

    if (is_fresh(state) && state->ready)
        buf_add_str(&answer->body, "ready\n");
    else
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, not_now);
    state_drop(state);
}

static const struct route {
    const char *path;
    enum part part;
    void (*answer)(const struct web_request *request, struct web_answer *answer);
} routes[] = {
    {"/metrics", PART_ALWAYS, answer_metrics},
    {"/healthz", PART_ALWAYS, answer_healthy},
    {"/readyz", PART_ALWAYS, answer_ready},
    {"/debug/pprof/", PART_PULL, web_pull_index},
    {"/debug/pprof/profile", PART_PULL, web_pull_profile},
    {"/debug/stacks", PART_PULL, web_pull_stacks},
    {"/", PART_PAGE, web_page},
    {"/page.css", PART_PAGE, web_page_style},
    {"/page.js", PART_PAGE, web_page_script},
    {"/api/state", PART_PAGE, web_api_state},
    {"/api/services", PART_PAGE, web_api_services},
    {"/api/timeline", PART_PAGE, web_api_timeline},
    {"/api/graph", PART_PAGE, web_api_graph},
    {"/api/threads", PART_PAGE, web_api_threads},
    {"/api/sample", PART_PAGE, web_api_sample},
};

enum { ROUTES = sizeof(routes) / sizeof(routes[0]) };

static bool serves(struct web *web, const struct route *route)
{
    return route->part == PART_ALWAYS || atomic_load(&web->parts[route->part]);
}

static void answer_nothing(struct web *web, struct web_answer *answer)
{
    buf_add_str(&answer->body, "there are");
    for (size_t i = 0; i < ROUTES; i++)
        if (serves(web, &routes[i]))
            buf_add_fmt(&answer->body, " %s", routes[i].path);
    buf_add_str(&answer->body, "\n");
    answer->status = MHD_HTTP_NOT_FOUND;
}

/* Fills in the answer to a request for `path`. */
static void answer_path(struct web *web, struct MHD_Connection *connection, const char *path,
                        struct web_answer *answer)
{
    const struct web_request request = {&web->sources, connection, &web->stop, &web->store};

    for (size_t i = 0; i < ROUTES; i++)
        if (strcmp(path, routes[i].path) == 0 && serves(web, &routes[i])) {
            routes[i].answer(&request, answer);
            return;
        }
    answer_nothing(web, answer);
}

static const struct header {
    const char *name, *value;
} headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
};

static void add_headers(struct MHD_Response *response, const struct web_answer *answer)
{
    char text[128];

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        (void)microhttpd.add_response_header(response, headers[i].name, headers[i].value);
    (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->encoding)
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING,
                                             answer->encoding);
    if (answer->name) {
        (void)snprintf(text, sizeof(text), "attachment; filename=\"%s\"", answer->name);
        (void)microhttpd.add_response_header(response, "Content-Disposition", text);
    }
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct web_answer *answer)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    if (buf_failed(&answer->body))
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "there is no memory for that");
    response = microhttpd.create_response_from_buffer(answer->body.size, answer->body.data,
                                                      MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    add_headers(response, answer);
    result = microhttpd.queue_response(connection, answer->status, response);
    microhttpd.destroy_response(response);
    return result;
}

/* The value of a header; "": there is none. */
static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, name);

    return value ? value : "";
}

/* True if a browser says that another page than ours wants it, other than by a link. */
static bool is_foreign(struct MHD_Connection *connection)
{
    const char *site = header_of(connection, "Sec-Fetch-Site");

    return *site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 &&
           strcmp(header_of(connection, "Sec-Fetch-Dest"), "document") != 0;
}

static enum MHD_Result handle_web_request(void *cls, struct MHD_Connection *connection,
                                          const char *url, const char *method, const char *version,
                                          const char *upload, size_t *upload_size, void **request)
{
    struct web *web = cls;
    const char *host =
        microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    struct web_answer answer = {.status = MHD_HTTP_OK, .type = web_text_plain};
    enum MHD_Result result;

    (void)version;
    (void)upload;
    (void)upload_size;
    (void)request;
    buf_init(&answer.body, WEB_BODY_MAX);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        web_refuse(&answer, MHD_HTTP_METHOD_NOT_ALLOWED, "nothing can be changed here");
    else if (web->listen.exposure == WEB_LOOPBACK && !web_host_allowed(host))
        web_refuse(&answer, MHD_HTTP_MISDIRECTED_REQUEST, "this is no host of that name");
    else if (is_foreign(connection))
        web_refuse(&answer, MHD_HTTP_FORBIDDEN, "another page asks for this");
    else
        answer_path(web, connection, url, &answer);
    result = send_answer(connection, &answer);
    buf_finish(&answer.body);
    return result;
}

/* Starts the server's threads, without any signal of the agent's. */
static struct MHD_Daemon *start_web_daemon(struct web *web)
{
    struct MHD_Daemon *daemon;
    sigset_t before;

    thread_block_signals(&before);
    daemon = microhttpd.start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC, 0, NULL,
        NULL, handle_web_request, web, MHD_OPTION_LISTEN_SOCKET, web->listen.fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)WEB_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MAX,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);
    thread_restore_signals(&before);
    return daemon;
}

static void free_web(struct web *web)
{
    free(web->store.path);
    (void)pthread_mutex_destroy(&web->store.lock);
    free(web);
}

struct web *web_open(const struct conf *conf, const struct web_sources *sources, struct err *err)
{
    struct web *web;

    if (!microhttpd_api_load(err))
        return NULL;
    web = calloc(1, sizeof(*web));
    if (!web) {
        err_set(err, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&web->store.lock, NULL);
    if (web_listen_open(&web->listen, conf->http.listen, err)) {
        web->sources = *sources;
        web_change(web, conf);
        web->daemon = start_web_daemon(web);
        if (web->daemon)
            return web;
        err_set(err, "out of memory or threads");
        web_listen_close(&web->listen, false);
    }
    err_within(err, "[http] listen %s", conf->http.listen);
    free_web(web);
    return NULL;
}

/* The path of the first exporter that is a store; NULL: there is none. */
static const char *store_of(const struct conf *conf)
{
    for (size_t i = 0; i < conf->exporter_count; i++)
        if (conf->exporters[i].type->is_store)
            return conf->exporters[i].path;
    return NULL;
}

void web_change(struct web *web, const struct conf *conf)
{
    const char *path;
    bool pull;

    if (!web)
        return;
    /* Without a word for it, what shows more than numbers is for this machine alone. */
    pull = conf_is_on(conf->http.pull, web->listen.exposure != WEB_ANYWHERE);
    atomic_store(&web->parts[PART_PULL], pull);
    atomic_store(&web->parts[PART_PAGE], conf_is_on(conf->http.page, pull));
    path = store_of(conf);
    (void)pthread_mutex_lock(&web->store.lock);
    free(web->store.path);
    web->store.path = path ? strdup(path) : NULL;
    (void)pthread_mutex_unlock(&web->store.lock);
}

void web_close(struct web *web)
{
    if (!web)
        return;
    atomic_store(&web->stop, true);
    microhttpd.stop_daemon(web->daemon); /* which closes the socket, too */
    web_listen_close(&web->listen, true);
    free_web(web);
}

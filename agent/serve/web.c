/* SPDX-License-Identifier: Apache-2.0 */
/* web.c - see web.h. */
#include "agent/serve/web.h"

#include <stdlib.h>
#include <string.h>

#include "agent/child/child_process.h"
#include "agent/host/asked_use.h"
#include "agent/host/clock.h"
#include "agent/host/thread.h"
#include "agent/serve/metrics.h"
#include "agent/serve/web_front.h"
#include "agent/serve/web_internal.h"
#include "agent/serve/web_listen.h"

enum {
    REQUEST_MAX = 2 * WEB_HEADER_MAX,
    STACK_BYTES = 512 * 1024,
    SPARE = 8 /* connections that have ended and are not closed yet */
};

/* A state that is older says that the main loop hangs. */
#define HEALTHY_NS (10 * NS_PER_S)

static const char not_now[] = "not yet, or no more";

/* What belongs together, and is served or not. */
enum part { PART_ALWAYS, PART_PULL, PART_PAGE, PARTS };

struct web {
    struct MHD_Daemon *daemon; /* owned */
    struct web_sources sources;
    struct web_listen listen; /* owned */
    struct web_front *front;  /* owned */
    struct web_store store;
    struct web_cpu cpu;
    struct web_metrics metrics;
    atomic_uint dear; /* answers that start processes and are being made */
    atomic_bool parts[PARTS];
    atomic_bool stop;
};

/* The metrics of a state are made once, however often they are asked for. */
static void answer_metrics(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);
    struct web_metrics *made = request->metrics;

    if (!state) {
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, not_now);
        return;
    }
    (void)pthread_mutex_lock(&made->lock);
    if (made->taken_ns != state->taken_mono_ns) {
        buf_reset(&made->text);
        metrics_text(state, &made->text);
        made->taken_ns = buf_failed(&made->text) ? 0 : state->taken_mono_ns;
    }
    buf_add(&answer->body, made->text.data, made->text.size);
    (void)pthread_mutex_unlock(&made->lock);
    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    state_drop(state);
}

/* True if the main loop runs, and, with `ready`, has looked for processes. */
static bool is_well(struct state_share *share, bool ready)
{
    struct state *state = state_share_get(share);
    bool well =
        state && clock_mono_ns() - state->taken_mono_ns < HEALTHY_NS && (state->ready || !ready);

    state_drop(state);
    return well;
}

static void answer_probe(const struct web_request *request, bool ready, struct web_answer *answer)
{
    if (is_well(request->sources->share, ready))
        buf_add_str(&answer->body, ready ? "ready\n" : "ok\n");
    else
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, not_now);
}

static void answer_healthy(const struct web_request *request, struct web_answer *answer)
{
    answer_probe(request, false, answer);
}

static void answer_ready(const struct web_request *request, struct web_answer *answer)
{
    answer_probe(request, true, answer);
}

static const struct route {
    const char *path;
    enum part part;
    size_t dear_bytes; /* starts processes, and the answer may have so many bytes; 0: starts none */
    void (*answer)(const struct web_request *request, struct web_answer *answer);
} routes[] = {
    {"/metrics", PART_ALWAYS, 0, answer_metrics},
    {"/healthz", PART_ALWAYS, 0, answer_healthy},
    {"/readyz", PART_ALWAYS, 0, answer_ready},
    {"/debug/pprof/", PART_PULL, 0, web_pull_index},
    {"/debug/pprof/profile", PART_PULL, 0, web_pull_profile},
    {"/debug/stacks", PART_PULL, WEB_BODY_MAX / 2, web_pull_stacks},
    {"/", PART_PAGE, 0, web_page},
    {"/help", PART_PAGE, 0, web_page_help},
    {"/page.css", PART_PAGE, 0, web_page_style},
    {"/page.js", PART_PAGE, 0, web_page_script},
    {"/api/state", PART_PAGE, 0, web_api_state},
    {"/api/services", PART_PAGE, WEB_BODY_MAX / 8, web_api_services},
    {"/api/timeline", PART_PAGE, WEB_BODY_MAX / 8, web_api_timeline},
    {"/api/graph", PART_PAGE, WEB_BODY_MAX, web_api_graph},
    {"/api/profile", PART_PAGE, WEB_BODY_MAX, web_api_profile},
    {"/api/threads", PART_PAGE, WEB_BODY_MAX / 8, web_api_threads},
    {"/api/sample", PART_PAGE, 0, web_api_sample},
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

/* The answer of a route that starts processes, if that may be done now. */
static void answer_dear(struct web *web, const struct route *route,
                        const struct web_request *request, struct web_answer *answer)
{
    const unsigned wait_s = web_wait_s(request);

    if (wait_s > 0) {
        web_refuse(answer, MHD_HTTP_TOO_MANY_REQUESTS,
                   "answers have used their CPU time (max_cpu of [http]): try again in %u s",
                   wait_s);
        answer->retry_s = wait_s;
        return;
    }
    if (atomic_fetch_add(&web->dear, 1) >= WEB_DEAR_MAX ||
        !asked_use_take_memory(route->dear_bytes, WEB_HELD_MAX)) {
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "too many others ask for something large");
    } else {
        answer->held_bytes = answer->body.max = route->dear_bytes;
        route->answer(request, answer);
    }
    atomic_fetch_sub(&web->dear, 1);
}

static const struct route *find_route(struct web *web, const char *path)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (strcmp(path, routes[i].path) == 0 && serves(web, &routes[i]))
            return &routes[i];
    return NULL;
}

/* Fills in the answer to a request for `path`. */
static void answer_path(struct web *web, struct MHD_Connection *connection, const char *path,
                        struct web_answer *answer)
{
    const struct web_request request = {&web->sources, connection,    &web->stop,
                                        &web->store,   &web->metrics, &web->cpu};
    const struct route *route = find_route(web, path);

    if (!route)
        answer_nothing(web, answer);
    else if (route->dear_bytes > 0)
        answer_dear(web, route, &request, answer);
    else
        route->answer(&request, answer);
}

/* The value of a header; "": there is none. */
static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, name);

    return value ? value : "";
}

/* True if a browser says that another page than ours asks for this. A link of another page may lead
 * to ours, but to nothing that does any work. */
static bool is_foreign(struct MHD_Connection *connection, const char *path)
{
    const char *site = header_of(connection, "Sec-Fetch-Site");

    if (!*site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
        return false;
    return strcmp(path, "/") != 0 ||
           strcmp(header_of(connection, "Sec-Fetch-Dest"), "document") != 0;
}

/* HEAD says whether there is such an answer, and does not make it. */
static void answer_head(struct web *web, const char *path, struct web_answer *answer)
{
    answer->status = find_route(web, path) ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND;
    answer->no_body = true;
}

static void answer_request(struct web *web, struct MHD_Connection *connection, const char *path,
                           const char *method, struct web_answer *answer)
{
    const char *host =
        microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const bool head = strcmp(method, "HEAD") == 0;

    if (!head && strcmp(method, "GET") != 0)
        web_refuse(answer, MHD_HTTP_METHOD_NOT_ALLOWED, "nothing can be changed here");
    else if (web->listen.exposure == WEB_LOOPBACK && !web_header_host_allowed(host))
        web_refuse(answer, MHD_HTTP_MISDIRECTED_REQUEST,
                   "the Host header names another host: use the address or localhost");
    else if (is_foreign(connection, path))
        web_refuse(answer, MHD_HTTP_FORBIDDEN, "another page asks for this");
    else if (head)
        answer_head(web, path, answer);
    else
        answer_path(web, connection, path, answer);
}

static int descriptor_of(struct MHD_Connection *connection)
{
    return microhttpd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* libmicrohttpd calls it once for each request, and this one answers at once. `held` is how many
 * bytes of asked_use_take_memory are given back when the answer was sent: see on_completed. */
static enum MHD_Result handle_web_request(void *cls, struct MHD_Connection *connection,
                                          const char *url, const char *method, const char *version,
                                          const char *upload, size_t *upload_size, void **held)
{
    struct web *web = cls;
    struct web_answer answer = {.status = MHD_HTTP_OK, .type = web_text_plain};
    enum MHD_Result result;

    (void)version;
    (void)upload;
    (void)upload_size;
    if (*held)
        return MHD_NO;
    buf_init(&answer.body, WEB_BODY_MAX);
    answer_request(web, connection, url, method, &answer);
    result = web_send(connection, &answer);
    *held = (void *)(uintptr_t)answer.held_bytes;
    web_front_answered(web->front, descriptor_of(connection));
    asked_use_count_thread();
    return result;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **held,
                         enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)connection;
    (void)code;
    asked_use_return_memory((size_t)(uintptr_t)*held);
    *held = NULL;
    asked_use_count_thread();
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct web *web = cls;

    (void)context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        web_front_begun(web->front, descriptor_of(connection));
    else
        web_front_ended(web->front, descriptor_of(connection));
    asked_use_count_thread();
}

static bool on_probe(void *ctx, bool ready)
{
    const struct web *web = ctx;

    return is_well(web->sources.share, ready);
}

static bool on_request(void *ctx, int fd, const struct sockaddr *address, socklen_t size)
{
    const struct web *web = ctx;

    return microhttpd.add_connection(web->daemon, fd, address, size) == MHD_YES;
}

/* Starts the server's threads, without any signal of the agent's. */
static struct MHD_Daemon *start_web_daemon(struct web *web)
{
    struct MHD_Daemon *daemon;
    sigset_t before;

    thread_block_signals(&before);
    daemon = microhttpd.start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET,
        0, NULL, NULL, handle_web_request, web, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(WEB_CLIENTS + SPARE), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MAX, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, web, MHD_OPTION_END);
    thread_restore_signals(&before);
    return daemon;
}

/* Whatever of it there is. */
static void free_web(struct web *web)
{
    web_front_stop(web->front);
    if (web->daemon)
        microhttpd.stop_daemon(web->daemon);
    web_front_close(web->front);
    web_listen_close(&web->listen);
    buf_finish(&web->metrics.text);
    (void)pthread_mutex_destroy(&web->metrics.lock);
    web_cpu_finish(&web->cpu);
    free(web->store.path);
    (void)pthread_mutex_destroy(&web->store.lock);
    free(web);
}

static bool start_web(struct web *web)
{
    const struct web_front_calls calls = {.is_well = on_probe, .serve = on_request, .ctx = web};

    web->front = web_front_open(&web->listen, &calls);
    if (!web->front)
        return false;
    web->daemon = start_web_daemon(web);
    return web->daemon && web_front_start(web->front);
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
    (void)pthread_mutex_init(&web->metrics.lock, NULL);
    buf_init(&web->metrics.text, WEB_BODY_MAX);
    web_cpu_init(&web->cpu, conf->http.max_cpu, clock_mono_ns(), web_used_ns());
    if (web_listen_open(&web->listen, conf->http.listen, err)) {
        web->sources = *sources;
        web_change(web, conf);
        if (start_web(web))
            return web;
        err_set(err, "out of memory or threads");
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
    web_cpu_set_share(&web->cpu, conf->http.max_cpu);
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
    free_web(web);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - the only file that knows how libcurl is kept within limits. */
#include "exporters/http/client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/time_units.h"
#include "exporters/http/advice.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/login.h"
#include "exporters/http/retry_after.h"
#include "exporters/http/setup.h"
#include "exporters/http/text.h"
#include "exporters/http/tls.h"

/* Connections that are older than that are not used again: the name may be another server's now. */
#define LIFETIME_NS (3 * 60 * (int64_t)NS_PER_S)

enum {
    CONNECT_DEFAULT_MS = 5000,
    STALL_DEFAULT_MS = 10000,
    TIMEOUT_MAX_MS = 10 * 60 * 1000,
    BODY_MAX = 64 * 1024 * 1024
};

/* Room for one request. */
struct http_request {
    struct http_client *client; /* borrowed */
    CURL *easy;                 /* owned */
    struct curl_slist *sent;    /* owned: all header lines */
    unsigned secrets;           /* which of the client's secrets curl has */
    struct buf body;            /* owned: what is encoded for this request */
    struct buf bytes;           /* owned: the reply's body */
    bool used;                  /* between http_client_begin and http_client_end */

    /* since http_client_start */
    bool running, done;
    bool again; /* it has been posted once more, with other secrets */
    void *ctx;
    int64_t now_ns; /* UTC */
    struct http_reply reply;
    size_t header_bytes, body_bytes;
    bool answered; /* the final headers are complete; with trailers: all of the answer is */
    CURLcode code; /* how the transfer ended */
    enum exporter_rc rc;
    struct err err;
    char error[CURL_ERROR_SIZE];
};

struct http_client {
    CURLM *multi;                  /* owned: has the connections that are kept */
    pthread_mutex_t lock;          /* of `multi`: others than the client's thread wake it up */
    atomic_bool stale;             /* those connections are not to be used again */
    int64_t since_ns;              /* UTC, all of them are younger; 0: none was made yet */
    struct http_request *requests; /* owned */
    size_t count;
    const struct http_trailed *trailed; /* static; or NULL */
    const char *hint;                   /* static; NULL: none, or it has answered */
    bool one_each;                      /* each request has a connection of its own */
    struct http_login *login;           /* owned */
    unsigned secrets;                   /* how often those have changed */
    struct http_tls tls;                /* owned */
    struct curl_slist *headers;         /* owned: those without a secret */
    char *url;                          /* owned */
    atomic_bool canceled;
};

/* Bytes are counted here, as curl's own limit only believes Content-Length. */
static size_t on_body(char *bytes, size_t one, size_t size, void *ctx)
{
    struct http_request *request = ctx;
    size_t max = request->client->trailed ? HTTP_TRAILED_MAX : HTTP_REPLY_MAX;
    size_t room = HTTP_REPLY_MAX - request->bytes.size;

    (void)one;
    buf_add(&request->bytes, bytes, size < room ? size : room);
    request->body_bytes += size;
    return request->body_bytes <= max ? size : 0; /* which ends the transfer */
}

/* Keeps the value of a header that the protocol asks for; of several the last. */
static void keep_trailer(struct http_request *request, const char *line, size_t size)
{
    const struct http_trailed *trailed = request->client->trailed;
    size_t value_size;
    const char *value;

    for (size_t i = 0; trailed && i < HTTP_TRAILERS_MAX && trailed->names[i]; i++) {
        if (!http_header_find(line, size, trailed->names[i], &value, &value_size))
            continue;
        free(request->reply.trailers[i]);
        request->reply.trailers[i] = strndup(value, value_size);
    }
}

static size_t on_header(char *bytes, size_t one, size_t size, void *ctx)
{
    struct http_request *request = ctx;
    struct http_reply *reply = &request->reply;
    size_t value_size;
    const char *value;
    int64_t seconds;
    long status = 0;

    (void)one;
    if (size > HTTP_HEADERS_MAX - request->header_bytes)
        return 0;
    request->header_bytes += size;
    if (http_header_find(bytes, size, "Retry-After", &value, &value_size))
        reply->retry_after_ns = retry_after_ns(value, value_size, request->now_ns);
    if (retry_after_date(bytes, size, &seconds))
        reply->date_ns = seconds * (int64_t)NS_PER_S;
    keep_trailer(request, bytes, size);
    if (size > 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
        (void)libcurl.easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        reply->status = status;
        request->answered = status >= 200; /* 1xx: the answer is still to come */
    }
    return size;
}

static CURLcode set_protocols(CURL *easy)
{
    CURLcode code = libcurl.easy_setopt(easy, (CURLoption)CURL_OPTION_PROTOCOLS_STR, "http,https");

    if (code != CURLE_UNKNOWN_OPTION)
        return code;
    return libcurl.easy_setopt(easy, (CURLoption)CURL_OPTION_PROTOCOLS,
                               (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

/* Of a setting in ns, whole ms between 1 (0 is "no limit" to curl) and `max`. */
static long limit_ms(uint64_t ns, long usual, long max)
{
    uint64_t ms = ns / NS_PER_MS;

    if (ns == 0)
        return usual < max ? usual : max;
    if (ms >= (uint64_t)max)
        return max;
    return ms > 0 ? (long)ms : 1;
}

static CURLcode set_timeouts(CURL *easy, const struct exporter_settings *settings)
{
    long total_ms = limit_ms(settings->timeout_ns, HTTP_TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS);
    long connect_ms = limit_ms(settings->connect_timeout_ns, CONNECT_DEFAULT_MS, total_ms);
    long stall_ms = limit_ms(settings->stall_timeout_ns, STALL_DEFAULT_MS, TIMEOUT_MAX_MS);
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, total_ms);

    CURL_SET(code, easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    CURL_SET(code, easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    CURL_SET(code, easy, CURLOPT_LOW_SPEED_TIME, (stall_ms + 999) / 1000); /* whole seconds */
    return code;
}

static CURLcode set_limits(CURL *easy, const struct exporter_settings *settings)
{
    CURLcode code = set_protocols(easy);

    if (code == CURLE_OK) /* else ending a transfer waits for the name server, however long */
        code = curl_api_optional(libcurl.easy_setopt(easy, (CURLoption)CURL_OPTION_QUICK_EXIT, 1L));
    if (code == CURLE_OK)
        code = set_timeouts(easy, settings);
    CURL_SET(code, easy, CURLOPT_NOSIGNAL, 1L);
    CURL_SET(code, easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* each connection looks the name up */
    CURL_SET(code, easy, CURLOPT_FOLLOWLOCATION, 0L);
    CURL_SET(code, easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return code;
}

static CURLcode set_callbacks(CURL *easy, struct http_request *request)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);

    CURL_SET(code, easy, CURLOPT_WRITEDATA, request);
    CURL_SET(code, easy, CURLOPT_HEADERFUNCTION, on_header);
    CURL_SET(code, easy, CURLOPT_HEADERDATA, request);
    CURL_SET(code, easy, CURLOPT_ERRORBUFFER, request->error);
    return code;
}

/* Without a setting curl does as http_proxy, https_proxy, all_proxy and no_proxy say. */
static CURLcode set_proxy(CURL *easy, const struct exporter_settings *settings)
{
    bool plain = strncasecmp(settings->url, "http:", 5) == 0;
    const char *proxy = !settings->proxy && plain ? settings->http_proxy : settings->proxy;
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_PROXYAUTH, (unsigned long)CURLAUTH_BASIC);

    if (proxy)
        CURL_SET(code, easy, CURLOPT_PROXY, strcmp(proxy, "none") == 0 ? "" : proxy);
    /* Else a proxy that the connection is kept to would be shown the server's headers. */
    CURL_SET(code, easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    return code;
}

/*
 * HTTP/2 by TLS is agreed on; without TLS it is supposed. Requests share a connection, but not
 * where libcurl fails at the second one (curl issue 10634).
 */
static CURLcode set_version(CURL *easy, const struct http_client *client)
{
    CURLcode code;

    if (!client->trailed)
        return libcurl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    code =
        libcurl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    CURL_SET(code, easy, client->one_each ? CURLOPT_FORBID_REUSE : CURLOPT_PIPEWAIT, 1L);
    CURL_SET(code, easy, CURLOPT_HTTPPROXYTUNNEL, 1L); /* the proxy may not know HTTP/2 */
    return code;
}

static CURLcode set_request(CURL *easy, const struct http_client *client, const char *user_agent)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_URL, client->url);

    if (code == CURLE_OK)
        code = set_version(easy, client);
    CURL_SET(code, easy, CURLOPT_POST, 1L);
    CURL_SET(code, easy, CURLOPT_USERAGENT, user_agent ? user_agent : "pystrobe");
    return code;
}

/* Gives curl the secrets as they are now. */
static CURLcode set_secrets(struct http_request *request)
{
    const struct http_client *client = request->client;
    struct curl_slist *sent;
    CURLcode code;

    if (!http_login_headers(client->login, client->headers, &sent))
        return CURLE_OUT_OF_MEMORY;
    code = libcurl.easy_setopt(request->easy, CURLOPT_HTTPHEADER, sent);
    libcurl.slist_free_all(request->sent);
    request->sent = sent;
    request->secrets = client->secrets;
    return code == CURLE_OK ? http_login_apply(client->login, request->easy) : code;
}

static enum exporter_rc prepare_http_client(struct http_client *client,
                                            const struct exporter_settings *settings,
                                            const struct http_resource *resource, struct err *err)
{
    enum exporter_rc rc = http_setup_url(settings->url, resource->path, &client->url, err);

    client->trailed = resource->trailed;
    client->hint = resource->hint;
    if (rc == EXPORTER_OK && client->trailed)
        rc = http_setup_check_http2(err);
    client->one_each = rc == EXPORTER_OK && client->trailed &&
                       strncasecmp(client->url, "http:", 5) == 0 && http_setup_breaks_http2();
    if (rc == EXPORTER_OK)
        rc = http_setup_headers(settings, resource, &client->headers, err);
    if (rc == EXPORTER_OK)
        rc = http_tls_open(settings, &client->tls, err);
    if (rc == EXPORTER_OK)
        rc = http_login_open(settings, &client->login, err);
    return rc;
}

static CURLcode prepare_request(struct http_client *client, struct http_request *request,
                                const struct exporter_settings *settings)
{
    CURLcode code;

    request->client = client;
    request->easy = libcurl.easy_init();
    buf_init(&request->body, BODY_MAX);
    buf_init(&request->bytes, HTTP_REPLY_MAX);
    if (!request->easy)
        return CURLE_OUT_OF_MEMORY;
    code = set_limits(request->easy, settings);
    if (code == CURLE_OK)
        code = set_callbacks(request->easy, request);
    if (code == CURLE_OK)
        code = http_tls_set(settings, request->easy);
    if (code == CURLE_OK)
        code = set_request(request->easy, client, settings->user_agent);
    if (code == CURLE_OK)
        code = set_proxy(request->easy, settings);
    return code == CURLE_OK ? set_secrets(request) : code;
}

static enum exporter_rc prepare_curl(struct http_client *client,
                                     const struct exporter_settings *settings, struct err *err)
{
    size_t wanted = settings->max_in_flight;
    CURLcode code = CURLE_OK;

    if (wanted == 0)
        wanted = EXPORTER_IN_FLIGHT_DEFAULT;
    if (wanted > EXPORTER_IN_FLIGHT_MAX)
        wanted = EXPORTER_IN_FLIGHT_MAX;
    client->multi = libcurl.multi_init();
    client->requests = calloc(wanted, sizeof(*client->requests));
    if (!client->multi || !client->requests)
        return EXPORTER_NOMEM;
    while (code == CURLE_OK && client->count < wanted)
        code = prepare_request(client, &client->requests[client->count++], settings);
    if (code == CURLE_OK)
        return EXPORTER_OK;
    err_set(err, "libcurl: %s", libcurl.easy_strerror(code));
    return code == CURLE_OUT_OF_MEMORY ? EXPORTER_NOMEM : EXPORTER_BAD_CONFIG;
}

enum exporter_rc http_client_open(const struct exporter_settings *settings,
                                  const struct http_resource *resource, struct http_client **out,
                                  struct err *err)
{
    struct http_client *client;
    enum exporter_rc rc = EXPORTER_NOMEM;

    if (!curl_api_load(err))
        return EXPORTER_BAD_CONFIG;
    client = calloc(1, sizeof(*client));
    if (!client)
        return rc;
    atomic_init(&client->canceled, false);
    atomic_init(&client->stale, false);
    (void)pthread_mutex_init(&client->lock, NULL); /* which cannot fail */
    rc = prepare_http_client(client, settings, resource, err);
    if (rc != EXPORTER_OK)
        goto fail;
    rc = prepare_curl(client, settings, err);
    if (rc != EXPORTER_OK)
        goto fail;
    *out = client;
    return EXPORTER_OK;

fail:
    http_client_close(client);
    return rc;
}

static void forget_trailers(struct http_reply *reply)
{
    for (size_t i = 0; i < HTTP_TRAILERS_MAX; i++) {
        free(reply->trailers[i]);
        reply->trailers[i] = NULL;
    }
}

static void close_request(struct http_client *client, struct http_request *request)
{
    if (request->running)
        (void)libcurl.multi_remove_handle(client->multi, request->easy);
    forget_trailers(&request->reply);
    libcurl.easy_cleanup(request->easy);
    libcurl.slist_free_all(request->sent);
    buf_finish(&request->body);
    buf_finish(&request->bytes);
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    for (size_t i = 0; i < client->count; i++)
        close_request(client, &client->requests[i]);
    free(client->requests);
    (void)libcurl.multi_cleanup(client->multi);
    (void)pthread_mutex_destroy(&client->lock);
    libcurl.slist_free_all(client->headers);
    http_login_close(client->login);
    http_tls_close(&client->tls);
    free(client->url);
    free(client);
}

static uint64_t step_ns(CURL *easy, CURLINFO which)
{
    curl_off_t us = 0;

    return libcurl.easy_getinfo(easy, which, &us) == CURLE_OK && us > 0 ? (uint64_t)us * NS_PER_US
                                                                        : 0;
}

/* Where a transfer ended: by what curl says, or by the time that it ran out in. */
static enum exporter_step last_step(const struct http_request *request,
                                    const struct exporter_probe *times)
{
    switch ((int)request->code) { /* of which there are too many to name */
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return EXPORTER_STEP_NAME;
    case CURLE_COULDNT_CONNECT:
        return EXPORTER_STEP_CONNECTION;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return EXPORTER_STEP_TLS;
    default:
        return times->resolved_ns == 0                   ? EXPORTER_STEP_NAME
               : times->connected_ns == 0                ? EXPORTER_STEP_CONNECTION
               : times->secure && times->secured_ns == 0 ? EXPORTER_STEP_TLS
                                                         : EXPORTER_STEP_ANSWER;
    }
}

void http_request_steps(const struct http_client *client, const struct http_request *request,
                        struct exporter_probe *out)
{
    out->secure = strncasecmp(client->url, "https:", 6) == 0;
    out->resolved_ns = step_ns(request->easy, CURLINFO_NAMELOOKUP_TIME_T);
    out->connected_ns = step_ns(request->easy, CURLINFO_CONNECT_TIME_T);
    out->secured_ns = step_ns(request->easy, CURLINFO_APPCONNECT_TIME_T);
    out->answered_ns = step_ns(request->easy, CURLINFO_STARTTRANSFER_TIME_T);
    out->step = request->answered ? EXPORTER_STEP_ANSWER : last_step(request, out);
}

size_t http_client_requests_max(const struct http_client *client)
{
    return client->count;
}

struct http_request *http_client_begin(struct http_client *client)
{
    for (size_t i = 0; i < client->count; i++) {
        if (client->requests[i].used)
            continue;
        client->requests[i].used = true;
        return &client->requests[i];
    }
    return NULL;
}

struct buf *http_request_buf(struct http_request *request)
{
    return &request->body;
}

void http_client_end(struct http_client *client, struct http_request *request)
{
    (void)client;
    (void)libcurl.easy_setopt(request->easy, CURLOPT_POSTFIELDS, NULL); /* it was only lent */
    buf_finish(&request->body); /* the next one may be much smaller */
    buf_finish(&request->bytes);
    forget_trailers(&request->reply);
    request->used = request->running = request->done = false;
}

/* True for what comes of a port that speaks another protocol; also of a server that ends. */
static bool is_no_answer(CURLcode code)
{
    static const CURLcode codes[] = {
        CURLE_UNSUPPORTED_PROTOCOL, /* "Received HTTP/0.9" */
        CURLE_WEIRD_SERVER_REPLY,   CURLE_GOT_NOTHING, CURLE_SEND_ERROR,  CURLE_RECV_ERROR,
        CURLE_PARTIAL_FILE,         CURLE_HTTP2,       CURLE_HTTP2_STREAM};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* What to do about a transfer that failed; "": nothing known. */
static const char *advice_on_failure(const struct http_request *request, const char *text)
{
    const char *advice = http_advice(request->code, text), *hint = request->client->hint;

    return !advice[0] && hint && is_no_answer(request->code) ? hint : advice;
}

static void set_transfer_error(struct http_request *request)
{
    const struct http_client *client = request->client;
    CURLcode code = request->code;
    const char *text = request->error[0] ? request->error : libcurl.easy_strerror(code);
    char shown[CURL_ERROR_SIZE * 4];

    if (atomic_load(&client->canceled))
        text = "given up, as asked";
    else if (code == CURLE_WRITE_ERROR)
        text = "the header lines of the reply are longer than 64 KiB, or its body than 4 MiB";
    else if (code == CURLE_OUT_OF_MEMORY) /* curl has no other word for both */
        text = "out of memory, or the reply has a header line without an end";
    else if (code == CURLE_OK)
        text = "the answer ended before it was complete";
    /* curl's text can quote the server. */
    (void)text_printable(text, strlen(text), shown, sizeof(shown));
    http_login_scrub(client->login, shown, strlen(shown));
    err_set(&request->err, "%s: %s%s", client->url, shown, advice_on_failure(request, text));
}

/* Forgets what an earlier try was answered. */
static void reset_reply(struct http_request *request)
{
    forget_trailers(&request->reply);
    request->reply = (struct http_reply){.status = 0};
    request->header_bytes = request->body_bytes = 0;
    request->answered = false;
    request->error[0] = '\0';
    buf_reset(&request->bytes);
}

/* Has curl post what the request is prepared for. */
static bool add_transfer(struct http_client *client, struct http_request *request)
{
    reset_reply(request);
    request->running = libcurl.multi_add_handle(client->multi, request->easy) == CURLM_OK;
    return request->running;
}

/* True if a reply says that the secrets will not do, and there are others by now. */
static bool has_other_secrets(struct http_client *client, const struct http_request *request)
{
    long status = request->reply.status;

    if (!request->answered || request->again || (status != 401 && status != 403 && status != 407))
        return false;
    if (request->secrets == client->secrets && http_login_renew(client->login))
        client->secrets++;
    return request->secrets != client->secrets;
}

static void end_request(struct http_request *request, enum exporter_rc rc)
{
    request->running = false;
    request->done = true;
    request->rc = rc;
}

/* Completes a reply with what curl knows of it, without our secrets. */
static void take_reply(const struct http_client *client, struct http_request *request)
{
    struct http_reply *reply = &request->reply;
    const char *type = NULL;

    if (libcurl.easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type)
        (void)text_printable(type, strlen(type), reply->type, sizeof(reply->type));
    if (client->trailed && request->answered) {
        reply->status = client->trailed->complete(reply, &request->bytes);
        request->answered = reply->status != 0;
    }
    http_login_scrub(client->login, reply->type, strlen(reply->type));
    http_login_scrub(client->login, request->bytes.data, request->bytes.size);
    for (size_t i = 0; i < HTTP_TRAILERS_MAX; i++)
        if (reply->trailers[i])
            http_login_scrub(client->login, reply->trailers[i], strlen(reply->trailers[i]));
    reply->url = client->url;
    reply->body = request->bytes.data;
    reply->size = request->bytes.size;
}

/* A transfer has ended: the request is done, or is posted once more with other secrets. */
static void end_transfer(struct http_client *client, struct http_request *request, CURLcode code)
{
    long sent = 0;

    (void)libcurl.multi_remove_handle(client->multi, request->easy);
    request->code = code;
    take_reply(client, request);
    if (request->answered)
        client->hint = NULL;
    if (!request->answered || request->reply.status == 429 || request->reply.status >= 500)
        http_client_reconnect(client); /* the name may have another server by now, or several */
    if (has_other_secrets(client, request)) {
        request->again = true;
        if (set_secrets(request) == CURLE_OK && add_transfer(client, request))
            return;
        end_request(request, EXPORTER_NOMEM);
    } else if (request->answered) {
        end_request(request, EXPORTER_OK);
    } else {
        request->reply.unsent =
            libcurl.easy_getinfo(request->easy, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK &&
            sent == 0;
        set_transfer_error(request);
        end_request(request, EXPORTER_RETRY);
    }
}

static CURLcode set_url(const struct http_request *request, const char *query)
{
    const char *base = request->client->url;
    CURLcode code;
    char *url;

    if (!query)
        return libcurl.easy_setopt(request->easy, CURLOPT_URL, base);
    if (asprintf(&url, "%s?%s", base, query) < 0)
        return CURLE_OUT_OF_MEMORY;
    code = libcurl.easy_setopt(request->easy, CURLOPT_URL, url);
    free(url);
    return code;
}

static CURLcode set_body(struct http_request *request, const struct http_body *body)
{
    CURLcode code = libcurl.easy_setopt(request->easy, CURLOPT_POSTFIELDS, body->bytes);

    CURL_SET(code, request->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    if (code == CURLE_OK)
        code = set_url(request, body->query);
    if (code == CURLE_OK && request->secrets != request->client->secrets)
        code = set_secrets(request);
    return code;
}

/* Ends connections that are stale, with the handle that keeps them: once nothing is under way. */
static void end_stale_connections(struct http_client *client, int64_t now_ns)
{
    int64_t age_ns;
    CURLM *multi, *before = client->multi;

    if (client->since_ns == 0)
        client->since_ns = now_ns;
    age_ns = now_ns - client->since_ns;
    if (age_ns < 0 || age_ns > LIFETIME_NS)
        http_client_reconnect(client);
    if (!atomic_load(&client->stale))
        return;
    for (size_t i = 0; i < client->count; i++)
        if (client->requests[i].running)
            return;
    multi = libcurl.multi_init();
    if (!multi)
        return;
    atomic_store(&client->stale, false);
    client->since_ns = now_ns;
    (void)pthread_mutex_lock(&client->lock);
    client->multi = multi;
    (void)pthread_mutex_unlock(&client->lock);
    (void)libcurl.multi_cleanup(before);
    http_client_wake(client); /* if it was woken just before */
}

/* Reads the secrets that were not there when the client was opened. */
static enum exporter_rc complete_secrets(struct http_client *client, struct err *err)
{
    bool changed;
    enum exporter_rc rc = http_login_complete(client->login, &changed, err);

    client->secrets += changed ? 1 : 0;
    return rc;
}

void http_client_start(struct http_client *client, struct http_request *request,
                       const struct http_body *body, int64_t now_ns, void *ctx)
{
    enum exporter_rc rc;

    request->ctx = ctx;
    request->now_ns = now_ns;
    request->done = request->again = false;
    request->err = (struct err){""};
    reset_reply(request);
    request->reply.unsent = true;
    if (atomic_load(&client->canceled)) {
        set_transfer_error(request);
        end_request(request, EXPORTER_RETRY);
        return;
    }
    end_stale_connections(client, now_ns);
    rc = complete_secrets(client, &request->err);
    if (rc != EXPORTER_OK) {
        end_request(request, rc);
        return;
    }
    if (set_body(request, body) != CURLE_OK ||
        libcurl.easy_setopt(request->easy, CURLOPT_FRESH_CONNECT,
                            client->one_each || atomic_load(&client->stale) ? 1L : 0L) !=
            CURLE_OK) {
        end_request(request, EXPORTER_NOMEM);
        return;
    }
    rc = http_tls_load(&client->tls, request->easy, &request->err);
    if (rc != EXPORTER_OK)
        end_request(request, rc);
    else if (!add_transfer(client, request))
        end_request(request, EXPORTER_NOMEM);
}

/* Takes note of all transfers that have ended. */
static void collect_transfers(struct http_client *client)
{
    bool canceled = atomic_load(&client->canceled);
    const struct CURLMsg *message;
    int left;

    while ((message = libcurl.multi_info_read(client->multi, &left))) {
        for (size_t i = 0; message->msg == CURLMSG_DONE && i < client->count; i++)
            if (client->requests[i].running && client->requests[i].easy == message->easy_handle) {
                end_transfer(client, &client->requests[i], message->data.result);
                break;
            }
    }
    for (size_t i = 0; canceled && i < client->count; i++)
        if (client->requests[i].running)
            end_transfer(client, &client->requests[i], CURLE_ABORTED_BY_CALLBACK);
}

static bool take_done(struct http_client *client, struct http_done *out)
{
    for (size_t i = 0; i < client->count; i++) {
        struct http_request *request = &client->requests[i];

        if (!request->done)
            continue;
        request->done = false;
        *out = (struct http_done){.request = request,
                                  .ctx = request->ctx,
                                  .rc = request->rc,
                                  .reply = &request->reply,
                                  .err = request->err};
        return true;
    }
    return false;
}

/* Lets curl work. If it cannot, all that is under way has failed. */
static void perform(struct http_client *client)
{
    int running;
    bool works = libcurl.multi_perform(client->multi, &running) == CURLM_OK;

    collect_transfers(client);
    for (size_t i = 0; !works && i < client->count; i++)
        if (client->requests[i].running)
            end_transfer(client, &client->requests[i], CURLE_FAILED_INIT);
}

/* A wake-up that comes before the wait is not lost, curl keeps it. */
bool http_client_wait(struct http_client *client, unsigned timeout_ms, struct http_done *out)
{
    if (take_done(client, out))
        return true;
    perform(client);
    if (take_done(client, out))
        return true;
    (void)libcurl.multi_poll(client->multi, NULL, 0, (int)timeout_ms, NULL);
    perform(client);
    return take_done(client, out);
}

void http_client_wake(struct http_client *client)
{
    (void)pthread_mutex_lock(&client->lock);
    (void)libcurl.multi_wakeup(client->multi);
    (void)pthread_mutex_unlock(&client->lock);
}

void http_client_reconnect(struct http_client *client)
{
    atomic_store(&client->stale, true);
}

void http_client_cancel(struct http_client *client)
{
    atomic_store(&client->canceled, true);
    http_client_wake(client);
}

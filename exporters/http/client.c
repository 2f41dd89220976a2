/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - the only file that knows how libcurl is kept within limits. */
#include "exporters/http/client.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"
#include "exporters/http/advice.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/login.h"
#include "exporters/http/retry_after.h"
#include "exporters/http/setup.h"
#include "exporters/http/text.h"
#include "exporters/http/tls.h"

enum {
    CONNECT_DEFAULT_MS = 5000,
    TIMEOUT_DEFAULT_MS = 10000, /* a Pyroscope that starts takes up to 5.6 s */
    STALL_DEFAULT_MS = 10000,
    TIMEOUT_MAX_MS = 10 * 60 * 1000,
    WAKE_MS = 1000 /* an upper bound; curl wakes for sockets, its timers and a cancel */
};

struct http_client {
    CURL *easy;                 /* owned */
    CURLM *multi;               /* owned: has the connection that is kept */
    struct http_login *login;   /* owned */
    struct http_tls tls;        /* owned */
    struct curl_slist *headers; /* owned: those without a secret */
    struct curl_slist *sent;    /* owned: all of them */
    char *url;                  /* owned */
    atomic_bool canceled;

    /* of the post under way */
    struct http_reply *reply; /* borrowed */
    int64_t now_ns;           /* UTC */
    size_t header_bytes, body_bytes;
    bool answered; /* the final headers are complete */
    CURLcode code; /* how the last transfer ended */
    char error[CURL_ERROR_SIZE];
};

/* Bytes are counted here, as curl's own limit only believes Content-Length. */
static size_t on_body(char *bytes, size_t one, size_t size, void *ctx)
{
    struct http_client *client = ctx;
    struct http_reply *reply = client->reply;
    size_t room = sizeof(reply->body) - reply->size;
    size_t kept = size < room ? size : room;

    (void)one;
    memcpy(reply->body + reply->size, bytes, kept);
    reply->size += kept;
    if (size > HTTP_REPLY_MAX - client->body_bytes)
        return 0; /* ends the transfer */
    client->body_bytes += size;
    return size;
}

static size_t on_header(char *bytes, size_t one, size_t size, void *ctx)
{
    struct http_client *client = ctx;
    size_t value_size;
    const char *value;
    int64_t seconds;
    long status = 0;

    (void)one;
    if (size > HTTP_HEADERS_MAX - client->header_bytes)
        return 0;
    client->header_bytes += size;
    if (retry_after_find(bytes, size, &value, &value_size))
        client->reply->retry_after_ns = retry_after_ns(value, value_size, client->now_ns);
    if (retry_after_date(bytes, size, &seconds))
        client->reply->date_ns = seconds * (int64_t)NS_PER_S;
    if (size > 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
        (void)libcurl.easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
        client->reply->status = status;
        client->answered = status >= 200; /* 1xx: the answer is still to come */
    }
    return size;
}

#if LIBCURL_VERSION_NUM >= 0x075700
static CURLcode set_by_version(CURL *easy)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");

    /* Else ending a transfer waits for the name server, however long that takes. */
    return code == CURLE_OK ? libcurl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) : code;
}
#else
static CURLcode set_by_version(CURL *easy)
{
    return libcurl.easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
}
#endif

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
    long total_ms = limit_ms(settings->timeout_ns, TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS);
    long connect_ms = limit_ms(settings->connect_timeout_ns, CONNECT_DEFAULT_MS, total_ms);
    long stall_ms = limit_ms(settings->stall_timeout_ns, STALL_DEFAULT_MS, TIMEOUT_MAX_MS);
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, total_ms);

    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    if (code == CURLE_OK) /* curl counts whole seconds here */
        code = libcurl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (stall_ms + 999) / 1000);
    return code;
}

static CURLcode set_limits(CURL *easy, const struct exporter_settings *settings)
{
    CURLcode code = set_by_version(easy);

    if (code == CURLE_OK)
        code = set_timeouts(easy, settings);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return code;
}

static CURLcode set_callbacks(CURL *easy, struct http_client *client)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);

    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_WRITEDATA, client);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_HEADERDATA, client);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_ERRORBUFFER, client->error);
    return code;
}

/* Without a setting curl does as http_proxy, https_proxy and no_proxy say. */
static CURLcode set_proxy(CURL *easy, const struct exporter_settings *settings)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_PROXYAUTH, (unsigned long)CURLAUTH_BASIC);

    if (code == CURLE_OK && settings->proxy)
        code = libcurl.easy_setopt(easy, CURLOPT_PROXY,
                                   strcmp(settings->proxy, "none") == 0 ? "" : settings->proxy);
    if (code == CURLE_OK && settings->ca_file)
        code = libcurl.easy_setopt(easy, CURLOPT_PROXY_CAINFO, settings->ca_file);
    /* Else a proxy that the connection is kept to would be shown the server's headers. */
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    return code;
}

static CURLcode set_request(CURL *easy, const struct http_client *client, const char *user_agent)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_URL, client->url);

    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_POST, 1L);
    if (code == CURLE_OK)
        code = libcurl.easy_setopt(easy, CURLOPT_USERAGENT, user_agent ? user_agent : "pystrobe");
    return code;
}

/* Gives curl the secrets as they are now. */
static CURLcode set_secrets(struct http_client *client)
{
    struct curl_slist *sent;
    CURLcode code;

    if (!http_login_headers(client->login, client->headers, &sent))
        return CURLE_OUT_OF_MEMORY;
    code = libcurl.easy_setopt(client->easy, CURLOPT_HTTPHEADER, sent);
    libcurl.slist_free_all(client->sent);
    client->sent = sent;
    return code == CURLE_OK ? http_login_apply(client->login, client->easy) : code;
}

static enum exporter_rc prepare_http_client(struct http_client *client,
                                            const struct exporter_settings *settings,
                                            const struct http_resource *resource, struct err *err)
{
    enum exporter_rc rc = http_setup_url(settings->url, resource->path, &client->url, err);

    if (rc == EXPORTER_OK)
        rc = http_setup_check_proxy(settings->proxy, err);
    if (rc == EXPORTER_OK)
        rc = http_setup_headers(settings, resource, &client->headers, err);
    if (rc == EXPORTER_OK)
        rc = http_tls_open(settings, &client->tls, err);
    if (rc == EXPORTER_OK)
        rc = http_login_open(settings, &client->login, err);
    return rc;
}

static enum exporter_rc prepare_curl(struct http_client *client,
                                     const struct exporter_settings *settings, struct err *err)
{
    CURLcode code;

    client->multi = libcurl.multi_init();
    client->easy = libcurl.easy_init();
    if (!client->multi || !client->easy)
        return EXPORTER_NOMEM;
    code = set_limits(client->easy, settings);
    if (code == CURLE_OK)
        code = set_callbacks(client->easy, client);
    if (code == CURLE_OK)
        code = http_tls_set(settings, client->easy);
    if (code == CURLE_OK)
        code = set_request(client->easy, client, settings->user_agent);
    if (code == CURLE_OK)
        code = set_proxy(client->easy, settings);
    if (code == CURLE_OK)
        code = set_secrets(client);
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

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    libcurl.easy_cleanup(client->easy);
    (void)libcurl.multi_cleanup(client->multi);
    libcurl.slist_free_all(client->headers);
    libcurl.slist_free_all(client->sent);
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

/* Where the last transfer ended: by what curl says, or by the time that it ran out in. */
static enum exporter_step last_step(const struct http_client *client,
                                    const struct exporter_probe *times)
{
    switch ((int)client->code) { /* of which there are too many to name */
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

void http_client_steps(struct http_client *client, struct exporter_probe *out)
{
    out->secure = strncmp(client->url, "https:", 6) == 0;
    out->resolved_ns = step_ns(client->easy, CURLINFO_NAMELOOKUP_TIME_T);
    out->connected_ns = step_ns(client->easy, CURLINFO_CONNECT_TIME_T);
    out->secured_ns = step_ns(client->easy, CURLINFO_APPCONNECT_TIME_T);
    out->answered_ns = step_ns(client->easy, CURLINFO_STARTTRANSFER_TIME_T);
    out->step = client->answered ? EXPORTER_STEP_ANSWER : last_step(client, out);
}

void http_client_cancel(struct http_client *client)
{
    atomic_store(&client->canceled, true);
    (void)libcurl.multi_wakeup(client->multi);
}

/* Runs the transfer; a wake-up that comes before the wait is not lost, curl keeps it. */
static CURLcode run_transfer(struct http_client *client)
{
    int running = 1, left;

    while (running > 0 && !atomic_load(&client->canceled)) {
        const struct CURLMsg *done;

        if (libcurl.multi_perform(client->multi, &running) != CURLM_OK)
            return CURLE_FAILED_INIT;
        done = libcurl.multi_info_read(client->multi, &left);
        if (done && done->msg == CURLMSG_DONE)
            return done->data.result;
        if (libcurl.multi_poll(client->multi, NULL, 0, WAKE_MS, NULL) != CURLM_OK)
            return CURLE_FAILED_INIT;
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

static void set_transfer_error(const struct http_client *client, CURLcode code, struct err *err)
{
    const char *text = client->error[0] ? client->error : libcurl.easy_strerror(code);
    char shown[CURL_ERROR_SIZE * 4];

    if (atomic_load(&client->canceled))
        text = "given up, as asked";
    else if (code == CURLE_WRITE_ERROR)
        text = "the header lines of the reply are longer than 64 KiB";
    else if (code == CURLE_OUT_OF_MEMORY) /* curl has no other word for both */
        text = "out of memory, or the reply has a header line without an end";
    /* curl's text can quote the server. */
    (void)text_printable(text, strlen(text), shown, sizeof(shown));
    http_login_scrub(client->login, shown, strlen(shown));
    err_set(err, "%s: %s%s", client->url, shown, http_advice(code, text));
}

static enum exporter_rc post_once(struct http_client *client, struct http_reply *reply,
                                  struct err *err)
{
    CURLcode code = CURLE_FAILED_INIT;
    long sent = 0;

    memset(reply, 0, sizeof(*reply));
    client->reply = reply;
    client->header_bytes = client->body_bytes = 0;
    client->answered = false;
    client->error[0] = '\0';
    if (libcurl.multi_add_handle(client->multi, client->easy) == CURLM_OK) {
        code = run_transfer(client);
        (void)libcurl.multi_remove_handle(client->multi, client->easy);
    }
    client->reply = NULL;
    http_login_scrub(client->login, reply->body, reply->size);
    client->code = code;
    if (client->answered)
        return EXPORTER_OK;
    reply->unsent =
        libcurl.easy_getinfo(client->easy, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK && sent == 0;
    set_transfer_error(client, code, err);
    return EXPORTER_RETRY;
}

/* Posts what curl has been given; once more with other secrets if the old ones will not do. */
static enum exporter_rc post_all(struct http_client *client, struct http_reply *reply,
                                 struct err *err)
{
    enum exporter_rc rc = post_once(client, reply, err);

    if (rc != EXPORTER_OK ||
        (reply->status != 401 && reply->status != 403 && reply->status != 407) ||
        !http_login_renew(client->login))
        return rc;
    return set_secrets(client) == CURLE_OK ? post_once(client, reply, err) : EXPORTER_NOMEM;
}

static CURLcode set_url(const struct http_client *client, const char *query)
{
    CURLcode code;
    char *url;

    if (!query)
        return libcurl.easy_setopt(client->easy, CURLOPT_URL, client->url);
    if (asprintf(&url, "%s?%s", client->url, query) < 0)
        return CURLE_OUT_OF_MEMORY;
    code = libcurl.easy_setopt(client->easy, CURLOPT_URL, url);
    free(url);
    return code;
}

enum exporter_rc http_client_post(struct http_client *client, const struct http_body *body,
                                  int64_t now_ns, struct http_reply *reply, struct err *err)
{
    CURLcode code = libcurl.easy_setopt(client->easy, CURLOPT_POSTFIELDS, body->bytes);
    enum exporter_rc rc;

    client->now_ns = now_ns;
    reply->unsent = true;
    if (code == CURLE_OK)
        code =
            libcurl.easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    if (code == CURLE_OK)
        code = set_url(client, body->query);
    if (code != CURLE_OK)
        return EXPORTER_NOMEM;
    rc = http_tls_load(&client->tls, client->easy, err);
    if (rc == EXPORTER_OK)
        rc = post_all(client, reply, err);
    (void)libcurl.easy_setopt(client->easy, CURLOPT_POSTFIELDS, NULL); /* it was only lent */
    return rc;
}

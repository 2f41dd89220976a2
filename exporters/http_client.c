/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.c - the only file that knows how libcurl is kept within limits. */
#include "exporters/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/http_setup.h"
#include "exporters/retry_after.h"
#include "exporters/secret.h"
#include "exporters/text.h"

enum {
    CONNECT_MAX_MS = 5000,
    TIMEOUT_DEFAULT_MS = 10000, /* a Pyroscope that starts takes up to 5.6 s */
    TIMEOUT_MAX_MS = 10 * 60 * 1000,
    NS_PER_MS = 1000000,
    WAKE_MS = 1000 /* an upper bound; curl wakes for sockets, its timers and a cancel */
};

struct http_client {
    CURL *easy;                 /* owned */
    CURLM *multi;               /* owned: has the connection that is kept */
    struct curl_slist *headers; /* owned */
    char *url;                  /* owned */
    char *user;                 /* owned; NULL: no basic authorisation */
    char *secret_file;          /* owned; NULL: no authorisation at all */
    char *secret;               /* owned: password of `user`, or a bearer token */
    atomic_bool canceled;

    /* of the post under way */
    struct http_reply *reply; /* borrowed */
    int64_t now_ns;           /* UTC */
    size_t header_bytes, body_bytes;
    bool answered; /* the final headers are complete */
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
    long status = 0;

    (void)one;
    if (size > HTTP_HEADERS_MAX - client->header_bytes)
        return 0;
    client->header_bytes += size;
    if (retry_after_find(bytes, size, &value, &value_size))
        client->reply->retry_after_ns = retry_after_ns(value, value_size, client->now_ns);
    if (size > 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
        (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
        client->reply->status = status;
        client->answered = status >= 200; /* 1xx: the answer is still to come */
    }
    return size;
}

#if LIBCURL_VERSION_NUM >= 0x075700
static CURLcode set_by_version(CURL *easy)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");

    /* Else ending a transfer waits for the name server, however long that takes. */
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) : code;
}
#else
static CURLcode set_by_version(CURL *easy)
{
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
}
#endif

static CURLcode set_limits(CURL *easy, uint64_t timeout_ns)
{
    uint64_t timeout_ms = timeout_ns / NS_PER_MS;
    long total_ms = TIMEOUT_DEFAULT_MS;
    CURLcode code = set_by_version(easy);

    if (timeout_ns > 0)
        total_ms = timeout_ms < TIMEOUT_MAX_MS ? (long)timeout_ms : TIMEOUT_MAX_MS;
    if (total_ms == 0)
        total_ms = 1; /* 0 is "no limit" to curl */
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, total_ms);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                                total_ms < CONNECT_MAX_MS ? total_ms : CONNECT_MAX_MS);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return code;
}

static CURLcode set_callbacks(CURL *easy, struct http_client *client)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);

    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, client);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->error);
    return code;
}

static CURLcode set_tls(CURL *easy, const char *ca_file)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (code == CURLE_OK && ca_file)
        code = curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    return code;
}

static CURLcode set_request(CURL *easy, const struct http_client *client, const char *user_agent)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, client->url);

    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_POST, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->headers);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent ? user_agent : "pystrobe");
    return code;
}

/* Both ways are sent at once, without asking what the server would like. */
static CURLcode set_secret(const struct http_client *client)
{
    unsigned long way = client->user ? CURLAUTH_BASIC : CURLAUTH_BEARER;
    CURLcode code;

    if (!client->secret)
        return CURLE_OK;
    code = curl_easy_setopt(client->easy, CURLOPT_HTTPAUTH, way);
    if (code == CURLE_OK && client->user) {
        code = curl_easy_setopt(client->easy, CURLOPT_USERNAME, client->user);
        if (code == CURLE_OK)
            code = curl_easy_setopt(client->easy, CURLOPT_PASSWORD, client->secret);
    } else if (code == CURLE_OK) {
        code = curl_easy_setopt(client->easy, CURLOPT_XOAUTH2_BEARER, client->secret);
    }
    return code;
}

/* curl looks at it only when it connects; a mistake is to be told at the start. */
static enum exporter_rc check_ca_file(const char *path, struct err *err)
{
    struct stat info;

    if (!path || (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, R_OK) == 0))
        return EXPORTER_OK;
    err_set(err, "ca_file: %s is not a file that can be read", path);
    return EXPORTER_BAD_CONFIG;
}

static enum exporter_rc copy_auth(struct http_client *client,
                                  const struct exporter_settings *settings, struct err *err)
{
    const char *file = settings->user ? settings->password_file : settings->token_file;

    if (!file)
        return EXPORTER_OK;
    client->secret_file = strdup(file);
    if (!client->secret_file)
        return EXPORTER_NOMEM;
    if (settings->user) {
        client->user = strdup(settings->user);
        if (!client->user)
            return EXPORTER_NOMEM;
    }
    return secret_read(file, &client->secret, err);
}

static enum exporter_rc prepare(struct http_client *client,
                                const struct exporter_settings *settings, const char *path,
                                const char *content_type, struct err *err)
{
    enum exporter_rc rc = http_setup_url(settings->url, path, &client->url, err);

    if (rc == EXPORTER_OK)
        rc = http_setup_check_auth(settings, err);
    if (rc == EXPORTER_OK)
        rc = http_setup_headers(settings, content_type, &client->headers, err);
    if (rc == EXPORTER_OK)
        rc = check_ca_file(settings->ca_file, err);
    if (rc == EXPORTER_OK)
        rc = copy_auth(client, settings, err);
    return rc;
}

static enum exporter_rc prepare_curl(struct http_client *client,
                                     const struct exporter_settings *settings, struct err *err)
{
    CURLcode code;

    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    if (!client->multi || !client->easy)
        return EXPORTER_NOMEM;
    code = set_limits(client->easy, settings->timeout_ns);
    if (code == CURLE_OK)
        code = set_callbacks(client->easy, client);
    if (code == CURLE_OK)
        code = set_tls(client->easy, settings->ca_file);
    if (code == CURLE_OK)
        code = set_request(client->easy, client, settings->user_agent);
    if (code == CURLE_OK)
        code = set_secret(client);
    if (code == CURLE_OK)
        return EXPORTER_OK;
    err_set(err, "libcurl: %s", curl_easy_strerror(code));
    return code == CURLE_OUT_OF_MEMORY ? EXPORTER_NOMEM : EXPORTER_BAD_CONFIG;
}

enum exporter_rc http_client_open(const struct exporter_settings *settings, const char *path,
                                  const char *content_type, struct http_client **out,
                                  struct err *err)
{
    struct http_client *client = calloc(1, sizeof(*client));
    enum exporter_rc rc = EXPORTER_NOMEM;

    if (!client)
        return rc;
    atomic_init(&client->canceled, false);
    rc = prepare(client, settings, path, content_type, err);
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
    curl_easy_cleanup(client->easy);
    (void)curl_multi_cleanup(client->multi);
    curl_slist_free_all(client->headers);
    free(client->url);
    free(client->user);
    free(client->secret_file);
    secret_free(client->secret);
    free(client);
}

void http_client_cancel(struct http_client *client)
{
    atomic_store(&client->canceled, true);
    (void)curl_multi_wakeup(client->multi);
}

/* Runs the transfer; a wake-up that comes before the wait is not lost, curl keeps it. */
static CURLcode run(struct http_client *client)
{
    int running = 1, left;

    while (running > 0 && !atomic_load(&client->canceled)) {
        const struct CURLMsg *done;

        if (curl_multi_perform(client->multi, &running) != CURLM_OK)
            return CURLE_FAILED_INIT;
        done = curl_multi_info_read(client->multi, &left);
        if (done && done->msg == CURLMSG_DONE)
            return done->data.result;
        if (curl_multi_poll(client->multi, NULL, 0, WAKE_MS, NULL) != CURLM_OK)
            return CURLE_FAILED_INIT;
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

static void explain(const struct http_client *client, CURLcode code, struct err *err)
{
    const char *text = client->error[0] ? client->error : curl_easy_strerror(code);
    char shown[CURL_ERROR_SIZE * 4];

    if (atomic_load(&client->canceled))
        text = "given up, as asked";
    else if (code == CURLE_WRITE_ERROR)
        text = "the header lines of the reply are longer than 64 KiB";
    else if (code == CURLE_OUT_OF_MEMORY) /* curl has no other word for both */
        text = "out of memory, or the reply has a header line without an end";
    /* curl's text can quote the server. */
    (void)text_printable(text, strlen(text), shown, sizeof(shown));
    err_set(err, "%s: %s%s", client->url, shown,
            code == CURLE_PEER_FAILED_VERIFICATION ? " (a CA of your own goes to ca_file)" : "");
}

static enum exporter_rc post_once(struct http_client *client, struct http_reply *reply,
                                  struct err *err)
{
    CURLcode code = CURLE_FAILED_INIT;

    memset(reply, 0, sizeof(*reply));
    client->reply = reply;
    client->header_bytes = client->body_bytes = 0;
    client->answered = false;
    client->error[0] = '\0';
    if (curl_multi_add_handle(client->multi, client->easy) == CURLM_OK) {
        code = run(client);
        (void)curl_multi_remove_handle(client->multi, client->easy);
    }
    client->reply = NULL;
    if (client->answered)
        return EXPORTER_OK;
    explain(client, code, err);
    return EXPORTER_RETRY;
}

/* True if the file has another secret than the one that was refused. */
static bool secret_renewed(struct http_client *client)
{
    char *fresh;

    if (!client->secret_file || secret_read(client->secret_file, &fresh, NULL) != EXPORTER_OK)
        return false;
    if (strcmp(fresh, client->secret) == 0) {
        secret_free(fresh);
        return false;
    }
    secret_free(client->secret);
    client->secret = fresh;
    return set_secret(client) == CURLE_OK;
}

enum exporter_rc http_client_post(struct http_client *client, const struct http_body *body,
                                  int64_t now_ns, struct http_reply *reply, struct err *err)
{
    CURLcode code = curl_easy_setopt(client->easy, CURLOPT_POSTFIELDS, body->bytes);
    enum exporter_rc rc;

    client->now_ns = now_ns;

    if (code == CURLE_OK)
        code = curl_easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    if (code != CURLE_OK)
        return EXPORTER_NOMEM;
    rc = post_once(client, reply, err);
    if (rc == EXPORTER_OK && (reply->status == 401 || reply->status == 403) &&
        secret_renewed(client))
        rc = post_once(client, reply, err);
    (void)curl_easy_setopt(client->easy, CURLOPT_POSTFIELDS, NULL); /* it was only lent */
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters/http: knows one HTTP request: TLS, proxies, logins, limits, secrets in memory.
 * Does not know the protocols above HTTP.
 *
 * client.h - posts bytes to one URL and gives the status and a little of the reply.
 *
 * Shape:   http_client_open, http_client_post many times, http_client_close.
 * Threads: a client belongs to one thread at a time; http_client_cancel may be
 *          called from any. libcurl resolves names in a thread of its own.
 * Needs:   exporter_global_init; SIGPIPE ignored, or blocked in the calling thread.
 */
#ifndef EXPORTERS_HTTP_CLIENT_H
#define EXPORTERS_HTTP_CLIENT_H

#include "exporters/exporter.h"

enum {
    HTTP_REPLY_MAX = 64 * 1024,   /* bytes of a body that are waited for */
    HTTP_HEADERS_MAX = 64 * 1024, /* bytes of all header lines */
    HTTP_REPLY_KEPT = 1024        /* bytes of a body that are kept */
};

struct http_reply {
    long status;             /* 100 to 599 as a rule; whatever the server wrote */
    uint64_t retry_after_ns; /* 0: the server named none; at most EXPORTER_RETRY_AFTER_MAX_NS */
    bool unsent;             /* no byte of the request went out: nobody was reached */
    int64_t date_ns;         /* the server's clock, UTC; 0: it did not say */
    size_t size;             /* of `body` */
    unsigned char body[HTTP_REPLY_KEPT];
};

/* What is posted. Borrowed during the call. */
struct http_body {
    const void *bytes;
    size_t size;
    const char *query; /* what follows the "?" of the URL, encoded; NULL: none */
};

/* Where it is posted to and as what. */
struct http_resource {
    const char *path; /* without a slash in front; NULL: the URL of the settings as it is */
    const char *content_type;
    const char *content_encoding; /* NULL: none */
};

struct http_client; /* private */

/*
 * Makes a client that posts to settings->url + "/" + resource->path. Connects to nothing.
 *
 * Gives:  *out, which the caller ends with http_client_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG, EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_client_open(const struct exporter_settings *settings,
                                             const struct http_resource *resource,
                                             struct http_client **out, struct err *err);

/*
 * Posts `body`. Redirects are not followed. The status line decides: once the
 * headers are here, a body that is cut, slow or endless changes nothing. On 401 and
 * 403 (407: a proxy's) the files of secrets are read again, and if one has changed,
 * the post is tried once more.
 *
 * Takes:  now_ns, UTC, which a date in Retry-After is held against.
 * Gives:  *reply when it returns EXPORTER_OK: the server answered, whatever it said.
 * Errors: EXPORTER_RETRY, EXPORTER_NOMEM: no answer, reply->unsent alone is set; `err` says why.
 */
MUST_CHECK enum exporter_rc http_client_post(struct http_client *client,
                                             const struct http_body *body, int64_t now_ns,
                                             struct http_reply *reply, struct err *err);

/* Tells how far the last post came, and when: all of `out` but status, date and err. */
void http_client_steps(struct http_client *client, struct exporter_probe *out);

/* Makes a post that is under way, and all later ones, end at once with EXPORTER_RETRY. */
void http_client_cancel(struct http_client *client);

/* Ends a client. NULL is fine. */
void http_client_close(struct http_client *client);

#endif

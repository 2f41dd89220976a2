/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters/http: knows HTTP requests: TLS, proxies, logins, limits, secrets in memory.
 * Does not know the protocols above HTTP.
 *
 * client.h - posts bytes to one URL, several requests at a time, and gives statuses and replies.
 *
 * Shape:   http_client_open; for a request http_client_begin, http_client_start, http_client_wait
 *          until it is done, http_client_end; http_client_close.
 * Threads: a client belongs to one thread at a time; http_client_wake, http_client_reconnect and
 *          http_client_cancel may be called from any. libcurl resolves names in threads of its own.
 * Needs:   exporter_global_init; SIGPIPE ignored, or blocked in the calling thread.
 */
#ifndef EXPORTERS_HTTP_CLIENT_H
#define EXPORTERS_HTTP_CLIENT_H

#include "base/buf.h"
#include "exporters/exporter.h"

enum {
    HTTP_REPLY_MAX =
        64 * 1024, /* bytes of a body that are kept; the client does not wait for the rest */
    HTTP_HEADERS_MAX = 64 * 1024,      /* bytes of all header lines, trailers included */
    HTTP_TYPE_MAX = 128,               /* bytes of a Content-Type, with its NUL */
    HTTP_TIMEOUT_DEFAULT_MS = 10000,   /* a Pyroscope that starts takes up to 5.6 s */
    HTTP_TRAILERS_MAX = 4,             /* trailers that a protocol may ask for */
    HTTP_TRAILED_MAX = 4 * 1024 * 1024 /* bytes of a body that are read to reach its trailers */
};

struct http_reply {
    long status;               /* usually 200 to 599; the server may send other numbers */
    uint64_t retry_after_ns;   /* at most EXPORTER_RETRY_AFTER_MAX_NS; 0: no Retry-After */
    bool unsent;               /* no byte of the request was sent: no server was reached */
    int64_t date_ns;           /* the server's Date, UTC; 0: none */
    const char *url;           /* URL without the query; lent until http_client_close */
    char type[HTTP_TYPE_MAX];  /* Content-Type, control characters escaped; "": absent */
    const unsigned char *body; /* lent until http_client_end */
    size_t size;               /* bytes of `body` that were kept */

    /* Values in the order of http_trailed.names; NULL: absent. Lent until http_client_end. */
    char *trailers[HTTP_TRAILERS_MAX];
};

/* A protocol whose answers end with trailers. It is spoken over HTTP/2. */
struct http_trailed {
    const char *names[HTTP_TRAILERS_MAX]; /* headers or trailers to keep; NULL: no more */

    /*
     * Examines an answer that has ended, with as much of its `body` as came. May unpack the body
     * and decode the trailers in place; secrets are searched in the result.
     *
     * Gives: the HTTP status to use in place of that in the status line; 0: the answer is not
     *        complete.
     */
    long (*complete)(const struct http_reply *reply, struct buf *body);
};

/* The content of a post. Borrowed until the request is done. */
struct http_body {
    const void *bytes;
    size_t size;
    const char *query; /* appended to the URL after "?", already encoded; NULL: none */
};

/* Destination and headers of all posts of a client. */
struct http_resource {
    const char *path; /* appended to the URL of the settings after a slash; NULL: nothing is */
    const char *content_type;
    const char *content_encoding; /* NULL: none */
    const struct label *headers;  /* headers of the protocol */
    size_t header_count;
    const struct http_trailed *trailed; /* static; NULL: HTTP/1.1, and the status line counts */
    const char *hint; /* static: added to errors until the server has answered once; NULL: none */
};

struct http_client;  /* private */
struct http_request; /* private: room for one request */

/* The end of a request. */
struct http_done {
    struct http_request *request;
    void *ctx;           /* that of http_client_start */
    enum exporter_rc rc; /* EXPORTER_OK: the server answered, with any status; else RETRY, NOMEM */
    const struct http_reply *reply; /* unless rc is EXPORTER_OK, only `unsent` is valid */
    struct err err;                 /* why there is no answer */
};

/*
 * Makes a client that posts to settings->url + "/" + resource->path, up to settings->max_in_flight
 * requests at a time. Does not connect yet.
 *
 * Gives:  *out, which the caller ends with http_client_close; untouched on failure.
 * Errors: as exporter_open.
 */
MUST_CHECK enum exporter_rc http_client_open(const struct exporter_settings *settings,
                                             const struct http_resource *resource,
                                             struct http_client **out, struct err *err);

/* Upper limit of the requests between http_client_begin and http_client_end. */
size_t http_client_requests_max(const struct http_client *client);

/* Gives: a request, which the caller ends with http_client_end; NULL: all are in use. */
struct http_request *http_client_begin(struct http_client *client);

/* Lends an empty buffer to encode the body of this request in, until http_client_end. */
struct buf *http_request_buf(struct http_request *request);

/*
 * Posts `body`; http_client_wait gives the result. Does not follow redirects. The status line
 * decides: once the headers have come, a body that is cut, slow or endless changes nothing. With
 * trailers http_trailed.complete decides. On 401, 403 and 407 (of a proxy) the files of secrets are
 * read again, and if one has changed, the post is tried once more.
 *
 * Connections are kept for a few minutes at most. After a 429, a 5xx or no answer new ones are
 * made, and the name is resolved again.
 *
 * Takes: now_ns, UTC, to turn a date in Retry-After into a pause.
 */
void http_client_start(struct http_client *client, struct http_request *request,
                       const struct http_body *body, int64_t now_ns, void *ctx);

/* Waits until a request is done, for at most `timeout_ms`. False: none is yet; comes early after
 * http_client_wake or network activity. */
MUST_CHECK bool http_client_wait(struct http_client *client, unsigned timeout_ms,
                                 struct http_done *out);

/* Ends a request that is done or was not started; it can be used again. */
void http_client_end(struct http_client *client, struct http_request *request);

/* Fills in the steps and times of a request: all of `out` but status, date_ns, rc and err. */
void http_request_steps(const struct http_client *client, const struct http_request *request,
                        struct exporter_probe *out);

/* Makes the http_client_wait in progress return, or else the next one. */
void http_client_wake(struct http_client *client);

/* Makes all requests that start from now on use new connections and resolve the name again. */
void http_client_reconnect(struct http_client *client);

/* Makes all requests in progress, and all later ones, end at once with EXPORTER_RETRY. */
void http_client_cancel(struct http_client *client);

/* Closes and frees a client, with its requests. NULL is fine. */
void http_client_close(struct http_client *client);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters/http: knows HTTP requests: TLS, proxies, logins, limits, secrets in memory.
 * Does not know the protocols above HTTP.
 *
 * client.h - posts bytes to one URL, several at a time, and gives the statuses and replies.
 *
 * Shape:   http_client_open; http_client_begin, http_client_start, http_client_wait until it is
 *          done, http_client_end; http_client_close.
 * Threads: a client belongs to one thread at a time; http_client_wake, http_client_reconnect and
 *          http_client_cancel may be called from any. libcurl resolves names in a thread of its
 * own. Needs:   exporter_global_init; SIGPIPE ignored, or blocked in the calling thread.
 */
#ifndef EXPORTERS_HTTP_CLIENT_H
#define EXPORTERS_HTTP_CLIENT_H

#include "base/buf.h"
#include "exporters/exporter.h"

enum {
    HTTP_REPLY_MAX =
        64 * 1024, /* bytes of a body that are kept; what is longer is not waited for */
    HTTP_HEADERS_MAX = 64 * 1024, /* bytes of all header lines, trailers included */
    HTTP_TYPE_MAX = 128,
    HTTP_TIMEOUT_DEFAULT_MS = 10000,   /* a Pyroscope that starts takes up to 5.6 s */
    HTTP_TRAILERS_MAX = 4,             /* that a protocol may ask for */
    HTTP_TRAILED_MAX = 4 * 1024 * 1024 /* bytes of a body that are read to come to its trailers */
};

struct http_reply {
    long status;               /* 100 to 599 as a rule; whatever the server wrote */
    uint64_t retry_after_ns;   /* 0: the server named none; at most EXPORTER_RETRY_AFTER_MAX_NS */
    bool unsent;               /* no byte of the request went out: nobody was reached */
    int64_t date_ns;           /* the server's clock, UTC; 0: it did not say */
    const char *url;           /* that was asked for; lent until http_client_close */
    char type[HTTP_TYPE_MAX];  /* Content-Type without bytes that drive a terminal; "": absent */
    const unsigned char *body; /* lent until http_client_end */
    size_t size;

    /* The values of the protocol's trailers, in its order; NULL: absent. As the body. */
    char *trailers[HTTP_TRAILERS_MAX];
};

/* What a protocol adds whose answers end with trailers. It goes over HTTP/2. */
struct http_trailed {
    const char *names[HTTP_TRAILERS_MAX]; /* headers or trailers; NULL: no more */

    /*
     * Looks through an answer that has ended; `body` is what has come of it. May unpack the body
     * and decode the trailers in their places, before secrets are looked for in them.
     *
     * Gives: the HTTP status that counts in place of the status line's; 0: the answer is not
     *        complete.
     */
    long (*complete)(const struct http_reply *reply, struct buf *body);
};

/* What is posted. Borrowed until the request is done. */
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
    const struct label *headers;  /* the protocol's own */
    size_t header_count;
    const struct http_trailed *trailed; /* static; NULL: HTTP/1.1, and the status line counts */
    const char *hint; /* static: told as long as what is reached there has never answered */
};

struct http_client;  /* private */
struct http_request; /* private: room for one request */

/* The end of a request. */
struct http_done {
    struct http_request *request;
    void *ctx;           /* as http_client_start was given it */
    enum exporter_rc rc; /* EXPORTER_OK: the server answered, whatever it said; RETRY, NOMEM */
    const struct http_reply *reply; /* with other outcomes `unsent` alone is set */
    struct err err;                 /* why there is no answer */
};

/*
 * Makes a client that posts to settings->url + "/" + resource->path, and up to
 * settings->max_in_flight requests at a time. Connects to nothing.
 *
 * Gives:  *out, which the caller ends with http_client_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG, EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_client_open(const struct exporter_settings *settings,
                                             const struct http_resource *resource,
                                             struct http_client **out, struct err *err);

/* How many requests there may be at a time. */
size_t http_client_requests_max(const struct http_client *client);

/* Gives: room for a request, ended with http_client_end; NULL: all is in use. */
struct http_request *http_client_begin(struct http_client *client);

/* Room for a body that is encoded for this request: empty, and freed with it. */
struct buf *http_request_buf(struct http_request *request);

/*
 * Posts `body`; http_client_wait tells the end. Redirects are not followed. The status line
 * decides: once the headers are here, a body that is cut, slow or endless changes nothing; of a
 * protocol with trailers, its `complete` does. On 401
 * and 403 (407: a proxy's) the files of secrets are read again, and if one has changed, the post
 * is tried once more.
 *
 * A connection is kept for some minutes at most; after a 429, a 5xx or no answer at all new ones
 * are made, for which the name is looked up again.
 *
 * Takes: now_ns, UTC, which a date in Retry-After is held against.
 */
void http_client_start(struct http_client *client, struct http_request *request,
                       const struct http_body *body, int64_t now_ns, void *ctx);

/* Waits until a request is done, but for at most `timeout_ms`. False: none is, or woken. */
MUST_CHECK bool http_client_wait(struct http_client *client, unsigned timeout_ms,
                                 struct http_done *out);

/* Gives the room of a request back that is done, or was not started. */
void http_client_end(struct http_client *client, struct http_request *request);

/* Tells how far a request came, and when: all of `out` but status, date and err. */
void http_request_steps(const struct http_client *client, const struct http_request *request,
                        struct exporter_probe *out);

/* Has a wait that is under way, or else the next one, return. */
void http_client_wake(struct http_client *client);

/* Has all requests that start from now on use new connections, and look names up again. */
void http_client_reconnect(struct http_client *client);

/* Makes all requests under way, and all later ones, end at once with EXPORTER_RETRY. */
void http_client_cancel(struct http_client *client);

/* Ends a client. NULL is fine. */
void http_client_close(struct http_client *client);

#endif

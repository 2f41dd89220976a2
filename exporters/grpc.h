/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h - frames a gRPC call in an HTTP/2 request, and reads the status of the reply.
 *
 * Shape:   grpc_begin, append the message, grpc_end: the body of a request. Set grpc_trailed as
 *          http_resource.trailed: the reply then has the bare message as its body, and the HTTP
 *          status that corresponds to gRPC's. If grpc_is_reply, read it by grpc_code, grpc_words
 *          and grpc_retry_info.
 * Threads: all functions may be called from any thread; they keep no state.
 * Source:  PROTOCOL-HTTP2.md and http-grpc-status-mapping.md of grpc/grpc; google/rpc/code.proto
 *          and error_details.proto of googleapis.
 */
#ifndef EXPORTERS_GRPC_H
#define EXPORTERS_GRPC_H

#include "exporters/http/client.h"

/* Each status of gRPC: name, number, the HTTP status that corresponds to it. */
#define GRPC_CODES(X)              \
    X(OK, 0, 200)                  \
    X(CANCELLED, 1, 499)           \
    X(UNKNOWN, 2, 500)             \
    X(INVALID_ARGUMENT, 3, 400)    \
    X(DEADLINE_EXCEEDED, 4, 504)   \
    X(NOT_FOUND, 5, 404)           \
    X(ALREADY_EXISTS, 6, 409)      \
    X(PERMISSION_DENIED, 7, 403)   \
    X(RESOURCE_EXHAUSTED, 8, 429)  \
    X(FAILED_PRECONDITION, 9, 400) \
    X(ABORTED, 10, 409)            \
    X(OUT_OF_RANGE, 11, 400)       \
    X(UNIMPLEMENTED, 12, 404)      \
    X(INTERNAL, 13, 500)           \
    X(UNAVAILABLE, 14, 503)        \
    X(DATA_LOSS, 15, 500)          \
    X(UNAUTHENTICATED, 16, 401)

enum grpc_code {
#define GRPC_ENUM(name, number, http) GRPC_##name = (number),
    GRPC_CODES(GRPC_ENUM)
#undef GRPC_ENUM
};

enum { GRPC_HEADERS = 4, GRPC_TIMEOUT_SIZE = 16 };

/* The headers of a call. `items` point to `timeout` and to static text. */
struct grpc_headers {
    struct label items[GRPC_HEADERS];
    size_t count;
    char timeout[GRPC_TIMEOUT_SIZE]; /* value of grpc-timeout */
};

/* Writes the headers of calls with this timeout. `gzip`: messages are packed by gzip. */
void grpc_headers(uint64_t timeout_ns, bool gzip, struct grpc_headers *out);

/* Begins the body of a request in `out`, which must be empty; then append the message. `gzip`: it
 * is packed by gzip. */
void grpc_begin(bool gzip, struct buf *out);

/* Ends the body: writes the size of the message. A failure stays in `out`. */
void grpc_end(struct buf *out);

extern const struct http_trailed grpc_trailed;

/* True if a gRPC server answered, with whatever status; false: a proxy or another server did. */
bool grpc_is_reply(const struct http_reply *reply);

/* The status of such a reply. GRPC_UNKNOWN also if the trailer is no number from 0 to 16. */
enum grpc_code grpc_code(const struct http_reply *reply);

/* The name of a status: "UNAVAILABLE". Never NULL; static. */
const char *grpc_code_name(enum grpc_code code);

/* The server's message about it, any bytes; "": none. Lends it as long as the reply. */
const char *grpc_words(const struct http_reply *reply);

/*
 * Reads the google.rpc.RetryInfo among the details of a status.
 *
 * Gives: true if there is one, and *out_ns, the pause that it asks for, at most
 *        EXPORTER_RETRY_AFTER_MAX_NS; 0: no pause.
 */
bool grpc_retry_info(const struct http_reply *reply, uint64_t *out_ns);

#endif

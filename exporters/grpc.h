/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h - knows how a call of gRPC is framed in an HTTP/2 request, and what its status means.
 *
 * Shape:   grpc_begin, the message and grpc_end make the body of a request; with grpc_trailed as
 * http_resource.trailed, a reply has the message alone as its body and the HTTP status that means
 * the same as gRPC's. grpc_is_reply tells whether gRPC answered at all; grpc_code and the others
 *          then say what.
 * Threads: functions of their arguments alone.
 * Source:  PROTOCOL-HTTP2.md and http-grpc-status-mapping.md of grpc/grpc; google/rpc/code.proto
 *          and error_details.proto of googleapis.
 */
#ifndef EXPORTERS_GRPC_H
#define EXPORTERS_GRPC_H

#include "exporters/http/client.h"

/* Each status: name, number, the HTTP status that means the same. */
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

/* The headers of a call, and the room for the value of one. */
struct grpc_headers {
    struct label items[GRPC_HEADERS];
    size_t count;
    char timeout[GRPC_TIMEOUT_SIZE];
};

/* Fills in the headers of calls whose messages are packed by gzip or not, and may take so long. */
void grpc_headers(uint64_t timeout_ns, bool gzip, struct grpc_headers *out);

/* Begins the body of a request; the message is appended next, packed by gzip or not. */
void grpc_begin(bool gzip, struct buf *out);

/* Ends it. Errors: those of `out`. */
void grpc_end(struct buf *out);

extern const struct http_trailed grpc_trailed;

/* True if gRPC answered, whatever it said; else some proxy or another server did. */
bool grpc_is_reply(const struct http_reply *reply);

/* The status of such a reply. GRPC_UNKNOWN, too, for text that is no number from 0 to 16. */
enum grpc_code grpc_code(const struct http_reply *reply);

/* Never NULL: "UNAVAILABLE". */
const char *grpc_code_name(enum grpc_code code);

/* The server's words on it: any bytes; "": none. As the reply. */
const char *grpc_words(const struct http_reply *reply);

/*
 * Reads the google.rpc.RetryInfo among the details of a status.
 *
 * Gives: true if there is one; *out_ns: the pause that it asks for, at most
 *        EXPORTER_RETRY_AFTER_MAX_NS; 0: none.
 */
bool grpc_retry_info(const struct http_reply *reply, uint64_t *out_ns);

#endif

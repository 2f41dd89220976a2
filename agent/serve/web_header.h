/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_header.h - parses what the HTTP server needs of a request before libmicrohttpd reads it: the
 * end and some fields of its header, and its client.
 *
 * Threads: any. Pure functions.
 */
#ifndef AGENT_SERVE_WEB_HEADER_H
#define AGENT_SERVE_WEB_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/* Identifies a client: an IPv4 address; the first 64 bits of an IPv6 address, because a host can
 * change the rest at will; the loopback as a whole (127.0.0.0/8 and ::1); any Unix socket. */
struct web_client_key {
    uint64_t high, low;
};

struct web_client_key web_client_key_of(const struct sockaddr *address);

/* Size of the header at the start of `bytes`, with its empty line; 0: it is not complete yet. */
size_t web_header_size(const char *bytes, size_t size);

/* The value of a field of a complete header of `size` bytes, with its length in *out_size; no NUL
 * ends it. NULL: no such field. Lends until the header is freed. */
const char *web_header_field(const char *header, size_t size, const char *name, size_t *out_size);

/* True if a complete header announces a body, or has a field Expect. */
MUST_CHECK bool web_header_has_body(const char *header, size_t size);

/* True if a complete header, with a NUL behind it, is a GET or HEAD of `path`, with or without
 * arguments. */
MUST_CHECK bool web_header_asks_for(const char *header, const char *path);

/* True if the value of a Host field (NULL: none) is localhost or an IP address, with a port or
 * without. */
MUST_CHECK bool web_header_host_allowed(const char *host);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_header.h - what the HTTP server has to know of a request before libmicrohttpd reads it: where
 * its header ends, and which client sends it.
 *
 * Threads: any; no function keeps anything.
 */
#ifndef AGENT_SERVE_WEB_HEADER_H
#define AGENT_SERVE_WEB_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/* A client: one IPv4 address, the first 64 bits of an IPv6 address, the loopback as a whole
 * (127.0.0.0/8 and ::1), or a Unix socket. One host can change the rest at will. */
struct web_client_key {
    uint64_t high, low;
};

struct web_client_key web_client_key_of(const struct sockaddr *address);

/* Bytes of a request up to the end of its header; 0: the end is not there yet. */
size_t web_header_size(const char *bytes, size_t size);

/* The value of a field of a complete header of `size` bytes, and its length; NULL: there is none.
 * Lends it while the header lives. */
const char *web_header_field(const char *header, size_t size, const char *name, size_t *out_size);

/* True if a complete header announces a body, or asks whether it may send one. */
MUST_CHECK bool web_header_has_body(const char *header, size_t size);

/* True if a complete header, with a NUL behind it, is a GET or HEAD of that path, whatever its
 * arguments. */
MUST_CHECK bool web_header_asks_for(const char *header, const char *path);

/* True if the value of a Host field (NULL: none) is localhost or an IP address, with a port or
 * without. */
MUST_CHECK bool web_header_host_allowed(const char *host);

#endif

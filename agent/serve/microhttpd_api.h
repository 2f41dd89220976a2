/* SPDX-License-Identifier: Apache-2.0 */
/*
 * microhttpd_api.h - the functions of libmicrohttpd that we call, loaded when they are first
 * needed: base/library.h says how and why. A call reads microhttpd.NAME(...), where libmicrohttpd
 * itself has MHD_NAME.
 *
 * Threads: any.
 */
#ifndef AGENT_SERVE_MICROHTTPD_API_H
#define AGENT_SERVE_MICROHTTPD_API_H

#include <microhttpd.h>
#include <stdbool.h>

#include "base/library.h"

/* clang-format off */
#define MICROHTTPD_FUNCTIONS(X, P) \
    X(P, start_daemon) X(P, stop_daemon) X(P, add_connection) X(P, get_connection_info) \
    X(P, lookup_connection_value) X(P, lookup_connection_value_n) X(P, set_connection_option) \
    X(P, create_response_from_callback) X(P, create_response_from_buffer_with_free_callback) \
    X(P, add_response_header) X(P, queue_response) X(P, destroy_response)
/* clang-format on */

struct microhttpd_api {
    MICROHTTPD_FUNCTIONS(LIBRARY_POINTER, MHD_)
};

/* All of it is NULL until microhttpd_api_load has succeeded. */
extern struct microhttpd_api microhttpd;

/* Loads libmicrohttpd if it is not loaded yet. False: `err` says why, as library_load does. */
MUST_CHECK bool microhttpd_api_load(struct err *err);

#endif

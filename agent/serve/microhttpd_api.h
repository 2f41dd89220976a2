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

#include "base/err.h"

/* clang-format off */
#define MICROHTTPD_FUNCTIONS(X) \
    X(start_daemon) X(stop_daemon) X(add_connection) X(get_connection_info) X(lookup_connection_value) \
    X(lookup_connection_value_n) X(set_connection_option) X(create_response_from_callback) \
    X(create_response_from_buffer_with_free_callback) X(add_response_header) X(queue_response) X(destroy_response)
/* clang-format on */

struct microhttpd_api {
#define MICROHTTPD_POINTER(name) __typeof__(MHD_##name) *name;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_POINTER)
#undef MICROHTTPD_POINTER
};

/* All of it is NULL until microhttpd_api_load has succeeded. */
extern struct microhttpd_api microhttpd;

/* Loads libmicrohttpd if it is not loaded yet. False: `err` says why, as library_load does. */
MUST_CHECK bool microhttpd_api_load(struct err *err);

#endif

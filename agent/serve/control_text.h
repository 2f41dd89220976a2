/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_text.h - protocol of the control socket: the client sends one line, the agent sends an
 * answer and closes the connection.
 *
 *   status              ->  ok, then the state as text
 *   status json         ->  ok, then the state as one JSON object
 *   exporters           ->  ok, then a line for each exporter: whether it falls behind
 *   reload              ->  ok, or error and why
 *   burst HZ NS TARGET  ->  ok and the number of processes, or error and why
 *
 * The first line of an answer is "ok" or "error".
 */
#ifndef AGENT_SERVE_CONTROL_TEXT_H
#define AGENT_SERVE_CONTROL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes of a request with its newline; of a TARGET with its NUL. */
enum { CONTROL_REQUEST_MAX = 512, CONTROL_TARGET_MAX = 256 };

#define CONTROL_OK      "ok\n"
#define CONTROL_ERROR   "error\n"
#define CONTROL_DEFAULT "/run/pystrobe/control.sock"

enum control_kind {
    CONTROL_STATUS,
    CONTROL_STATUS_JSON,
    CONTROL_EXPORTERS,
    CONTROL_RELOAD, /* this and the next are orders: the main loop carries them out */
    CONTROL_BURST
};

struct control_request {
    enum control_kind kind;
    double rate_hz;                  /* of CONTROL_BURST, as the next two: 0.1 to 1000 */
    uint64_t duration_ns;            /* up to a day */
    char target[CONTROL_TARGET_MAX]; /* as in resolve_target.h */
};

/* Reads a request without its newline. False: `err` says what is wrong with it. */
MUST_CHECK bool control_text_read(const char *line, size_t size, struct control_request *out,
                                  struct err *err);

/* Writes a request with its newline; false: it is too long. */
MUST_CHECK bool control_text_write(const struct control_request *request,
                                   char out[CONTROL_REQUEST_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_text.h - what is said on the control socket: one line asked, an answer until the end.
 *
 *   status              ->  ok, then the state as text
 *   status json         ->  ok, then the state as one JSON object
 *   exporters           ->  ok, then a line an exporter: whether it falls behind
 *   reload              ->  ok, or error and why
 *   burst HZ NS TARGET  ->  ok and how many processes, or error and why
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
    CONTROL_RELOAD, /* from here on the main loop carries it out */
    CONTROL_BURST
};

struct control_request {
    enum control_kind kind;
    double rate_hz;                  /* of a burst, and all below */
    uint64_t duration_ns;            /* up to a day */
    char target[CONTROL_TARGET_MAX]; /* a pid, or the name of a service or section */
};

/* Reads a request without its newline. False: `err` says what is wrong with it. */
MUST_CHECK bool control_text_read(const char *line, size_t size, struct control_request *out,
                                  struct err *err);

/* Writes a request with its newline; false: it is too long. */
MUST_CHECK bool control_text_write(const struct control_request *request,
                                   char out[CONTROL_REQUEST_MAX]);

#endif

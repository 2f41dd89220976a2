/* SPDX-License-Identifier: Apache-2.0 */
/* control_text.c - see control_text.h. */
#include "agent/serve/control_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"

#define BURST_MAX_NS (86400 * NS_PER_S)

static const char *const words[] = {
    [CONTROL_STATUS] = "status",
    [CONTROL_STATUS_JSON] = "status json",
    [CONTROL_EXPORTERS] = "exporters",
    [CONTROL_RELOAD] = "reload",
};

/* Reads "200.5 60000000000 web". */
static bool read_burst(const char *text, struct control_request *out, struct err *err)
{
    char *end;

    if (*text < '0' || *text > '9') {
        err_set(err, "burst needs HZ NANOSECONDS TARGET, and HZ is not a number: %.40s", text);
        return false;
    }
    out->rate_hz = strtod(text, &end);
    if (*end != ' ' || !(out->rate_hz >= 0.1 && out->rate_hz <= 1000)) {
        err_set(err, "the rate is %g Hz; allowed: 0.1 to 1000 Hz", out->rate_hz);
        return false;
    }
    text = end + 1;
    errno = 0;
    out->duration_ns = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (errno != 0 || *end != ' ' || out->duration_ns == 0 || out->duration_ns > BURST_MAX_NS) {
        err_set(err, "the duration must be over 0 and at most a day");
        return false;
    }
    text = end + 1;
    if (!*text || strlen(text) >= sizeof(out->target)) {
        err_set(err, "the name of the target has %zu bytes; allowed: 1 to %zu", strlen(text),
                sizeof(out->target) - 1);
        return false;
    }
    (void)snprintf(out->target, sizeof(out->target), "%s", text);
    return true;
}

bool control_text_read(const char *line, size_t size, struct control_request *out, struct err *err)
{
    char text[CONTROL_REQUEST_MAX];

    if (size >= sizeof(text) || memchr(line, '\0', size)) {
        err_set(err, "the request has %zu bytes; allowed: up to %zu, without NUL", size,
                sizeof(text) - 1);
        return false;
    }
    memcpy(text, line, size);
    text[size] = '\0';
    *out = (struct control_request){.kind = CONTROL_STATUS};
    while (out->kind < CONTROL_BURST && strcmp(text, words[out->kind]) != 0)
        out->kind++;
    if (out->kind < CONTROL_BURST)
        return true;
    if (strncmp(text, "burst ", 6) == 0)
        return read_burst(text + 6, out, err);
    err_set(err, "the request '%.40s' is not status, status json, exporters, reload or burst",
            text);
    return false;
}

bool control_text_write(const struct control_request *request, char out[CONTROL_REQUEST_MAX])
{
    int size = request->kind == CONTROL_BURST
                   ? snprintf(out, CONTROL_REQUEST_MAX, "burst %.6f %" PRIu64 " %s\n",
                              request->rate_hz, request->duration_ns, request->target)
                   : snprintf(out, CONTROL_REQUEST_MAX, "%s\n", words[request->kind]);

    return size > 0 && size < CONTROL_REQUEST_MAX && !strchr(request->target, '\n');
}

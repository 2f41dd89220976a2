/* SPDX-License-Identifier: Apache-2.0 */
/* web_request.c - what each page takes from the address of a request, and how it refuses one; see
 * web_internal.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/child/child_process.h"
#include "agent/host/asked_use.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/serve/web_internal.h"

const char web_text_plain[] = "text/plain; charset=utf-8";

const char *web_argument(const struct web_request *request, const char *name)
{
    const char *value = NULL;

    if (microhttpd.lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
                                             strlen(name), &value, NULL) != MHD_YES)
        return NULL;
    return value ? value : "";
}

uint64_t web_used_ns(void)
{
    return asked_use_cpu_ns() + child_process_cpu_ns(true);
}

unsigned web_wait_s(const struct web_request *request)
{
    return web_cpu_wait_s(request->cpu, clock_mono_ns(), web_used_ns());
}

void web_refuse(struct web_answer *answer, unsigned status, const char *format, ...)
{
    char text[512];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    buf_reset(&answer->body);
    escape_add_str(&answer->body, text); /* it may quote what was asked for */
    buf_add_str(&answer->body, "\n");
    answer->status = status;
    answer->type = web_text_plain;
    answer->name = answer->encoding = NULL;
}

void web_takes(const struct web_request *request, unsigned seconds)
{
    (void)microhttpd.set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                           seconds + WEB_IDLE_S);
}

bool web_number(const struct web_request *request, struct web_answer *answer, const char *name,
                long min, long max, long *out)
{
    const char *text = web_argument(request, name);
    long number;
    char *end;

    if (!text)
        return true;
    errno = 0;
    number = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && number >= min && number <= max) {
        *out = number;
        return true;
    }
    web_refuse(answer, MHD_HTTP_BAD_REQUEST, "%s=%s: must be a number from %ld to %ld", name, text,
               min, max);
    return false;
}

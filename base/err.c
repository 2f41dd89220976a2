/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_set(struct err *err, const char *format, ...)
{
    int saved = errno;
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    errno = saved;
}

void err_within(struct err *err, const char *format, ...)
{
    char cause[ERR_TEXT_MAX];
    int saved = errno;
    va_list args;
    size_t used;

    if (!err)
        return;
    memcpy(cause, err->text, sizeof(cause));
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof(err->text) - used, "%s%s", cause[0] ? ": " : "", cause);
    errno = saved;
}

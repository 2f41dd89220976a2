/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { WHOLE_MAX = 4096 }; /* bytes of a text before it is cut */

/* The beginning says where a failure happened, and the end often why: the middle goes. */
static void cut_middle(const char *whole, struct err *err)
{
    static const char gap[] = " ... ";
    const size_t room = sizeof(err->text) - sizeof(gap);
    size_t head = room / 2, size = strlen(whole), tail = size - (room - head);

    if (size < sizeof(err->text)) {
        memcpy(err->text, whole, size + 1);
        return;
    }
    while (head > 0 && utf8_is_continuation(whole[head]))
        head--;
    while (utf8_is_continuation(whole[tail]))
        tail++;
    (void)snprintf(err->text, sizeof(err->text), "%.*s%s%s", (int)head, whole, gap, whole + tail);
}

void err_set(struct err *err, const char *format, ...)
{
    char whole[WHOLE_MAX];
    int saved = errno;
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(whole, sizeof(whole), format, args);
    va_end(args);
    cut_middle(whole, err);
    errno = saved;
}

void err_within(struct err *err, const char *format, ...)
{
    char whole[WHOLE_MAX];
    int saved = errno;
    va_list args;
    size_t used;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(whole, sizeof(whole) - ERR_TEXT_MAX, format, args);
    va_end(args);
    used = strlen(whole);
    (void)snprintf(whole + used, sizeof(whole) - used, "%s%s", err->text[0] ? ": " : "", err->text);
    cut_middle(whole, err);
    errno = saved;
}

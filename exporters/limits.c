/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - which limits hold for an exporter, and the names that every Pyroscope takes. */
#include <string.h>

#include "base/utf8.h"
#include "exporters/settings.h"

static bool is_label_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_label_digit(c) || c == '_' ||
           c == '.';
}

bool exporter_label_name(const char *name, char out[EXPORTER_LABEL_NAME_MAX + 1])
{
    const char *at = name;
    size_t used = 0;
    char c;

    if (is_label_digit(*at))
        out[used++] = '_';
    for (; *at && used < EXPORTER_LABEL_NAME_MAX; at++) {
        if (utf8_is_continuation(*at)) /* one "_" stands for all bytes of a character */
            continue;
        c = is_label_char(*at) ? *at : '_';
        if (used != 1 || c != '_' || out[0] != '_')
            out[used++] = c;
    }
    out[used] = '\0';
    return strcmp(name, out) != 0;
}

bool exporter_is_limited(const struct exporter_settings *settings)
{
    return settings->limits ? strcmp(settings->limits, "pyroscope") == 0
                            : settings->type->is_pyroscope;
}

bool exporter_form_is_limited(unsigned form)
{
    return form >= EXPORTER_PER_TYPE_LIMITED;
}

unsigned exporter_form_unlimited(unsigned form)
{
    return exporter_form_is_limited(form) ? form - EXPORTER_LIMITED : form;
}

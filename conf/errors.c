/* SPDX-License-Identifier: Apache-2.0 */
/* errors.c - see errors.h. */
#include "conf/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/settings.h"

void conf_errors_init(struct conf_errors *errors, struct arena *arena)
{
    *errors = (struct conf_errors){.arena = arena};
}

void conf_errors_add(struct conf_errors *errors, unsigned line, const char *format, ...)
{
    char text[1536];
    va_list args;
    struct conf_error error = {.line = line};

    if (errors->count++ >= CONF_ERRORS_MAX)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    error.text = arena_strndup(errors->arena, text, strlen(text));
    if (!error.text) {
        errors->nomem = true;
        error.text = "";
    }
    errors->kept[errors->count - 1] = error;
}

/* Sorts by line; those of one line stay as they were found. */
static void sort_errors_by_line(struct conf_error *errors, size_t count)
{
    struct conf_error moved;
    size_t i, j;

    for (i = 1; i < count; i++) {
        moved = errors[i];
        for (j = i; j > 0 && errors[j - 1].line > moved.line; j--)
            errors[j] = errors[j - 1];
        errors[j] = moved;
    }
}

void conf_errors_print(struct conf_errors *errors, const struct conf_origin *origin,
                       struct buf *out)
{
    unsigned kept = errors->count < CONF_ERRORS_MAX ? errors->count : CONF_ERRORS_MAX;

    sort_errors_by_line(errors->kept, kept);
    for (unsigned i = 0; i < kept; i++) {
        conf_place_add(origin, errors->kept[i].line, out);
        buf_add_fmt(out, ": %s\n", errors->kept[i].text);
    }
    if (errors->count > kept)
        buf_add_fmt(out, "%s: and %u more\n", origin->files[0], errors->count - kept);
}

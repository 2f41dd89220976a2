/* SPDX-License-Identifier: Apache-2.0 */
/* output_format.c - see output_format.h. */
#include "agent/cli/output_format.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/output.h"

static void print_unknown_ending(const char *path)
{
    const struct format *format;

    (void)fprintf(stderr,
                  "pystrobe: %s: no format has files that end so; use -f NAME, or one of\n ", path);
    for (size_t i = 0; (format = format_at(i)); i++)
        for (size_t j = 0; j < FORMAT_ENDINGS_MAX && format->endings[j]; j++)
            (void)fprintf(stderr, " %s", format->endings[j]);
    (void)fputs("\n", stderr);
}

bool output_format_choose(const char *name, const char *path, const struct format *usual,
                          const struct format **out)
{
    const struct format *format = usual;

    if (name)
        format = format_named(name);
    else if (output_is_file(path))
        format = format_of_path(path);
    if (!format && name && (strcmp(name, "table") == 0 || strcmp(name, "json") == 0))
        (void)fprintf(stderr, "pystrobe: only pystrobe report writes '%s'\n", name);
    else if (!format && name)
        (void)fprintf(
            stderr,
            "pystrobe: format '%s' is not known; pystrobe report --help lists the formats\n", name);
    else if (!format && output_is_file(path))
        print_unknown_ending(path);
    else if (format && !format->plain && output_is_terminal(path))
        (void)fprintf(stderr, "pystrobe: %s is not for a terminal: use -o FILE\n", format->name);
    else {
        *out = format;
        return true;
    }
    return false;
}

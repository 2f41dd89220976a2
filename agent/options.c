/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "agent/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/commands.h"
#include "agent/proc.h"

int options_help(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_OK;
}

int options_usage(const char *command)
{
    (void)fprintf(stderr, "pystrobe: see pystrobe %s --help\n", command);
    return EXIT_USAGE;
}

bool options_pid(const char *text, pid_t *out)
{
    char *end;
    long pid;

    errno = 0;
    pid = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || pid <= 0 || pid > INT_MAX) {
        (void)fprintf(stderr, "pystrobe: '%s' is no process id\n", text);
        return false;
    }
    *out = (pid_t)pid;
    return true;
}

int options_open_failed(pid_t pid, enum cpy_rc rc, const struct err *err)
{
    char cure[256];

    (void)fprintf(stderr, "pystrobe: %s\n", err->text[0] ? err->text : cpy_rc_text(rc));
    if (rc == CPY_DENIED) {
        proc_explain_denied(pid, cure, sizeof(cure));
        (void)fprintf(stderr, "pystrobe: %s\n", cure);
        return EXIT_NO_PERMISSION;
    }
    return rc == CPY_NOMEM ? EXIT_FAILED : EXIT_UNAVAILABLE;
}

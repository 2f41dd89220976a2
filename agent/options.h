/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what all subcommands do alike with their command lines and failures. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "unwind/cpy.h"

/* Prints a help text to stdout; gives the exit status. */
int options_help(const char *text);

/* Prints where help is to be had to stderr; gives the exit status of a usage error. */
int options_usage(const char *command);

/* Reads a process id; says what is wrong with it. */
MUST_CHECK bool options_pid(const char *text, pid_t *out);

/* Says why a process could not be opened, and the cure; gives the exit status. */
int options_open_failed(pid_t pid, enum cpy_rc rc, const struct err *err);

#endif

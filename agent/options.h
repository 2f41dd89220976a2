/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what all subcommands do alike with their command lines and failures. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "conf/conf.h"
#include "unwind/cpy.h"

/* Prints a help text to stdout; gives the exit status. */
int options_help(const char *text);

/* Prints where help is to be had to stderr; gives the exit status of a usage error. */
int options_usage(const char *command);

/* Reads a process id; says what is wrong with it. */
MUST_CHECK bool options_pid(const char *text, pid_t *out);

/* Reads "10s", "2m" or a number of seconds; says what is wrong with it. */
MUST_CHECK bool options_duration(const char *text, uint64_t *out_ns);

/* Reads "100Hz" or a number of Hz; says what is wrong with it. */
MUST_CHECK bool options_rate(const char *text, double *out_hz);

/* Sets the log up as the settings say. */
void options_log(const struct conf *conf);

/*
 * Reads the ini file (NULL: none, all defaults), prints its mistakes, and sets the log up as
 * it says. Gives the exit status; *out is ended with conf_free.
 */
MUST_CHECK int options_conf(const char *path, struct conf **out);

/* What to call the service of a command line: its script or module, else the program. */
void options_service(char **argv, char *out, size_t size);

/* Says why a process could not be opened, and the cure; gives the exit status. */
int options_open_failed(pid_t pid, enum cpy_rc rc, const struct err *err);

#endif

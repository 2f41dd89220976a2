/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/cli: knows what subcommands have in common: options, the choice of targets, output
 * files and their texts. Does not know any one subcommand.
 *
 * options.h - what all subcommands do alike with their command lines and failures.
 */
#ifndef AGENT_CLI_OPTIONS_H
#define AGENT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/proc/proc.h"
#include "agent/proc/ptrace_access.h"
#include "base/err.h"
#include "conf/conf.h"
#include "unwind/cpy.h"

/* Prints a help text to stdout; gives the exit status. */
int options_help(const char *text);

/* True if what goes to stdout may be coloured: a terminal reads it, and nobody has said no. */
bool options_colour(void);

/* Prints where help is to be had to stderr; gives the exit status of a usage error. */
int options_usage(const char *command);

/* Reads a process id; says what is wrong with it. */
MUST_CHECK bool options_pid(const char *text, pid_t *out);

/* Reads "10s", "2m" or a number of seconds; says what is wrong with it. */
MUST_CHECK bool options_duration(const char *text, uint64_t *out_ns);

/* Reads "100Hz" or a number of Hz; says what is wrong with it. */
MUST_CHECK bool options_rate(const char *text, double *out_hz);

/* A word that an option takes, and what it stands for. */
struct options_word {
    const char *text; /* NULL: behind the last */
    uint32_t value;
};

/* Finds a word in a list; says which there are. */
MUST_CHECK bool options_word(const char *option, const char *text, const struct options_word *words,
                             uint32_t *out);

/* Sets the log up as the settings say, and warns of those that cannot be meant so. */
void options_log(const struct conf *conf);

/* Options of the command line that go before what the ini file says. */
struct options_flags {
    struct conf_flag flags[4]; /* borrowed from argv */
    size_t count;
};

/* Take the value of --log-level and --log-format into a struct options_flags. */
bool options_log_level(const char *value, void *flags);
bool options_log_format(const char *value, void *flags);

/* Where the settings of an ini file (NULL: none) come from: drop-ins, environment, `flags`. */
struct conf_source options_source(const char *path, const struct options_flags *flags);

/* Prints lines of text to stderr, each as a message of pystrobe. */
void options_print_lines(const struct buf *lines);

/*
 * Reads settings, prints the mistakes in them, and sets the log up as they say. Gives the
 * exit status; *out is ended with conf_free.
 */
MUST_CHECK int options_conf(const struct conf_source *source, struct conf **out);

/* Writes where profiles of this user are kept unless it is said otherwise. False: nowhere. */
MUST_CHECK bool options_store(char *out, size_t size);

/* What to call the service of a command line: its script or module, else the program. */
void options_service(char **argv, char *out, size_t size);

/* Reads the command line of a process. False: whoever reads the process waits for ever; says so. */
MUST_CHECK bool options_may_read(pid_t pid, char out_command[PROC_COMMAND_MAX]);

/* Says why a process could not be opened, and the cure if it was denied; gives the exit status. */
int options_open_failed(enum cpy_rc rc, enum ptrace_access access, const struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/cli: knows what subcommands have in common: options, the choice of targets, output
 * files and their texts. Does not know any one subcommand.
 *
 * options.h - option values, settings and errors, as all subcommands have them. A function that
 * returns false has printed the error to stderr.
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

/* True if stdout may be coloured: it is a terminal, and neither NO_COLOR nor TERM=dumb is set. */
bool options_colour(void);

/* Prints to stderr how to get help on `command`; gives EXIT_USAGE. */
int options_usage(const char *command);

/* Reads a process id, above 0. */
MUST_CHECK bool options_pid(const char *text, pid_t *out);

/* Reads "10s", "2m" or a number of seconds; 0 is refused. On failure *out_ns may be changed. */
MUST_CHECK bool options_duration(const char *text, uint64_t *out_ns);

/* Reads "100Hz" or a number of Hz, from 0.1 to 10000. On failure *out_hz may be changed. */
MUST_CHECK bool options_rate(const char *text, double *out_hz);

/* A word that an option takes, and the value that it stands for. */
struct options_word {
    const char *text; /* NULL: end of the list */
    uint32_t value;
};

/* Finds `text` in a list. On failure it prints all words of the list; `option` is without "--". */
MUST_CHECK bool options_word(const char *option, const char *text, const struct options_word *words,
                             uint32_t *out);

/* Sets the log up by the settings, and logs warnings about doubtful settings of exporters. */
void options_log(const struct conf *conf);

/* Options of the command line that override settings of the ini file. */
struct options_flags {
    struct conf_flag flags[4]; /* borrowed from argv; more are ignored */
    size_t count;
};

/* Append the value of --log-level or --log-format to a struct options_flags. */
bool options_log_level(const char *value, void *flags);
bool options_log_format(const char *value, void *flags);

/* Sources of settings: ini file, its drop-ins, environment, flags. Borrows both; NULL: none. */
struct conf_source options_source(const char *path, const struct options_flags *flags);

/* Prints lines of text to stderr, each with "pystrobe: " in front. */
void options_print_lines(const struct buf *lines);

/*
 * Reads settings, prints the mistakes in them, and calls options_log. Gives EXIT_OK and *out, which
 * the caller ends with conf_free; EXIT_CONFIG: mistakes; EXIT_FAILED: out of memory.
 */
MUST_CHECK int options_conf(const struct conf_source *source, struct conf **out);

/* Writes the default directory of this user's profiles. False, with nothing printed: there is no
 * HOME, or `out` is too small. */
MUST_CHECK bool options_store(char *out, size_t size);

/* Writes a service name for a command line: its script or module, else the program. */
void options_service(char **argv, char *out, size_t size);

/* Reads the command line of a process, as command_line_read. False: the process blocks readers. */
MUST_CHECK bool options_may_read(pid_t pid, char out_command[PROC_COMMAND_MAX]);

/* Prints why a process could not be opened, and for CPY_DENIED the cure; gives the exit status. */
int options_open_failed(enum cpy_rc rc, enum ptrace_access access, const struct err *err);

#endif

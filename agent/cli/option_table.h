/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_table.h - reads the command line of a subcommand by a table of its options.
 *
 * Shape:   a subcommand has a struct of what its options set, rows that say which option sets
 *          which field, and calls option_table_read.
 * Threads: one at a time: getopt_long has statics.
 */
#ifndef AGENT_CLI_OPTION_TABLE_H
#define AGENT_CLI_OPTION_TABLE_H

#include <getopt.h> /* optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cli/options.h"

/* What an option takes, and what is done to its field. */
enum option_kind {
    OPTION_FLAG,      /* nothing; bool = true */
    OPTION_SET,       /* nothing; enum = value */
    OPTION_BITS,      /* nothing; uint32_t |= value */
    OPTION_CALL,      /* nothing; what `read` does, whose text is NULL */
    OPTION_TEXT,      /* any text; const char * = the text, borrowed from argv */
    OPTION_PID,       /* a process id; pid_t */
    OPTION_DURATION,  /* options_duration; uint64_t, ns */
    OPTION_RATE,      /* options_rate; double, Hz */
    OPTION_WORD,      /* one of `words`; enum, uint32_t or bool = its value */
    OPTION_WORD_BITS, /* one of `words`; uint32_t |= its value */
    OPTION_READ       /* what `read` takes */
};

struct option_row {
    const char *name; /* without "--"; NULL: behind the last row */
    char letter;      /* the same letter means the same in all commands; 0: it has none */
    enum option_kind kind;
    size_t offset, size; /* of the field */
    uint32_t value;
    const struct options_word *words;
    /* Reads the text into the field; false: it has said what is wrong. */
    bool (*read)(const char *text, void *field);
    bool optional; /* the text may be absent: then `read` gets NULL, a word is `value` */
    char old;      /* a letter that it had before, which still works; 0: none */
};

/* Where a row puts what it reads: `field` of `type`, the subcommand's struct. */
#define OPTION_FIELD(type, field) \
    .offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)

/* The rows of --log-level and --log-format; `field` is a struct options_flags. */
#define OPTION_LOG_ROWS(type, field)                                                        \
    {"log-level", 0, OPTION_READ, OPTION_FIELD(type, field), .read = options_log_level},    \
    {                                                                                       \
        "log-format", 0, OPTION_READ, OPTION_FIELD(type, field), .read = options_log_format \
    }

struct option_table {
    const struct option_row *rows; /* --help is in all of them, and has no row */
    const char *help;              /* what --help prints */
    int (*print_help)(void);       /* instead, where it is not always the same; NULL: `help` */
    bool ends_at_word;             /* options behind the first other word are that command's */
    bool no_words;                 /* there may be no other words */
    bool help_at_once;             /* what stands behind --help is not read */
};

enum { OPTION_ROWS_MAX = 24 };

/*
 * Reads the options of `argv`, whose first word is the subcommand's name, into `out`.
 * The other words begin at argv[optind].
 *
 * Gives: true: go on. False: help was printed, or what is wrong was said; *status is the
 *        exit status.
 */
MUST_CHECK bool option_table_read(const struct option_table *table, int argc, char **argv,
                                  void *out, int *status);

#endif

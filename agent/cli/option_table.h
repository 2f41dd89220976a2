/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_table.h - reads the command line of a subcommand by a table of its options.
 *
 * Shape:   a subcommand has a struct with a field for each option, and a table with a row for each
 *          option that names its field. It calls option_table_read.
 * Threads: one at a time: getopt_long has statics.
 */
#ifndef AGENT_CLI_OPTION_TABLE_H
#define AGENT_CLI_OPTION_TABLE_H

#include <getopt.h> /* optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cli/options.h"

/* Kind of an option: its argument; then the type of its field, and the value that is stored. */
enum option_kind {
    OPTION_FLAG,      /* no argument; bool = true */
    OPTION_SET,       /* no argument; enum = row's `value` */
    OPTION_BITS,      /* no argument; uint32_t |= row's `value` */
    OPTION_CALL,      /* no argument; calls `read` with a NULL text */
    OPTION_TEXT,      /* any text; const char * = the text, borrowed from argv */
    OPTION_PID,       /* options_pid; pid_t */
    OPTION_DURATION,  /* options_duration; uint64_t, ns */
    OPTION_RATE,      /* options_rate; double, Hz */
    OPTION_WORD,      /* one of `words`; enum, uint32_t or bool = the word's value */
    OPTION_WORD_BITS, /* one of `words`; uint32_t |= the word's value */
    OPTION_READ       /* any text; calls `read` with it */
};

struct option_row {
    const char *name; /* without "--"; NULL: end of the table */
    char letter;      /* the same letter means the same in all commands; 0: it has none */
    enum option_kind kind;
    size_t offset, size;              /* of the field, in bytes: OPTION_FIELD */
    uint32_t value;                   /* of OPTION_SET, OPTION_BITS and an optional word */
    const struct options_word *words; /* static; of OPTION_WORD and OPTION_WORD_BITS */
    /* Stores the text in the field. False: the text is wrong, and it has printed why. */
    bool (*read)(const char *text, void *field);
    bool optional; /* the argument may be absent: then `read` gets NULL, a word is `value` */
    char old;      /* an earlier letter, which still works; 0: none */
};

/* The offset and size of a row: `field` of `type`, the subcommand's struct. */
#define OPTION_FIELD(type, field) \
    .offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)

/* The rows of --log-level and --log-format; `field` is a struct options_flags. */
#define OPTION_LOG_ROWS(type, field)                                                        \
    {"log-level", 0, OPTION_READ, OPTION_FIELD(type, field), .read = options_log_level},    \
    {                                                                                       \
        "log-format", 0, OPTION_READ, OPTION_FIELD(type, field), .read = options_log_format \
    }

struct option_table {
    const struct option_row *rows; /* at most OPTION_ROWS_MAX; --help (-h) needs no row */
    const char *help;              /* text that --help prints */
    int (*print_help)(void);       /* prints help instead, gives the exit status; NULL: `help` */
    bool ends_at_word;             /* only options before the first other word are read */
    bool no_words;                 /* other words are an error */
    bool help_at_once;             /* nothing after --help is read */
};

enum { OPTION_ROWS_MAX = 24 };

/*
 * Reads the options of `argv`, whose first word is the subcommand's name, into `out`.
 * Afterwards the other words begin at argv[optind].
 *
 * Gives: true: go on. False: it has printed help or an error; the caller exits with *status.
 */
MUST_CHECK bool option_table_read(const struct option_table *table, int argc, char **argv,
                                  void *out, int *status);

#endif

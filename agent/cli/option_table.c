/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.c - see option_table.h. */
#include "agent/cli/option_table.h"

#include <stdio.h>
#include <string.h>

enum { LONG_FIRST = 256 }; /* what getopt_long gives for the first long option */

/* The table as getopt_long wants it. */
struct getopt_options {
    struct option longs[OPTION_ROWS_MAX + 2]; /* and --help, and the end */
    char shorts[6 * OPTION_ROWS_MAX + 4];     /* "+", ":", "c::" twice for each, "h" */
};

static int has_argument(const struct option_row *row)
{
    if (row->kind <= OPTION_CALL)
        return no_argument;
    return row->optional ? optional_argument : required_argument;
}

/* Gives where the next letter goes. */
static char *add_letter(char *at, char letter, int has)
{
    if (!letter)
        return at;
    *at++ = letter;
    while (has-- > no_argument)
        *at++ = ':';
    return at;
}

static void fill_getopt_options(const struct option_table *table, struct getopt_options *out)
{
    char *letter = out->shorts;
    int i, has;

    *out = (struct getopt_options){.shorts = ""};
    if (table->ends_at_word)
        *letter++ = '+';
    *letter++ = ':'; /* a missing value is told from an unknown option */
    for (i = 0; table->rows[i].name && i < OPTION_ROWS_MAX; i++) {
        has = has_argument(&table->rows[i]);
        out->longs[i] = (struct option){table->rows[i].name, has, NULL, LONG_FIRST + i};
        letter = add_letter(letter, table->rows[i].letter, has);
        letter = add_letter(letter, table->rows[i].old, has);
    }
    out->longs[i] = (struct option){"help", no_argument, NULL, 'h'};
    *letter = 'h';
}

static const struct option_row *find_option_row(const struct option_table *table, int c)
{
    const struct option_row *row = table->rows;

    if (c >= LONG_FIRST)
        return &row[c - LONG_FIRST];
    while (row->name && row->letter != c && row->old != c)
        row++;
    return row->name ? row : NULL; /* NULL: '?' or ':' */
}

static void put_option_value(const struct option_row *row, void *field, uint32_t value)
{
    if (row->size == sizeof(bool))
        *(bool *)field = value != 0;
    else if (row->kind == OPTION_BITS || row->kind == OPTION_WORD_BITS)
        *(uint32_t *)field |= value;
    else
        *(uint32_t *)field = value;
}

/* Takes one option in. False: it is wrong, which was said. */
static bool take_option(const struct option_row *row, const char *text, void *out)
{
    void *field = (char *)out + row->offset;
    uint32_t value = row->kind == OPTION_FLAG ? 1 : row->value;

    switch (row->kind) {
    case OPTION_TEXT:
        *(const char **)field = text;
        return true;
    case OPTION_PID:
        return options_pid(text, field);
    case OPTION_DURATION:
        return options_duration(text, field);
    case OPTION_RATE:
        return options_rate(text, field);
    case OPTION_CALL:
    case OPTION_READ:
        return row->read(text, field);
    case OPTION_WORD:
    case OPTION_WORD_BITS:
        if (text && !options_word(row->name, text, row->words, &value))
            return false;
        break;
    case OPTION_FLAG:
    case OPTION_SET:
    case OPTION_BITS:
        break;
    }
    put_option_value(row, field, value);
    return true;
}

/* Says that there is no such long option, and which may be meant. `written`: with "--" in front. */
static void explain_unknown_long(const struct option_table *table, const char *command,
                                 const char *written)
{
    char word[64];
    struct conf_nearest nearest = {.word = word};
    const size_t size = strcspn(written + 2, "=");
    size_t starts = 0;

    (void)snprintf(word, sizeof(word), "%.*s", size < sizeof(word) ? (int)size : 63, written + 2);
    for (const struct option_row *row = table->rows; row->name; row++) {
        conf_nearest_try(&nearest, row->name);
        starts += strncmp(row->name, word, strlen(word)) == 0;
    }
    (void)fprintf(stderr, "pystrobe: %s: %s option '--%s'", command,
                  starts > 1 ? "ambiguous" : "unrecognized", word);
    if (nearest.best && starts <= 1)
        (void)fprintf(stderr, "; did you mean '--%s'?", nearest.best);
    (void)fputc('\n', stderr);
}

/* Says what getopt_long, which gave `c`, found wrong with the word that it read last. */
static void explain_option(const struct option_table *table, const char *command, int c,
                           const char *word)
{
    const struct option_row *row = optopt ? find_option_row(table, optopt) : NULL;

    if (row && c == ':')
        (void)fprintf(stderr, "pystrobe: %s: option '--%s' needs a value\n", command, row->name);
    else if (row || optopt == 'h')
        (void)fprintf(stderr, "pystrobe: %s: option '--%s' takes no value\n", command,
                      row ? row->name : "help");
    else if (optopt)
        (void)fprintf(stderr, "pystrobe: %s: unrecognized option '-%c'\n", command, optopt);
    else
        explain_unknown_long(table, command, word);
}

/* Reads all options. False: one is wrong, which was said. */
static bool take_options(const struct option_table *table, int argc, char **argv, void *out,
                         bool *wants_help)
{
    struct getopt_options options;
    const struct option_row *row;
    int c;

    fill_getopt_options(table, &options);
    opterr = 0; /* what is wrong is said here */
    optind = 0; /* makes glibc forget where an earlier parse of this process stopped */
    while ((c = getopt_long(argc, argv, options.shorts, options.longs, NULL)) != -1) {
        *wants_help = *wants_help || c == 'h';
        if (c == 'h' && table->help_at_once)
            return true;
        row = c == 'h' ? NULL : find_option_row(table, c);
        if (c != 'h' && !row)
            explain_option(table, argv[0], c, argv[optind - 1]);
        if (c != 'h' && (!row || !take_option(row, optarg, out)))
            return false;
    }
    if (!table->no_words || optind == argc)
        return true;
    (void)fprintf(stderr, "pystrobe: %s takes no argument '%s'\n", argv[0], argv[optind]);
    return false;
}

bool option_table_read(const struct option_table *table, int argc, char **argv, void *out,
                       int *status)
{
    bool wants_help = false;

    if (!take_options(table, argc, argv, out, &wants_help))
        *status = options_usage(argv[0]);
    else if (wants_help)
        *status = table->print_help ? table->print_help() : options_help(table->help);
    else
        return true;
    return false;
}

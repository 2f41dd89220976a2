/* SPDX-License-Identifier: Apache-2.0 */
/* option_table.c - see option_table.h. */
#include "agent/cli/option_table.h"

#include <stdio.h>

enum { LONG_FIRST = 256 }; /* what getopt_long gives for the first long option */

/* The table as getopt_long wants it. */
struct getopt_options {
    struct option longs[OPTION_ROWS_MAX + 2]; /* and --help, and the end */
    char shorts[3 * OPTION_ROWS_MAX + 3];     /* "+", "c::" for each, "h" */
};

static int has_argument(const struct option_row *row)
{
    if (row->kind <= OPTION_CALL)
        return no_argument;
    return row->optional ? optional_argument : required_argument;
}

static void fill_getopt_options(const struct option_table *table, struct getopt_options *out)
{
    char *letter = out->shorts;
    int i, has;

    *out = (struct getopt_options){.shorts = ""};
    if (table->ends_at_word)
        *letter++ = '+';
    for (i = 0; table->rows[i].name && i < OPTION_ROWS_MAX; i++) {
        has = has_argument(&table->rows[i]);
        out->longs[i] = (struct option){table->rows[i].name, has, NULL, LONG_FIRST + i};
        if (!table->rows[i].letter)
            continue;
        *letter++ = table->rows[i].letter;
        while (has-- > no_argument)
            *letter++ = ':';
    }
    out->longs[i] = (struct option){"help", no_argument, NULL, 'h'};
    *letter = 'h';
}

static const struct option_row *find_option_row(const struct option_table *table, int c)
{
    const struct option_row *row = table->rows;

    if (c >= LONG_FIRST)
        return &row[c - LONG_FIRST];
    while (row->name && row->letter != c)
        row++;
    return row->name ? row : NULL; /* NULL: '?', getopt_long has said what is wrong */
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

/* Reads all options. False: one is wrong, which was said. */
static bool take_options(const struct option_table *table, int argc, char **argv, void *out,
                         bool *wants_help)
{
    struct getopt_options options;
    const struct option_row *row;
    int c;

    fill_getopt_options(table, &options);
    optind = 0; /* makes glibc forget where an earlier parse of this process stopped */
    while ((c = getopt_long(argc, argv, options.shorts, options.longs, NULL)) != -1) {
        *wants_help = *wants_help || c == 'h';
        if (c == 'h' && table->help_at_once)
            return true;
        row = c == 'h' ? NULL : find_option_row(table, c);
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

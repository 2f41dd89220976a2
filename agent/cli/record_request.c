/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.c - see record_request.h. */
#include "agent/cli/record_request.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/options.h"
#include "agent/cli/output.h"
#include "agent/host/exits.h"
#include "base/time_units.h"

enum { OPTION_STATS = 256, OPTION_TARGET, OPTION_SPLIT, OPTION_OPCODES, OPTION_ASYNC };

static const struct option longs[] = {
    {"pid", required_argument, NULL, 'p'},
    {"children", no_argument, NULL, 'c'},
    {"target", required_argument, NULL, OPTION_TARGET},
    {"duration", required_argument, NULL, 'd'},
    {"rate", required_argument, NULL, 'r'},
    {"output", required_argument, NULL, 'o'},
    {"format", required_argument, NULL, 'f'},
    {"mode", required_argument, NULL, 'm'},
    {"threads", required_argument, NULL, 't'},
    {"native", no_argument, NULL, 'n'},
    {"gc", no_argument, NULL, 'g'},
    {"opcodes", no_argument, NULL, OPTION_OPCODES},
    {"async-aware", required_argument, NULL, OPTION_ASYNC},
    {"split", required_argument, NULL, OPTION_SPLIT},
    {"stats", optional_argument, NULL, OPTION_STATS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct options_word mode_words[] = {{"wall", VALUE_WALL},
                                                 {"cpu", VALUE_CPU},
                                                 {"gil", VALUE_GIL},
                                                 {"exception", VALUE_EXCEPTION},
                                                 {NULL, 0}};
static const struct options_word thread_words[] = {{"all", 0}, {"main", 1}, {NULL, 0}};
static const struct options_word task_words[] = {
    {"running", TASKS_RUNNING}, {"all", TASKS_ALL}, {NULL, 0}};
static const struct options_word split_words[] = {
    {"none", SPLIT_NONE}, {"process", SPLIT_PROCESS}, {"thread", SPLIT_THREAD}, {NULL, 0}};
static const struct options_word stats_words[] = {
    {"text", RECORD_STATS_TEXT}, {"json", RECORD_STATS_JSON}, {NULL, 0}};

/* What is read beside the request itself. */
struct reading {
    struct record_request *request;
    const char *format_name; /* NULL: not given */
    bool wants_help;
};

/* Adds a mode, unless it is there. */
static void add_mode(struct record_request *request, enum service_value mode)
{
    size_t i;

    for (i = 0; i < request->mode_count; i++)
        if (request->modes[i] == mode)
            return;
    request->modes[request->mode_count++] = mode;
    request->options.exception |= mode == VALUE_EXCEPTION;
    request->options.gil |= mode == VALUE_GIL;
}

/* Reads modes with commas between. */
static bool read_modes(const char *text, struct record_request *request)
{
    char word[16];
    uint32_t mode;
    size_t size;

    for (;; text += size + 1) {
        size = strcspn(text, ",");
        (void)snprintf(word, sizeof(word), "%.*s", (int)size, text);
        if (!options_word("mode", word, mode_words, &mode))
            return false;
        add_mode(request, (enum service_value)mode);
        if (text[size] == '\0')
            return true;
    }
}

/* The options that take one of some words. */
static bool take_word(int c, struct record_request *request)
{
    uint32_t value = RECORD_STATS_TEXT;

    switch (c) {
    case 't':
        if (!options_word("threads", optarg, thread_words, &value))
            return false;
        request->options.main_only = value != 0;
        return true;
    case OPTION_ASYNC:
        if (!options_word("async-aware", optarg, task_words, &value))
            return false;
        request->options.tasks = (enum sample_options_tasks)value;
        return true;
    case OPTION_SPLIT:
        if (!options_word("split", optarg, split_words, &value))
            return false;
        request->split = (enum service_split)value;
        return true;
    case OPTION_STATS:
        if (optarg && !options_word("stats", optarg, stats_words, &value))
            return false;
        request->stats = (enum record_stats)value;
        return true;
    default:
        return false;
    }
}

/* The options without an argument. False: it is none of them. */
static bool set_record_flag(int c, struct reading *reading)
{
    switch (c) {
    case 'c':
        reading->request->selection.children = true;
        return true;
    case 'n':
        reading->request->options.frames |= CPY_FRAME_NATIVE;
        return true;
    case 'g':
        reading->request->options.frames |= CPY_FRAME_GC;
        return true;
    case OPTION_OPCODES:
        reading->request->options.frames |= CPY_FRAME_OPCODES;
        return true;
    case 'h':
        reading->wants_help = true;
        return true;
    default:
        return false;
    }
}

/* Takes one option in. False: it is wrong. */
static bool parse_record_option(int c, struct reading *reading)
{
    struct record_request *request = reading->request;

    switch (c) {
    case 'p':
        return options_pid(optarg, &request->selection.pid);
    case OPTION_TARGET:
        request->selection.target = optarg;
        return true;
    case 'd':
        return options_duration(optarg, &request->duration_ns);
    case 'r':
        return options_rate(optarg, &request->rate_hz);
    case 'o':
        request->output = optarg;
        return true;
    case 'f':
        reading->format_name = optarg;
        return true;
    case 'm':
        return read_modes(optarg, request);
    default:
        return set_record_flag(c, reading) || take_word(c, request);
    }
}

/* Finds the format by its name or by the output's. False: it is wrong, which was said. */
static bool choose_record_format(struct reading *reading)
{
    struct record_request *request = reading->request;

    request->format =
        reading->format_name ? format_named(reading->format_name) : format_of_path(request->output);
    if (!request->format && !reading->format_name)
        request->format = format_named("pprof");
    if (!request->format)
        (void)fprintf(stderr,
                      "pystrobe: there is no format '%s'; pystrobe report --help has them\n",
                      reading->format_name);
    else if (!request->format->plain && output_is_terminal(request->output))
        (void)fprintf(stderr, "pystrobe: %s is nothing for a terminal: use -o FILE\n",
                      request->format->name);
    else
        return true;
    return false;
}

/* Says what is wrong with the words as a whole. */
static bool check_record_arguments(const struct record_request *request)
{
    if (!target_selection_fits(&request->selection, "record"))
        return false;
    if (request->options.tasks == TASKS_ALL && request->options.main_only)
        (void)fputs("pystrobe: --async-aware all shows tasks of all threads, and --threads main no "
                    "other thread: leave one of the two out\n",
                    stderr);
    else
        return true;
    return false;
}

int record_request_read(int argc, char **argv, struct record_request *out, bool *wants_help)
{
    struct reading reading = {.request = out};
    int c;

    while ((c = getopt_long(argc, argv, "+p:cd:r:o:f:m:t:ngh", longs, NULL)) != -1)
        if (!parse_record_option(c, &reading))
            return options_usage("record");
    *wants_help = reading.wants_help;
    out->selection.command = optind < argc ? argv + optind : NULL;
    if (!*wants_help && (!check_record_arguments(out) || !choose_record_format(&reading)))
        return options_usage("record");
    out->each = strstr(out->output, RECORD_EACH) != NULL;
    if (!out->selection.command && out->duration_ns == 0)
        out->duration_ns = 10 * NS_PER_S;
    return EXIT_OK;
}

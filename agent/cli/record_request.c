/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.c - see record_request.h. */
#include "agent/cli/record_request.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/option_table.h"
#include "agent/cli/output_format.h"
#include "base/time_units.h"

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

/* Adds a mode, unless it is there. */
static void add_mode(struct record_request *request, enum service_value mode)
{
    for (size_t i = 0; i < request->mode_count; i++)
        if (request->modes[i] == mode)
            return;
    request->modes[request->mode_count++] = mode;
    request->options.exception |= mode == VALUE_EXCEPTION;
    request->options.gil |= mode == VALUE_GIL;
}

/* Reads modes with commas between into a struct record_request. */
static bool read_modes(const char *text, void *request)
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

#define FIELD(field) OPTION_FIELD(struct record_request, field)

static const struct option_row rows[] = {
    {"pid", 'p', OPTION_PID, FIELD(selection.pid)},
    {"children", 'C', OPTION_FLAG, FIELD(selection.children), .old = 'c'},
    {"target", 0, OPTION_TEXT, FIELD(selection.target)},
    {"duration", 'd', OPTION_DURATION, FIELD(duration_ns)},
    {"rate", 'r', OPTION_RATE, FIELD(rate_hz)},
    {"output", 'o', OPTION_TEXT, FIELD(output)},
    {"format", 'f', OPTION_TEXT, FIELD(format_name)},
    {"mode", 'm', OPTION_READ, .read = read_modes},
    {"threads", 't', OPTION_WORD, FIELD(options.main_only), .words = thread_words},
    {"native", 'n', OPTION_BITS, FIELD(options.frames), CPY_FRAME_NATIVE},
    {"gc", 'g', OPTION_BITS, FIELD(options.frames), CPY_FRAME_GC},
    {"opcodes", 0, OPTION_BITS, FIELD(options.frames), CPY_FRAME_OPCODES},
    {"async-aware", 0, OPTION_WORD, FIELD(options.tasks), .words = task_words},
    {"split", 0, OPTION_WORD, FIELD(split), .words = split_words},
    {"stats", 0, OPTION_WORD, FIELD(stats), RECORD_STATS_TEXT, stats_words, .optional = true},
    {.name = NULL},
};

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

bool record_request_read(int argc, char **argv, const char *help, struct record_request *out,
                         int *status)
{
    const struct option_table table = {.rows = rows, .help = help, .ends_at_word = true};

    if (!option_table_read(&table, argc, argv, out, status))
        return false;
    out->selection.command = optind < argc ? argv + optind : NULL;
    if (!check_record_arguments(out) ||
        !output_format_choose(out->format_name, out->output, format_named("pprof"), &out->format)) {
        *status = options_usage("record");
        return false;
    }
    if (out->format->shows_times) /* each thread has samples that add up to its time */
        out->split = SPLIT_THREAD;
    out->each = strstr(out->output, RECORD_EACH) != NULL;
    if (!out->selection.command && out->duration_ns == 0)
        out->duration_ns = 10 * NS_PER_S;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "agent/cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/command_line.h"
#include "agent/host/escape.h"
#include "agent/host/exits.h"
#include "agent/host/log.h"
#include "agent/proc/cmdline.h"
#include "agent/proc/ptrace_access.h"
#include "base/file.h"

static const struct options_word level_words[] = {{"error", LOG_LEVEL_ERROR},
                                                  {"warning", LOG_LEVEL_WARNING},
                                                  {"info", LOG_LEVEL_INFO},
                                                  {"debug", LOG_LEVEL_DEBUG},
                                                  {NULL, 0}};
static const struct options_word format_words[] = {
    {"text", LOG_TEXT}, {"json", LOG_JSON}, {NULL, 0}};

int options_help(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_OK;
}

bool options_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) == 1 && (!no_colour || !no_colour[0]) &&
           (!term || strcmp(term, "dumb") != 0);
}

int options_usage(const char *command)
{
    (void)fprintf(stderr, "pystrobe: see pystrobe %s --help\n", command);
    return EXIT_USAGE;
}

bool options_pid(const char *text, pid_t *out)
{
    char *end;
    long pid;

    errno = 0;
    pid = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || pid <= 0 || pid > INT_MAX) {
        (void)fprintf(stderr, "pystrobe: '%s' is not a process id\n", text);
        return false;
    }
    *out = (pid_t)pid;
    return true;
}

/* Copies `text`, with `unit` behind it if it is a bare number. */
static void with_unit(const char *text, const char *unit, char *out, size_t size)
{
    bool bare = text[0] && strspn(text, "0123456789.") == strlen(text);

    (void)snprintf(out, size, "%s%s", text, bare ? unit : "");
}

bool options_duration(const char *text, uint64_t *out_ns)
{
    struct err err = {""};
    char full[64];

    with_unit(text, "s", full, sizeof(full));
    if (conf_duration(full, out_ns, &err) == CONF_OK && *out_ns > 0)
        return true;
    (void)fprintf(stderr, "pystrobe: '%s' is not a duration above 0, like 10s or 1m30s\n", text);
    return false;
}

bool options_rate(const char *text, double *out_hz)
{
    struct err err = {""};
    char full[64];

    with_unit(text, "Hz", full, sizeof(full));
    if (conf_rate(full, out_hz, &err) == CONF_OK && *out_hz >= 0.1 && *out_hz <= 10000)
        return true;
    (void)fprintf(stderr, "pystrobe: '%s' is not a rate from 0.1Hz to 10000Hz\n", text);
    return false;
}

/* Gives the row of `text`, or the one that ends the list. */
static const struct options_word *find_word(const struct options_word *words, const char *text)
{
    while (words->text && strcmp(words->text, text) != 0)
        words++;
    return words;
}

bool options_word(const char *option, const char *text, const struct options_word *words,
                  uint32_t *out)
{
    const struct options_word *word = find_word(words, text);
    struct conf_nearest nearest = {.word = text};

    if (word->text) {
        *out = word->value;
        return true;
    }
    (void)fprintf(stderr, "pystrobe: --%s is one of", option);
    for (word = words; word->text; word++) {
        (void)fprintf(stderr, "%s %s", word == words ? "" : ",", word->text);
        conf_nearest_try(&nearest, word->text);
    }
    (void)fprintf(stderr, ", not '%s'", text);
    if (nearest.best)
        (void)fprintf(stderr, "; did you mean '%s'?", nearest.best);
    (void)fputc('\n', stderr);
    return false;
}

/* True if the last parts of a URL's path are these. */
static bool ends_in_path(const char *url, const char *path)
{
    size_t size = strlen(url), path_size = strlen(path);

    while (size > 0 && url[size - 1] == '/')
        size--;
    return size > path_size && url[size - path_size - 1] == '/' &&
           memcmp(url + size - path_size, path, path_size) == 0;
}

/* Says of labels under which other name a server gets them. */
static void warn_of_names(const struct exporter_settings *exporter, const struct label *labels,
                          size_t count)
{
    char name[EXPORTER_LABEL_NAME_MAX + 1];

    for (size_t i = 0; i < count; i++)
        if (exporter_label_name(labels[i].name, name))
            log_line(LOG_LEVEL_WARNING,
                     "exporter %s: a Pyroscope may refuse the name of the label %.200s: it is sent "
                     "as %.200s",
                     exporter->name, labels[i].name, name);
}

/* Says what works in another way than it reads. */
static void warn_of_exporter(const struct conf *conf, const struct exporter_settings *exporter)
{
    const char *path = exporter_path(exporter);

    if (exporter->queue > 0)
        log_line(LOG_LEVEL_WARNING,
                 "exporter %s: queue has no effect any more: queue_size says how many bytes may "
                 "wait",
                 exporter->name);
    if (path && exporter->url && ends_in_path(exporter->url, path))
        log_line(LOG_LEVEL_WARNING,
                 "exporter %s: url ends in /%s, which pystrobe adds itself: remove that",
                 exporter->name, path);
    if (!exporter->type->is_pyroscope && !exporter_is_limited(exporter))
        return;
    warn_of_names(exporter, conf->labels, conf->label_count);
    for (size_t i = 0; i < conf->target_count; i++)
        warn_of_names(exporter, conf->targets[i].labels, conf->targets[i].label_count);
}

void options_log(const struct conf *conf)
{
    log_set_format((enum log_format)find_word(format_words, conf->agent.log_format)->value);
    log_init((enum log_level)find_word(level_words, conf->agent.log_level)->value);
    for (size_t i = 0; i < conf->exporter_count; i++)
        warn_of_exporter(conf, &conf->exporters[i]);
}

static bool add_flag(struct options_flags *flags, const char *name, const char *key,
                     const char *value)
{
    if (flags->count < sizeof(flags->flags) / sizeof(flags->flags[0]))
        flags->flags[flags->count++] = (struct conf_flag){name, key, value};
    return true;
}

bool options_log_level(const char *value, void *flags)
{
    uint32_t level;

    return options_word("log-level", value, level_words, &level) &&
           add_flag(flags, "--log-level", "log_level", value);
}

bool options_log_format(const char *value, void *flags)
{
    uint32_t format;

    return options_word("log-format", value, format_words, &format) &&
           add_flag(flags, "--log-format", "log_format", value);
}

struct conf_source options_source(const char *path, const struct options_flags *flags)
{
    return (struct conf_source){
        .path = path,
        .drop_ins = true,
        .environment = environ,
        .flags = flags ? flags->flags : NULL,
        .flag_count = flags ? flags->count : 0,
    };
}

void options_print_lines(const struct buf *lines)
{
    const char *line = buf_text(lines), *end;

    for (; *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        (void)fprintf(stderr, "pystrobe: %.*s\n", (int)(end - line), line);
    }
}

int options_conf(const struct conf_source *source, struct conf **out)
{
    enum { ERRORS_MAX = 1 << 20 };
    struct buf errors;
    enum conf_rc rc;

    buf_init(&errors, ERRORS_MAX);
    rc = conf_load(source, out, &errors);
    if (rc == CONF_BAD)
        options_print_lines(&errors);
    if (rc == CONF_NOMEM)
        (void)fprintf(stderr, "pystrobe: out of memory\n");
    buf_finish(&errors);
    if (rc != CONF_OK)
        return rc == CONF_BAD ? EXIT_CONFIG : EXIT_FAILED;
    options_log(*out);
    return EXIT_OK;
}

bool options_store(char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used;

    if (geteuid() == 0)
        used = snprintf(out, size, "/var/lib/pystrobe/store");
    else if (state && state[0] == '/')
        used = snprintf(out, size, "%s/pystrobe/store", state);
    else
        used = home ? snprintf(out, size, "%s/.local/state/pystrobe/store", home) : -1;
    return used > 0 && (size_t)used < size;
}

void options_service(char **argv, char *out, size_t size)
{
    const char *words[CMDLINE_ARGUMENTS_MAX + 1];
    struct cmdline_program program;
    size_t count = 0;

    for (; argv[count] && count < CMDLINE_ARGUMENTS_MAX; count++)
        words[count] = argv[count];
    words[count] = NULL;
    cmdline_parse(words, &program);
    (void)snprintf(out, size, "%s",
                   program.kind == CMDLINE_PART ? file_base_name(argv[0]) : program.name);
}

bool options_may_read(pid_t pid, char out_command[PROC_COMMAND_MAX])
{
    const bool may = command_line_read(pid, out_command);

    if (!may)
        (void)fprintf(
            stderr, "pystrobe: process %d cannot be read: it blocks readers of its command line\n",
            (int)pid);
    return may;
}

int options_open_failed(enum cpy_rc rc, enum ptrace_access access, const struct err *err)
{
    char cure[320];
    struct buf shown; /* the text may name a file of the process */

    buf_init(&shown, 4 * sizeof(err->text));
    escape_add_str(&shown, err->text[0] ? err->text : cpy_rc_text(rc));
    (void)fprintf(stderr, "pystrobe: %s\n",
                  buf_failed(&shown) ? cpy_rc_text(rc) : buf_text(&shown));
    buf_finish(&shown);
    if (rc == CPY_DENIED) {
        ptrace_access_explain(access, cure, sizeof(cure));
        (void)fprintf(stderr, "pystrobe: %s\n", cure);
        return EXIT_NO_PERMISSION;
    }
    return rc == CPY_NOMEM ? EXIT_FAILED : EXIT_UNAVAILABLE;
}

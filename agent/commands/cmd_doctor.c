/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - `pystrobe doctor`: tries what pystrobe needs, and tells what stops it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/commands/examine.h"
#include "agent/delivery/publisher.h"
#include "agent/discover/users.h"
#include "agent/host/log.h"
#include "base/text.h"
#include "exporters/exporter.h"

static const char help[] =
    "Usage: pystrobe doctor [--pid N] [-c FILE] [--json]\n\n"
    "Tests what pystrobe needs and prints a line for each test, with cause and\n"
    "remedy if it fails: it may read memory; a process can be sampled; spool and\n"
    "stores can be written and have no files of other users; the servers of the\n"
    "settings are found, speak TLS, accept the login and have the same time; the\n"
    "exporters of the running agent keep up. Run it as the same user and in the same\n"
    "place as pystrobe. Servers get an empty profile. Exit status: 0 all is well, 1\n"
    "something fails, 78 the ini file is wrong.\n\n"
    "  -p, --pid N         test only whether this process can be sampled; with -c the\n"
    "                      ini file, too\n"
    "  -c, --config FILE   test what this ini file names; default:\n"
    "                      /etc/pystrobe/pystrobe.ini if there is one, and the\n"
    "                      exporters of the environment\n"
    "  -j, --json          print one JSON object\n"
    "  -h, --help          this text\n\n"
    "Example:\n"
    "  pystrobe doctor -c /etc/pystrobe/pystrobe.ini --pid 4242\n";

static const char usual[] = "/etc/pystrobe/pystrobe.ini";

struct request {
    const char *config; /* NULL: none */
    pid_t pid;          /* 0: none */
    bool json;
};

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"pid", 'p', OPTION_PID, FIELD(pid)},
    {"config", 'c', OPTION_TEXT, FIELD(config)},
    {"json", 'j', OPTION_FLAG, FIELD(json)},
    {.name = NULL},
};

static void examine_settings(struct findings *out, const char *path, const struct conf *conf)
{
    const struct exporter_settings *first;
    const size_t exporters = path ? conf->exporter_count : publisher_wanted(conf, &first);
    const char *word = text_plural(exporters, "exporter", "exporters");

    if (path)
        findings_add(out, FINDING_GOOD, "settings", "", "%s: %zu %s, %zu %s", path,
                     conf->target_count, text_plural(conf->target_count, "target", "targets"),
                     exporters, word);
    else
        findings_add(out, FINDING_NOTE, "settings", "name your ini file by -c",
                     "there is no %s, only what variables say: %zu %s", usual, exporters, word);
}

static void note_unknown_user(void *ctx, const char *where, const char *text)
{
    findings_add(ctx, FINDING_NOTE, where, USERS_CURE, "%s", text);
}

static int examine_all(const struct request *request, const struct conf *conf)
{
    struct findings findings;

    findings_init(&findings, request->json, options_colour());
    if (examine_permissions(&findings) && request->pid)
        examine_process(&findings, request->pid);
    if (conf) {
        examine_settings(&findings, request->config, conf);
        users_each_unknown(conf, NULL, note_unknown_user, &findings);
        examine_places(&findings, conf);
        examine_servers(&findings, conf);
        examine_agent(&findings, conf);
    }
    return findings_finish(&findings);
}

int cmd_doctor(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .no_words = true};
    struct err err = {""};
    struct request request = {0};
    struct conf_source source;
    struct conf *conf = NULL;
    int status = EXIT_OK;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    (void)signal(SIGPIPE, SIG_IGN);
    if (!request.config && !request.pid && access(usual, F_OK) == 0)
        request.config = usual;
    source = options_source(request.config, NULL);
    if (request.config || !request.pid)
        status = options_conf(&source, &conf);
    log_init(LOG_LEVEL_ERROR);
    if (status != EXIT_OK)
        return status;
    if (conf && exporter_global_init(&err) != EXPORTER_OK) {
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
        conf_free(conf);
        return EXIT_FAILED;
    }
    status = examine_all(&request, conf);
    if (conf)
        exporter_global_finish();
    conf_free(conf);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - `pystrobe check`: would an agent start with this ini file? */
#include <signal.h>
#include <stdio.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/commands/examine.h"
#include "agent/commands/places.h"
#include "agent/delivery/publisher.h"
#include "agent/discover/users.h"
#include "exporters/exporter.h"

static const char help[] =
    "Usage: pystrobe check [-c FILE] [--servers | --no-environment]\n\n"
    "Prints every mistake in an ini file, its drop-ins and PYSTROBE_... variables,\n"
    "and tests whether its exporters could be opened: addresses, certificates,\n"
    "secrets. Creates nothing, and connects to nothing without --servers.\n"
    "Exit status: 0: no mistake; 78: a mistake; 1: a file is missing or cannot be\n"
    "used, or a server does not answer as it should.\n\n"
    "  -c, --config FILE     default: /etc/pystrobe/pystrobe.ini\n"
    "      --servers         send an empty profile to the server of each exporter, as\n"
    "                        the agent would, and print the answer\n"
    "      --no-environment  ignore variables and the files that the ini file names\n"
    "  -h, --help            this text\n\n"
    "Example:\n"
    "  pystrobe check -c pystrobe.ini && systemctl reload pystrobe\n";

struct request {
    const char *file;
    bool alone, servers;
};

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(file)},
    {"servers", 0, OPTION_FLAG, FIELD(servers)},
    {"no-environment", 0, OPTION_FLAG, FIELD(alone)},
    {.name = NULL},
};

static void check_place(void *ctx, const struct place *place)
{
    int *status = ctx;
    struct err err = {""};

    if (place_can_be(place, &err))
        return;
    (void)fprintf(stderr, "pystrobe: %s: %s\n", place->name, err.text);
    *status = EXIT_FAILED;
}

/* Tells what the host lacks, and makes the exporters that speak with servers; those of folders
 * would make these. */
static int check_surroundings(const struct conf *conf)
{
    const struct exporter_settings *wanted;
    struct exporter *exporter = NULL;
    struct err err = {""};
    enum exporter_rc rc;
    int status = EXIT_OK;
    size_t i, count = publisher_wanted(conf, &wanted);

    users_log_unknown(conf, NULL);
    places_each(conf, check_place, &status);
    for (i = 0; i < count; i++) {
        if (!wanted[i].type->needs_url)
            continue;
        rc = publisher_exporter(&wanted[i], &exporter, &err);
        if (rc == EXPORTER_OK) {
            exporter_close(exporter);
            continue;
        }
        (void)fprintf(stderr, "pystrobe: exporter %s: %s\n", wanted[i].name, err.text);
        if (status != EXIT_CONFIG)
            status = rc == EXPORTER_BAD_CONFIG ? EXIT_CONFIG : EXIT_FAILED;
    }
    return status;
}

/* Tries the servers as doctor does. */
static int check_servers(const struct conf *conf)
{
    struct findings findings;

    findings_init(&findings, false, options_colour());
    examine_servers(&findings, conf);
    return findings_finish(&findings);
}

static int check_conf_and_exporters(const struct request *request)
{
    struct conf_source source = options_source(request->file, NULL);
    struct conf *conf = NULL;
    struct err err = {""};
    int status;

    if (request->alone)
        source.environment = NULL;
    status = options_conf(&source, &conf);
    if (status != EXIT_OK)
        return status;
    if (!request->alone) {
        if (exporter_global_init(&err) == EXPORTER_OK) {
            status = check_surroundings(conf);
            if (status == EXIT_OK && request->servers)
                status = check_servers(conf);
            exporter_global_finish();
        } else {
            (void)fprintf(stderr, "pystrobe: %s\n", err.text);
            status = EXIT_FAILED;
        }
    }
    conf_free(conf);
    return status;
}

int cmd_check(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .no_words = true};
    struct request request = {.file = "/etc/pystrobe/pystrobe.ini"};
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    if (request.servers && request.alone) {
        (void)fprintf(stderr, "pystrobe: --servers and --no-environment exclude each other\n");
        return options_usage("check");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return check_conf_and_exporters(&request);
}

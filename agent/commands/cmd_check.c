/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - `pystrobe check`: would an agent start with this ini file? */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/options.h"
#include "agent/commands/commands.h"
#include "agent/delivery/publisher.h"
#include "exporters/exporter.h"

static const char help[] =
    "Usage: pystrobe check [-c FILE] [--no-environment]\n\n"
    "Reads an ini file with its drop-ins and PYSTROBE_... variables, and tries\n"
    "whether its exporters can be made: addresses, certificates, secrets. It\n"
    "connects to nothing and makes nothing. Prints every mistake. Exit status: 0 if\n"
    "there is none, else 78.\n\n"
    "  -c, --config FILE     default: /etc/pystrobe/pystrobe.ini\n"
    "      --no-environment  the file alone: neither variables nor the files that it\n"
    "                        names\n"
    "  -h, --help            this text\n\n"
    "Example:\n"
    "  pystrobe check -c pystrobe.ini && systemctl reload pystrobe\n";

enum { OPTION_NO_ENVIRONMENT = 512 };

struct request {
    const char *file;
    bool alone, help;
};

/* Reads the arguments; EXIT_OK, or EXIT_USAGE when it has said what is wrong. */
static int parse_check_arguments(int argc, char **argv, struct request *request)
{
    static const struct option longs[] = {
        {"config", required_argument, NULL, 'c'},
        {"no-environment", no_argument, NULL, OPTION_NO_ENVIRONMENT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
        if (c == 'c')
            request->file = optarg;
        else if (c == OPTION_NO_ENVIRONMENT)
            request->alone = true;
        else if (c == 'h')
            request->help = true;
        else
            return options_usage("check");
    }
    if (optind == argc)
        return EXIT_OK;
    (void)fprintf(stderr, "pystrobe: check takes no argument '%s'\n", argv[optind]);
    return options_usage("check");
}

/* Makes the exporters that speak with servers; those of folders would make these. */
static int check_exporters(const struct conf *conf)
{
    const struct exporter_settings *wanted;
    struct exporter *exporter = NULL;
    struct err err = {""};
    int status = EXIT_OK;
    size_t i, count = publisher_wanted(conf, &wanted);

    for (i = 0; i < count; i++) {
        if (wanted[i].path)
            continue;
        if (publisher_exporter(&wanted[i], &exporter, &err)) {
            exporter_close(exporter);
            continue;
        }
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
        status = EXIT_CONFIG;
    }
    return status;
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
            status = check_exporters(conf);
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
    struct request request = {.file = "/etc/pystrobe/pystrobe.ini"};
    int status = parse_check_arguments(argc, argv, &request);

    if (status != EXIT_OK)
        return status;
    return request.help ? options_help(help) : check_conf_and_exporters(&request);
}

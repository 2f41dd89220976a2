/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - finds the subcommand. */
#include <stdio.h>
#include <string.h>

#include "agent/commands/commands.h"
#include "agent/host/version.h"
#include "conf/conf.h"
#include "exporters/exporter.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"agent", cmd_agent, "sample the processes that an ini file names, and send profiles"},
    {"exec", cmd_exec, "run a command and profile it for as long as it lives"},
    {"record", cmd_record, "profile a process or a command into a file"},
    {"top", cmd_top, "show live where a process spends its time"},
    {"dump", cmd_dump, "print the stacks of a process as they are now"},
    {"report", cmd_report, "show pprof files as tables, flame graphs and in other formats"},
    {"status", cmd_status, "print the state of the running agent"},
    {"reload", cmd_reload, "make the running agent read its ini file again"},
    {"burst", cmd_burst, "make the running agent sample a target more often for a while"},
    {"doctor", cmd_doctor, "test what pystrobe needs, and print causes and remedies"},
    {"check", cmd_check, "print every mistake in an ini file"},
    {"config", cmd_config, "print the settings in effect, each with its source"},
    {"spool", cmd_spool, "list, send or remove the profiles that wait for a server"},
    {"bundle", cmd_bundle, "write one text for a request for help"},
    {"sampler", cmd_sampler, NULL}, /* what the agent starts */
    {"reader", cmd_reader, NULL},   /* and this */
    {"browse", cmd_browse, NULL},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_command_list(FILE *to)
{
    (void)fputs("Usage: pystrobe COMMAND [OPTIONS]\n\n"
                "Profiles running Python programs from outside; neither changes nor stops them.\n\n"
                "Commands:\n",
                to);
    for (size_t i = 0; i < COMMANDS && commands[i].help; i++)
        (void)fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    (void)fputs("\n  --help     this text; pystrobe help COMMAND for a command's options\n"
                "  --version  version and libraries; with --json as one JSON object\n\n"
                "Example:\n"
                "  pystrobe record -o out.pb.gz -- python3 app.py && pystrobe report out.pb.gz\n",
                to);
}

/* Says that there is no such command, or option in its place, and which may be meant. */
static void explain_unknown(const char *word)
{
    struct conf_nearest nearest = {.word = word};

    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].help)
            conf_nearest_try(&nearest, commands[i].name);
    conf_nearest_try(&nearest, "help");
    conf_nearest_try(&nearest, "--help");
    conf_nearest_try(&nearest, "--version");
    (void)fprintf(stderr, "pystrobe: %s '%s' is not known", *word == '-' ? "option" : "command",
                  word);
    if (nearest.best)
        (void)fprintf(stderr, "; did you mean '%s'?\n", nearest.best);
    else if (*word == '-')
        (void)fputs("; options of a command come after it: pystrobe COMMAND [OPTIONS]\n", stderr);
    else
        (void)fputs("; pystrobe --help lists them\n", stderr);
}

/* Runs a command; one that is not known is a mistake. */
static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    explain_unknown(argv[0]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    bool as_json;

    if (argc < 2) {
        print_command_list(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2 && argv[2][0] != '-')
        return run_command(2, (char *[]){argv[2], (char[]){"--help"}, NULL});
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_command_list(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        as_json = argc > 2 && strcmp(argv[2], "--json") == 0;
        return version_print(as_json, exporter_curl_version()) ? EXIT_OK : EXIT_FAILED;
    }
    return run_command(argc - 1, argv + 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_control.c - `pystrobe status`, `reload` and `burst`: ask the agent that runs. */
#include <stdio.h>
#include <string.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/serve/control_client.h"
#include "base/time_units.h"

static const char status_help[] =
    "Usage: pystrobe status [--json] [--socket PATH]\n\n"
    "Prints the state of the running agent: targets, samples and losses, profiles,\n"
    "exporters, and its use of CPU and memory with the limits.\n\n"
    "  -j, --json         print one JSON object\n"
    "      --socket PATH  where it listens; default: " CONTROL_DEFAULT "\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe status --json\n";

static const char reload_help[] =
    "Usage: pystrobe reload [--socket PATH]\n\n"
    "Makes the running agent read its ini file again. If the file has a mistake,\n"
    "nothing changes.\n\n"
    "      --socket PATH  where it listens; default: " CONTROL_DEFAULT "\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe check && pystrobe reload\n";

static const char burst_help[] =
    "Usage: pystrobe burst [-r RATE] [-d TIME] [--socket PATH] TARGET\n\n"
    "Makes the running agent sample a target more often for a while. TARGET is a\n"
    "process id, or the name of a service or of a [target] section.\n\n"
    "  -r, --rate RATE      samples a second; default 200Hz\n"
    "  -d, --duration TIME  how long; default 60s, up to a day\n"
    "      --socket PATH    where it listens; default: " CONTROL_DEFAULT "\n"
    "  -h, --help           this text\n\n"
    "Example:\n"
    "  pystrobe burst -r 500Hz -d 30s web\n";

/* Asks, and prints the answer; gives the exit status. The agent has made foreign names harmless. */
static int ask(const char *path, const struct control_request *request)
{
    struct buf answer;
    struct err err = {""};
    int status = control_client_ask(path, request, &answer, &err);

    if (status != EXIT_OK)
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    else if (fwrite(buf_text(&answer), 1, answer.size, stdout) != answer.size ||
             fflush(stdout) != 0)
        status = EXIT_FAILED;
    buf_finish(&answer);
    return status;
}

/* What a command line comes to. */
struct asked {
    const char *socket;
    struct control_request request;
};

#define FIELD(field) OPTION_FIELD(struct asked, field)

/* What each of the commands takes. */
#define SOCKET_ROW                              \
    {                                           \
        "socket", 0, OPTION_TEXT, FIELD(socket) \
    }

/* Reads the arguments of a command and asks; gives the exit status. */
static int run_control_command(int argc, char **argv, const struct option_table *table,
                               struct asked *asked)
{
    int arguments = asked->request.kind == CONTROL_BURST ? 1 : 0;
    int status;

    if (!option_table_read(table, argc, argv, asked, &status))
        return status;
    if (argc - optind != arguments) {
        (void)fprintf(stderr, "pystrobe: %s takes %s\n", argv[0],
                      arguments ? "one TARGET" : "no argument");
        return options_usage(argv[0]);
    }
    if (arguments && strlen(argv[optind]) >= sizeof(asked->request.target)) {
        (void)fprintf(stderr, "pystrobe: the name of the target is too long\n");
        return EXIT_USAGE;
    }
    if (arguments)
        (void)snprintf(asked->request.target, sizeof(asked->request.target), "%s", argv[optind]);
    return ask(asked->socket, &asked->request);
}

int cmd_status(int argc, char **argv)
{
    static const struct option_row rows[] = {
        {"json", 'j', OPTION_SET, FIELD(request.kind), CONTROL_STATUS_JSON},
        SOCKET_ROW,
        {.name = NULL},
    };
    static const struct option_table table = {.rows = rows, .help = status_help};
    struct asked asked = {.socket = CONTROL_DEFAULT, .request.kind = CONTROL_STATUS};

    return run_control_command(argc, argv, &table, &asked);
}

int cmd_reload(int argc, char **argv)
{
    static const struct option_row rows[] = {SOCKET_ROW, {.name = NULL}};
    static const struct option_table table = {.rows = rows, .help = reload_help};
    struct asked asked = {.socket = CONTROL_DEFAULT, .request.kind = CONTROL_RELOAD};

    return run_control_command(argc, argv, &table, &asked);
}

int cmd_burst(int argc, char **argv)
{
    static const struct option_row rows[] = {
        {"rate", 'r', OPTION_RATE, FIELD(request.rate_hz)},
        {"duration", 'd', OPTION_DURATION, FIELD(request.duration_ns)},
        SOCKET_ROW,
        {.name = NULL},
    };
    static const struct option_table table = {.rows = rows, .help = burst_help};
    struct asked asked = {
        .socket = CONTROL_DEFAULT,
        .request = {.kind = CONTROL_BURST, .rate_hz = 200, .duration_ns = 60 * NS_PER_S}};

    return run_control_command(argc, argv, &table, &asked);
}

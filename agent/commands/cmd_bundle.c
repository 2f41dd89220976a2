/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_bundle.c - `pystrobe bundle`: one text with the data for a request for help. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "agent/host/clock.h"
#include "base/denied.h"

static const char help[] =
    "Usage: pystrobe bundle [-c FILE] [-o FILE] [--socket PATH]\n\n"
    "Writes one text for a request for help: the version, the settings and their\n"
    "sources, the findings of doctor, the agent's status and last log lines, the\n"
    "contents of the spool, the kernel and the limits. Read it before you send it:\n"
    "it has no secrets, but names of programs, services, hosts and files.\n\n"
    "  -c, --config FILE  default: /etc/pystrobe/pystrobe.ini\n"
    "  -o, --output FILE  a new file; default: the standard output\n"
    "      --socket PATH  where the agent listens; default: that of pystrobe status\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe bundle -o pystrobe-bundle.txt\n";

/* Time of a command: pystrobe's doctor waits for each server. */
enum { WORDS_MAX = 8, OWN_SECONDS = 60, SYSTEMS_SECONDS = 10, OUTPUT_BYTES_MAX = 16 << 20 };

struct request {
    const char *config, *output, *socket;
};

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(config)},
    {"output", 'o', OPTION_TEXT, FIELD(output)},
    {"socket", 0, OPTION_TEXT, FIELD(socket)},
    {.name = NULL},
};

/* Says what has come of a command that failed; its own exit status is no news. */
static void print_failure(int cause, int seconds)
{
    if (cause == ETIMEDOUT)
        (void)printf("killed: it did not end within %d s\n", seconds);
    else if (cause == EFBIG)
        (void)printf("\nkilled: it printed more than %d MiB\n", OUTPUT_BYTES_MAX >> 20);
    else if (cause != 0)
        (void)printf("cannot be run: %s\n", strerror(cause));
}

/* Runs a command whose output, with its errors, is a part; `program` is its name in the title. */
static void print_command_output(const char *program, const char *const *words, int seconds)
{
    const struct child_process_limits limits = {.deadline_ns =
                                                    clock_mono_ns() + (uint64_t)seconds * NS_PER_S};
    const struct child_process_command command = {
        .program = words[0],
        .argv = (char *const *)(uintptr_t)words, /* which nobody writes to */
        .errors = true,
        .environment = environ};
    struct buf output;
    size_t i;
    int cause;

    (void)printf("\n== %s", program);
    for (i = 1; words[i]; i++)
        (void)printf(" %s", words[i]);
    (void)printf("\n");
    buf_init(&output, OUTPUT_BYTES_MAX);
    cause = child_process_run(&command, &limits, &output) ? 0 : errno;
    (void)fwrite(buf_text(&output), 1, output.size, stdout);
    buf_finish(&output);
    print_failure(cause, seconds);
}

static void add_own(const struct request *request)
{
    const char *config = request->config;
    const char *const parts[][WORDS_MAX] = {
        {CHILD_PROCESS_SELF, "--version", NULL},
        {CHILD_PROCESS_SELF, "check", "-c", config, NULL},
        {CHILD_PROCESS_SELF, "config", "-c", config, NULL},
        {CHILD_PROCESS_SELF, "doctor", "-c", config, NULL},
        {CHILD_PROCESS_SELF, "status", "--json", request->socket ? "--socket" : NULL,
         request->socket, NULL},
        {CHILD_PROCESS_SELF, "spool", "-c", config, "ls", NULL},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        print_command_output("pystrobe", parts[i], OWN_SECONDS);
}

static void add_systems(void)
{
    /* Not all that it knows: variables of the unit may be secret. */
    static const char shown[] = "LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,"
                                "MemoryCurrent,DropInPaths";
    static const char *const parts[][WORDS_MAX] = {
        {"uname", "-a", NULL},
        {"cat", "/etc/os-release", NULL},
        {"cat", "/proc/self/limits", NULL},
        {"cat", "/proc/self/status", NULL},
        {"cat", "/proc/self/cgroup", NULL},
        {"cat", "/proc/pressure/cpu", "/proc/loadavg", NULL},
        {"systemctl", "--no-pager", "show", "pystrobe.service", "-p", shown, NULL},
        {"journalctl", "--no-pager", "-u", "pystrobe.service", "-n", "200", NULL},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        print_command_output(parts[i][0], parts[i], SYSTEMS_SECONDS);
}

/* Has stdout go to a new file, which is for us alone to read. */
static bool redirect(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    const int cause = errno;
    char text[DENIED_TEXT_MAX];

    if (!good)
        (void)fprintf(stderr, "pystrobe: %s: %s%s\n", path, denied_text(path, cause, text),
                      cause == EEXIST ? "; name a new file" : "");
    if (fd >= 0)
        (void)close(fd);
    return good;
}

int cmd_bundle(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .no_words = true};
    struct request request = {.config = "/etc/pystrobe/pystrobe.ini"};
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    if (request.output && !redirect(request.output))
        return EXIT_FAILED;
    (void)printf("What pystrobe bundle has found. Read it before you send it.\n");
    add_own(&request);
    add_systems();
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_OK : EXIT_FAILED;
}

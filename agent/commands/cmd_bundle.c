/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_bundle.c - `pystrobe bundle`: what somebody who is to help has to know, as one text. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"

static const char help[] =
    "Usage: pystrobe bundle [-c FILE] [-o FILE] [--socket PATH]\n\n"
    "Writes what somebody who is to help has to know: the version, the settings with\n"
    "where each came from, what the doctor finds, the agent's status and its last\n"
    "log lines, what waits in the spool, the kernel and the limits. It is a text, to\n"
    "be read before it is sent: no secrets are in it, but names of programs,\n"
    "services, hosts and files are.\n\n"
    "  -c, --config FILE  default: /etc/pystrobe/pystrobe.ini\n"
    "  -o, --output FILE  a new file; default: the standard output\n"
    "      --socket PATH  where the agent listens; default: as of pystrobe status\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe bundle -o pystrobe-bundle.txt\n";

enum { WORDS_MAX = 8 };

static const char self[] = "/proc/self/exe";

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

/* In the child: its errors are part of what is told. */
static void exec_bundle_command(const char *const *words)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null >= 0)
        (void)dup2(null, STDIN_FILENO);
    (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    (void)execvp(words[0], (char *const *)(uintptr_t)words); /* which writes to none of them */
    (void)printf("%s: %s\n", words[0], strerror(errno));
    (void)fflush(stdout);
    _exit(EXIT_CANNOT_RUN);
}

/* Runs a command whose output is a part; `program` is what it is called in the title. */
static void print_command_output(const char *program, const char *const *words)
{
    size_t i;
    pid_t pid;

    (void)printf("\n== %s", program);
    for (i = 1; words[i]; i++)
        (void)printf(" %s", words[i]);
    (void)printf("\n");
    (void)fflush(stdout);
    pid = fork();
    if (pid == 0)
        exec_bundle_command(words);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        (void)printf("cannot be run: %s\n", strerror(errno));
}

static void add_own(const struct request *request)
{
    const char *config = request->config;
    const char *const parts[][WORDS_MAX] = {
        {self, "--version", NULL},
        {self, "check", "-c", config, NULL},
        {self, "config", "-c", config, NULL},
        {self, "doctor", "-c", config, NULL},
        {self, "status", "--json", request->socket ? "--socket" : NULL, request->socket, NULL},
        {self, "spool", "-c", config, "ls", NULL},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        print_command_output("pystrobe", parts[i]);
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
        print_command_output(parts[i][0], parts[i]);
}

/* Has stdout go to a new file, which is for us alone to read. */
static bool redirect(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0;

    if (!good)
        (void)fprintf(stderr, "pystrobe: %s: %s\n", path, strerror(errno));
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

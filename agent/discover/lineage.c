/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.c - see lineage.h. */
#include "agent/discover/lineage.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { ANCESTORS_MAX = 256 };

/* Programs that run another in their place, or start it and wait: none has a Python in it. */
static const char *const launchers[] = {
    "sh",        "ash",       "bash",        "busybox",      "dash",      "ksh",
    "zsh",       "env",       "setpriv",     "gosu",         "su",        "su-exec",
    "sudo",      "runuser",   "setuidgid",   "chpst",        "tini",      "tini-static",
    "dumb-init", "catatonit", "docker-init", "s6-setuidgid", "s6-svscan", "s6-supervise",
    "runsv",     "nice",      "ionice",      "chrt",         "taskset",   "numactl",
    "prlimit",   "timeout",   "stdbuf",      "nohup",        "setsid",    "setarch",
    "unshare",   "xargs",     "flock",       "uv",           NULL};

/* The program of a process: its file, or where we may not see that, the first word of its line. */
static void program_of(struct proc_info *info, char *out, size_t size)
{
    const char *path = proc_info_exe(info);

    if (!path[0])
        path = proc_info_command_line(info);
    path = path[0] == '-' ? path + 1 : path; /* a login shell */
    (void)snprintf(out, size, "%.*s", (int)strcspn(path, " "), path);
    memmove(out, file_base_name(out), strlen(file_base_name(out)) + 1);
}

static bool is_launcher(const char *program)
{
    for (size_t i = 0; launchers[i]; i++)
        if (strcmp(launchers[i], program) == 0)
            return true;
    return false;
}

/* The name of what a process runs; "" of a part whose program is not known. */
static const char *own_name(struct proc_info *info)
{
    const struct cmdline_program *program = proc_info_program(info);

    return program->kind == CMDLINE_PART ? "" : program->name;
}

bool lineage_name(struct proc_info *info, pid_t pid, pid_t root, char *out, size_t size)
{
    char program[256];
    struct proc_stat stat;

    proc_info_begin(info, pid);
    program_of(info, program, sizeof(program));
    /* Amid an exec the kernel shows the new program a moment before its arguments. */
    if (is_launcher(program) || proc_info_command_line(info)[0] == '\0')
        return false;
    (void)snprintf(out, size, "%s", own_name(info));
    for (int i = 0; i < ANCESTORS_MAX && proc_stat_read(pid, &stat) == PROC_OK && stat.parent > 1 &&
                    stat.parent != root;
         i++) {
        pid = stat.parent;
        proc_info_begin(info, pid);
        program_of(info, program, sizeof(program));
        if (cmdline_is_python(program))
            (void)snprintf(out, size, "%s", own_name(info));
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* proc_info.c - see proc_info.h. */
#include "agent/discover/proc_info.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/proc/cmdline.h"

enum { CGROUP_TEXT_MAX = 16 << 10 };

struct facts {
    pid_t pid;
    bool has_exe, has_arguments, has_cgroup, has_environment, has_user;
    char exe[PROC_COMMAND_MAX];
    char command_line[PROC_COMMAND_MAX];
    char script[256];
    struct cgroup cgroup;
    bool user_known;
    uid_t user;
    char *environment; /* owned: NAME=VALUE, 0, NAME=VALUE, 0 ..., and a 0 at the end */
    size_t environment_size;
};

struct facts *facts_new(void)
{
    struct facts *facts = calloc(1, sizeof(*facts));

    if (!facts)
        return NULL;
    facts->environment = malloc(FACTS_ENVIRONMENT_MAX + 1);
    if (facts->environment)
        return facts;
    free(facts);
    return NULL;
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    free(facts->environment);
    free(facts);
}

void facts_begin(struct facts *facts, pid_t pid)
{
    facts->pid = pid;
    facts->has_exe = facts->has_arguments = facts->has_cgroup = false;
    facts->has_environment = facts->has_user = false;
}

pid_t facts_pid(const struct facts *facts)
{
    return facts->pid;
}

/* Reads a file of the process, up to `max` bytes, and puts a 0 behind it. */
static size_t read_file(const struct facts *facts, const char *name, char *out, size_t max)
{
    char path[64];
    size_t size = 0;
    ssize_t got = 1;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)facts->pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && got > 0 && size < max) {
        got = read(fd, out + size, max - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    out[size] = '\0';
    return size;
}

const char *facts_exe(struct facts *facts)
{
    if (!facts->has_exe)
        proc_executable(facts->pid, facts->exe);
    facts->has_exe = true;
    return facts->exe;
}

static void read_arguments(struct facts *facts)
{
    size_t size, i;

    if (facts->has_arguments)
        return;
    facts->has_arguments = true;
    size = read_file(facts, "cmdline", facts->command_line, PROC_COMMAND_MAX - 1);
    cmdline_name_of_text(facts->command_line, size, facts->script, sizeof(facts->script));
    for (i = 0; i + 1 < size; i++)
        if (facts->command_line[i] == '\0')
            facts->command_line[i] = ' ';
}

const char *facts_command_line(struct facts *facts)
{
    read_arguments(facts);
    return facts->command_line;
}

const char *facts_script(struct facts *facts)
{
    read_arguments(facts);
    return facts->script;
}

const struct cgroup *facts_cgroup(struct facts *facts)
{
    char text[CGROUP_TEXT_MAX + 1];

    if (!facts->has_cgroup)
        cgroup_parse(text, read_file(facts, "cgroup", text, CGROUP_TEXT_MAX), &facts->cgroup);
    facts->has_cgroup = true;
    return &facts->cgroup;
}

bool facts_user(struct facts *facts, uid_t *out)
{
    if (!facts->has_user)
        facts->user_known = proc_user(facts->pid, &facts->user);
    facts->has_user = true;
    *out = facts->user;
    return facts->user_known;
}

const char *facts_variable(struct facts *facts, const char *name)
{
    size_t size = strlen(name), at = 0;
    const char *entry;

    if (!facts->has_environment)
        facts->environment_size =
            read_file(facts, "environ", facts->environment, FACTS_ENVIRONMENT_MAX);
    facts->has_environment = true;
    for (; at < facts->environment_size; at += strlen(entry) + 1) {
        entry = facts->environment + at;
        if (strncmp(entry, name, size) == 0 && entry[size] == '=')
            return entry + size + 1;
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* proc_info.c - see proc_info.h. */
#include "agent/discover/proc_info.h"

#include <stdlib.h>
#include <string.h>

#include "agent/proc/cmdline.h"

enum { CGROUP_TEXT_MAX = 16 << 10 };

struct proc_info {
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

struct proc_info *proc_info_new(void)
{
    struct proc_info *info = calloc(1, sizeof(*info));

    if (!info)
        return NULL;
    info->environment = malloc(PROC_INFO_ENVIRONMENT_MAX + 1);
    if (info->environment)
        return info;
    free(info);
    return NULL;
}

void proc_info_free(struct proc_info *info)
{
    if (!info)
        return;
    free(info->environment);
    free(info);
}

void proc_info_begin(struct proc_info *info, pid_t pid)
{
    info->pid = pid;
    info->has_exe = info->has_arguments = info->has_cgroup = false;
    info->has_environment = info->has_user = false;
}

pid_t proc_info_pid(const struct proc_info *info)
{
    return info->pid;
}

const char *proc_info_exe(struct proc_info *info)
{
    if (!info->has_exe)
        proc_executable(info->pid, info->exe);
    info->has_exe = true;
    return info->exe;
}

static void read_arguments(struct proc_info *info)
{
    size_t size;

    if (info->has_arguments)
        return;
    info->has_arguments = true;
    (void)proc_file_of(info->pid, "cmdline", info->command_line, PROC_COMMAND_MAX, &size);
    cmdline_name_of_text(info->command_line, size, info->script, sizeof(info->script));
    proc_join_arguments(info->command_line, size);
}

const char *proc_info_command_line(struct proc_info *info)
{
    read_arguments(info);
    return info->command_line;
}

const char *proc_info_script(struct proc_info *info)
{
    read_arguments(info);
    return info->script;
}

const struct cgroup *proc_info_cgroup(struct proc_info *info)
{
    char text[CGROUP_TEXT_MAX + 1];
    size_t size;

    if (!info->has_cgroup) {
        (void)proc_file_read(text, sizeof(text), &size, "/proc/%d/cgroup", (int)info->pid);
        cgroup_parse(text, size, &info->cgroup);
    }
    info->has_cgroup = true;
    return &info->cgroup;
}

bool proc_info_user(struct proc_info *info, uid_t *out)
{
    if (!info->has_user)
        info->user_known = proc_user(info->pid, &info->user) == PROC_OK;
    info->has_user = true;
    *out = info->user;
    return info->user_known;
}

const char *proc_info_variable(struct proc_info *info, const char *name)
{
    size_t size = strlen(name), at = 0;
    const char *entry;

    if (!info->has_environment)
        (void)proc_file_of(info->pid, "environ", info->environment, PROC_INFO_ENVIRONMENT_MAX + 1,
                           &info->environment_size);
    info->has_environment = true;
    for (; at < info->environment_size; at += strlen(entry) + 1) {
        entry = info->environment + at;
        if (strncmp(entry, name, size) == 0 && entry[size] == '=')
            return entry + size + 1;
    }
    return NULL;
}

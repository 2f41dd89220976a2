/* SPDX-License-Identifier: Apache-2.0 */
/* proc_info.c - see proc_info.h. */
#include "agent/discover/proc_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/proc/cmdline.h"

enum { CGROUP_TEXT_MAX = 16 << 10 };

struct proc_info {
    pid_t pid;
    struct proc_reader *reader; /* borrowed; NULL: none */
    bool unknown;
    bool has_exe, has_arguments, has_cgroup, has_environment, has_user;
    char exe[PROC_COMMAND_MAX];
    char command_line[PROC_COMMAND_MAX];
    char script[256];
    struct cgroup cgroup;
    bool user_known;
    uid_t user;
    char user_name[PROC_READER_USER_MAX];
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
    info->has_environment = info->has_user = info->unknown = false;
}

void proc_info_use_reader(struct proc_info *info, struct proc_reader *reader)
{
    info->reader = reader;
}

bool proc_info_is_unknown(const struct proc_info *info)
{
    return info->unknown;
}

void proc_info_set_unknown(struct proc_info *info)
{
    info->unknown = true;
}

/* Reads a file that may block: once it has, no other one is tried. */
static void read_blocking_file(struct proc_info *info, enum proc_reader_file file, char *out,
                               size_t size, size_t *out_size)
{
    out[0] = '\0';
    *out_size = 0;
    if (!info->unknown)
        info->unknown = proc_reader_file(info->reader, info->pid, file, out, size, out_size) ==
                        PROC_READER_UNKNOWN;
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
    read_blocking_file(info, PROC_READER_CMDLINE, info->command_line, PROC_COMMAND_MAX, &size);
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

bool proc_info_user_is(struct proc_info *info, const char *name)
{
    enum proc_reader_rc rc;
    uid_t uid, named;

    if (!proc_info_user(info, &uid))
        return false;
    rc = proc_reader_user_id(info->reader, name, &named);
    info->unknown = info->unknown || rc == PROC_READER_UNKNOWN;
    return rc == PROC_READER_OK && named == uid;
}

const char *proc_info_user_name(struct proc_info *info)
{
    uid_t uid;

    if (!proc_info_user(info, &uid))
        return "";
    if (proc_reader_user_name(info->reader, uid, info->user_name) != PROC_READER_OK)
        (void)snprintf(info->user_name, sizeof(info->user_name), "%u", (unsigned)uid);
    return info->user_name;
}

const char *proc_info_variable(struct proc_info *info, const char *name)
{
    size_t size = strlen(name), at = 0;
    const char *entry;

    if (!info->has_environment)
        read_blocking_file(info, PROC_READER_ENVIRON, info->environment,
                           PROC_INFO_ENVIRONMENT_MAX + 1, &info->environment_size);
    info->has_environment = true;
    for (; at < info->environment_size; at += strlen(entry) + 1) {
        entry = info->environment + at;
        if (strncmp(entry, name, size) == 0 && entry[size] == '=')
            return entry + size + 1;
    }
    return NULL;
}

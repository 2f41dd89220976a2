/* SPDX-License-Identifier: Apache-2.0 */
/* proc_info.c - see proc_info.h. */
#include "agent/discover/proc_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { CGROUP_TEXT_MAX = 16 << 10, MOUNTS_TEXT_MAX = 64 << 10, ANCESTORS_MAX = 64 };

struct proc_info {
    pid_t pid, stop_at;
    struct proc_reader *reader; /* borrowed; NULL: none */
    bool unknown, is_twin;
    bool has_exe, has_arguments, has_program, has_cgroup, has_environment, has_user;
    char exe[PROC_COMMAND_MAX];
    char command_line[PROC_COMMAND_MAX];
    struct cmdline_program own, program; /* by its arguments alone, and by all that is known */
    struct cgroup cgroup;
    char *mounts; /* owned: MOUNTS_TEXT_MAX bytes and a 0 */
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
    info->mounts = malloc(MOUNTS_TEXT_MAX + 1);
    if (info->environment && info->mounts)
        return info;
    proc_info_free(info);
    return NULL;
}

void proc_info_free(struct proc_info *info)
{
    if (!info)
        return;
    free(info->environment);
    free(info->mounts);
    free(info);
}

void proc_info_begin(struct proc_info *info, pid_t pid)
{
    info->pid = pid;
    info->has_exe = info->has_arguments = info->has_program = info->has_cgroup = false;
    info->has_environment = info->has_user = info->unknown = false;
}

void proc_info_use_reader(struct proc_info *info, struct proc_reader *reader)
{
    info->reader = reader;
}

void proc_info_stop_at(struct proc_info *info, pid_t pid)
{
    info->stop_at = pid;
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
static void read_blocking_file(struct proc_info *info, pid_t pid, enum proc_reader_file file,
                               char *out, size_t size, size_t *out_size)
{
    out[0] = '\0';
    *out_size = 0;
    if (!info->unknown)
        info->unknown =
            proc_reader_file(info->reader, pid, file, out, size, out_size) == PROC_READER_UNKNOWN;
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

static bool runs_python(pid_t pid, const char *command_line)
{
    char exe[PROC_COMMAND_MAX];

    proc_executable(pid, exe);
    return cmdline_is_python(exe[0] ? exe : command_line);
}

/* True if the process may have overwritten its command line, and its environment, by a title. */
static bool has_title(pid_t pid, const struct cmdline_program *program, const char *text)
{
    return program->single && (strchr(text, ' ') || !cmdline_is_python(text)) &&
           runs_python(pid, text);
}

/* Where the environment begins in what proc_reader_file gives of a Python. */
static size_t find_environment(const char *words, size_t size)
{
    size_t at = 0;

    while (at < size && words[at])
        at += strlen(words + at) + 1;
    return at < size ? at + 1 : size;
}

/* Reads what the arguments of a process say into `out`, and the text that the kernel has of them;
 * behind a title, those that Python keeps count, and `*kept` is what it keeps: owned, NULL if there
 * is no title or it cannot be read. Gives the size of the text. */
static size_t read_program(struct proc_info *info, pid_t pid, char text[PROC_COMMAND_MAX],
                           struct cmdline_program *out, char **kept, size_t *kept_size)
{
    size_t size, end;

    *kept = NULL;
    *kept_size = 0;
    read_blocking_file(info, pid, PROC_READER_CMDLINE, text, PROC_COMMAND_MAX, &size);
    cmdline_parse_text(text, size, out);
    if (!has_title(pid, out, text) || !(*kept = malloc(PROC_INFO_ENVIRONMENT_MAX + 1)))
        return size;
    read_blocking_file(info, pid, PROC_READER_PYTHON, *kept, PROC_INFO_ENVIRONMENT_MAX + 1,
                       kept_size);
    end = find_environment(*kept, *kept_size);
    if (end > 1) {
        cmdline_parse_text(*kept, end - 1, out);
        out->single = false;
    }
    return size;
}

static void read_arguments(struct proc_info *info)
{
    size_t size, kept_size, at;
    char *kept;

    if (info->has_arguments)
        return;
    info->has_arguments = true;
    size = read_program(info, info->pid, info->command_line, &info->own, &kept, &kept_size);
    proc_join_arguments(info->command_line, size);
    at = kept ? find_environment(kept, kept_size) : kept_size;
    if (at < kept_size) { /* the kernel's may be overwritten */
        memcpy(info->environment, kept + at, kept_size - at);
        info->environment_size = kept_size - at;
        info->has_environment = true;
    }
    free(kept);
}

const char *proc_info_command_line(struct proc_info *info)
{
    read_arguments(info);
    return info->command_line;
}

/* Completes what the cgroup says by the mounts. */
static void read_hidden_ids(struct proc_info *info)
{
    size_t size;

    read_blocking_file(info, info->pid, PROC_READER_MOUNTINFO, info->mounts, MOUNTS_TEXT_MAX + 1,
                       &size);
    cgroup_parse_mounts(info->mounts, size, &info->cgroup);
}

const struct cgroup *proc_info_cgroup(struct proc_info *info)
{
    char text[CGROUP_TEXT_MAX + 1];
    size_t size;

    if (!info->has_cgroup) {
        (void)proc_file_read(text, sizeof(text), &size, "/proc/%d/cgroup", (int)info->pid);
        cgroup_parse(text, size, &info->cgroup);
        if (cgroup_needs_mounts(&info->cgroup))
            read_hidden_ids(info);
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

static void read_environment(struct proc_info *info)
{
    read_arguments(info);
    if (info->has_environment)
        return;
    info->has_environment = true;
    read_blocking_file(info, info->pid, PROC_READER_ENVIRON, info->environment,
                       PROC_INFO_ENVIRONMENT_MAX + 1, &info->environment_size);
}

const char *proc_info_variable(struct proc_info *info, const char *name)
{
    size_t size = strlen(name), at = 0;
    const char *entry;

    if (!info->has_environment)
        read_environment(info);
    for (; at < info->environment_size; at += strlen(entry) + 1) {
        entry = info->environment + at;
        if (strncmp(entry, name, size) == 0 && entry[size] == '=')
            return entry + size + 1;
    }
    return NULL;
}

/* A folder that is called alike for all applications, or otherwise for each of their versions. */
static bool says_nothing(const char *path, const char *name)
{
    static const char *const alike[] = {"app",  "bin",  "code",     "conf", "config", "current",
                                        "html", "http", "releases", "src",  "www",    NULL};
    static const char releases[] = "/releases/";
    const size_t before = (size_t)(name - path);

    for (size_t i = 0; alike[i]; i++)
        if (strcmp(name, alike[i]) == 0)
            return true;
    return strspn(name, "0123456789._-") == strlen(name) ||
           (before >= strlen(releases) &&
            strncmp(name - strlen(releases), releases, strlen(releases)) == 0);
}

/* Writes the name of the innermost folder that says something: "/srv/shop" does; "/app" or a home
 * does not. Cuts the path. */
static bool name_of_folder(char *path, char *out, size_t size)
{
    char *slash;

    while ((slash = strrchr(path, '/')) && slash > path && slash[1]) {
        if (slash == path + strlen("/home") && strncmp(path, "/home/", strlen("/home/")) == 0)
            return false;
        if (!says_nothing(path, slash + 1))
            return cmdline_name_of(CMDLINE_WORD, slash + 1, out, size);
        *slash = '\0';
    }
    return false;
}

/* Writes the folder of a file; a path that is not absolute is one from the folder that the process
 * runs in. False: that cannot be seen. */
static bool folder_of_file(pid_t pid, const char *file, char *out, size_t size)
{
    static const char gone[] = " (deleted)"; /* the kernel's word behind a path */
    char link[32];
    ssize_t length;
    size_t end;

    (void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    length = file[0] == '/' ? 0 : readlink(link, out, size - 1);
    if (length < 0)
        return false;
    out[length] = '\0';
    if (text_ends_with(out, gone))
        out[length -= (ssize_t)strlen(gone)] = '\0';
    while (strncmp(file, "./", 2) == 0)
        file += 2;
    if (strcmp(file, ".") == 0)
        return true;
    (void)snprintf(out + length, size - (size_t)length, "%s%s", length > 0 ? "/" : "", file);
    end = (size_t)(file_base_name(out) - out);
    out[end > 0 ? end - 1 : 0] = '\0';
    return !strstr(out, "/..");
}

static bool set_application(struct cmdline_program *program, const char *name, const char *rule,
                            const char *of)
{
    program->kind = CMDLINE_APPLICATION;
    (void)snprintf(program->rule, sizeof(program->rule), "%s%.32s", rule, of); /* `of` may be it */
    (void)snprintf(program->name, sizeof(program->name), "%s", name);
    return true;
}

/* Names what a tool runs by its environment. False: that does not say. */
static bool name_by_variable(struct proc_info *info, struct cmdline_program *program)
{
    const char *value = program->variable ? proc_info_variable(info, program->variable) : NULL;
    char name[sizeof(program->name)];

    return value && cmdline_name_of(program->variable_form, value, name, sizeof(name)) &&
           set_application(program, name, "", program->variable);
}

/* The same by the folder that it runs in. */
static bool name_by_folder(pid_t pid, struct cmdline_program *program)
{
    char folder[PROC_COMMAND_MAX], name[sizeof(program->name)];

    return program->folder_of[0] &&
           folder_of_file(pid, program->folder_of, folder, sizeof(folder)) &&
           name_of_folder(folder, name, sizeof(name)) &&
           set_application(program, name, "folder of ",
                           program->name[0] ? program->name : "Python");
}

/* The parent of a process; 0: it has none, or none that is to be looked at. */
static pid_t parent_of(const struct proc_info *info, pid_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) == PROC_OK && stat.parent != info->stop_at &&
                   stat.parent != getpid()
               ? stat.parent
               : 0;
}

/* Finds the nearest ancestor that runs Python and is no part of a program itself. Gives its pid; 0:
 * no ancestor is such a process. */
static pid_t find_ancestor(struct proc_info *info, struct cmdline_program *out)
{
    char *text = malloc(PROC_COMMAND_MAX), *kept;
    pid_t pid = info->pid;
    size_t i, kept_size;
    bool found = false;

    for (i = 0;
         text && !found && !info->unknown && i < ANCESTORS_MAX && (pid = parent_of(info, pid)) != 0;
         i++) {
        (void)read_program(info, pid, text, out, &kept, &kept_size);
        free(kept);
        found = out->kind != CMDLINE_PART && out->kind != CMDLINE_NONE && runs_python(pid, text);
    }
    free(text);
    return found ? pid : 0;
}

/* Names a part as the program that an ancestor runs. False: no ancestor runs one. */
static bool name_by_ancestor(struct proc_info *info, struct cmdline_program *program)
{
    const enum cmdline_role role = program->role;
    struct cmdline_program above;
    const pid_t pid = find_ancestor(info, &above);

    if (pid == 0)
        return false;
    if (above.kind == CMDLINE_TOOL && !name_by_variable(info, &above))
        (void)name_by_folder(pid, &above);
    *program = above;
    program->role = role;
    (void)snprintf(program->rule, sizeof(program->rule), "part of process %d (%.28s)", (int)pid,
                   above.rule);
    return true;
}

/* Names a tool as its parent, if that has the same command line: a reloader, or what forks its
 * workers, may give them another environment or folder. False: it has another one. */
static bool name_by_twin(struct proc_info *info, struct cmdline_program *program)
{
    const pid_t pid = info->is_twin ? 0 : parent_of(info, info->pid);
    struct proc_info *parent = pid != 0 ? proc_info_new() : NULL;
    bool found = false;

    if (parent) {
        parent->is_twin = true; /* one step up is enough */
        parent->stop_at = info->stop_at;
        proc_info_use_reader(parent, info->reader);
        proc_info_begin(parent, pid);
        found = strcmp(proc_info_command_line(parent), info->command_line) == 0;
        if (found)
            *program = *proc_info_program(parent);
        info->unknown = info->unknown || parent->unknown;
    }
    proc_info_free(parent);
    return found;
}

const struct cmdline_program *proc_info_program(struct proc_info *info)
{
    struct cmdline_program *program = &info->program;

    if (info->has_program)
        return &info->program;
    info->has_program = true;
    read_arguments(info);
    info->program = info->own;
    if (program->kind == CMDLINE_TOOL && !name_by_twin(info, program) &&
        !name_by_variable(info, program))
        (void)name_by_folder(info->pid, program);
    else if (program->kind == CMDLINE_PART && !name_by_variable(info, program) &&
             !name_by_ancestor(info, program) && !info->stop_at)
        (void)name_by_folder(info->pid, program);
    return &info->program;
}

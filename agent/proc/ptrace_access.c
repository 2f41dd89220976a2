/* SPDX-License-Identifier: Apache-2.0 */
/* ptrace_access.c - see ptrace_access.h. */
#include "agent/proc/ptrace_access.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/proc/namespaces.h"
#include "agent/proc/proc.h"
#include "base/capability.h"

enum { IDS = 3 };

static const struct {
    const char *text, *cure;
} obstacles[] = {
#define PTRACE_ACCESS_ROW(name, text, cure) {text, cure},
    PTRACE_ACCESS_LIST(PTRACE_ACCESS_ROW)
#undef PTRACE_ACCESS_ROW
};

const char *ptrace_access_text(enum ptrace_access access)
{
    return obstacles[access].text;
}

const char *ptrace_access_cure(enum ptrace_access access)
{
    return obstacles[access].cure;
}

long ptrace_access_yama(void)
{
    char text[32];

    return proc_file_read(text, sizeof(text), NULL, "/proc/sys/kernel/yama/ptrace_scope") == PROC_OK
               ? strtol(text, NULL, 10)
               : -1;
}

/* Reads a byte of that process that is there in none: what the kernel says of the right to. */
static int try_read(pid_t pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? errno : 0;
}

/* The same by another way, which seccomp filters leave open. */
static int try_open(pid_t pid)
{
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/mem", (int)pid);

    if (fd < 0)
        return errno;
    (void)close(fd);
    return 0;
}

/* What is read of /proc/PID/status. */
struct status {
    char size[32], users[64], groups[64], permitted[32];
};

static enum proc_rc read_status(pid_t pid, struct status *out)
{
    const struct proc_status_field fields[] = {
        {"VmSize:", out->size, sizeof(out->size)},
        {"Uid:", out->users, sizeof(out->users)},
        {"Gid:", out->groups, sizeof(out->groups)},
        {"CapPrm:", out->permitted, sizeof(out->permitted)},
    };

    return proc_status_read(proc_file_open(AT_FDCWD, "/proc/%d/status", (int)pid), fields, 4);
}

/* True if real, effective and saved ids of the process are all `id`. */
static bool all_are(const char *ids, unsigned long id)
{
    char *end;

    for (int i = 0; i < IDS; i++, ids = end)
        if (strtoul(ids, &end, 10) != id || end == ids)
            return false;
    return true;
}

/* True if it is permitted what we are not. */
static bool is_permitted_more(const struct status *status)
{
    struct __user_cap_data_struct sets[2];
    uint64_t ours;

    if (!capability_sets(sets))
        return false;
    ours = (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
    return (strtoull(status->permitted, NULL, 16) & ~ours) != 0;
}

/* The kernel gives what /proc has of a process that is not dumpable to root. */
static bool is_root_only(pid_t pid, uid_t user)
{
    struct stat info;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    return stat(path, &info) == 0 && info.st_uid != user;
}

bool ptrace_access_calls_are_refused(void)
{
    return try_read(getpid()) != 0; /* which no other rule forbids */
}

/* The kernel's own rules let us: who else says no? A filter of calls refuses no file. */
static enum ptrace_access refused_by_rule(int open_cause)
{
    bool is_refused = open_cause == EACCES || open_cause == EPERM;

    return !is_refused && ptrace_access_calls_are_refused() ? PTRACE_ACCESS_SECCOMP
                                                            : PTRACE_ACCESS_LSM;
}

/* What stands in the way of one without CAP_SYS_PTRACE. */
static enum ptrace_access find_without(pid_t pid, const struct status *status, long yama,
                                       int open_cause)
{
    /* On the host, rights that are missing would reach into all namespaces. */
    bool reaches = namespaces_are_hosts_users() || namespaces_share_users(pid);

    if (!all_are(status->users, geteuid()) || !all_are(status->groups, getegid()))
        return reaches ? PTRACE_ACCESS_USER : PTRACE_ACCESS_USER_NAMESPACE;
    if (is_root_only(pid, geteuid()))
        return PTRACE_ACCESS_NOT_DUMPABLE;
    if (is_permitted_more(status))
        return reaches ? PTRACE_ACCESS_CAPABILITIES : PTRACE_ACCESS_USER_NAMESPACE;
    if (yama == 1 && !proc_descends(pid, getpid()))
        return PTRACE_ACCESS_YAMA;
    /* What is root's own does not tell: /proc would give it to root in any case. */
    return geteuid() == 0 ? PTRACE_ACCESS_NOT_DUMPABLE_OR_LSM : refused_by_rule(open_cause);
}

/* A process that has a status, but cannot be read by any way. */
static enum ptrace_access find_refusal(pid_t pid, const struct status *status, int open_cause)
{
    long yama = ptrace_access_yama();
    bool capable = capability_has(CAP_SYS_PTRACE);

    if (yama >= 3)
        return PTRACE_ACCESS_YAMA_OFF;
    if (yama == 2 && !capable)
        return PTRACE_ACCESS_YAMA_ADMIN;
    if (!capable)
        return find_without(pid, status, yama, open_cause);
    return namespaces_share_users(pid) ? refused_by_rule(open_cause) : PTRACE_ACCESS_USER_NAMESPACE;
}

/* `id`: of a process, or of a thread of it that is not its first. */
static enum ptrace_access find_by(pid_t id)
{
    struct status status;
    enum proc_rc rc;
    int cause = try_read(id), open_cause;

    if (cause == 0)
        return PTRACE_ACCESS_NONE;
    rc = read_status(id, &status);
    if (rc == PROC_FAILED)
        return PTRACE_ACCESS_OWN_LIMIT;
    if (rc != PROC_OK)
        return kill(id, 0) == 0 || errno == EPERM ? PTRACE_ACCESS_HIDDEN : PTRACE_ACCESS_GONE;
    if (!status.size[0]) /* which those that have ended do not have any more */
        return PTRACE_ACCESS_GONE;
    open_cause = try_open(id);
    if (open_cause == 0)
        return PTRACE_ACCESS_NONE;
    return cause == ESRCH ? PTRACE_ACCESS_GONE : find_refusal(id, &status, open_cause);
}

enum ptrace_access ptrace_access_find(pid_t pid)
{
    enum ptrace_access found = find_by(pid);
    pid_t living = found == PTRACE_ACCESS_GONE ? proc_living_thread(pid) : pid;

    return living == pid ? found : find_by(living);
}

void ptrace_access_explain(enum ptrace_access access, char *out, size_t size)
{
    (void)snprintf(out, size, "%s%s%s", ptrace_access_text(access),
                   ptrace_access_cure(access)[0] ? "; " : "", ptrace_access_cure(access));
}

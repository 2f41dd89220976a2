/* SPDX-License-Identifier: Apache-2.0 */
/* obstacle.c - see obstacle.h. */
#include "agent/obstacle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/proc.h"

enum { STATUS_BYTES = 8192, IDS = 3 };

static const struct {
    const char *label, *text, *cure;
} obstacles[] = {
#define OBSTACLE_ROW(name, label, text, cure) {label, text, cure},
    OBSTACLES(OBSTACLE_ROW)
#undef OBSTACLE_ROW
};

const char *obstacle_label(enum obstacle obstacle)
{
    return obstacles[obstacle].label;
}

const char *obstacle_text(enum obstacle obstacle)
{
    return obstacles[obstacle].text;
}

const char *obstacle_cure(enum obstacle obstacle)
{
    return obstacles[obstacle].cure;
}

long obstacle_yama(void)
{
    char text[32];

    return proc_read_small("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) > 0
               ? strtol(text, NULL, 10)
               : -1;
}

static bool read_own_sets(struct __user_cap_data_struct sets[2])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

    return syscall(SYS_capget, &head, sets) == 0;
}

bool obstacle_has_capability(unsigned capability)
{
    struct __user_cap_data_struct sets[2] = {{0}};

    return read_own_sets(sets) && sets[capability / 32].effective & UINT32_C(1) << capability % 32;
}

/* Reads a byte of that process that is there in none: what the kernel says of the right to. */
static int try_read(pid_t pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? errno : 0;
}

/* The same by another way, which seccomp filters leave open. */
static bool opens_memory(pid_t pid)
{
    char path[32];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* Whoever is in a user namespace of its own sees itself at another inode. */
static bool in_our_user_namespace(pid_t pid)
{
    struct stat ours, theirs;
    char path[48];

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    /* Not to be seen without the very right that is missing: then nothing speaks for another. */
    return stat(path, &theirs) != 0 || stat("/proc/self/ns/user", &ours) != 0 ||
           (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

/* True if pystrobe is below the first user namespace, where it may not reach others. */
static bool is_confined_to_namespace(void)
{
    char text[256];
    unsigned long inside = 1, outside = 1, count = 0;

    return proc_read_small("/proc/self/uid_map", text, sizeof(text)) > 0 &&
           sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && // NOLINT(cert-err34-c)
           !(inside == 0 && outside == 0 && count == UINT32_MAX);
}

static const char *status_line(const char *status, const char *label)
{
    const char *at = strstr(status, label);

    return at ? at + strlen(label) : NULL;
}

/* True if real, effective and saved ids of the process are all `id`. */
static bool all_are(const char *status, const char *label, unsigned long id)
{
    const char *at = status_line(status, label);
    char *end;
    int i;

    for (i = 0; at && i < IDS; i++, at = end)
        if (strtoul(at, &end, 10) != id)
            return false;
    return at != NULL;
}

/* True if it is permitted what we are not. */
static bool is_permitted_more(const char *status)
{
    const char *theirs = status_line(status, "\nCapPrm:");
    struct __user_cap_data_struct sets[2] = {{0}};
    uint64_t ours;

    if (!theirs || !read_own_sets(sets))
        return false;
    ours = (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
    return (strtoull(theirs, NULL, 16) & ~ours) != 0;
}

/* The kernel gives what /proc has of a process that is not dumpable to root. */
static bool is_root_only(pid_t pid, uid_t user)
{
    struct stat info;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    return stat(path, &info) == 0 && info.st_uid != user;
}

bool obstacle_in_calls(void)
{
    return try_read(getpid()) != 0; /* which no other rule forbids */
}

/* The kernel's own rules let us: who else says no? */
static enum obstacle refused_by_rule(void)
{
    return obstacle_in_calls() ? OBSTACLE_SECCOMP : OBSTACLE_LSM;
}

/* What stands in the way of one without CAP_SYS_PTRACE. */
static enum obstacle find_without(pid_t pid, const char *status, long yama)
{
    if (!all_are(status, "\nUid:", geteuid()) || !all_are(status, "\nGid:", getegid()))
        return is_confined_to_namespace() ? OBSTACLE_USER_NAMESPACE : OBSTACLE_USER;
    if (is_root_only(pid, geteuid()))
        return OBSTACLE_NOT_DUMPABLE;
    if (is_permitted_more(status))
        return in_our_user_namespace(pid) ? OBSTACLE_CAPABILITIES : OBSTACLE_USER_NAMESPACE;
    if (yama == 1 && !proc_descends(pid, getpid()))
        return OBSTACLE_YAMA;
    return geteuid() == 0 ? OBSTACLE_NOT_DUMPABLE : refused_by_rule();
}

enum obstacle obstacle_find(pid_t pid)
{
    char status[STATUS_BYTES], path[32];
    int cause = try_read(pid);
    bool capable;
    long yama;

    if (cause == 0)
        return OBSTACLE_NONE;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (proc_read_small(path, status, sizeof(status)) <= 0)
        return kill(pid, 0) == 0 || errno == EPERM ? OBSTACLE_HIDDEN : OBSTACLE_GONE;
    if (opens_memory(pid))
        return OBSTACLE_NONE;
    if (cause == ESRCH)
        return OBSTACLE_GONE;
    yama = obstacle_yama();
    capable = obstacle_has_capability(CAP_SYS_PTRACE);
    if (yama >= 3)
        return OBSTACLE_YAMA_OFF;
    if (yama == 2 && !capable)
        return OBSTACLE_YAMA_ADMIN;
    if (!capable)
        return find_without(pid, status, yama);
    return in_our_user_namespace(pid) && !is_confined_to_namespace() ? refused_by_rule()
                                                                     : OBSTACLE_USER_NAMESPACE;
}

void obstacle_explain(enum obstacle obstacle, char *out, size_t size)
{
    (void)snprintf(out, size, "%s%s%s", obstacle_text(obstacle),
                   obstacle_cure(obstacle)[0] ? "; " : "", obstacle_cure(obstacle));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c - see namespaces.h. */
#include "agent/proc/namespaces.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/proc/proc.h"

enum { MAP_BYTES = 4096 };

/* PROC_USER_INIT_INO and PROC_PID_INIT_INO */
static const uint64_t first_users = 0xEFFFFFFD, first_processes = 0xEFFFFFFC;

static bool is_namespace(const char *path, uint64_t number)
{
    struct stat info;

    return stat(path, &info) == 0 && info.st_ino == number;
}

bool namespaces_are_hosts_users(void)
{
    return is_namespace("/proc/self/ns/user", first_users);
}

bool namespaces_are_hosts_processes(void)
{
    return is_namespace("/proc/self/ns/pid", first_processes);
}

bool namespaces_have_own_proc(void)
{
    char name[32];
    ssize_t size = readlink("/proc/self", name, sizeof(name) - 1);

    if (size <= 0)
        return false;
    name[size] = '\0';
    return strtol(name, NULL, 10) == (long)getpid();
}

/* The kernel shows a reader its own map as its parent sees it, and others as the reader does. */
bool namespaces_share_users(pid_t pid)
{
    char path[32], ours[MAP_BYTES], theirs[MAP_BYTES];

    (void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
    return proc_read_small(path, theirs, sizeof(theirs)) <= 0 ||
           proc_read_small("/proc/self/uid_map", ours, sizeof(ours)) <= 0 ||
           strcmp(ours, theirs) == 0;
}

void namespaces_label(pid_t pid, char out[NAMESPACES_LABEL_MAX])
{
    char path[48];

    (void)snprintf(path, sizeof(path), "/proc/%d/attr/current", (int)pid);
    (void)proc_read_small(path, out, NAMESPACES_LABEL_MAX);
    out[strcspn(out, "\n")] = '\0';
}

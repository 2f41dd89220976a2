/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c - see namespaces.h. */
#include "agent/proc/namespaces.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc_file.h"

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
    char ours[MAP_BYTES], theirs[MAP_BYTES];
    size_t size;

    return proc_file_read(theirs, sizeof(theirs), &size, "/proc/%d/uid_map", (int)pid) != PROC_OK ||
           size == 0 ||
           proc_file_read(ours, sizeof(ours), &size, "/proc/self/uid_map") != PROC_OK ||
           size == 0 || strcmp(ours, theirs) == 0;
}

void namespaces_label(pid_t pid, char out[NAMESPACES_LABEL_MAX])
{
    if (proc_file_read(out, NAMESPACES_LABEL_MAX, NULL, "/proc/%d/attr/current", (int)pid) ==
        PROC_OK)
        out[strcspn(out, "\n")] = '\0';
}

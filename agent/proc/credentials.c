/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.c - see credentials.h. */
#include "agent/proc/credentials.h"

#include <ctype.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "agent/proc/proc.h"

enum { GROUPS_MAX = 256, STATUS_MAX = 8192, FILE_SYSTEM_ID = 3 };

struct credentials {
    uid_t user;
    gid_t group;
    gid_t groups[GROUPS_MAX];
    size_t group_count;
};

/* The numbers behind a label of /proc/PID/status; gives how many. */
static size_t numbers_of(const char *text, const char *label, gid_t *out, size_t max)
{
    const char *at = strstr(text, label);
    size_t count = 0;
    char *end;

    for (at = at ? at + strlen(label) : ""; count < max; at = end) {
        while (*at == ' ' || *at == '\t')
            at++;
        if (!isdigit((unsigned char)*at))
            break;
        out[count++] = (gid_t)strtoul(at, &end, 10);
    }
    return count;
}

static bool read_rights(pid_t pid, struct credentials *out)
{
    char path[64], text[STATUS_MAX];
    gid_t ids[FILE_SYSTEM_ID + 1]; /* real, effective, saved, file system */

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return false;
    if (numbers_of(text, "\nUid:", ids, FILE_SYSTEM_ID + 1) != FILE_SYSTEM_ID + 1)
        return false;
    out->user = ids[FILE_SYSTEM_ID];
    if (numbers_of(text, "\nGid:", ids, FILE_SYSTEM_ID + 1) != FILE_SYSTEM_ID + 1)
        return false;
    out->group = ids[FILE_SYSTEM_ID];
    out->group_count = numbers_of(text, "\nGroups:", out->groups, GROUPS_MAX);
    return true;
}

bool assume_credentials(pid_t pid)
{
    const uid_t no_user = (uid_t)-1; /* changes nothing, tells what is */
    struct credentials credentials;

    if (!read_rights(pid, &credentials))
        return false;
    if (credentials.user == (uid_t)setfsuid(no_user))
        return true; /* the same user: it may read what it owns */
    if (setgroups(credentials.group_count, credentials.groups) != 0)
        return false;
    (void)setfsgid(credentials.group);
    (void)setfsuid(credentials.user); /* the kernel takes away what overrides permissions, too */
    return (gid_t)setfsgid((gid_t)-1) == credentials.group &&
           (uid_t)setfsuid(no_user) == credentials.user;
}

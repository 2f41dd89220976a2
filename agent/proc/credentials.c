/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.c - see credentials.h. */
#include "agent/proc/credentials.h"

#include <ctype.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>

#include "base/proc_stat.h"

enum { GROUPS_TEXT_MAX = 4096, FILE_SYSTEM_ID = 3 };

/* The numbers of a line of /proc/PID/status; gives how many. */
static size_t read_ids(const char *at, gid_t *out, size_t max)
{
    size_t count = 0;
    char *end;

    for (; count < max; at = end) {
        while (*at == ' ' || *at == '\t')
            at++;
        if (!isdigit((unsigned char)*at))
            break;
        out[count++] = (gid_t)strtoul(at, &end, 10);
    }
    return count;
}

bool credentials_read(pid_t pid, struct credentials *out)
{
    char user[64], group[64], groups[GROUPS_TEXT_MAX];
    const struct proc_status_field fields[] = {{"Uid:", user, sizeof(user)},
                                               {"Gid:", group, sizeof(group)},
                                               {"Groups:", groups, sizeof(groups)}};
    gid_t ids[FILE_SYSTEM_ID + 1]; /* real, effective, saved, file system */

    if (proc_status_read(proc_file_open(AT_FDCWD, "/proc/%d/status", (int)pid), fields, 3) !=
        PROC_OK)
        return false;
    if (read_ids(user, ids, FILE_SYSTEM_ID + 1) != FILE_SYSTEM_ID + 1)
        return false;
    out->user = ids[FILE_SYSTEM_ID];
    if (read_ids(group, ids, FILE_SYSTEM_ID + 1) != FILE_SYSTEM_ID + 1)
        return false;
    out->group = ids[FILE_SYSTEM_ID];
    out->group_count = read_ids(groups, out->groups, CREDENTIALS_GROUPS_MAX);
    return true;
}

bool credentials_assume(const struct credentials *credentials)
{
    const uid_t no_user = (uid_t)-1; /* changes nothing, tells what is */

    if (credentials->user == (uid_t)setfsuid(no_user))
        return true; /* the same user: it may read what it owns */
    if (setgroups(credentials->group_count, credentials->groups) != 0)
        return false;
    (void)setfsgid(credentials->group);
    (void)setfsuid(credentials->user); /* the kernel takes away what overrides permissions, too */
    return (gid_t)setfsgid((gid_t)-1) == credentials->group &&
           (uid_t)setfsuid(no_user) == credentials->user;
}

bool credentials_same(const struct credentials *one, const struct credentials *other)
{
    return one->user == other->user && one->group == other->group &&
           one->group_count == other->group_count &&
           memcmp(one->groups, other->groups, one->group_count * sizeof(*one->groups)) == 0;
}

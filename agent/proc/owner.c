/* SPDX-License-Identifier: Apache-2.0 */
/* owner.c - see owner.h. */
#include "agent/proc/owner.h"

#include "agent/proc/proc.h"
#include "base/hash.h"

enum { CGROUP_TEXT_MAX = 16 << 10 };

uint64_t proc_owner(pid_t pid)
{
    char text[CGROUP_TEXT_MAX + 1];
    uid_t uid = (uid_t)-1;
    size_t size = 0;

    (void)!proc_user(pid, &uid);
    text[0] = '\0';
    (void)proc_file_read(text, sizeof(text), &size, "/proc/%d/cgroup", (int)pid);
    return hash_fnv(hash_text(text), &uid, sizeof(uid)) | 1;
}

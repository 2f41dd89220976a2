/* SPDX-License-Identifier: Apache-2.0 */
/* owner.c - see owner.h. */
#include "agent/proc/owner.h"

#include <string.h>

#include "agent/proc/proc.h"
#include "base/hash.h"

enum { CGROUP_TEXT_MAX = 16 << 10 };

/* The bytes of a path up to the end of its part "user-UID.slice"; 0: it has none. */
static size_t user_slice_size(const char *path)
{
    static const char start[] = "/user.slice/user-", end[] = ".slice";
    size_t digits;

    if (strncmp(path, start, sizeof(start) - 1) != 0)
        return 0;
    digits = strspn(path + sizeof(start) - 1, "0123456789");
    return strncmp(path + sizeof(start) - 1 + digits, end, sizeof(end) - 1) == 0
               ? sizeof(start) - 1 + digits + sizeof(end) - 1
               : 0;
}

uint64_t owner_hash(uid_t user, const struct cgroup *cgroup)
{
    const size_t slice = user_slice_size(cgroup->path);
    const uid_t is_root = user == 0;

    if (slice)
        return hash_fnv(hash_fnv(HASH_START, cgroup->path, slice), &is_root, sizeof(is_root)) | 1;
    if (cgroup->container[0])
        return hash_text(cgroup->container) | 1;
    if (cgroup->machine[0])
        return hash_text(cgroup->machine) | 1;
    return hash_fnv(hash_text(cgroup->path), &user, sizeof(user)) | 1;
}

uint64_t proc_owner(pid_t pid)
{
    char text[CGROUP_TEXT_MAX + 1];
    struct cgroup cgroup;
    size_t size = 0;
    uid_t user;

    if (proc_user(pid, &user) != PROC_OK ||
        proc_file_read(text, sizeof(text), &size, "/proc/%d/cgroup", (int)pid) != PROC_OK)
        return 0;
    cgroup_parse(text, size, &cgroup); /* not its mounts: it may choose those, and so the owner */
    return owner_hash(user, &cgroup);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* confine.c - see confine.h. */
#include "agent/child/confine.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/proc/ptrace_access.h"
#include "base/capability.h"

enum { CLOSE_MAX = 65536 };

/* Reading memory; being let onto a target's CPU in time; symbols of files in private folders;
 * files that were deleted since they were loaded (map_files). */
static const unsigned reader_capabilities[] = {CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_DAC_READ_SEARCH,
                                               CAP_CHECKPOINT_RESTORE};

/* Gives up all capabilities but these. */
static bool limit_capabilities(const unsigned *allowed, size_t count)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    uint32_t masks[2] = {0};
    bool more = false;

    if (!capability_sets(sets))
        return false;
    /* Without it, those may be read only that are permitted no more than we are. */
    if (allowed == reader_capabilities && !(sets[0].permitted & UINT32_C(1) << CAP_SYS_PTRACE))
        return true;
    for (size_t i = 0; i < count; i++)
        masks[allowed[i] / 32] |= UINT32_C(1) << allowed[i] % 32;
    for (size_t i = 0; i < 2; i++) {
        more = more || (sets[i].permitted & ~masks[i]) != 0;
        sets[i].permitted &= masks[i];
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Where there is nothing to give up, a service manager may have denied us the call. */
    return syscall(SYS_capset, &head, sets) == 0 || !more;
}

bool confine_may_help(void)
{
    return ptrace_access_yama() <= 0 || capability_has(CAP_SYS_PTRACE);
}

void confine_close_from(unsigned first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
#endif
    for (unsigned fd = first; fd < CLOSE_MAX; fd++) /* before Linux 5.9 */
        (void)close((int)fd);
}

bool confine(pid_t parent, struct err *err)
{
    const char *failed = NULL;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        failed = "its end cannot be tied to its parent's";
    else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        failed = "no_new_privs cannot be set";
    else if (!limit_capabilities(reader_capabilities,
                                 sizeof(reader_capabilities) / sizeof(reader_capabilities[0])))
        failed = "capabilities cannot be given up";
    if (failed) {
        err_set(err, "%s: %s", failed, strerror(errno));
        return false;
    }
    if (getppid() == parent) /* it may have ended before the signal was asked for */
        return true;
    err_set(err, "process %d has ended", (int)parent);
    return false;
}

bool confine_to_files(void)
{
    static const unsigned files[] = {CAP_DAC_READ_SEARCH};

    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           limit_capabilities(files, 1);
}

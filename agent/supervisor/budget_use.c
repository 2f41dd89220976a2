/* SPDX-License-Identifier: Apache-2.0 */
/* budget_use.c - what memory a process uses; see budget.h. */
#include "agent/supervisor/budget.h"

#include <unistd.h>

#include "base/proc_stat.h"

uint64_t budget_memory_of(pid_t pid)
{
    struct proc_statm pages;

    if (proc_statm_read(pid ? pid : getpid(), &pages) != PROC_OK || pages.resident < pages.shared)
        return 0;
    return (pages.resident - pages.shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* budget_use.c - what memory a process uses; see budget.h. */
#include "agent/supervisor/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/proc/proc.h"

/* From /proc/PID/statm: "size resident shared ...", in pages. */
uint64_t budget_memory_of(pid_t pid)
{
    char path[64], text[128], *at;
    unsigned long resident, shared;

    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)(pid ? pid : getpid()));
    if (proc_read_small(path, text, sizeof(text)) <= 0)
        return 0;
    (void)strtoul(text, &at, 10);
    resident = strtoul(at, &at, 10);
    shared = strtoul(at, NULL, 10);
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* budget_use.c - what memory a process uses; see budget.h. */
#include "agent/budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* From /proc/PID/statm: "size resident shared ...", in pages. */
uint64_t budget_memory_of(pid_t pid)
{
    char path[64], text[128], *at;
    unsigned long resident, shared;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)(pid ? pid : getpid()));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    (void)strtoul(text, &at, 10);
    resident = strtoul(at, &at, 10);
    shared = strtoul(at, NULL, 10);
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

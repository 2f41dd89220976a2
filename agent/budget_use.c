/* SPDX-License-Identifier: Apache-2.0 */
/* budget_use.c - what this process uses; see budget.h. */
#include "agent/budget.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Pages in memory that are its own, from /proc/self/statm: "size resident shared ...". */
static uint64_t own_pages(void)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    unsigned long resident, shared;
    char text[128], *at;
    ssize_t got;

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
    return resident > shared ? resident - shared : 0;
}

void budget_own_use(struct budget_use *out)
{
    struct timespec time = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    out->cpu_ns = (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
    out->memory_bytes = own_pages() * (uint64_t)sysconf(_SC_PAGESIZE);
}

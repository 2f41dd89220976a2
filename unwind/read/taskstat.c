/* SPDX-License-Identifier: Apache-2.0 */
/* taskstat.c - see taskstat.h. */
#include "unwind/read/taskstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELD_STATE = 3, FIELD_THREADS = 20, FIELD_PROCESSOR = 39 }; /* proc(5) */

int taskstat_open(int proc_fd, pid_t tid, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
    return openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Reads a small file whole from its start; false: the thread is gone. */
static bool reread(int fd, char *out, size_t size)
{
    ssize_t got = fd < 0 ? -1 : pread(fd, out, size - 1, 0);

    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

bool taskstat_reread_sched(int fd, struct taskstat_sched *out)
{
    char text[128], *at;

    if (!reread(fd, text, sizeof(text)))
        return false;
    out->cpu_ns = strtoull(text, &at, 10);
    out->wait_ns = strtoull(at, &at, 10);
    out->turns = strtoull(at, NULL, 10);
    return true;
}

/* The number in a later field; `at` is before `field`. -1: there is none. */
static int read_stat_field(const char **at, int *field, int wanted)
{
    for (; *at && *field < wanted; ++*field)
        *at = strchr(*at + 1, ' ');
    return *at ? (int)strtol(*at + 1, NULL, 10) : -1;
}

bool taskstat_reread(int fd, struct taskstat *out)
{
    char text[1024];
    const char *at;
    int field = FIELD_STATE - 1;

    if (!reread(fd, text, sizeof(text)))
        return false;
    at = strrchr(text, ')'); /* the thread's name itself may hold ')' */
    if (!at || strlen(at) < 3)
        return false;
    out->state = at[2];
    out->threads = read_stat_field(&at, &field, FIELD_THREADS);
    out->cpu = read_stat_field(&at, &field, FIELD_PROCESSOR);
    return true;
}

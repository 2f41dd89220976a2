/* SPDX-License-Identifier: Apache-2.0 */
/* taskstat.c - see taskstat.h. */
#include "unwind/taskstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELD_STATE = 3, FIELD_PROCESSOR = 39 }; /* proc(5) */

/* Reads a small file of a thread whole; false: the thread is gone. */
static bool read_file(int proc_fd, pid_t tid, const char *name, char *out, size_t size)
{
    char path[64];
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
    fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        (void)close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void parse_sched(const char *text, struct taskstat_sched *out)
{
    char *at;

    out->cpu_ns = strtoull(text, &at, 10);
    (void)strtoull(at, &at, 10); /* the time that it waited for a CPU */
    out->turns = strtoull(at, NULL, 10);
}

bool taskstat_read_sched(int proc_fd, pid_t tid, struct taskstat_sched *out)
{
    char text[128];

    if (!read_file(proc_fd, tid, "schedstat", text, sizeof(text)))
        return false;
    parse_sched(text, out);
    return true;
}

int taskstat_open_sched(int proc_fd, pid_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "task/%d/schedstat", (int)tid);
    return openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

bool taskstat_reread_sched(int fd, struct taskstat_sched *out)
{
    char text[128];
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    *out = (struct taskstat_sched){0};
    text[got > 0 ? got : 0] = '\0';
    if (got > 0)
        parse_sched(text, out);
    return got > 0;
}

bool taskstat_read(int proc_fd, pid_t tid, struct taskstat *out)
{
    char text[1024], *at;
    int field;

    if (!read_file(proc_fd, tid, "stat", text, sizeof(text)))
        return false;
    at = strrchr(text, ')'); /* the thread's name itself may hold ')' */
    if (!at || strlen(at) < 3)
        return false;
    out->state = at[2];
    for (field = FIELD_STATE - 1; at && field < FIELD_PROCESSOR; field++)
        at = strchr(at + 1, ' ');
    out->cpu = at ? (int)strtol(at + 1, NULL, 10) : -1;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_measured.c - runs a command and writes down what it took: OUT COMMAND [ARGUMENT...].
 *
 * OUT gets one JSON object: {"status", "wall_ns", "cpu_ns", "peak_kib", "voluntary_switches"}.
 * CPU time is that of all its threads and of the children that it waited for. The peak is of
 * its resident memory; the kernel counts into that what the process held before it was exec'd,
 * so it must not be forked off a Python: hence this small program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time_units.h"

static int64_t monotonic_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)timespec_to_ns(now);
}

static int64_t ns_of(const struct timeval *time)
{
    return ((int64_t)time->tv_sec * 1000000 + time->tv_usec) * 1000;
}

/* The command's exit status, 128 + N if signal N ended it. */
static int status_of(int waited)
{
    return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

static int write_down(const char *path, int status, int64_t wall_ns, const struct rusage *usage)
{
    FILE *file = fopen(path, "we");

    if (!file) {
        (void)fprintf(stderr, "run_measured: %s: %s\n", path, strerror(errno));
        return EXIT_FAILURE;
    }
    (void)fprintf(file,
                  "{\"status\": %d, \"wall_ns\": %" PRId64 ", \"cpu_ns\": %" PRId64
                  ", \"peak_kib\": %ld, \"voluntary_switches\": %ld}\n",
                  status, wall_ns, ns_of(&usage->ru_utime) + ns_of(&usage->ru_stime),
                  usage->ru_maxrss, usage->ru_nvcsw);
    return fclose(file) == 0 ? status : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int64_t start_ns = monotonic_ns();
    struct rusage usage;
    int waited;
    pid_t pid;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: run_measured OUT COMMAND [ARGUMENT...]\n");
        return 64;
    }
    pid = fork();
    if (pid == 0) {
        (void)execvp(argv[2], argv + 2);
        (void)fprintf(stderr, "run_measured: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    while (pid > 0 && wait4(pid, &waited, 0, &usage) < 0)
        if (errno != EINTR)
            pid = -1;
    if (pid < 0) {
        (void)fprintf(stderr, "run_measured: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    return write_down(argv[1], status_of(waited), monotonic_ns() - start_ns, &usage);
}

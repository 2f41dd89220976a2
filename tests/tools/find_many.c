/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_many.c - what it costs to look for processes on a host with many: find_many COUNT SCANS
 * [poll].
 *
 * Starts so many that sleep, has a finder look through /proc until it knows them, and so many times
 * more, each a second later by the clock that the finder is told. Reads /proc alone as often, in
 * turns with the finder: that is the least that looking can cost. With "poll" the kernel does not
 * tell of execs. Prints a line of JSON.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/finder.h"

enum { COUNT_MAX = 20000, LEARNING_MAX = 10000 };

struct measured {
    uint64_t scan_ns, read_ns; /* CPU time of all scans, of all plain readings */
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    (void)ctx;
    (void)pid;
    (void)stat;
    (void)out;
    return false;
}

/* One that sleeps until its parent ends. */
static pid_t start_one(pid_t parent)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        (void)pause();
    _exit(0);
}

/* Gives how many there are of those that were asked for. */
static size_t start_all(pid_t *pids, size_t count)
{
    pid_t parent = getpid();
    size_t i;

    for (i = 0; i < count; i++) {
        pids[i] = start_one(parent);
        if (pids[i] < 0)
            break;
    }
    return i;
}

static void end_all(const pid_t *pids, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        (void)kill(pids[i], SIGKILL);
    for (i = 0; i < count; i++)
        (void)waitpid(pids[i], NULL, 0);
}

static void read_proc(void)
{
    DIR *dir = opendir("/proc");

    while (dir && readdir(dir)) {
    }
    if (dir)
        (void)closedir(dir);
}

/* Scans until nothing is left to do at once; gives the moment of the last one. */
static uint64_t learn(struct finder *finder, size_t count)
{
    uint64_t now_ns = clock_mono_ns();
    struct finder_stats stats = {0};
    unsigned i;

    for (i = 0; i < LEARNING_MAX && stats.known < count; i++) {
        finder_scan(finder, now_ns);
        finder_stats(finder, &stats);
        now_ns = finder_next_ns(finder);
    }
    return now_ns;
}

static struct measured measure(struct finder *finder, unsigned long scans, uint64_t now_ns)
{
    struct measured sum = {0};
    unsigned long i;
    uint64_t before;

    for (i = 0; i < scans; i++) {
        before = cpu_ns();
        finder_scan(finder, now_ns += NS_PER_S);
        sum.scan_ns += cpu_ns() - before;
        before = cpu_ns();
        read_proc();
        sum.read_ns += cpu_ns() - before;
    }
    return sum;
}

int main(int argc, char **argv)
{
    const unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long scans = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const struct finder_settings settings = {
        .choose = choose, .scan_ns = NS_PER_S, .polls = argc > 3 && strcmp(argv[3], "poll") == 0};
    pid_t *pids = count > 0 && count <= COUNT_MAX ? calloc(count, sizeof(*pids)) : NULL;
    struct finder *finder = pids ? finder_new(&settings) : NULL;
    struct finder_stats learned, stats;
    struct measured sum;
    size_t started;

    if (!finder) {
        (void)fprintf(stderr, "usage: find_many COUNT SCANS [poll]\n");
        free(pids);
        return EXIT_FAILURE;
    }
    started = start_all(pids, count);
    sum.read_ns = learn(finder, started);
    finder_stats(finder, &learned);
    sum = measure(finder, scans, sum.read_ns);
    finder_stats(finder, &stats);
    end_all(pids, started);
    (void)printf("{\"started\": %zu, \"known\": %zu, \"notices\": %s, \"first_looks\": %lu, "
                 "\"looks\": %lu, \"checks\": %lu, \"scan_us\": %.1f, \"read_us\": %.1f}\n",
                 started, stats.known, stats.notices ? "true" : "false",
                 (unsigned long)learned.looks, (unsigned long)(stats.looks - learned.looks),
                 (unsigned long)(stats.checks - learned.checks),
                 (double)sum.scan_ns / 1e3 / (double)scans,
                 (double)sum.read_ns / 1e3 / (double)scans);
    finder_free(finder);
    free(pids);
    return EXIT_SUCCESS;
}

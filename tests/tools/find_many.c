/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_many.c - what it costs to look for processes on a host with many: find_many COUNT SCANS
 * [poll].
 *
 * Starts so many that sleep, has a finder look through /proc until it knows them, and so many times
 * more, each a second later by the clock that the finder is told. Reads /proc alone as often, in
 * turns with the finder: that is the least that looking can cost. Then the first one and the last
 * one run another program, and the finder looks once more, at a time when all others are due to be
 * looked at again. With "poll" the kernel does not tell of execs. Prints a line of JSON.
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

#include "agent/discover/finder.h"
#include "agent/host/clock.h"

enum { COUNT_MAX = 20000, LEARNING_MAX = 10000, EXEC_WAITS = 1000, LATE_SCANS_MAX = 100 };

#define AN_HOUR_NS                                                                \
    (3600 * NS_PER_S) /* more than the longest wait before one is looked at again \
                       */

/* Those that exec at the end, and how often the finder looked at them. */
struct late {
    pid_t first, last;
    unsigned first_looks, last_looks;
};

struct measured {
    uint64_t scan_ns, read_ns; /* CPU time of all scans, of all plain readings */
    uint64_t ended_ns;         /* when the last scan was, by the finder's clock */
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return timespec_to_ns(now);
}

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct target_profile *out)
{
    struct late *late = ctx;

    (void)stat;
    (void)out;
    late->first_looks += pid == late->first;
    late->last_looks += pid == late->last;
    return false;
}

/* One that sleeps until its parent ends, or until SIGUSR1 has it sleep in another program. */
static pid_t start_one(pid_t parent)
{
    sigset_t wanted;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGUSR1);
    if (getppid() == parent && sigwaitinfo(&wanted, NULL) == SIGUSR1)
        (void)execl("/bin/sleep", "sleep", "3600", (char *)NULL);
    _exit(0);
}

/* Gives how many there are of those that were asked for. */
static size_t start_all(pid_t *pids, size_t count)
{
    pid_t parent = getpid();
    sigset_t wanted;
    size_t i;

    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &wanted, NULL);
    for (i = 0; i < count; i++) {
        pids[i] = start_one(parent);
        if (pids[i] < 0)
            break;
    }
    return i;
}

/* Has one exec, and waits until it sleeps in its program; false: it does not. */
static bool exec_one(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
    const uint64_t mark = proc_exe_mark(pid);
    struct proc_stat stat;
    int i;

    (void)kill(pid, SIGUSR1);
    for (i = 0; i < EXEC_WAITS; i++) {
        (void)nanosleep(&pause, NULL);
        if (proc_exe_mark(pid) != mark && proc_stat_read(pid, &stat) == PROC_OK &&
            stat.state == 'S')
            return true;
    }
    return false;
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
    sum.ended_ns = now_ns;
    return sum;
}

/* How many scans it takes until the finder has seen both late ones, at a time when it is to look at
 * all others again; 0: too many. One, but where others start more programs than a scan looks at. */
static unsigned see_late(struct finder *finder, struct late *late, uint64_t now_ns)
{
    unsigned scans = 0;

    if (!exec_one(late->first) || !exec_one(late->last))
        return 0;
    late->first_looks = late->last_looks = 0;
    now_ns += AN_HOUR_NS;
    while (scans++ < LATE_SCANS_MAX) {
        finder_scan(finder, now_ns);
        if (late->first_looks > 0 && late->last_looks > 0)
            return scans;
        now_ns = finder_next_ns(finder);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long scans = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct late late = {0};
    const struct finder_settings settings = {.choose = choose,
                                             .choose_ctx = &late,
                                             .scan_ns = NS_PER_S,
                                             .polls = argc > 3 && strcmp(argv[3], "poll") == 0};
    pid_t *pids = count > 0 && count <= COUNT_MAX ? calloc(count, sizeof(*pids)) : NULL;
    struct finder *finder = pids ? finder_new(&settings) : NULL;
    struct finder_stats learned, stats;
    struct measured sum;
    size_t started;
    unsigned late_scans;

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
    late = (struct late){.first = pids[0], .last = pids[started - 1]};
    late_scans = see_late(finder, &late, sum.ended_ns);
    end_all(pids, started);
    (void)printf("{\"started\": %zu, \"known\": %zu, \"notices\": %s, \"first_looks\": %lu, "
                 "\"looks\": %lu, \"checks\": %lu, \"late_scans\": %u, \"scan_us\": %.1f, "
                 "\"read_us\": %.1f}\n",
                 started, stats.known, stats.notices ? "true" : "false",
                 (unsigned long)learned.looks, (unsigned long)(stats.looks - learned.looks),
                 (unsigned long)(stats.checks - learned.checks), late_scans,
                 (double)sum.scan_ns / 1e3 / (double)scans,
                 (double)sum.read_ns / 1e3 / (double)scans);
    finder_free(finder);
    free(pids);
    return EXIT_SUCCESS;
}

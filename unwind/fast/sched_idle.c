/* SPDX-License-Identifier: Apache-2.0 */
/* sched_idle.c - see sched_idle.h. */
#include "unwind/fast/sched_idle.h"

#include <unistd.h>

#include "unwind/read/taskstat.h"

/* Waiting for less than this part of what a thread runs is no more than what sampling causes. */
enum { WAIT_PART = 8, PATIENCE_MAX = 64 };

/* Times that a thread is not seen running before its stat is closed: files are scarce where there
 * are thousands of threads, and most of them sleep. */
enum { IDLE_MAX = 8 };

/*
 * A thread that has used and waited for CPUs for as long as passed between two looks has not slept
 * in between, and runs. The looks themselves come up to some microseconds after its CPU was taken
 * each time, and clocks differ by less than a thousandth.
 */
enum { SLIGHT_NS = 4000, SLIGHT_PART = 1024 };

void slumber_init(struct slumber *slumber)
{
    *slumber = (struct slumber){.fd = -1, .stat_fd = -1, .idle = IDLE_MAX, .cpu = -1};
}

void slumber_finish(struct slumber *slumber)
{
    if (slumber->fd >= 0)
        (void)close(slumber->fd);
    if (slumber->stat_fd >= 0)
        (void)close(slumber->stat_fd);
    slumber_init(slumber);
}

/* Reads what the scheduler has counted; notes whether it sleeps on. */
static bool count(struct slumber *slumber, int proc_fd, pid_t tid)
{
    struct taskstat_sched now;

    if (slumber->fd < 0 && proc_fd >= 0 && tid != 0)
        slumber->fd = taskstat_open(proc_fd, tid, "schedstat");
    if (!taskstat_reread_sched(slumber->fd, &now)) {
        slumber->asleep = false;
        return false;
    }
    slumber->asleep &= now.turns == slumber->turns;
    if (now.wait_ns != slumber->wait_ns || now.cpu_ns != slumber->cpu_ns)
        slumber->queued =
            now.wait_ns - slumber->wait_ns > (now.cpu_ns - slumber->cpu_ns) / WAIT_PART;
    slumber->turns = now.turns;
    slumber->wait_ns = now.wait_ns;
    slumber->cpu_ns = now.cpu_ns;
    return true;
}

static char state_of(struct slumber *slumber, int proc_fd, pid_t tid)
{
    struct taskstat stat = {.state = '?', .cpu = -1};

    if (slumber->stat_fd < 0 && proc_fd >= 0 && tid != 0)
        slumber->stat_fd = taskstat_open(proc_fd, tid, "stat");
    if (!taskstat_reread(slumber->stat_fd, &stat))
        return '?';
    slumber->sole = stat.threads == 1;
    slumber->cpu = stat.cpu;
    slumber->idle = stat.state == 'R' ? 0 : slumber->idle + 1;
    if (slumber->idle > IDLE_MAX) {
        (void)close(slumber->stat_fd);
        slumber->stat_fd = -1;
    }
    return stat.state;
}

/* Notes that it sleeps, if it does and the kernel counts; where it does not, it says 0. */
static void fall_asleep(struct slumber *slumber, int proc_fd, pid_t tid)
{
    uint64_t turns = slumber->turns;

    slumber->asleep = turns > 0 && count(slumber, proc_fd, tid) && slumber->turns == turns;
    slumber->read = false;
}

bool slumber_goes_on(struct slumber *slumber)
{
    return slumber->asleep && count(slumber, -1, 0) && slumber->asleep;
}

bool slumber_lasts(struct slumber *slumber)
{
    return slumber_goes_on(slumber) && slumber->read;
}

/* What it has used and waited was counted up to when its CPU was taken. */
static void note_awake(struct slumber *slumber, uint64_t woke_ns)
{
    slumber->woke_ns = woke_ns;
    slumber->woke_sum_ns = slumber->cpu_ns + slumber->wait_ns;
}

/* True if it has run or waited for a CPU since the last look, until we took that. */
static bool has_gone_on(const struct slumber *slumber, const struct slumber_here *here)
{
    const uint64_t passed = here->woke_ns - slumber->woke_ns;
    const uint64_t used = slumber->cpu_ns + slumber->wait_ns - slumber->woke_sum_ns;
    const uint64_t apart = passed > used ? passed - used : used - passed;

    return here->woke_ns != 0 && slumber->woke_ns != 0 && apart <= SLIGHT_NS + passed / SLIGHT_PART;
}

bool slumber_is_ready(struct slumber *slumber, int proc_fd, pid_t tid,
                      const struct slumber_here *here)
{
    const bool counted = count(slumber, proc_fd, tid);
    char state;

    slumber->cpu = -1;
    if (counted && slumber->asleep)
        return false;
    if (counted && has_gone_on(slumber, here)) {
        note_awake(slumber, here->woke_ns);
        slumber->cpu = here->cpu;
        return true;
    }
    state = state_of(slumber, proc_fd, tid);
    note_awake(slumber, counted && state == 'R' && slumber->cpu == here->cpu ? here->woke_ns : 0);
    if (state == 'S' || state == 'D') {
        fall_asleep(slumber, proc_fd, tid);
        slumber->late = true; /* the stack of this sample was fetched already */
    }
    return state == 'R';
}

void slumber_runs(struct slumber *slumber, int proc_fd, pid_t tid, int cpu)
{
    (void)count(slumber, proc_fd, tid);
    slumber->asleep = slumber->late = false;
    slumber->cpu = cpu;
    slumber->woke_ns = 0;
}

void slumber_was_read(struct slumber *slumber)
{
    slumber->read = slumber->asleep && !slumber->late;
    slumber->late = false;
}

void slumber_note(struct slumber *slumber, int proc_fd, pid_t tid, bool same)
{
    bool slept = slumber->asleep;
    char state;

    slumber_was_read(slumber);
    if (slept || !same || slumber->passed++ < slumber->patience || !count(slumber, proc_fd, tid))
        return;
    state = state_of(slumber, proc_fd, tid);
    if (state == 'S' || state == 'D')
        fall_asleep(slumber, proc_fd, tid);
    slumber->passed = 0;
    slumber->patience = slumber->asleep                    ? 0
                        : slumber->patience < PATIENCE_MAX ? slumber->patience * 2 + 1
                                                           : PATIENCE_MAX;
}

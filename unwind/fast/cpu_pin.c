/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pin.c - see cpu_pin.h. */
#include "unwind/fast/cpu_pin.h"

#include <time.h>
#include <unistd.h>

#include "unwind/read/taskstat.h"

/*
 * Moving alone is not enough. It asks the other CPU to reschedule by an interrupt from
 * here, and where that is slower than the target's next system call (virtual machines),
 * the target stops at the end of that call: every sample would show it. A timer that
 * ends a sleep on the target's own CPU takes it from the target wherever it is.
 * Measured: a thread that calls clock_gettime each 10 us and spends 92 % elsewhere was
 * seen there in 66 to 77 % of the samples without the sleep, in 90 to 94 % with it.
 */
enum { MOMENT_NS = 50000 };

/* Lets the calling thread go before all ordinary ones; where that is not allowed, nothing. */
static void hurry(struct seat *seat)
{
    const struct sched_param lowest = {.sched_priority = 1};

    if (seat->hurries || seat->denied)
        return;
    slice_read(&seat->ordinary);
    seat->hurries =
        sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
    seat->denied = !seat->hurries;
}

void seat_calm(struct seat *seat)
{
    const struct sched_param none = {.sched_priority = 0};

    /* sched_setscheduler would forget the time slice that was asked for. */
    if (seat->hurries && !slice_apply(&seat->ordinary))
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    seat->hurries = false;
}

void seat_init(struct seat *seat, int proc_fd)
{
    *seat = (struct seat){.proc_fd = proc_fd, .beside = -1, .stat_fd = -1};
}

void seat_finish(struct seat *seat)
{
    seat_leave(seat);
    if (seat->stat_fd >= 0)
        (void)close(seat->stat_fd);
    seat->stat_fd = -1;
}

/* What the kernel says of a thread; its file stays open, as it is asked about again and again. */
static bool look_at(struct seat *seat, pid_t tid, struct taskstat *out)
{
    if (seat->proc_fd < 0 || tid == 0)
        return false;
    if (seat->watched == tid && taskstat_reread(seat->stat_fd, out))
        return true;
    if (seat->stat_fd >= 0)
        (void)close(seat->stat_fd);
    seat->stat_fd = taskstat_open(seat->proc_fd, tid, "stat");
    seat->watched = tid;
    return taskstat_reread(seat->stat_fd, out);
}

/* Knows where the calling thread may run; false: it does not, or there is no such CPU. */
static bool know_allowed(struct seat *seat, int cpu)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    if (!seat->moved) /* read each time: an administrator may change it */
        seat->known = sched_getaffinity(0, sizeof(seat->allowed), &seat->allowed) == 0;
    return seat->known;
}

/* Moves it; notes whose CPU that is, or which it keeps away from. */
static bool run_on(struct seat *seat, const cpu_set_t *cpus, pid_t tid, int cpu, int beside)
{
    if (sched_setaffinity(0, sizeof(*cpus), cpus) != 0)
        return false;
    seat->moved = true;
    seat->tid = tid;
    seat->cpu = cpu;
    seat->beside = beside;
    return true;
}

bool seat_move_to(struct seat *seat, pid_t tid, int cpu)
{
    cpu_set_t one;

    if (!know_allowed(seat, cpu) || !CPU_ISSET((size_t)cpu, &seat->allowed))
        return false;
    hurry(seat);
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (seat->moved && sched_getcpu() == cpu && seat->cpu == cpu)
        return true;
    return run_on(seat, &one, tid, cpu, -1);
}

bool seat_beside(struct seat *seat, int cpu)
{
    cpu_set_t others;

    if (!know_allowed(seat, cpu))
        return false;
    if (seat->moved && seat->beside == cpu)
        return true;
    others = seat->allowed;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) == 0)
        return false;
    hurry(seat);
    return run_on(seat, &others, 0, -1, cpu);
}

int seat_cpu_of(struct seat *seat, pid_t tid)
{
    struct taskstat stat;

    return look_at(seat, tid, &stat) ? stat.cpu : -1;
}

bool seat_move(struct seat *seat, pid_t tid, bool asleep_too)
{
    struct taskstat stat;

    return look_at(seat, tid, &stat) && (stat.state == 'R' || asleep_too) &&
           seat_move_to(seat, tid, stat.cpu);
}

void seat_rest(void)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

bool seat_take(struct seat *seat, pid_t tid)
{
    if (!seat_move(seat, tid, false))
        return false;
    seat_rest();
    return true;
}

bool seat_keep(struct seat *seat, pid_t tid)
{
    return !(seat->tid == tid && sched_getcpu() == seat->cpu) && seat_take(seat, tid);
}

void seat_leave(struct seat *seat)
{
    seat_calm(seat);
    if (seat->moved)
        (void)sched_setaffinity(0, sizeof(seat->allowed), &seat->allowed);
    seat->moved = seat->stays = false;
    seat->beside = -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pin.c - see cpu_pin.h. */
#include "unwind/fast/cpu_pin.h"

#include <time.h>
#include <unistd.h>

#include "base/proc_stat.h"

/*
 * Moving alone is not enough. It asks the other CPU to reschedule by an interrupt from
 * here, and where that is slower than the target's next system call (virtual machines),
 * the target stops at the end of that call: every sample would show it. A timer that
 * ends a sleep on the target's own CPU takes it from the target wherever it is.
 * Measured: a thread that calls clock_gettime each 10 us and spends 92 % elsewhere was
 * seen there in 66 to 77 % of the samples without the sleep, in 90 to 94 % with it.
 */
enum { MOMENT_NS = 50000 };

/* Gives the calling thread real-time priority, if it may have that. */
static void become_realtime(struct cpu_pin *cpu_pin)
{
    const struct sched_param lowest = {.sched_priority = 1};

    if (cpu_pin->realtime || cpu_pin->denied)
        return;
    slice_read(&cpu_pin->ordinary);
    cpu_pin->realtime =
        sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
    cpu_pin->denied = !cpu_pin->realtime;
}

void cpu_pin_end_realtime(struct cpu_pin *cpu_pin)
{
    const struct sched_param none = {.sched_priority = 0};

    /* sched_setscheduler would forget the time slice that was asked for. */
    if (cpu_pin->realtime && !slice_apply(&cpu_pin->ordinary))
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    cpu_pin->realtime = false;
}

void cpu_pin_init(struct cpu_pin *cpu_pin, int proc_fd)
{
    *cpu_pin = (struct cpu_pin){.proc_fd = proc_fd, .avoided_cpu = -1, .stat_fd = -1};
}

static void close_stat(struct cpu_pin *cpu_pin)
{
    if (cpu_pin->stat_fd >= 0)
        (void)close(cpu_pin->stat_fd);
    cpu_pin->stat_fd = -1;
}

void cpu_pin_finish(struct cpu_pin *cpu_pin)
{
    cpu_pin_release(cpu_pin);
    close_stat(cpu_pin);
}

/* Reads the stat of a thread; the file stays open, because the same thread is read many times. */
static bool read_watched_stat(struct cpu_pin *cpu_pin, pid_t tid, struct proc_stat *out)
{
    if (cpu_pin->proc_fd < 0 || tid == 0)
        return false;
    cpu_pin->unused = 0;
    if (cpu_pin->watched == tid && proc_stat_reread(cpu_pin->stat_fd, out) == PROC_OK)
        return true;
    close_stat(cpu_pin);
    cpu_pin->stat_fd = proc_file_open(cpu_pin->proc_fd, "task/%d/stat", (int)tid);
    cpu_pin->watched = tid;
    return proc_stat_reread(cpu_pin->stat_fd, out) == PROC_OK;
}

/* Reads the affinity of the calling thread; false: it cannot, or there is no such CPU. */
static bool know_allowed(struct cpu_pin *cpu_pin, int cpu)
{
    if (cpu_pin->proc_fd < 0 || cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    if (!cpu_pin->moved) /* read each time: an administrator may change it */
        cpu_pin->known = sched_getaffinity(0, sizeof(cpu_pin->allowed), &cpu_pin->allowed) == 0;
    return cpu_pin->known;
}

/* Sets the affinity; notes the thread and CPU that are taken, or the CPU that is avoided. */
static bool run_on(struct cpu_pin *cpu_pin, const cpu_set_t *cpus, pid_t tid, int cpu,
                   int avoided_cpu)
{
    if (sched_setaffinity(0, sizeof(*cpus), cpus) != 0)
        return false;
    cpu_pin->moved = true;
    cpu_pin->tid = tid;
    cpu_pin->cpu = cpu;
    cpu_pin->avoided_cpu = avoided_cpu;
    return true;
}

bool cpu_pin_move_to(struct cpu_pin *cpu_pin, pid_t tid, int cpu)
{
    cpu_set_t one;

    if (!know_allowed(cpu_pin, cpu) || !CPU_ISSET((size_t)cpu, &cpu_pin->allowed))
        return false;
    become_realtime(cpu_pin);
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (cpu_pin->moved && sched_getcpu() == cpu && cpu_pin->cpu == cpu)
        return true;
    return run_on(cpu_pin, &one, tid, cpu, -1);
}

bool cpu_pin_avoid(struct cpu_pin *cpu_pin, int cpu)
{
    cpu_set_t others;

    if (!know_allowed(cpu_pin, cpu))
        return false;
    if (cpu_pin->moved && cpu_pin->avoided_cpu == cpu)
        return true;
    others = cpu_pin->allowed;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) == 0)
        return false;
    become_realtime(cpu_pin);
    return run_on(cpu_pin, &others, 0, -1, cpu);
}

int cpu_pin_cpu_of(struct cpu_pin *cpu_pin, pid_t tid)
{
    struct proc_stat stat;

    return read_watched_stat(cpu_pin, tid, &stat) ? stat.cpu : -1;
}

bool cpu_pin_move(struct cpu_pin *cpu_pin, pid_t tid, bool asleep_too)
{
    struct proc_stat stat;

    return read_watched_stat(cpu_pin, tid, &stat) && (stat.state == 'R' || asleep_too) &&
           cpu_pin_move_to(cpu_pin, tid, stat.cpu);
}

bool cpu_pin_take(struct cpu_pin *cpu_pin, pid_t tid)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};

    if (!cpu_pin_move(cpu_pin, tid, false))
        return false;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    return true;
}

bool cpu_pin_hold(struct cpu_pin *cpu_pin, pid_t tid)
{
    const bool has = cpu_pin->moved && cpu_pin->tid == tid && sched_getcpu() == cpu_pin->cpu;

    return !has && cpu_pin_take(cpu_pin, tid);
}

void cpu_pin_release(struct cpu_pin *cpu_pin)
{
    cpu_pin_end_realtime(cpu_pin);
    if (cpu_pin->moved)
        (void)sched_setaffinity(0, sizeof(cpu_pin->allowed), &cpu_pin->allowed);
    cpu_pin->moved = cpu_pin->stays = false;
    cpu_pin->avoided_cpu = -1;
    if (++cpu_pin->unused >= CPU_PIN_UNUSED_MAX)
        close_stat(cpu_pin);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sched_idle.c - see sched_idle.h. */
#include "unwind/fast/sched_idle.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/proc_stat.h"

enum { SKIP_MAX = 64 };

/*
 * A thread whose CPU time and waiting time add up to the time between two looks has not slept
 * between them, and runs. Each look is up to some microseconds later than the moment when its CPU
 * was taken, and clocks differ by less than a thousandth.
 */
enum { SLIGHT_NS = 4000, SLIGHT_PART = 1024 };

/* One takes the CPU from the other where a turn ends and the next begins at one time, or nearly,
 * and the other has not waited for it. */
enum { HANDOVER_NS = 2000, WAITED_NS = 50000 };

/* A thread that has waited for so long since the sample before may wait now. */
enum { WAITS_NS = 1000000 };

void sched_idle_init(struct sched_idle *sched_idle)
{
    *sched_idle =
        (struct sched_idle){.fd = -1, .stat_fd = -1, .sched_fd = -1, .cpu = -1, .slept_on = -1};
}

static void close_kept(struct sched_idle *sched_idle)
{
    if (sched_idle->stat_fd >= 0)
        (void)close(sched_idle->stat_fd);
    if (sched_idle->sched_fd >= 0)
        (void)close(sched_idle->sched_fd);
    if (sched_idle->kept)
        *sched_idle->kept = NULL;
    sched_idle->stat_fd = sched_idle->sched_fd = -1;
    sched_idle->kept = NULL;
}

/* Gives a thread a place for its open files, which another may have to leave. */
static void keep(struct sched_idle *sched_idle, struct sched_idle_files *files)
{
    struct sched_idle **place = &files->open[files->next];

    if (sched_idle->kept)
        return;
    files->next = (files->next + 1) % files->max;
    if (*place)
        close_kept(*place);
    *place = sched_idle;
    sched_idle->kept = place;
}

size_t sched_idle_files_left(const struct sched_idle_files *files)
{
    size_t left = 2 * files->max + (files->own.is_open ? 0 : 2);

    for (size_t i = 0; i < files->max; i++)
        if (files->open[i])
            left -= files->open[i]->sched_fd >= 0 ? 2 : 1;
    return left;
}

void sched_idle_files_finish(struct sched_idle_files *files)
{
    for (size_t i = 0; i < files->max; i++)
        if (files->open[i])
            close_kept(files->open[i]);
    if (files->own.is_open && files->own.sched_fd >= 0)
        (void)close(files->own.sched_fd);
    if (files->own.is_open && files->own.schedstat_fd >= 0)
        (void)close(files->own.schedstat_fd);
    files->own = (struct sched_idle_own){.is_open = false};
}

void sched_idle_finish(struct sched_idle *sched_idle)
{
    if (sched_idle->fd >= 0)
        (void)close(sched_idle->fd);
    close_kept(sched_idle);
    sched_idle_init(sched_idle);
}

static int open_thread_file(struct sched_idle *sched_idle, int proc_fd, pid_t tid, const char *name)
{
    int fd;

    if (proc_fd < 0 || tid == 0)
        return -1;
    fd = proc_file_open(proc_fd, "task/%d/%s", (int)tid, name);
    sched_idle->is_short |= fd < 0 && proc_is_short(errno);
    return fd;
}

/* Reads the scheduler's counters; notes whether the thread has slept on. */
static bool read_sched_counters(struct sched_idle *sched_idle, int proc_fd, pid_t tid)
{
    struct proc_sched now;

    if (sched_idle->fd < 0)
        sched_idle->fd = open_thread_file(sched_idle, proc_fd, tid, "schedstat");
    if (proc_sched_reread(sched_idle->fd, &now) != PROC_OK) {
        sched_idle->asleep = false;
        return false;
    }
    sched_idle->asleep &= now.turns == sched_idle->turns;
    sched_idle->turns = now.turns;
    sched_idle->wait_ns = now.wait_ns;
    sched_idle->cpu_ns = now.cpu_ns;
    return true;
}

static char read_sched_state(struct sched_idle *sched_idle, struct sched_idle_files *files,
                             int proc_fd, pid_t tid)
{
    struct proc_stat stat;

    if (sched_idle->stat_fd < 0) {
        sched_idle->stat_fd = open_thread_file(sched_idle, proc_fd, tid, "stat");
        if (sched_idle->stat_fd >= 0)
            keep(sched_idle, files);
    }
    if (proc_stat_reread(sched_idle->stat_fd, &stat) != PROC_OK)
        return '?';
    sched_idle->only_thread = stat.threads == 1;
    sched_idle->cpu = stat.cpu;
    return stat.state;
}

/*
 * Notes that the thread sleeps. Its turns were counted before: if it has had one since, it has
 * another count when it is asked next. 0: the kernel does not count.
 */
static void fall_asleep(struct sched_idle *sched_idle)
{
    sched_idle->asleep = sched_idle->turns > 0;
    sched_idle->read = false;
    sched_idle->lately = SCHED_IDLE_LATELY;
    sched_idle->slept_on = sched_idle->cpu;
}

bool sched_idle_since_look(struct sched_idle *sched_idle)
{
    return sched_idle->asleep && read_sched_counters(sched_idle, -1, 0) && sched_idle->asleep;
}

bool sched_idle_since_read(struct sched_idle *sched_idle)
{
    return sched_idle_since_look(sched_idle) && sched_idle->read;
}

static bool is_sleep(char state)
{
    return state == 'S' || state == 'D';
}

/* Finds out whether the calling thread had to wait for its turn. */
static bool has_waited(struct sched_idle_own *own)
{
    struct proc_sched now;

    if (proc_sched_reread(own->schedstat_fd, &now) != PROC_OK || now.turns == own->turns)
        return own->waited;
    own->waited = now.wait_ns - own->wait_ns > (now.turns - own->turns) * WAITED_NS;
    own->turns = now.turns;
    own->wait_ns = now.wait_ns;
    return own->waited;
}

/* True if the calling thread has taken the CPU from a thread with these turns. */
static bool has_taken_cpu_of(struct sched_idle_own *own, const struct proc_turns *its)
{
    struct proc_turns turns;

    if (!own->is_open) {
        own->sched_fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
        own->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        own->is_open = true;
    }
    return proc_turns_reread(own->sched_fd, &turns) == PROC_OK &&
           turns.counted_ns - its->counted_ns <= HANDOVER_NS && !has_waited(own);
}

/* True if a thread has a CPU, or had until we took it. */
static bool has_cpu(const struct sched_idle *sched_idle, struct sched_idle_files *files,
                    const struct proc_turns *its)
{
    return its->ended < sched_idle->turns ||
           (sched_idle->cpu == sched_getcpu() && has_taken_cpu_of(&files->own, its));
}

/* Tells whether a thread that is ready to run has a CPU, or waits for one: see sched_idle_look. */
static enum sched_idle_look look_for_cpu(struct sched_idle *sched_idle,
                                         struct sched_idle_files *files, int proc_fd, pid_t tid)
{
    struct proc_turns its;

    if (sched_idle->sched_fd < 0) {
        sched_idle->sched_fd = open_thread_file(sched_idle, proc_fd, tid, "sched");
        if (sched_idle->sched_fd >= 0)
            keep(sched_idle, files);
    }
    if (proc_turns_reread(sched_idle->sched_fd, &its) != PROC_OK)
        return SCHED_IDLE_RUNS;
    if (its.slept != sched_idle->slept && !has_cpu(sched_idle, files, &its))
        return SCHED_IDLE_WAITS;
    sched_idle->slept = its.slept;
    return SCHED_IDLE_RUNS;
}

bool sched_idle_look(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                     pid_t tid)
{
    char state;

    sched_idle->look = SCHED_IDLE_NO_LOOK;
    if (sched_idle->lately == 0)
        return false;
    sched_idle->lately--;
    if (!read_sched_counters(sched_idle, proc_fd, tid))
        return false;
    if (sched_idle->asleep) {
        sched_idle->lately = SCHED_IDLE_LATELY;
        sched_idle->look = SCHED_IDLE_SLEPT;
        return sched_idle->read;
    }
    state = read_sched_state(sched_idle, files, proc_fd, tid);
    if (is_sleep(state)) {
        fall_asleep(sched_idle);
        sched_idle->look = SCHED_IDLE_SLEPT;
    } else if (state == 'R') {
        sched_idle->look = look_for_cpu(sched_idle, files, proc_fd, tid);
    }
    return false;
}

/* The counters are up to date at the moment when its CPU was taken. */
static void note_awake(struct sched_idle *sched_idle, uint64_t woke_ns)
{
    sched_idle->woke_ns = woke_ns;
    sched_idle->woke_sum_ns = sched_idle->cpu_ns + sched_idle->wait_ns;
}

/* True if it ran or waited for a CPU all the time from the last look until its CPU was taken. */
static bool ran_on(const struct sched_idle *sched_idle, const struct sched_idle_wake *wake)
{
    const uint64_t passed = wake->woke_ns - sched_idle->woke_ns;
    const uint64_t used = sched_idle->cpu_ns + sched_idle->wait_ns - sched_idle->woke_sum_ns;
    const uint64_t difference = passed > used ? passed - used : used - passed;

    return wake->woke_ns != 0 && sched_idle->woke_ns != 0 &&
           difference <= SLIGHT_NS + passed / SLIGHT_PART;
}

/* Asks for the state of a thread whose stack has been fetched already. */
static bool ask_state(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                      pid_t tid, uint64_t woke_ns, int woke_cpu)
{
    const char state = read_sched_state(sched_idle, files, proc_fd, tid);

    note_awake(sched_idle, state == 'R' && sched_idle->cpu == woke_cpu ? woke_ns : 0);
    if (is_sleep(state)) {
        fall_asleep(sched_idle);
        sched_idle->stale = true;
    }
    return state == 'R';
}

/* True if a thread runs or waits for a CPU now: asks for its state, unless its counters tell. */
static bool is_ready_now(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                         pid_t tid, const struct sched_idle_wake *wake)
{
    if (!ran_on(sched_idle, wake))
        return ask_state(sched_idle, files, proc_fd, tid, wake->woke_ns, wake->cpu);
    note_awake(sched_idle, wake->woke_ns);
    sched_idle->cpu = wake->cpu;
    return true;
}

bool sched_idle_is_ready(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                         pid_t tid, const struct sched_idle_wake *wake)
{
    const uint64_t turns = sched_idle->turns, cpu_ns = sched_idle->cpu_ns;
    const uint64_t wait_ns = sched_idle->wait_ns;
    enum sched_idle_look look = sched_idle->look;
    const bool counted = look == SCHED_IDLE_SLEPT || read_sched_counters(sched_idle, proc_fd, tid);
    bool is_ready;

    look = counted ? look : SCHED_IDLE_NO_LOOK;
    sched_idle->bursts = look != SCHED_IDLE_NO_LOOK;
    sched_idle->look = SCHED_IDLE_NO_LOOK;
    sched_idle->cpu_wait = look == SCHED_IDLE_WAITS;
    if (look == SCHED_IDLE_WAITS ||
        (look == SCHED_IDLE_RUNS && sched_idle->turns == turns && sched_idle->cpu_ns == cpu_ns))
        return true;
    sched_idle->cpu = -1;
    if (look == SCHED_IDLE_SLEPT || (counted && sched_idle->asleep))
        return false;
    if (!counted)
        return ask_state(sched_idle, files, proc_fd, tid, 0, wake->cpu);
    is_ready = is_ready_now(sched_idle, files, proc_fd, tid, wake);
    if (look == SCHED_IDLE_RUNS)
        sched_idle->cpu_wait = !is_ready || sched_idle->turns != turns;
    else if (is_ready && (sched_idle->lately > 0 || sched_idle->cpu_ns == cpu_ns ||
                          sched_idle->wait_ns - wait_ns >= WAITS_NS))
        sched_idle->cpu_wait = look_for_cpu(sched_idle, files, proc_fd, tid) == SCHED_IDLE_WAITS;
    return is_ready || sched_idle->cpu_wait;
}

void sched_idle_runs(struct sched_idle *sched_idle, int proc_fd, pid_t tid, int cpu)
{
    (void)read_sched_counters(sched_idle, proc_fd, tid);
    sched_idle->asleep = sched_idle->stale = sched_idle->cpu_wait = false;
    sched_idle->look = SCHED_IDLE_NO_LOOK;
    sched_idle->cpu = cpu;
    sched_idle->woke_ns = 0;
}

void sched_idle_was_read(struct sched_idle *sched_idle)
{
    sched_idle->read = sched_idle->asleep && !sched_idle->stale;
    sched_idle->stale = false;
}

void sched_idle_note(struct sched_idle *sched_idle, struct sched_idle_files *files, int proc_fd,
                     pid_t tid, bool same)
{
    bool slept = sched_idle->asleep;
    char state;

    sched_idle_was_read(sched_idle);
    if (slept || !same || sched_idle->looks_skipped++ < sched_idle->looks_to_skip ||
        !read_sched_counters(sched_idle, proc_fd, tid))
        return;
    state = read_sched_state(sched_idle, files, proc_fd, tid);
    if (is_sleep(state))
        fall_asleep(sched_idle);
    sched_idle->looks_skipped = 0;
    sched_idle->looks_to_skip = sched_idle->asleep ? 0
                                : sched_idle->looks_to_skip < SKIP_MAX
                                    ? sched_idle->looks_to_skip * 2 + 1
                                    : SKIP_MAX;
}

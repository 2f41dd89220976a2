/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - see idle.h. */
#include "agent/sampling/idle.h"

#include "agent/sampling/gil_stuck.h"
#include "base/time_units.h"

/* A process that has done nothing for so long is looked at in each IDLE_EACH-th tick only, later
 * each time a IDLE_PART of what it has rested has passed, and at least each IDLE_MOST_NS. */
#define IDLE_LONG_NS (300 * NS_PER_MS)
#define IDLE_MOST_NS (400 * NS_PER_MS)

enum { IDLE_PART = 16 };

bool idle_clock_moved(struct process *p)
{
    uint64_t now;

    if (!p->has_clock || !proc_clock_ns(p->clock, &now) || now < p->cpu_ns)
        return true; /* less: another process has the number */
    if (now == p->cpu_ns)
        return false;
    p->cpu_ns = now;
    return true;
}

/* All threads have rested until now, and so in `count` samples that were not taken. */
static void note_idle(struct process *p, uint64_t count, uint64_t now_ns)
{
    p->idle.count += count;
    p->idle.since_ns = p->last_ns = now_ns;
}

/* It was idle until the last cheap check, because its clock had not moved. */
static void trust_cheap_checks(struct process *p)
{
    if (p->idle.cheap_checks > 0)
        note_idle(p, p->idle.cheap_check_ticks, p->idle.cheap_check_ns);
    p->idle.cheap_checks = p->idle.cheap_check_ticks = 0;
}

/* All have rested until now, in the midst of the ticks that the next sample stands for. */
static void note_idle_so_far(struct process *p, uint64_t now_ns)
{
    uint64_t period_ns = p->service->period_ns;
    uint64_t passed = period_ns > 0 ? (now_ns - p->last_ns) / period_ns : 0;

    passed = passed < p->idle.ticks ? passed : p->idle.ticks - 1;
    p->idle.ticks -= passed;
    note_idle(p, passed, now_ns);
}

bool idle_commit(struct process *p, uint64_t now_ns)
{
    bool moved = idle_clock_moved(p);

    if (moved)
        p->idle.moved_ns = now_ns;
    if (moved || !process_may_be_idle(p)) {
        trust_cheap_checks(p);
        return false;
    }
    if (!cpy_asleep(p->target))
        return false;
    trust_cheap_checks(p);
    note_idle_so_far(p, now_ns);
    return true;
}

void idle_forget(struct process *p)
{
    p->idle.whole_ns = p->idle.cheap_checks = p->idle.cheap_check_ticks = 0;
    p->idle.goes_on = p->idle.runs = false;
}

/* True if the clock, which has not moved, is all that is asked this time. */
static bool cheap_check(struct process *p, uint64_t now_ns)
{
    if (p->idle.ticks == 1 || p->idle.cheap_checks + 1 >= CHEAP_CHECKS)
        return false;
    p->idle.cheap_checks++;
    p->idle.cheap_check_ticks += p->idle.ticks;
    p->idle.cheap_check_ns = now_ns;
    return true;
}

/* True if it has run since the last sample. Of one with few threads that was seen to run the clock
 * is not asked. */
static bool process_has_run(struct process *p, uint64_t now_ns)
{
    enum { FEW_THREADS = 4 };
    const bool runs = p->idle.runs;

    if (runs && p->thread_count < FEW_THREADS)
        return true;
    p->idle.clock_read_ns = p->has_clock ? now_ns : 0;
    return idle_clock_moved(p) || runs;
}

uint64_t idle_sample_weight(struct process *p, uint64_t now_ns, bool alone)
{
    uint64_t weight = p->idle.ticks;

    if (process_has_run(p, now_ns)) {
        trust_cheap_checks(p);
        p->idle.moved_ns = now_ns;
        p->idle.goes_on = false;
        return weight;
    }
    if (!process_may_be_idle(p)) {
        p->idle.goes_on = p->idle.goes_on && (alone || cpy_asleep(p->target));
        return weight;
    }
    if (!alone && cheap_check(p, now_ns))
        return 0;
    if (!alone && !cpy_asleep(p->target)) {
        p->idle.moved_ns = now_ns;
        return weight + p->idle.cheap_check_ticks;
    }
    trust_cheap_checks(p);
    note_idle(p, weight, now_ns);
    return 0;
}

uint64_t process_ticks(const struct process *p)
{
    return p->idle.ticks;
}

void process_leave_idle(struct process *p, uint64_t now_ns)
{
    p->idle.moved_ns = now_ns;
    p->idle.ticks = 1;
}

/* How many ticks to leave a process alone that has rested for so long. */
static uint64_t ticks_of_idle(const struct process *p, uint64_t rested_ns)
{
    uint64_t span_ns = rested_ns / IDLE_PART, period_ns = p->service->period_ns, ticks;

    span_ns = span_ns < IDLE_MOST_NS ? span_ns : IDLE_MOST_NS;
    ticks = period_ns > 0 ? span_ns / period_ns : 0;
    return ticks > IDLE_EACH ? ticks : IDLE_EACH;
}

void idle_set_ticks(struct process *p, uint64_t now_ns)
{
    uint64_t rested_ns = process_may_be_idle(p) ? now_ns - p->idle.moved_ns : 0;

    if (rested_ns < IDLE_LONG_NS || gil_stuck_is_open(p)) {
        p->idle.ticks = 1;
        return;
    }
    if (p->idle.ticks == 1)
        cpy_trim(p->target);
    p->idle.ticks = ticks_of_idle(p, rested_ns);
}

bool process_may_be_idle(const struct process *p)
{
    return p->idle.whole_ns != 0 && p->idle.whole_ns == p->service->start_ns;
}

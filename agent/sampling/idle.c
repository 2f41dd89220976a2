/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - see idle.h. */
#include "agent/sampling/idle.h"

#include "agent/sampling/gil_stuck.h"

/* A process that has done nothing for so long is looked at in each REST_EACH-th tick only, later
 * each time a REST_PART of what it has rested has passed, and at least each REST_MOST_NS. */
#define REST_LONG_NS UINT64_C(300000000)
#define REST_MOST_NS UINT64_C(400000000)

enum { REST_PART = 16 };

bool rest_clock_moved(struct process *p)
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
static void note_rest(struct process *p, uint64_t count, uint64_t now_ns)
{
    p->rest.count += count;
    p->rest.since_ns = p->last_ns = now_ns;
}

/* It has rested until the last glance, as its clock has told. */
static void trust_glances(struct process *p)
{
    if (p->rest.glances > 0)
        note_rest(p, p->rest.glanced, p->rest.glance_ns);
    p->rest.glances = p->rest.glanced = 0;
}

/* All have rested until now, in the midst of the ticks that the next sample stands for. */
static void note_rest_so_far(struct process *p, uint64_t now_ns)
{
    uint64_t period_ns = p->service->period_ns;
    uint64_t passed = period_ns > 0 ? (now_ns - p->last_ns) / period_ns : 0;

    passed = passed < p->rest.ticks ? passed : p->rest.ticks - 1;
    p->rest.ticks -= passed;
    note_rest(p, passed, now_ns);
}

bool rest_settle(struct process *p, uint64_t now_ns)
{
    bool moved = rest_clock_moved(p);

    if (moved)
        p->rest.moved_ns = now_ns;
    if (moved || !process_may_rest(p)) {
        trust_glances(p);
        return false;
    }
    if (!cpy_asleep(p->target))
        return false;
    trust_glances(p);
    note_rest_so_far(p, now_ns);
    return true;
}

void rest_forget(struct process *p)
{
    p->rest.whole_ns = p->rest.glances = p->rest.glanced = 0;
    p->rest.goes_on = p->rest.runs = false;
}

/* True if the clock, which has not moved, is all that is asked this time. */
static bool glance(struct process *p, uint64_t now_ns)
{
    if (p->rest.ticks == 1 || p->rest.glances + 1 >= GLANCES)
        return false;
    p->rest.glances++;
    p->rest.glanced += p->rest.ticks;
    p->rest.glance_ns = now_ns;
    return true;
}

uint64_t rest_odds(struct process *p, uint64_t now_ns, bool alone)
{
    uint64_t odds = p->rest.ticks;

    if (p->rest.runs || rest_clock_moved(p)) {
        trust_glances(p);
        p->rest.moved_ns = now_ns;
        p->rest.goes_on = false;
        return odds;
    }
    if (!process_may_rest(p)) {
        p->rest.goes_on = p->rest.goes_on && (alone || cpy_asleep(p->target));
        return odds;
    }
    if (!alone && glance(p, now_ns))
        return 0;
    if (!alone && !cpy_asleep(p->target)) {
        p->rest.moved_ns = now_ns;
        return odds + p->rest.glanced;
    }
    trust_glances(p);
    note_rest(p, odds, now_ns);
    return 0;
}

uint64_t process_ticks(const struct process *p)
{
    return p->rest.ticks;
}

void process_rouse(struct process *p, uint64_t now_ns)
{
    p->rest.moved_ns = now_ns;
    p->rest.ticks = 1;
}

/* How many ticks to leave a process alone that has rested for so long. */
static uint64_t ticks_of_rest(const struct process *p, uint64_t rested_ns)
{
    uint64_t span_ns = rested_ns / REST_PART, period_ns = p->service->period_ns, ticks;

    span_ns = span_ns < REST_MOST_NS ? span_ns : REST_MOST_NS;
    ticks = period_ns > 0 ? span_ns / period_ns : 0;
    return ticks > REST_EACH ? ticks : REST_EACH;
}

void rest_set_ticks(struct process *p, uint64_t now_ns)
{
    uint64_t rested_ns = process_may_rest(p) ? now_ns - p->rest.moved_ns : 0;

    if (rested_ns < REST_LONG_NS || stuck_is_open(p)) {
        p->rest.ticks = 1;
        return;
    }
    if (p->rest.ticks == 1)
        cpy_trim(p->target);
    p->rest.ticks = ticks_of_rest(p, rested_ns);
}

bool process_may_rest(const struct process *p)
{
    return p->rest.whole_ns != 0 && p->rest.whole_ns == p->service->start_ns;
}

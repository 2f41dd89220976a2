/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_budget.c - keeps the supervisor and its samplers to the budget; see
 * supervisor_internal.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/child/child_process.h"
#include "agent/host/asked_use.h"
#include "agent/host/log.h"
#include "agent/supervisor/supervisor_internal.h"
#include "base/text.h"
#include "base/time_units.h"

/* What a target that is left out frees: so many times what it adds to profiles, which are held by
 * its sampler, here and while they are encoded; and its own state. */
enum { PROFILE_COPIES = 3, TARGET_BYTES = 32 << 10 };

static void leave_target_out(struct supervisor *f, struct proc_id id, const char *why,
                             uint64_t now_ns)
{
    supervisor_drop(f, id);
    supervisor_refuse(f, id, why, now_ns);
}

/* The memory of children: of captured commands, or of the others. */
static uint64_t children_memory(bool captured)
{
    pid_t pids[CHILD_PROCESS_MAX];
    size_t i, count = child_process_running(pids, captured);
    uint64_t bytes = 0;

    for (i = 0; i < count; i++)
        bytes += budget_memory_of(pids[i]);
    return bytes;
}

/* What all processes of ours use: captured commands run because users asked for something. */
static struct budget_use use_of(const struct supervisor *f)
{
    const uint64_t captured_bytes = children_memory(true), captured_ns = child_process_cpu_ns(true);
    struct budget_use use = {.cpu_ns = 0};
    struct timespec own = {0};

    use.memory_bytes = budget_memory_of(0);
    use.asked_memory_bytes = asked_use_memory(); /* of it */
    if (use.asked_memory_bytes > use.memory_bytes)
        use.asked_memory_bytes = use.memory_bytes;
    use.memory_bytes += captured_bytes + children_memory(false);
    use.asked_memory_bytes += captured_bytes;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    use.cpu_ns = timespec_to_ns(own) + child_process_cpu_ns(false) + captured_ns;
    use.asked_cpu_ns = asked_use_cpu_ns() + captured_ns;
    supervisor_add_costs(f, &use);
    return use;
}

/* A sampler reports costs, and a target may have corrupted it. */
static double valid_cost(double cost)
{
    return isfinite(cost) && cost > 0 ? cost : 0;
}

/* Tells the targets what they may use. */
static void set_shares(struct supervisor *f, const struct fair_share_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i == 0 || targets[i].owner != targets[i - 1].owner)
            supervisor_set_share(f, targets[i].owner, targets[i].share_ns);
}

static void leave_out_marked(struct supervisor *f, const struct fair_share_target *targets,
                             size_t count, uint64_t now_ns)
{
    static const char why[] = "left out: one sample a second takes too much of the CPU time that "
                              "pystrobe may use (max_cpu)";
    const struct assignment *assignment;

    for (size_t i = 0; i < count; i++)
        if (targets[i].left_out &&
            (assignment = assignments_find(&f->assignments, targets[i].id)) && assignment->sampling)
            leave_target_out(f, targets[i].id, why, now_ns);
}

static struct fair_share_target *targets_of(const struct supervisor *f, uint64_t now_ns)
{
    const struct assignments *all = &f->assignments;
    struct fair_share_target *targets = calloc(all->count + 1, sizeof(*targets));

    for (size_t i = 0; targets && i < all->count; i++) {
        const struct assignment *assignment = &all->items[i];
        const struct burst *burst =
            bursts_of(&f->bursts, assignment->id, assignment->service, now_ns);

        targets[i].id = assignment->id;
        targets[i].owner = assignment->profile.owner;
        targets[i].tick_ns = valid_cost(assignment->counts.tick_ns);
        targets[i].wanted_hz = burst ? burst->rate_hz : assignment->profile.rate_hz;
        targets[i].left_out = !assignment->sampling;
    }
    if (targets)
        fair_share_sort(targets, all->count);
    return targets;
}

static void log_slowed(const struct supervisor *f)
{
    const struct budget_state *state = &f->budget.state;
    char why[64] = "would use far more CPU time in a minute";

    if (f->budget.spent)
        (void)snprintf(why, sizeof(why), "used %.2f s of CPU time in the last minute",
                       state->used_cpu_ns / NS_PER_S);
    log_line(LOG_LEVEL_WARNING,
             "sampling %zu of %zu %s less often, the most expensive first, as low as %.3g Hz: "
             "pystrobe %s and may use %.2f s (max_cpu = %.3g%%; as asked for it would take %.3g%%)",
             state->slowed, f->assignments.count,
             text_plural(f->assignments.count, "process", "processes"), state->slowest_hz, why,
             state->promised.cpu * 60, 100 * state->promised.cpu, 100 * state->wanted_cpu);
}

/* Divides the CPU time between the targets. */
static void divide_cpu(struct supervisor *f, uint64_t now_ns)
{
    struct fair_share_target *targets = targets_of(f, now_ns);
    enum budget_news news;
    const size_t count = f->assignments.count;

    if (!targets)
        return; /* the shares stay as they are */
    if (budget_divide(&f->budget, targets, count, bursts_any(&f->bursts, now_ns)) > 0)
        leave_out_marked(f, targets, count, now_ns);
    set_shares(f, targets, count);
    free(targets);
    news = budget_news(&f->budget);
    if (news == BUDGET_NEWS_SLOWED)
        log_slowed(f);
    else if (news == BUDGET_NEWS_FULL)
        log_line(LOG_LEVEL_INFO, "sampling at the configured rate again");
}

static struct assignment *largest(const struct assignments *all)
{
    struct assignment *best = NULL;

    for (size_t i = 0; i < all->count; i++)
        if (!best ||
            valid_cost(all->items[i].counts.recent_bytes) > valid_cost(best->counts.recent_bytes))
            best = &all->items[i];
    return best;
}

/* Leaves out those that add most to profiles, half of all at most. */
static void free_memory(struct supervisor *f, uint64_t now_ns)
{
    const double excess = (double)f->budget.excess_memory_bytes;
    const size_t count = f->assignments.count;
    struct assignment *target;
    double freed = 0;

    while (freed < excess && f->assignments.count > count / 2 &&
           (target = largest(&f->assignments))) {
        freed += valid_cost(target->counts.recent_bytes) * PROFILE_COPIES + TARGET_BYTES;
        f->budget.state.left_out++;
        leave_target_out(f, target->id, "left out: pystrobe uses too much memory (max_memory)",
                         now_ns);
    }
    if (f->assignments.count < count)
        log_line(LOG_LEVEL_WARNING,
                 "sampling %zu of %zu processes: pystrobe uses %.1f MiB and may use %.1f MiB "
                 "(max_memory)",
                 f->assignments.count, count, (double)f->budget.state.used_memory_bytes / (1 << 20),
                 (double)f->budget.state.promised.memory_bytes / (1 << 20));
}

void supervisor_step_budget(struct supervisor *f, uint64_t now_ns)
{
    const struct budget_use use = use_of(f);

    budget_step(&f->budget, &use, now_ns);
    divide_cpu(f, now_ns);
    free_memory(f, now_ns);
    f->budget_ns = now_ns + BUDGET_STEP_NS;
}

const struct budget_state *supervisor_budget(const struct supervisor *f)
{
    return &f->budget.state;
}

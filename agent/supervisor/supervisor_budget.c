/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_budget.c - keeps the supervisor and its samplers to the budget; see
 * supervisor_internal.h. */
#include <time.h>

#include "agent/child/child_process.h"
#include "agent/host/asked_use.h"
#include "agent/host/log.h"
#include "agent/sampling/ticks.h"
#include "agent/supervisor/supervisor_internal.h"
#include "base/time_units.h"

/* Looking for processes may take so much of what was promised before that gets rarer, too: who
 * becomes Python is to be found within a second. */
#define FINDER_PART 0.75

/* Gives up the process that has been sampled for the shortest time; false: there is none. */
static bool drop_newest(struct supervisor *f, uint64_t now_ns)
{
    struct assignment *last = NULL;
    struct proc_id id;

    for (size_t i = 0; i < f->assignments.count; i++)
        if (!last || f->assignments.items[i].began_ns > last->began_ns)
            last = &f->assignments.items[i];
    if (!last)
        return false;
    id = last->id;
    supervisor_drop(f, id);
    supervisor_refuse(f, id, "left out: pystrobe may use no more (max_cpu, max_memory)", now_ns);
    f->budget.state.dropped_targets++;
    return true;
}

/* How much the periods may be stretched: as far as that of the fastest target. */
static double factor_max(const struct supervisor *f, uint64_t now_ns)
{
    return ticks_stretch_max((uint64_t)((double)NS_PER_S / supervisor_fastest_hz(f, now_ns)));
}

/* The memory of the processes that run because people asked for something. */
static uint64_t captured_memory(void)
{
    pid_t pids[CHILD_PROCESS_MAX];
    size_t i, count = child_process_captured(pids);
    uint64_t bytes = 0;

    for (i = 0; i < count; i++)
        bytes += budget_memory_of(pids[i]);
    return bytes;
}

static struct budget_use use_of(const struct supervisor *f, uint64_t now_ns)
{
    const uint64_t captured_ns = child_process_captured_cpu_ns(), captured = captured_memory();
    struct budget_use use = {.targets = f->assignments.count, .factor_max = factor_max(f, now_ns)};
    struct timespec own = {0};

    use.memory_bytes = budget_memory_of(0);
    use.asked_memory_bytes = asked_use_memory(); /* of it */
    if (use.asked_memory_bytes > use.memory_bytes)
        use.asked_memory_bytes = use.memory_bytes;
    use.memory_bytes += captured;
    use.asked_memory_bytes += captured;
    for (size_t i = 0; i < SAMPLERS; i++)
        if (sampler_process_runs(&f->samplers[i]))
            use.memory_bytes += budget_memory_of(f->samplers[i].child.pid);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    use.cpu_ns = timespec_to_ns(own) + supervisor_cpu_ns(f) + captured_ns;
    use.asked_cpu_ns = asked_use_cpu_ns() + captured_ns;
    return use;
}

static void log_less_often(const struct budget_state *state)
{
    const struct budget_limits *promised = &state->promised;

    if (promised->memory_bytes > 0 && state->used_memory_bytes > promised->memory_bytes)
        log_line(LOG_LEVEL_WARNING,
                 "sampling less often: pystrobe uses %.1f MiB and may use %.1f MiB (max_memory)",
                 (double)state->used_memory_bytes / (1 << 20),
                 (double)promised->memory_bytes / (1 << 20));
    else
        log_line(
            LOG_LEVEL_WARNING,
            "sampling less often: pystrobe used %.2f %% of a core and may use %.2f %% (max_cpu)",
            state->used_cpu * 100, promised->cpu * 100);
}

static void log_budget(const struct budget_state *state, double before,
                       const struct budget_use *use)
{
    if (state->factor > 1 && before <= 1)
        log_less_often(state);
    else if (state->factor <= 1 && before > 1)
        log_line(LOG_LEVEL_INFO, "sampling as often as asked again");
    if (use->targets > state->targets_max)
        log_line(LOG_LEVEL_WARNING, "sampling %zu of %zu processes: more would take too much %s",
                 state->targets_max, use->targets,
                 state->factor >= use->factor_max ? "CPU time (max_cpu)" : "memory (max_memory)");
}

void supervisor_step_budget(struct supervisor *f, uint64_t now_ns)
{
    struct budget_state *state = &f->budget.state;
    const struct budget_use use = use_of(f, now_ns);
    const double before = state->factor;

    budget_step(&f->budget, &use, now_ns);
    log_budget(state, before, &use);
    finder_stretch(f->finder, state->factor, state->promised.cpu * FINDER_PART);
    for (size_t i = 0; i < SAMPLERS && state->factor != before; i++)
        supervisor_send_stretch(f, &f->samplers[i]);
    while (f->assignments.count > state->targets_max && drop_newest(f, now_ns)) {
    }
    f->budget_ns = now_ns + BUDGET_STEP_NS;
}

const struct budget_state *supervisor_budget(const struct supervisor *f)
{
    return &f->budget.state;
}

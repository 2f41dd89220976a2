/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c - see budget.h. */
#include "agent/budget.h"

/* CPU time is saved up for a minute; it may be spent in ten seconds, and what was used too much is
 * saved again in half a minute. */
#define SAVED_NS    60e9
#define SPEND_NS    10e9
#define PAY_BACK_NS 30e9

/* Steps before more is shed, and before some of it is let back in. */
enum { SHED_AFTER = 5, BACK_AFTER = 15, SHED_PART = 8 };

void budget_init(struct budget *budget, const struct budget_limits *limits)
{
    *budget = (struct budget){.state = {.factor = 1, .targets_max = SIZE_MAX}};
    budget_set_limits(budget, limits);
    budget->credit_ns = limits->cpu * SAVED_NS;
}

void budget_set_limits(struct budget *budget, const struct budget_limits *limits)
{
    budget->state.promised = *limits;
    budget->calm = 0;
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Notes what was used since the last step. False: this is the first one, or no time has passed. */
static bool note_use(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    struct budget_state *state = &budget->state;
    const bool first = budget->last_ns == 0;
    double passed = (double)(now_ns - budget->last_ns), used, most;

    if (!first && now_ns <= budget->last_ns)
        return false;
    state->used_memory_bytes = use->memory_bytes;
    used = use->cpu_ns > budget->last_cpu_ns ? (double)(use->cpu_ns - budget->last_cpu_ns) : 0;
    budget->last_ns = now_ns;
    budget->last_cpu_ns = use->cpu_ns;
    if (first) {
        budget->begun_ns = now_ns;
        budget->begun_cpu_ns = use->cpu_ns;
        return false;
    }
    state->used_cpu = state->used_cpu * 0.7 + used / passed * 0.3;
    state->mean_cpu =
        (double)(use->cpu_ns - budget->begun_cpu_ns) / (double)(now_ns - budget->begun_ns);
    state->over += state->promised.cpu > 0 && used > state->promised.cpu * passed;
    most = state->promised.cpu * SAVED_NS;
    budget->credit_ns =
        within(budget->credit_ns + state->promised.cpu * passed - used, -most, most);
    return true;
}

/* What may be used now: more while there is something left over, less while it is overdrawn. */
static double allowed(const struct budget *budget)
{
    double promised = budget->state.promised.cpu, credit = budget->credit_ns;

    credit /= credit > 0 ? SPEND_NS : PAY_BACK_NS;
    return promised + credit < promised / 4 ? promised / 4 : promised + credit;
}

/* Stretches the periods, or lets them shrink again. True: there is nothing left to stretch. */
static bool stretch(struct budget *budget)
{
    struct budget_state *state = &budget->state;
    double part = state->promised.cpu > 0 ? state->used_cpu / allowed(budget) : 0;
    /* At once to where it should do, as if all were samples; slowly back. */
    double step = part > 1 ? within(part, 1, 4) : part < 0.8 ? 0.95 : 1;
    bool spent = part > 1 && state->factor >= BUDGET_FACTOR_MAX;

    state->factor = within(state->factor * step, 1, BUDGET_FACTOR_MAX);
    return spent;
}

/* Sheds an eighth, or lets an eighth back in. */
static void shed(struct budget *budget, size_t targets, bool too_much, bool enough)
{
    struct budget_state *state = &budget->state;

    budget->calm++;
    if (too_much && budget->calm >= SHED_AFTER && targets > 0) {
        state->targets_max = targets - (targets / SHED_PART ? targets / SHED_PART : 1);
        budget->calm = 0;
    } else if (enough && budget->calm >= BACK_AFTER && state->targets_max != SIZE_MAX) {
        /* There are no more than it takes already: all may come. */
        if (targets < state->targets_max)
            state->targets_max = SIZE_MAX;
        else
            state->targets_max += state->targets_max / SHED_PART + 1;
        budget->calm = 0;
    }
}

void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    struct budget_state *state = &budget->state;
    const uint64_t memory = state->promised.memory_bytes;
    bool spent, over;

    if (!note_use(budget, use, now_ns))
        return;
    spent = stretch(budget);
    over = memory > 0 && use->memory_bytes > memory;
    shed(budget, use->targets, spent || over,
         state->factor < BUDGET_FACTOR_MAX / 2.0 &&
             (memory == 0 || use->memory_bytes < memory - memory / SHED_PART));
}

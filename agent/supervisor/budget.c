/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c - see budget.h. */
#include "agent/supervisor/budget.h"

/* CPU time of so long is saved up at most (and is there at the beginning: to find and open what
 * there is), so that no minute takes much more than its own; it may be spent in ten seconds. What
 * was used too much is saved again in half a minute, and forgiven beyond a minute. */
#define CREDIT_MAX_NS 15e9
#define DEBT_MAX_NS   60e9
#define SPEND_NS      10e9
#define REPAY_NS      30e9

/* Steps before more is shed, and before some of it is let back in. */
enum { DROP_AFTER = 4, RESTORE_AFTER = 15, CHANGE_PART = 8 };

void budget_init(struct budget *budget, const struct budget_limits *limits)
{
    *budget = (struct budget){
        .state = {.factor = 1, .targets_max = SIZE_MAX}, .cpu_factor = 1, .memory_factor = 1};
    budget_set_limits(budget, limits);
    budget->credit_ns = limits->cpu * CREDIT_MAX_NS;
}

void budget_set_limits(struct budget *budget, const struct budget_limits *limits)
{
    budget->state.promised = *limits;
    budget->steps_since_change = 0;
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static double since(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

/* Notes what was used since the last step. False: this is the first one, or no time has passed. */
static bool note_use(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    struct budget_state *state = &budget->state;
    const bool first = budget->last_ns == 0;
    double passed = (double)(now_ns - budget->last_ns), used, own, weight;

    if (!first && now_ns <= budget->last_ns)
        return false;
    state->used_memory_bytes = use->memory_bytes;
    used = since(use->cpu_ns, budget->last_cpu_ns);
    own = used - since(use->asked_cpu_ns, budget->last_asked_cpu_ns);
    own = own > 0 ? own : 0;
    weight = budget->last_ns == budget->begun_ns ? 1 : 0.3; /* the first measure is all there is */
    budget->last_ns = now_ns;
    budget->last_cpu_ns = use->cpu_ns;
    budget->last_asked_cpu_ns = use->asked_cpu_ns;
    if (first) {
        budget->begun_ns = now_ns;
        return false;
    }
    state->used_cpu = state->used_cpu * (1 - weight) + used / passed * weight;
    budget->step_cpu = own / passed;
    budget->own_cpu = budget->own_cpu * (1 - weight) + budget->step_cpu * weight;
    budget->wanted_cpu =
        budget->wanted_cpu * (1 - weight) + budget->step_cpu * state->factor * weight;
    state->over += state->promised.cpu > 0 && own > state->promised.cpu * passed;
    budget->credit_ns =
        within(budget->credit_ns + state->promised.cpu * passed - own,
               -state->promised.cpu * DEBT_MAX_NS, state->promised.cpu * CREDIT_MAX_NS);
    return true;
}

/* What may be used now: more while there is something left over, less while it is overdrawn. */
static double allowed(const struct budget *budget)
{
    double promised = budget->state.promised.cpu, credit = budget->credit_ns;

    credit /= credit > 0 ? SPEND_NS : REPAY_NS;
    return promised + credit < promised / 4 ? promised / 4 : promised + credit;
}

/* Stretches the periods, or lets them shrink again: at once to where it should do, as if all were
 * samples; slowly back. */
static void stretch(struct budget *budget, double most)
{
    const double wanted = budget->state.promised.cpu > 0 ? budget->wanted_cpu / allowed(budget) : 1;
    double factor = budget->cpu_factor;

    if (wanted > factor)
        factor = wanted;
    else if (wanted < factor * 0.8)
        factor *= 0.95;
    budget->cpu_factor = within(factor, 1, most);
}

/*
 * True if it takes more than what was promised for some steps, although all periods are as long as
 * they may get. What is only to be saved again is no reason to give targets up, nor is what was
 * used before the periods were stretched: to find and open what there is.
 */
static bool is_spent(struct budget *budget, double most)
{
    const double promised = budget->state.promised.cpu;

    if (promised <= 0 || budget->cpu_factor < most || budget->own_cpu <= promised)
        budget->spent = 0;
    else if (budget->step_cpu > promised)
        budget->spent++;
    return budget->spent > DROP_AFTER;
}

/* What is there whether people ask for something or not. */
static uint64_t own_memory(const struct budget_use *use)
{
    return use->memory_bytes - use->asked_memory_bytes;
}

/* How many targets to give up: an eighth, or as many more as what is used too much says, up to a
 * half. */
static size_t targets_to_drop(const struct budget *budget, const struct budget_use *use, bool spent)
{
    const struct budget_state *state = &budget->state;
    const double most = spent ? state->promised.cpu : (double)state->promised.memory_bytes;
    const double used = spent ? budget->own_cpu : (double)own_memory(use);
    size_t part = use->targets / CHANGE_PART;
    size_t wanted = (size_t)((double)use->targets * within(1 - most / used, 0, 0.5));

    part = part > wanted ? part : wanted;
    return part ? part : 1;
}

/* Saves memory by fewer samples; sheds some targets, once there is nothing else to save. */
static void reduce(struct budget *budget, const struct budget_use *use, bool spent)
{
    if (!spent && budget->memory_factor < BUDGET_MEMORY_FACTOR_MAX)
        budget->memory_factor *= 2;
    else if (use->targets > 0)
        budget->state.targets_max = use->targets - targets_to_drop(budget, use, spent);
}

/* Lets an eighth of the targets back in, or all are sampled more often again. */
static void restore(struct budget *budget, size_t targets)
{
    struct budget_state *state = &budget->state;

    if (state->targets_max == SIZE_MAX && budget->memory_factor <= 1)
        return;
    budget->steps_since_change = 0;
    if (state->targets_max == SIZE_MAX)
        budget->memory_factor = within(budget->memory_factor / 2, 1, BUDGET_MEMORY_FACTOR_MAX);
    else if (targets < state->targets_max) /* there are no more than it takes already */
        state->targets_max = SIZE_MAX;
    else
        state->targets_max += state->targets_max / CHANGE_PART + 1;
}

void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    struct budget_state *state = &budget->state;
    const uint64_t memory = state->promised.memory_bytes;
    const double most = use->factor_max;
    bool spent, over, enough;

    if (!note_use(budget, use, now_ns))
        return;
    spent = is_spent(budget, most);
    stretch(budget, most);
    over = memory > 0 && own_memory(use) > memory;
    enough = budget->cpu_factor < most / 2 &&
             (memory == 0 || own_memory(use) < memory - memory / CHANGE_PART);
    budget->steps_since_change++;
    if ((spent || over) && budget->steps_since_change >= DROP_AFTER) {
        reduce(budget, use, spent);
        budget->steps_since_change = 0;
    } else if (enough && budget->steps_since_change >= RESTORE_AFTER) {
        restore(budget, use->targets);
    }
    state->factor =
        budget->cpu_factor > budget->memory_factor ? budget->cpu_factor : budget->memory_factor;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c - see budget.h. */
#include "agent/supervisor/budget.h"

#include <math.h>

#define MINUTE_NS (60 * NS_PER_S)

/* Opening accounts, in seconds of the limit. */
#define OPENING_FIRST_S 60
#define OPENING_MAX_S   30

/* Opening gets at least this part of the limit, whatever samples take. */
#define OPENING_PART 0.25

/* CPU time to open a process, until it is known. */
#define OPENING_TYPICAL_NS (4e6)

/* Samples get at least this part of the limit, whatever scans and delivery take. */
#define SAMPLES_PART 0.25

/* Part of the limit that the targets of any owner may take at one sample a second. */
#define FLOOR_PART 0.25

/* As long as the minute has time left, samples may take so many times the limit, and all that
 * pystrobe does so many times. */
#define FAST     1.5
#define FAST_ALL 2

void budget_init(struct budget *budget, const struct budget_limits *limits)
{
    *budget = (struct budget){.state = {.share_ns = INFINITY}, .charged = 1};
    budget_set_limits(budget, limits);
    budget->opening_left_ns = limits->cpu * OPENING_FIRST_S * NS_PER_S;
}

void budget_set_limits(struct budget *budget, const struct budget_limits *limits)
{
    budget->state.promised = *limits;
    budget->floor_ns = budget->memory_ns = 0;
    budget->spent = false;
}

static double since(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

/* What the limit is for: all but opening and requests. */
static double own_ns(const struct budget_use *now, const struct budget_use *before)
{
    const double own = since(now->cpu_ns, before->cpu_ns) -
                       since(now->asked_cpu_ns, before->asked_cpu_ns) -
                       since(now->opening_ns, before->opening_ns);

    return own > 0 ? own : 0;
}

/* The end of a step a minute ago, or of the first one. */
static const struct budget_mark *oldest_mark(const struct budget *budget)
{
    const struct budget_mark *mark = &budget->marks[(budget->newest + 1) % BUDGET_STEPS];

    return mark->now_ns ? mark : &budget->marks[0];
}

/* The limit for samples, scans and delivery now. */
static double limit_now(const struct budget *budget, double all_cpu)
{
    const double promised = budget->state.promised.cpu;
    const double left = promised * FAST_ALL - (all_cpu - budget->state.used_cpu);

    if (budget->spent || left < promised)
        return promised;
    return left < promised * FAST ? left : promised * FAST;
}

/*
 * Sets the CPU time for samples: the limit without what is used for something else. `own` and
 * `sampling_cpu`: what all, and samples, took of a core. Costs of samples are times, and count less
 * if the CPU time used is less, as on a host that is busy.
 */
static void set_samples(struct budget *budget, double limit, double own, double sampling_cpu)
{
    const double least = budget->state.promised.cpu * SAMPLES_PART;
    const double other = own > sampling_cpu ? own - sampling_cpu : 0;

    budget->other_cpu = other;
    budget->charged = sampling_cpu > own && own > 0 ? sampling_cpu / own : 1;
    budget->samples_ns =
        (limit - other > least ? limit - other : least) * budget->charged * NS_PER_S;
}

/* Fills up the account for opening. */
static void fill_opening(struct budget *budget, double opened_ns, double passed_ns)
{
    const double promised = budget->state.promised.cpu, most = promised * OPENING_MAX_S * NS_PER_S;
    const double unused = promised - budget->state.used_cpu, least = promised * OPENING_PART;
    double left = budget->opening_left_ns - opened_ns;

    if (left < most) {
        left += (unused > least ? unused : least) * passed_ns;
        left = left < most ? left : most;
    }
    budget->opening_left_ns = left > -most ? left : -most;
}

static void judge_memory(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    const uint64_t most = budget->state.promised.memory_bytes;
    const uint64_t own = use->memory_bytes - use->asked_memory_bytes;

    budget->excess_memory_bytes = 0;
    if (most == 0 || own <= most)
        budget->memory_ns = 0;
    else if (budget->memory_ns == 0)
        budget->memory_ns = now_ns;
    else if (now_ns - budget->memory_ns >= BUDGET_PATIENCE_NS) {
        budget->excess_memory_bytes = own - most;
        budget->memory_ns = now_ns; /* until it shows */
    }
}

/* Stores the end of a step; lends the one before, NULL: this is the first, or no time passed. */
static const struct budget_mark *add_budget_mark(struct budget *budget,
                                                 const struct budget_use *use, uint64_t now_ns)
{
    const struct budget_mark *last = &budget->marks[budget->newest];

    if (now_ns <= last->now_ns)
        return NULL;
    if (last->now_ns)
        budget->newest = (budget->newest + 1) % BUDGET_STEPS;
    budget->marks[budget->newest] = (struct budget_mark){now_ns, *use};
    return last != &budget->marks[budget->newest] ? last : NULL;
}

void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns)
{
    const struct budget_mark *last = add_budget_mark(budget, use, now_ns), *first;
    struct budget_state *state = &budget->state;
    double span_ns, spread_ns, own, opening;

    if (!last)
        return;
    first = oldest_mark(budget);
    span_ns = since(now_ns, first->now_ns);
    /* The agent's own start takes as much as scans do in many seconds, but once. */
    spread_ns = span_ns > BUDGET_PATIENCE_NS ? span_ns : BUDGET_PATIENCE_NS;
    own = own_ns(use, &first->use);
    opening = since(use->opening_ns, first->use.opening_ns);
    state->used_cpu = own / span_ns;
    state->used_cpu_ns = own;
    state->used_opening_cpu = opening / span_ns;
    state->used_memory_bytes = use->memory_bytes;
    if (own > state->promised.cpu * (span_ns > MINUTE_NS ? span_ns : MINUTE_NS))
        budget->spent = true;
    set_samples(budget, limit_now(budget, since(use->cpu_ns, first->use.cpu_ns) / span_ns),
                own / spread_ns, since(use->sampling_ns, first->use.sampling_ns) / spread_ns);
    fill_opening(budget, since(use->opening_ns, last->use.opening_ns), since(now_ns, last->now_ns));
    judge_memory(budget, use, now_ns);
}

/* Sets how many are slowed, how much, and what all would take otherwise. */
static void count_slowed(struct budget *budget, const struct fair_share_target *targets,
                         size_t count)
{
    struct budget_state *state = &budget->state;
    double hz, wanted_ns = 0;

    state->slowed = 0;
    state->slowest_hz = 0;
    for (size_t i = 0; i < count; i++) {
        if (targets[i].left_out)
            continue;
        wanted_ns += targets[i].wanted_hz * targets[i].tick_ns;
        hz = fair_share_hz(targets[i].share_ns, targets[i].tick_ns, targets[i].wanted_hz);
        if (hz >= targets[i].wanted_hz)
            continue;
        state->slowest_hz = state->slowed == 0 || hz < state->slowest_hz ? hz : state->slowest_hz;
        state->slowed++;
    }
    state->wanted_cpu = budget->other_cpu + wanted_ns / budget->charged / NS_PER_S;
}

/* What the targets of an owner may take at one sample a second. */
static double floor_ns(const struct budget *budget)
{
    const double part_ns = budget->state.promised.cpu * FLOOR_PART * NS_PER_S;

    return budget->state.share_ns > part_ns ? budget->state.share_ns : part_ns;
}

/* True once that has been so for long enough. */
static bool has_lasted(struct budget *budget, bool too_much, uint64_t now_ns)
{
    if (!too_much)
        budget->floor_ns = 0;
    else if (budget->floor_ns == 0)
        budget->floor_ns = now_ns;
    return budget->floor_ns != 0 && now_ns - budget->floor_ns >= BUDGET_PATIENCE_NS;
}

size_t budget_divide(struct budget *budget, struct fair_share_target *targets, size_t count,
                     bool bursts)
{
    struct budget_state *state = &budget->state;
    const bool free = state->promised.cpu <= 0 || (bursts && !budget->spent);
    size_t left_out = 0;

    state->share_ns = fair_share_divide(targets, count, free ? INFINITY : budget->samples_ns);
    if (isinf(state->share_ns) && state->used_cpu <= state->promised.cpu)
        budget->spent = false;
    if (has_lasted(budget,
                   state->share_ns <= 0 ||
                       fair_share_most_at_floor(targets, count) > floor_ns(budget),
                   budget->marks[budget->newest].now_ns)) {
        left_out = fair_share_leave_out(targets, count, floor_ns(budget), budget->samples_ns);
        budget->floor_ns = 0;
    }
    count_slowed(budget, targets, count);
    state->left_out += left_out;
    return left_out;
}

enum budget_news budget_news(struct budget *budget)
{
    const struct budget_state *state = &budget->state;
    const uint64_t now_ns = budget->marks[budget->newest].now_ns;

    if (state->slowed > 0) {
        budget->full_ns = 0;
        if (budget->told_hz > 0 && state->slowest_hz >= budget->told_hz / 2)
            return BUDGET_NEWS_NONE;
        budget->told_hz = state->slowest_hz;
        return BUDGET_NEWS_SLOWED;
    }
    if (budget->told_hz <= 0)
        return BUDGET_NEWS_NONE;
    if (budget->full_ns == 0)
        budget->full_ns = now_ns;
    if (now_ns - budget->full_ns < BUDGET_FULL_NS)
        return BUDGET_NEWS_NONE;
    budget->told_hz = 0;
    budget->full_ns = 0;
    return BUDGET_NEWS_FULL;
}

bool budget_may_open(const struct budget *budget, uint64_t opening_ns, size_t under_way)
{
    const double since_step = since(opening_ns, budget->marks[budget->newest].use.opening_ns);

    return budget->state.promised.cpu <= 0 ||
           budget->opening_left_ns - since_step - (double)under_way * OPENING_TYPICAL_NS > 0;
}

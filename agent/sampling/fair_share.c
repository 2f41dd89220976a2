/* SPDX-License-Identifier: Apache-2.0 */
/* fair_share.c - see fair_share.h. */
#include "agent/sampling/fair_share.h"

#include <math.h>

enum { ROUNDS = 50 };

double fair_share_hz(double share_ns, double tick_ns, double wanted_hz)
{
    const double slowest_hz = wanted_hz < 1 ? wanted_hz : 1;
    const double hz = tick_ns > 0 ? share_ns / tick_ns : wanted_hz;

    return hz < slowest_hz ? slowest_hz : hz > wanted_hz ? wanted_hz : hz;
}

static double cost_ns(const struct fair_share_target *target, double share_ns)
{
    return target->left_out
               ? 0
               : target->tick_ns * fair_share_hz(share_ns, target->tick_ns, target->wanted_hz);
}

static double sum_ns(const struct fair_share_target *targets, size_t count, double share_ns)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += cost_ns(&targets[i], share_ns);
    return sum;
}

double fair_share_divide(const struct fair_share_target *targets, size_t count, double budget_ns)
{
    double low = 0, high = budget_ns, middle;

    if (sum_ns(targets, count, INFINITY) <= budget_ns)
        return INFINITY;
    if (sum_ns(targets, count, 0) > budget_ns)
        return 0;
    for (int i = 0; i < ROUNDS; i++) {
        middle = (low + high) / 2;
        if (sum_ns(targets, count, middle) <= budget_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t most_expensive(const struct fair_share_target *targets, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++)
        if (cost_ns(&targets[i], 0) > cost_ns(&targets[best], 0))
            best = i;
    return best;
}

size_t fair_share_leave_out(struct fair_share_target *targets, size_t count, double budget_ns)
{
    double sum = sum_ns(targets, count, 0);
    size_t i, left_out = 0;

    for (; sum > budget_ns && left_out < count; left_out++) {
        i = most_expensive(targets, count);
        sum -= cost_ns(&targets[i], 0);
        targets[i].left_out = true;
    }
    return left_out;
}

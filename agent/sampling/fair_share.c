/* SPDX-License-Identifier: Apache-2.0 */
/* fair_share.c - see fair_share.h. */
#include "agent/sampling/fair_share.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 50 };

double fair_share_hz(double share_ns, double tick_ns, double wanted_hz)
{
    const double slowest_hz = wanted_hz < 1 ? wanted_hz : 1;
    const double hz = tick_ns > 0 ? share_ns / tick_ns : wanted_hz;

    return hz < slowest_hz ? slowest_hz : hz > wanted_hz ? wanted_hz : hz;
}

static int compare_owners(const void *a, const void *b)
{
    const uint64_t x = ((const struct fair_share_target *)a)->owner;
    const uint64_t y = ((const struct fair_share_target *)b)->owner;

    return x < y ? -1 : x > y;
}

void fair_share_sort(struct fair_share_target *targets, size_t count)
{
    if (count > 1)
        qsort(targets, count, sizeof(*targets), compare_owners);
}

/* How many of the targets have the owner of the first one. */
static size_t count_of_owner(const struct fair_share_target *targets, size_t count)
{
    size_t n = 0;

    while (n < count && targets[n].owner == targets[0].owner)
        n++;
    return n;
}

static double cost_ns(const struct fair_share_target *target, double share_ns)
{
    return target->left_out
               ? 0
               : target->tick_ns * fair_share_hz(share_ns, target->tick_ns, target->wanted_hz);
}

/* The cost of targets of one owner, each of which has that share. */
static double sum_ns(const struct fair_share_target *targets, size_t count, double share_ns)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += cost_ns(&targets[i], share_ns);
    return sum;
}

/* The cost of targets of several owners, each of which has that share. */
static double sum_of_owners_ns(const struct fair_share_target *targets, size_t count,
                               double share_ns)
{
    double sum = 0, least, most;

    for (size_t i = 0, n; i < count; i += n) {
        n = count_of_owner(&targets[i], count - i);
        least = sum_ns(&targets[i], n, 0);
        most = sum_ns(&targets[i], n, INFINITY);
        sum += share_ns < least ? least : share_ns > most ? most : share_ns;
    }
    return sum;
}

/* The largest share with which `sum` is within the budget; see fair_share_divide. */
static double find_share(const struct fair_share_target *targets, size_t count, double budget_ns,
                         double (*sum)(const struct fair_share_target *targets, size_t count,
                                       double share_ns))
{
    double low = 0, high = budget_ns, middle;

    if (sum(targets, count, INFINITY) <= budget_ns)
        return INFINITY;
    if (sum(targets, count, 0) > budget_ns)
        return 0;
    for (int i = 0; i < ROUNDS; i++) {
        middle = (low + high) / 2;
        if (sum(targets, count, middle) <= budget_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double fair_share_divide(struct fair_share_target *targets, size_t count, double budget_ns)
{
    const double owner_ns = find_share(targets, count, budget_ns, sum_of_owners_ns);
    double share_ns;

    for (size_t i = 0, n; i < count; i += n) {
        n = count_of_owner(&targets[i], count - i);
        share_ns = isinf(owner_ns) ? INFINITY : find_share(&targets[i], n, owner_ns, sum_ns);
        for (size_t k = i; k < i + n; k++)
            targets[k].share_ns = share_ns;
    }
    return owner_ns;
}

/* The owner that takes most at one sample a second: its first target, and how many it has. */
static size_t largest_owner(const struct fair_share_target *targets, size_t count,
                            size_t *targets_n)
{
    double sum, most = -1;
    size_t best = 0;

    *targets_n = 0;
    for (size_t i = 0, n; i < count; i += n) {
        n = count_of_owner(&targets[i], count - i);
        sum = sum_ns(&targets[i], n, 0);
        if (sum > most) {
            most = sum;
            best = i;
            *targets_n = n;
        }
    }
    return best;
}

double fair_share_most_at_floor(const struct fair_share_target *targets, size_t count)
{
    size_t n, first = largest_owner(targets, count, &n);

    return sum_ns(&targets[first], n, 0);
}

static struct fair_share_target *most_expensive(struct fair_share_target *targets, size_t count)
{
    struct fair_share_target *best = &targets[0];

    for (size_t i = 1; i < count; i++)
        if (cost_ns(&targets[i], 0) > cost_ns(best, 0))
            best = &targets[i];
    return best;
}

size_t fair_share_leave_out(struct fair_share_target *targets, size_t count, double owner_ns,
                            double budget_ns)
{
    size_t n, first, left_out = 0;

    for (; left_out < count; left_out++) {
        first = largest_owner(targets, count, &n);
        if (sum_ns(&targets[first], n, 0) <= owner_ns && sum_ns(targets, count, 0) <= budget_ns)
            break;
        most_expensive(&targets[first], n)->left_out = true;
    }
    return left_out;
}

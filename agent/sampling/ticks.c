/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.c - see ticks.h. */
#include "agent/sampling/ticks.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/time_units.h"

/* A wake-up is put off by a quarter of the shortest period or 13 ms, on average; up to twice that,
 * which is less than the shortest step. */
enum { PUT_OFF_PART = 4, PUT_OFF_MAX_NS = 13 * NS_PER_MS };

/* Ticks that are REST_NS or more away are due at one time in each span of TOGETHER_NS. */
#define TOGETHER_NS (100 * NS_PER_MS)
#define REST_NS     (2 * TOGETHER_NS)

/* Of each place in the heap so many are below: they lie side by side, and are compared there. */
enum { WAYS = 4 };

/* A number from 0 to 1, by Marsaglia's xorshift. */
static double chance(struct ticks *ticks)
{
    ticks->random ^= ticks->random << 13;
    ticks->random ^= ticks->random >> 7;
    ticks->random ^= ticks->random << 17;
    return (double)(ticks->random >> 11) / 9007199254740992.0; /* 2^53 */
}

void ticks_init(struct ticks *ticks, uint64_t seed)
{
    *ticks = (struct ticks){.random = seed ? seed : 1, .seed = seed};
    for (int i = 0; i < 64; i++) /* a seed with few bits begins with small numbers */
        (void)chance(ticks);
}

void ticks_finish(struct ticks *ticks)
{
    for (size_t i = 0; i < ticks->count; i++)
        ticks->in[i].tick->number = 0;
    free(ticks->heap);
    free(ticks->in);
    ticks_init(ticks, ticks->random);
}

static void put_heap_entry(struct ticks *ticks, size_t at, struct tick_due due)
{
    ticks->heap[at] = due;
    ticks->in[due.number].heap_index = at;
}

/* Of those below a place, the one that is due first; as many as there are: none is below. */
static size_t first_child(const struct ticks *ticks, size_t at)
{
    const struct tick_due *heap = ticks->heap;
    size_t first = WAYS * at + 1, child = first;

    if (first >= ticks->count)
        return ticks->count;
    while (++child <= WAYS * at + WAYS && child < ticks->count)
        if (heap[child].next_ns < heap[first].next_ns)
            first = child;
    return first;
}

/* Puts a tick to where it belongs, from the free place `at`. */
static void sift(struct ticks *ticks, size_t at, struct tick_due due)
{
    struct tick_due *heap = ticks->heap;
    size_t child;

    for (; at > 0 && heap[(at - 1) / WAYS].next_ns > due.next_ns; at = (at - 1) / WAYS)
        put_heap_entry(ticks, at, heap[(at - 1) / WAYS]);
    for (;; at = child) {
        child = first_child(ticks, at);
        if (child >= ticks->count || heap[child].next_ns >= due.next_ns)
            break;
        put_heap_entry(ticks, at, heap[child]);
    }
    put_heap_entry(ticks, at, due);
}

uint64_t ticks_wanted_period(const struct tick *tick)
{
    return tick->burst_until_ns ? tick->burst_ns : tick->period_ns;
}

uint64_t ticks_period(const struct tick *tick)
{
    const uint64_t wanted = ticks_wanted_period(tick);
    const uint64_t slowed = tick->slowed_ns < NS_PER_S ? tick->slowed_ns : NS_PER_S;

    return wanted > slowed ? wanted : slowed;
}

/* It is due at another time than it was. */
static void update_due_time(struct ticks *ticks, const struct tick *tick)
{
    const uint32_t number = tick->number - 1;

    sift(ticks, ticks->in[number].heap_index, (struct tick_due){tick->next_ns, number});
}

static bool grow_tick_heap(struct ticks *ticks)
{
    return ticks->count < UINT32_MAX &&
           ARRAY_RESERVE(ticks->heap, ticks->heap_capacity, ticks->count + 1) &&
           ARRAY_RESERVE(ticks->in, ticks->in_capacity, ticks->count + 1);
}

bool ticks_add(struct ticks *ticks, struct tick *tick, void *of, uint64_t period_ns,
               uint64_t now_ns)
{
    if (!grow_tick_heap(ticks))
        return false;
    *tick = (struct tick){.of = of,
                          .next_ns = now_ns,
                          .period_ns = period_ns ? period_ns : 1,
                          .drawn = chance(ticks)};
    ticks->shortest_ns = 0;
    ticks->in[ticks->count] = (struct tick_in){tick, ticks->count};
    tick->number = (uint32_t)++ticks->count;
    update_due_time(ticks, tick);
    return true;
}

/* Whoever has the last number gets this one, which is free. */
static void renumber_last(struct ticks *ticks, uint32_t number)
{
    struct tick_in last = ticks->in[ticks->count];

    ticks->in[number] = last;
    ticks->heap[last.heap_index].number = number;
    last.tick->number = number + 1;
}

void ticks_remove(struct ticks *ticks, struct tick *tick)
{
    const uint32_t number = tick->number - 1;
    struct tick_due last;
    size_t at;

    if (tick->number == 0)
        return;
    ticks->shortest_ns = 0;
    tick->number = 0;
    at = ticks->in[number].heap_index;
    last = ticks->heap[--ticks->count];
    if (at != ticks->count)
        sift(ticks, at, last);
    if (number != ticks->count)
        renumber_last(ticks, number);
}

struct tick *ticks_first(const struct ticks *ticks)
{
    return ticks->count > 0 ? ticks->in[ticks->heap[0].number].tick : NULL;
}

struct tick *ticks_due(const struct ticks *ticks, uint64_t now_ns)
{
    return ticks->count > 0 && ticks->heap[0].next_ns <= now_ns ? ticks_first(ticks) : NULL;
}

static void end_burst(struct ticks *ticks, struct tick *tick, uint64_t now_ns)
{
    if (tick->burst_until_ns == 0 || now_ns < tick->burst_until_ns)
        return;
    tick->burst_until_ns = 0;
    ticks->shortest_ns = 0;
}

/* How long `count` ticks take, in periods. */
static double steps(struct ticks *ticks, struct tick *tick, uint64_t count)
{
    double sum = tick->began ? 0.5 * (double)count : 0;

    for (uint64_t i = 0; i < count; i++) {
        sum += tick->drawn;
        tick->drawn = chance(ticks);
    }
    tick->began = true;
    return sum;
}

static uint64_t step_of(uint64_t period_ns, double steps)
{
    return 1 + (uint64_t)((double)period_ns * steps);
}

uint64_t ticks_after_ns(const struct tick *tick)
{
    const double first = tick->began ? 0.5 : 0;

    return tick->next_ns + step_of(ticks_period(tick), first + tick->drawn);
}

/* Makes a tick due at the time of those that rest, in its span; gives by how much it has moved. */
static int64_t move_to_others(const struct ticks *ticks, struct tick *tick, uint64_t now_ns)
{
    const uint64_t span = tick->next_ns / TOGETHER_NS;
    const uint64_t drawn = hash_fnv(HASH_START ^ ticks->seed, &span, sizeof(span));
    const uint64_t at_ns = span * TOGETHER_NS + drawn % TOGETHER_NS;
    const int64_t moved_ns = (int64_t)at_ns - (int64_t)tick->next_ns;

    if (at_ns <= now_ns)
        return 0;
    tick->next_ns = at_ns;
    return moved_ns;
}

uint64_t ticks_done(struct ticks *ticks, struct tick *tick, uint64_t count, uint64_t now_ns)
{
    uint64_t period, step, missed = 0;

    end_burst(ticks, tick, now_ns);
    if (!tick->began)
        tick->next_ns = now_ns;
    period = ticks_period(tick);
    step = step_of(period, steps(ticks, tick, count));
    tick->next_ns += step;
    if (step >= REST_NS) /* else it rests no more, and its steps go on from now */
        tick->next_ns -= (uint64_t)tick->moved_ns;
    if (tick->next_ns <= now_ns) {
        missed = (now_ns - tick->next_ns) / period + 1;
        tick->next_ns = now_ns + step;
    }
    tick->moved_ns = step >= REST_NS && ticks->count > 1 ? move_to_others(ticks, tick, now_ns) : 0;
    tick->missed += missed;
    update_due_time(ticks, tick);
    return missed;
}

static uint64_t shortest(struct ticks *ticks)
{
    uint64_t period;

    if (ticks->shortest_ns > 0)
        return ticks->shortest_ns;
    ticks->shortest_ns = UINT64_MAX;
    for (size_t i = 0; i < ticks->count; i++) {
        period = ticks_period(ticks->in[i].tick);
        ticks->shortest_ns = period < ticks->shortest_ns ? period : ticks->shortest_ns;
    }
    return ticks->shortest_ns;
}

uint64_t ticks_wake_ns(struct ticks *ticks, uint64_t now_ns)
{
    const struct tick *first = ticks_first(ticks);
    uint64_t gap, wake;

    if (!first)
        return UINT64_MAX;
    if (ticks->count == 1)
        return first->next_ns;
    gap = shortest(ticks) / PUT_OFF_PART;
    gap = gap < PUT_OFF_MAX_NS ? gap : PUT_OFF_MAX_NS;
    wake = now_ns + (uint64_t)((double)gap * 2 * chance(ticks));
    return wake > first->next_ns ? wake : first->next_ns;
}

/* It is due within a period as it is now, if it would not be. */
static void hurry(struct ticks *ticks, struct tick *tick, uint64_t now_ns)
{
    uint64_t next = now_ns + (uint64_t)((double)ticks_period(tick) * (0.5 + chance(ticks)));

    ticks->shortest_ns = 0;
    if (tick->number == 0 || next >= tick->next_ns)
        return;
    tick->next_ns = next;
    tick->moved_ns = 0;
    update_due_time(ticks, tick);
}

void ticks_burst(struct ticks *ticks, struct tick *tick, uint64_t period_ns, uint64_t until_ns,
                 uint64_t now_ns)
{
    if (period_ns >= tick->period_ns || until_ns <= now_ns)
        return;
    tick->burst_ns = period_ns ? period_ns : 1;
    tick->burst_until_ns = until_ns;
    hurry(ticks, tick, now_ns);
}

void ticks_slow(struct ticks *ticks, struct tick *tick, uint64_t period_ns)
{
    if (period_ns == tick->slowed_ns)
        return;
    tick->slowed_ns = period_ns;
    ticks->shortest_ns = 0;
}

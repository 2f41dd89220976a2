/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h - when each target is to be sampled next.
 *
 * Each step is half to one and a half periods, at random, one period on average: no target is
 * sampled in lockstep with its own timers, and many targets spread over the period by
 * themselves. Nothing is caught up: who comes late takes one sample, which weighs more, and the
 * ticks that were over by then are counted as missed.
 *
 * To be woken up costs more than to look at a target that rests. So with several targets the
 * next wake-up is put off by a part of the shortest period, and takes along all that came due by
 * then. That part is random, too.
 *
 * Who needs no sample at each tick says how many ticks the next one is away. Targets that rest for
 * long are due together, with one wake-up: at one time in each tenth of a second, at random, which
 * is as often too early as too late.
 *
 * Shape:   ticks_init; ticks_add and ticks_remove as targets come and go; at each wake-up
 *          ticks_due and ticks_done until none is due, then ticks_wake_ns; ticks_finish.
 * Units:   all instants are those of one clock that never goes back, which the caller reads.
 * Cost:    of adding, removing and finding the shortest period: the number of targets; of the
 *          rest its logarithm.
 */
#ifndef AGENT_SAMPLING_TICKS_H
#define AGENT_SAMPLING_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* One target's clock. All 0 before it is added. */
struct tick {
    void *of;                /* borrowed: whose it is */
    uint64_t next_ns;        /* when it is due */
    int64_t moved_ns;        /* of that: from the time of its own to that of those that rest */
    uint64_t period_ns;      /* as asked for */
    uint64_t burst_ns;       /* period instead of that, */
    uint64_t burst_until_ns; /* until then; 0: there is no burst */
    uint64_t slowed_ns;      /* least period for the CPU budget; 0: none */
    uint64_t missed;         /* ticks that were over before their turn came */
    uint32_t number;         /* among those that are in, + 1; 0: it is not */
    double drawn;            /* by chance, for its next step: 0 to 1 periods */
    bool began;              /* it has had a tick */
};

/* A tick in the heap. */
struct tick_due {
    uint64_t next_ns;
    uint32_t number; /* the tick's, less 1 */
};

/* A tick that is in, by its number. */
struct tick_in {
    struct tick *tick; /* borrowed */
    size_t heap_index; /* in the heap */
};

/* What is compared and moved lies here, side by side: ticks lie in as many places as targets. */
struct ticks {
    struct tick_due *heap; /* owned: the one that is due first on top */
    struct tick_in *in;    /* owned: as many */
    size_t count, heap_capacity, in_capacity;
    uint64_t shortest_ns; /* of all periods; 0: to be looked for */
    uint64_t random;      /* state of the generator, never 0 */
    uint64_t seed;        /* of the times of those that rest */
};

/* `seed`: any number. */
void ticks_init(struct ticks *ticks, uint64_t seed);
void ticks_finish(struct ticks *ticks);

/* Adds a target, due at once; its second tick is anywhere in the period. False: no memory. */
MUST_CHECK bool ticks_add(struct ticks *ticks, struct tick *tick, void *of, uint64_t period_ns,
                          uint64_t now_ns);

/* Takes it out; nothing if it is not in. */
void ticks_remove(struct ticks *ticks, struct tick *tick);

/* The one that has been due longest; NULL: none is. */
struct tick *ticks_due(const struct ticks *ticks, uint64_t now_ns);

/* It was sampled at `now_ns`, and is due again `count` ticks later. Gives: the ticks that it
 * missed, 0 if it came in time. Before the first one is done there are none to miss. */
uint64_t ticks_done(struct ticks *ticks, struct tick *tick, uint64_t count, uint64_t now_ns);

/* When it is due after that, if it is sampled in time and needs a sample at each tick. */
uint64_t ticks_after_ns(const struct tick *tick);

/* When to wake up next, after a wake-up at `now_ns`; UINT64_MAX: never. */
uint64_t ticks_wake_ns(struct ticks *ticks, uint64_t now_ns);

/* The one that is due first, now or later; NULL: there is none. */
struct tick *ticks_first(const struct ticks *ticks);

/* A target's period as it is now: in a burst, and slowed. */
uint64_t ticks_period(const struct tick *tick);

/* A shorter period until `until_ns`, then the usual one again; a longer one changes nothing. */
void ticks_burst(struct ticks *ticks, struct tick *tick, uint64_t period_ns, uint64_t until_ns,
                 uint64_t now_ns);

/* The period as asked for, in a burst that of the burst. */
uint64_t ticks_wanted_period(const struct tick *tick);

/* Makes a period at least `period_ns` from the next tick on, but not longer than a second unless
 * that is asked for; 0: as asked for. */
void ticks_slow(struct ticks *ticks, struct tick *tick, uint64_t period_ns);

#endif

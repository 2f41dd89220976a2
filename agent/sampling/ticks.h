/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h - schedule of samples: decides when each target is due next.
 *
 * The step from a tick to the next is random: half to one and a half periods, one on average. So no
 * target is sampled in lockstep with its own timers, and many targets spread over the period by
 * themselves. Ticks are not made up for: a late target gets one sample, which weighs more, and its
 * ticks that have passed by then count as missed.
 *
 * A wake-up costs more than a check of an idle target. So with several targets the next wake-up is
 * delayed by a random part of the shortest period, and serves all targets that are due by then.
 *
 * For a target that needs no sample at each tick, ticks_done gets the number of ticks to the next
 * sample. Targets whose next sample is at least 0.2 s away rest: they become due together, at one
 * random instant in each tenth of a second. On average that is neither too early nor too late.
 *
 * Shape:   ticks_init; ticks_add and ticks_remove as targets come and go; at each wake-up
 *          ticks_due and ticks_done until none is due, then ticks_wake_ns; ticks_finish.
 * Units:   all instants are those of one clock that never goes back, which the caller reads.
 * Cost:    ticks_wake_ns after a change of targets or periods: linear in the number of targets;
 *          the others: logarithmic.
 */
#ifndef AGENT_SAMPLING_TICKS_H
#define AGENT_SAMPLING_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Schedule of one target. All 0 before ticks_add. */
struct tick {
    void *of;                /* borrowed: the target */
    uint64_t next_ns;        /* when it is due */
    int64_t moved_ns;        /* by how much next_ns was moved, to rest together with others */
    uint64_t period_ns;      /* as given to ticks_add */
    uint64_t burst_ns;       /* period during a burst */
    uint64_t burst_until_ns; /* end of the burst; 0: there is none */
    uint64_t slowed_ns;      /* as given to ticks_slow; 0: not slowed down */
    uint64_t missed;         /* ticks missed so far */
    uint32_t number;         /* index in ticks.in, + 1; 0: it is not added */
    double drawn;            /* random part of its next step: 0 to 1 periods */
    bool began;              /* it has had a tick */
};

/* A tick in the heap. */
struct tick_due {
    uint64_t next_ns;
    uint32_t number; /* index in ticks.in */
};

/* A tick that was added. */
struct tick_in {
    struct tick *tick; /* borrowed */
    size_t heap_index; /* its index in ticks.heap */
};

/* The due times are copied to the heap, because they lie side by side there: that is faster. */
struct ticks {
    struct tick_due *heap;                    /* owned: heap[0] is due first */
    struct tick_in *in;                       /* owned */
    size_t count, heap_capacity, in_capacity; /* `count`: of both */
    uint64_t shortest_ns;                     /* shortest of all periods; 0: not known now */
    uint64_t random;                          /* state of the generator, never 0 */
    uint64_t seed;                            /* decides the instants of targets that rest */
};

/* `seed`: any number. */
void ticks_init(struct ticks *ticks, uint64_t seed);
void ticks_finish(struct ticks *ticks);

/* Adds a target, due at once; its second tick comes within a period. False: no memory. */
MUST_CHECK bool ticks_add(struct ticks *ticks, struct tick *tick, void *of, uint64_t period_ns,
                          uint64_t now_ns);

/* Removes a target; nothing if it is not added. */
void ticks_remove(struct ticks *ticks, struct tick *tick);

/* The tick that has been due longest; NULL: none is due. */
struct tick *ticks_due(const struct ticks *ticks, uint64_t now_ns);

/* A target was sampled at `now_ns`, and is due again `count` ticks later. Gives: the ticks that it
 * missed, 0 if it came in time; always 0 for its first tick. */
uint64_t ticks_done(struct ticks *ticks, struct tick *tick, uint64_t count, uint64_t now_ns);

/* When the tick after `next_ns` comes, if the next sample is in time and counts for one tick. */
uint64_t ticks_after_ns(const struct tick *tick);

/* When to wake up next, after a wake-up at `now_ns`; UINT64_MAX: never. */
uint64_t ticks_wake_ns(struct ticks *ticks, uint64_t now_ns);

/* The tick that is due first, now or later; NULL: there is none. */
struct tick *ticks_first(const struct ticks *ticks);

/* Current period of a target, ns, with its burst and slowed down. */
uint64_t ticks_period(const struct tick *tick);

/* Sets a period until `until_ns`, then the usual one holds again. Nothing if it is not shorter. */
void ticks_burst(struct ticks *ticks, struct tick *tick, uint64_t period_ns, uint64_t until_ns,
                 uint64_t now_ns);

/* The period of a target if it were not slowed down, ns. */
uint64_t ticks_wanted_period(const struct tick *tick);

/* Slows a target down from the next tick on: its period becomes at least the smaller of `period_ns`
 * and one second. 0: it is not slowed down any more. */
void ticks_slow(struct ticks *ticks, struct tick *tick, uint64_t period_ns);

#endif

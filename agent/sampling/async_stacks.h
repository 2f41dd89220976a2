/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_stacks.h - stacks that go on through asyncio tasks: from what runs, or waits, over the
 * coroutines of its task to the task that awaits this one, and so on.
 *
 * Each task is a frame of its own, between its coroutines and those of its awaiter. Of several
 * awaiters the one with the lowest address is followed, so that a task has one stack. Where tasks
 * await each other in a cycle, each has its stack, which ends in "<awaited in a cycle>" when it is
 * back at the first of them.
 *
 * Shape:   async_stacks_init; each sample async_stacks_read, then async_stacks_running for the
 *          threads, async_stacks_waiting for the rest; async_stacks_finish.
 * Threads: one.
 */
#ifndef AGENT_SAMPLING_ASYNC_STACKS_H
#define AGENT_SAMPLING_ASYNC_STACKS_H

#include "agent/sampling/service.h"
#include "base/arena.h"

/* A task as a sample has it; `locations` are of the service's profile. */
struct async_stack {
    cpy_addr id, state;
    bool running, awaits; /* awaits: another task that was read */
    bool in_cycle;        /* the tasks that await it lead back to it */
    cpy_addr awaiter;     /* 0: none */
    size_t walk;          /* the first walk over awaiters that met it; 0: none yet */
    uint32_t *locations;  /* in the arena: of its coroutines, then its own */
    uint32_t depth;
};

/*
 * Cache: the tasks of the sample before (`before`)
 * Key:   address of the task
 * Ends:  with the next sample; a task at the address of one that ended counts as the same, and gets
 *        the time since the last sample, not half of it
 * Test:  tests/integration/test_record_modes.py: test_async_aware_goes_on_through_what_awaits
 */
struct async_stacks {
    struct arena arena;
    struct service *service;   /* borrowed: whose profile interns what is read */
    struct async_stack *tasks; /* owned, by id once it is read */
    size_t count, capacity;
    cpy_addr *before; /* owned, ascending: the tasks of the sample before */
    size_t before_count, before_capacity;
    bool has_cycle;
    uint32_t cycle,
        cycle_depth; /* location of "<awaited in a cycle>"; 0: the profile has no room */
    bool failed;     /* out of memory */
};

void async_stacks_init(struct async_stacks *stacks);
void async_stacks_finish(struct async_stacks *stacks);

/*
 * Reads the tasks: those that run and those that wait for them, or all.
 *
 * Errors: as cpy_tasks; CPY_FOREIGN, where the program has not imported asyncio, is none: there
 *         are no tasks then.
 */
MUST_CHECK enum cpy_rc async_stacks_read(struct async_stacks *stacks, struct cpy_target *target,
                                         struct service *service, bool all);

/* The stack of the task that runs in a thread; `room` has SERVICE_DEPTH_MAX. False: none. */
MUST_CHECK bool async_stacks_running(const struct async_stacks *stacks, cpy_addr state,
                                     uint32_t *room, struct service_stack *out);

/*
 * Calls `each` for each task that waits and awaits no other task that was read, and for each of a
 * cycle; `is_new`: it was not there in the sample before.
 *
 * Lends: the stack, until `each` returns.
 */
void async_stacks_waiting(struct async_stacks *stacks,
                          void (*each)(void *ctx, const struct service_stack *stack, bool is_new),
                          void *ctx);

#endif

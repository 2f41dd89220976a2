/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_stacks.h - stacks that continue through asyncio tasks: the coroutines of a task, then those
 * of the task that awaits it, and so on.
 *
 * Each task is a frame of its own, between its coroutines and those of its awaiter. Of several
 * awaiters the one with the lowest address is followed, so that a task has one stack. If tasks
 * await each other in a cycle, each of them has a stack. It shows each task of the cycle once, and
 * ends in "<awaited in a cycle>".
 *
 * Shape:   async_stacks_init; each sample async_stacks_read, then async_stacks_running for the
 *          threads, async_stacks_waiting for the rest; async_stacks_finish.
 * Threads: one.
 */
#ifndef AGENT_SAMPLING_ASYNC_STACKS_H
#define AGENT_SAMPLING_ASYNC_STACKS_H

#include "agent/sampling/service.h"
#include "base/arena.h"

/* A task in a sample. */
struct async_stack {
    cpy_addr id, state;   /* as in struct cpy_task */
    bool running, awaits; /* awaits: it awaits another task that was read */
    bool in_cycle;        /* the tasks that await it lead back to it */
    cpy_addr awaiter;     /* id of the task that awaits it; 0: none */
    size_t walk;          /* number of the walk over awaiters that met it first; 0: none yet */
    uint32_t *locations;  /* in the arena, leaf first: of its coroutines, then its own frame */
    uint32_t depth;       /* number of `locations`, which are those of the service's profile */
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
    struct service *service;   /* borrowed: its profile interns the frames */
    struct async_stack *tasks; /* owned: the tasks of the last sample, sorted by id */
    size_t count, capacity;
    cpy_addr *before; /* owned, ascending: ids of the tasks of the sample before */
    size_t before_count, before_capacity;
    bool has_cycle;  /* tasks of the last sample await each other in a cycle */
    uint32_t cycle,  /* location of "<awaited in a cycle>" */
        cycle_depth; /* 1; 0: the profile has no room for it */
    bool failed;     /* out of memory; stays set */
};

void async_stacks_init(struct async_stacks *stacks);
void async_stacks_finish(struct async_stacks *stacks);

/*
 * Reads the tasks. `all` false: only tasks that run and tasks that await them, also indirectly.
 *
 * Errors: as cpy_tasks, and CPY_NOMEM. A program that has not imported asyncio (CPY_FOREIGN) has no
 *         tasks: CPY_OK.
 */
MUST_CHECK enum cpy_rc async_stacks_read(struct async_stacks *stacks, struct cpy_target *target,
                                         struct service *service, bool all);

/* Sets *out to the stack of the task that runs in the thread with this `state`. The stack lies in
 * `room`, of SERVICE_DEPTH_MAX locations. False: the thread runs no task that was read. */
MUST_CHECK bool async_stacks_running(const struct async_stacks *stacks, cpy_addr state,
                                     uint32_t *room, struct service_stack *out);

/*
 * Calls `each` for each task that does not run, and either awaits no other task that was read or is
 * part of a cycle. `is_new`: the task was not there in the sample before.
 *
 * Lends: the stack, until `each` returns.
 */
void async_stacks_waiting(struct async_stacks *stacks,
                          void (*each)(void *ctx, const struct service_stack *stack, bool is_new),
                          void *ctx);

#endif

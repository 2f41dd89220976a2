/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain.h - chain of coroutines of a suspended coroutine: each one awaits the next.
 *
 * Shape:   chain_read, chain_frames, chain_verify. A chain that chain_verify accepts is consistent:
 *          none of its coroutines ran between the two reads.
 * Source:  Objects/genobject.c and Python/ceval.c of CPython 3.14 and 3.15: the object that a
 *          generator awaits is on the top of its evaluation stack.
 */
#ifndef UNWIND_STACK_CHAIN_H
#define UNWIND_STACK_CHAIN_H

#include "unwind/objects/kinds.h"
#include "unwind/stack/walk.h"

/* A generator, coroutine or asynchronous generator. */
struct link {
    cpy_addr addr;
    cpy_addr awaited_at; /* address of the pointer to what it awaits; 0: it awaits nothing */
    cpy_addr awaited;    /* that pointer */
    cpy_addr code, instr, stackpointer; /* words of its frame, compared by chain_verify */
    int8_t state;                       /* its frame_state: see layout.generator */
    struct raw_frame frame;
};

struct chain {
    uint32_t depth;
    bool cut;                         /* longer than CPY_DEPTH_MAX */
    bool finished;                    /* links[0] has ended */
    bool executing;                   /* links[0] runs: the rest is on its thread's stack */
    struct link links[CPY_DEPTH_MAX]; /* [0] is the outermost coroutine */
};

/* Reads the chain that begins with the object `coro`; empty if that is no coroutine. */
MUST_CHECK enum cpy_rc chain_read(const struct reader *reader, struct kinds *kinds, cpy_addr coro,
                                  struct chain *out);

/* Reads the chain again. Errors: CPY_RACED: it has changed; those of mem_read. */
MUST_CHECK enum cpy_rc chain_verify(const struct reader *reader, const struct chain *chain);

/* Writes its frames into `out`, innermost first. */
void chain_frames(const struct chain *chain, struct raw_stack *out);

#endif

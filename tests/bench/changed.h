/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changed.h - how many bytes of the target changed from one sample to the next.
 *
 * What had to be read anew, if all else were known: of each stack that is not as it was, the
 * frames from the innermost to the first that is followed by the same callers as before, and the
 * word that says which frame is innermost.
 *
 * Shape: changed_init; for each sample changed_add for each of its stacks, then changed_next;
 *        changed_finish.
 */
#ifndef TESTS_BENCH_CHANGED_H
#define TESTS_BENCH_CHANGED_H

#include "unwind/cpy.h"

struct changed_frame {
    uint64_t code; /* id */
    int32_t line;
};

struct changed_stack {
    cpy_addr key;
    uint32_t depth;
    struct changed_frame *frames; /* borrowed from the sample's */
};

struct changed_sample {
    struct changed_stack *stacks; /* owned */
    struct changed_frame *frames; /* owned */
    size_t stack_count, frame_count;
};

struct changed {
    struct changed_sample last, now;
    size_t guess;   /* where the next stack of `last` is looked for */
    uint64_t bytes; /* between the samples so far */
    uint64_t pairs; /* of samples that were compared */
    bool any, nomem;
};

/* False: out of memory. */
MUST_CHECK bool changed_init(struct changed *changed);
void changed_finish(struct changed *changed);

/* Adds a stack; `key` tells it apart from the others of the sample. */
void changed_add(struct changed *changed, cpy_addr key, const struct cpy_frame *frames,
                 uint32_t depth);

/* The sample is complete (`whole`) or of no use. */
void changed_next(struct changed *changed, bool whole);

#endif

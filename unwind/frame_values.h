/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_values.h - reads the values of frames: their variables, then their evaluation stacks.
 *
 * From 3.11 on the code object has their number: co_nlocalsplus variables, then co_stacksize slots
 * of the evaluation stack. Both fields are next to co_firstlineno in all versions
 * (Include/cpython/code.h). Before 3.11 a frame is an object with ob_size values.
 */
#ifndef UNWIND_FRAME_VALUES_H
#define UNWIND_FRAME_VALUES_H

#include "unwind/target.h"

enum {
    FRAME_VALUES_DEPTH = 64, /* innermost frames that callers read */
    FRAME_VALUES_BATCH = 8,  /* frames that one call reads */
    FRAME_VALUES_MAX = 128   /* values of a frame that are read: the first ones */
};

/* The values of one frame. */
struct frame_values_part {
    cpy_addr frame, from;   /* addresses of the frame and of its first value */
    const uint64_t *values; /* borrowed from frame_values.values: the words in the frame */
    size_t count;
};

struct frame_values {
    struct frame_values_part parts[FRAME_VALUES_BATCH];
    size_t count; /* of parts */
    size_t used;  /* of values */
    uint64_t values[FRAME_VALUES_BATCH * FRAME_VALUES_MAX];
};

/*
 * Walks the stack of the thread whose PyThreadState is `state` in the last sample, into
 * t->scratch->raw. Lends *out, the thread, until the next list. Errors: as cpy_fingerprint.
 */
MUST_CHECK enum cpy_rc frame_values_walk(struct cpy_target *t, cpy_addr state,
                                         const struct listed **out);

/* Reads the values of up to FRAME_VALUES_BATCH frames; a frame without code gets no part. */
MUST_CHECK enum cpy_rc frame_values_read(struct cpy_target *t, const struct raw_frame *frames,
                                         size_t count, struct frame_values *out);

#endif

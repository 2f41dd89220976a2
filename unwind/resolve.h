/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - gives the frames of a stack their names and lines. */
#ifndef UNWIND_RESOLVE_H
#define UNWIND_RESOLVE_H

#include "unwind/target.h"

/*
 * Fills `stack` with the frames of `raw`, in which it may expand `same`. Unchanged frames, from
 * the outermost on, are not decoded again. `owner`: the interpreter of the code objects.
 *
 * Errors: CPY_RACED (raw->tear says why); CPY_NOMEM: also if the target's stacks together
 *         are too large for the cache; scratch->stack always has room. CPY_GONE, CPY_DENIED.
 */
MUST_CHECK enum cpy_rc resolve(struct cpy_target *target, struct raw_stack *raw,
                               const struct codes_owner *owner, struct cached_stack *stack);

#endif

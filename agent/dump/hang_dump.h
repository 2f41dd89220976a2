/* SPDX-License-Identifier: Apache-2.0 */
/* hang_dump.h - stacks of the threads and asyncio tasks of a process that hangs, as text. */
#ifndef AGENT_DUMP_HANG_DUMP_H
#define AGENT_DUMP_HANG_DUMP_H

#include "agent/proc/program.h"
#include "base/buf.h"

enum { HANG_DUMP_MAX = 256 << 10 }; /* most bytes of a dump; it is cut at a line's end */

/*
 * Appends the stacks of all threads, then the tasks, in the format of `pystrobe dump` without
 * source lines. Appends one line instead if the process cannot be read or does not run `program`
 * any more.
 *
 * Cost: opens the process with a cpy_target of its own, so that the sampler's one is not changed.
 */
void hang_dump(const struct program *program, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hang_dump.h - what the threads and asyncio tasks of a process that hangs do, as text. */
#ifndef AGENT_DUMP_HANG_DUMP_H
#define AGENT_DUMP_HANG_DUMP_H

#include "agent/proc/program.h"
#include "base/buf.h"

enum { HANG_DUMP_MAX = 256 << 10 }; /* bytes of it, in whole lines */

/*
 * Appends the stacks of all threads, then the tasks, as `pystrobe dump` has them but without
 * source lines; or a line that says why they cannot be read, or that the process runs another
 * program by now. No more than HANG_DUMP_MAX.
 *
 * Cost: opens the process once more, so that what is known of its samples stays as it is.
 */
void hang_dump(const struct program *program, struct buf *out);

#endif

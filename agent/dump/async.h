/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - `pystrobe dump --async`: the asyncio tasks of a process as they are now. */
#ifndef AGENT_DUMP_ASYNC_H
#define AGENT_DUMP_ASYNC_H

#include <stdbool.h>

#include "agent/child/heartbeat.h"
#include "agent/proc/program.h"
#include "unwind/cpy.h"

/*
 * Prints the tasks of `target`, whose command line is `command`: all, or those that run and what
 * awaits them; as a tree, or as JSON that pystrobe(8) describes; or says that the process runs
 * another program than the one that is held. Ends the read in the heartbeat once they are read.
 * Gives the exit status.
 */
MUST_CHECK int dump_async(const struct held_program *held, const char *command,
                          struct cpy_target *target, struct heartbeat *heartbeat, bool all,
                          bool json);

#endif

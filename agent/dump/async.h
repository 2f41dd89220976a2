/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - `pystrobe dump --async`: prints the asyncio tasks of a process once. */
#ifndef AGENT_DUMP_ASYNC_H
#define AGENT_DUMP_ASYNC_H

#include <stdbool.h>

#include "agent/child/heartbeat.h"
#include "agent/proc/program.h"
#include "unwind/cpy.h"

/*
 * Reads the tasks of `target`, calls heartbeat_end_read, and prints them to stdout: all, or those
 * that run and their awaiters; as a tree with the command line `command`, or as the JSON of
 * pystrobe(8). If the process does not run the program `held` any more, prints only an error. Gives
 * the exit status; EXIT_FAILED also if a task was torn.
 */
MUST_CHECK int dump_async(const struct held_program *held, const char *command,
                          struct cpy_target *target, struct heartbeat *heartbeat, bool all,
                          bool json);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - `pystrobe dump --async`: prints the asyncio tasks of a process once. */
#ifndef AGENT_DUMP_ASYNC_H
#define AGENT_DUMP_ASYNC_H

#include <stdbool.h>

#include "agent/child/heartbeat.h"
#include "agent/proc/program.h"
#include "unwind/cpy.h"

/*
 * Reads the tasks of `target`, calls heartbeat_end_read, and prints them to stdout: with `all` all
 * tasks, else those that run and their awaiters; as a tree, or as the JSON of pystrobe(8).
 * `command`: the command line to show; `held`: the program of the process, held since before
 * `target` was opened. If the process runs another program by now, prints only an error.
 *
 * Gives: the exit status: EXIT_OK; EXIT_FAILED if a task was torn, without memory, or if stdout
 *        cannot be written; or the status of the error that was printed to stderr.
 */
MUST_CHECK int dump_async(const struct held_program *held, const char *command,
                          struct cpy_target *target, struct heartbeat *heartbeat, bool all,
                          bool json);

#endif

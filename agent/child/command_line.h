/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_line.h - reads the command line of another process for display, with a time limit: the
 * kernel waits for that process's mmap_lock, which that process may hold for ever.
 *
 * For few processes: each call forks. proc_reader.h is for many.
 */
#ifndef AGENT_CHILD_COMMAND_LINE_H
#define AGENT_CHILD_COMMAND_LINE_H

#include "agent/proc/proc.h"

/* Reads what proc_command_line does; "" if there is none, or a pipe or child cannot be made. False,
 * and "": the process blocked the read for a second. Cost: a fork. */
bool command_line_read(pid_t pid, char out[PROC_COMMAND_MAX]);

#endif

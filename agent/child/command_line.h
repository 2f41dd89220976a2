/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_line.h - reads the command line of another process for display, with a time limit. The
 * limit is needed because the kernel waits for that process's mmap_lock, which the process may hold
 * for ever.
 *
 * Use it for a few processes only, because each call forks. proc_reader.h reads many.
 */
#ifndef AGENT_CHILD_COMMAND_LINE_H
#define AGENT_CHILD_COMMAND_LINE_H

#include "agent/proc/proc.h"

/*
 * Writes the command line of process `pid` to `out`: the arguments with blanks between them, cut to
 * PROC_COMMAND_MAX bytes, which include the final 0 byte. It may contain control characters. `out`
 * is "" if the command line could not be read.
 *
 * Gives: false only if the read took longer than one second, because the process blocks readers.
 *        True in all other cases, also if the process has no command line or has ended, or if the
 *        pipe or the child could not be made.
 * Cost:  forks a child to read, and kills it if it has not ended after one second.
 */
bool command_line_read(pid_t pid, char out[PROC_COMMAND_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.h - how many file descriptors this process may have, and has room for. */
#ifndef AGENT_HOST_FILE_LIMIT_H
#define AGENT_HOST_FILE_LIMIT_H

#include <stddef.h>

/* Raises the soft limit to the hard one: a shell's usual 1,024 does not do for hundreds of
 * processes. Not before a command is started, which is to have the limit that it would have alone.
 */
void file_limit_raise(void);

/* The soft limit. */
size_t file_limit(void);

/*
 * How many descriptors are in use, as far as they are used from 0 on without a gap, which is how
 * the kernel hands them out. `any_fd`: an open one.
 *
 * Gives: the limit if none is left.
 * Cost:  two system calls.
 */
size_t file_limit_used(int any_fd);

#endif

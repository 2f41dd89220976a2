/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.h - limit of this process's file descriptors, and how many are in use. */
#ifndef AGENT_HOST_FILE_LIMIT_H
#define AGENT_HOST_FILE_LIMIT_H

#include <stddef.h>

/* Raises the soft limit to the hard one, because the usual 1,024 are too few to sample hundreds of
 * processes. Call it after a command was started, because the command would inherit it. */
void file_limit_raise(void);

/* The soft limit; SIZE_MAX: none, or not known. */
size_t file_limit(void);

/*
 * The number of the lowest free descriptor; the limit if none is free. This is the count of open
 * ones, because the kernel assigns the lowest first. `any_fd`: an open descriptor.
 *
 * Cost: two system calls.
 */
size_t file_limit_used(int any_fd);

#endif

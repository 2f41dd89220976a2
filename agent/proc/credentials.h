/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - opens files with the rights of the process that names them.
 *
 * A hostile process can name any file as its source. When root opens it, it must not show a file
 * that the process itself could not read.
 */
#ifndef AGENT_PROC_CREDENTIALS_H
#define AGENT_PROC_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { CREDENTIALS_GROUPS_MAX = 256 };

/* What a process opens files with. */
struct credentials {
    uid_t user; /* of the file system, as the next two */
    gid_t group;
    gid_t groups[CREDENTIALS_GROUPS_MAX];
    size_t group_count;
};

/* Reads those of a process. False: they cannot be read. */
MUST_CHECK bool credentials_read(pid_t pid, struct credentials *out);

/*
 * Makes the calling thread open files as that user and these groups, for the rest of the thread's
 * life.
 *
 * Gives: false if that is not possible; then open no file that the process names.
 */
MUST_CHECK bool credentials_assume(const struct credentials *credentials);

/* True if both open the same files. */
MUST_CHECK bool credentials_same(const struct credentials *one, const struct credentials *other);

#endif

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

/* The ids by which the kernel checks access to files. */
struct credentials {
    uid_t user;                           /* file system user id */
    gid_t group;                          /* file system group id */
    gid_t groups[CREDENTIALS_GROUPS_MAX]; /* supplementary groups; further ones are left out */
    size_t group_count;
};

/* Reads the credentials of a process. False: they cannot be read. */
MUST_CHECK bool credentials_read(pid_t pid, struct credentials *out);

/*
 * Makes the calling thread open files with these credentials, for the rest of its life. Changes
 * nothing if the thread's file system user is that user already.
 *
 * Gives: false if that is not possible; then open no file that the process names.
 */
MUST_CHECK bool credentials_assume(const struct credentials *credentials);

/* True if all ids are the same. */
MUST_CHECK bool credentials_same(const struct credentials *one, const struct credentials *other);

#endif

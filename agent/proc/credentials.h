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
#include <sys/types.h>

#include "base/err.h"

/*
 * Makes the calling thread open files as the user and groups of that process, for the rest of the
 * thread's life.
 *
 * Gives: false if that is not possible; then open no file that the process names.
 */
MUST_CHECK bool assume_credentials(pid_t pid);

#endif

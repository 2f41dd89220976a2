/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - opens files with no more rights than the process has whose word is taken for
 * them.
 *
 * A hostile process names any file as its source. Whoever looks at it as root must not be
 * shown a file that the process itself could not have read.
 */
#ifndef AGENT_PROC_CREDENTIALS_H
#define AGENT_PROC_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * From now on the calling thread opens files as the user and groups of that process: they
 * are not given back.
 *
 * Gives: false if that is not possible; then no file should be opened on its word.
 */
MUST_CHECK bool assume_credentials(pid_t pid);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* denied.h - says whose a file is that may not be opened, and what to do. */
#ifndef AGENT_HOST_DENIED_H
#define AGENT_HOST_DENIED_H

#include "base/err.h"

enum { DENIED_TEXT_MAX = 256 };

/*
 * Writes the text of an errno that opening `path` has given. For EACCES it goes on with the owner
 * of the path, or of the directory that keeps us out, and with who may open it. Returns out.
 *
 * Cost: looks up names of users and groups, so it is for commands, not for the agent.
 */
const char *denied_text(const char *path, int cause, char out[DENIED_TEXT_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* users.h - the users that conditions of [target] sections name. */
#ifndef AGENT_DISCOVER_USERS_H
#define AGENT_DISCOVER_USERS_H

#include "agent/discover/proc_reader.h"
#include "conf/conf.h"

/* What to do about a user that does not exist. */
#define USERS_CURE "correct the name, or give the user's number"

/* True if a user is given by number: one that users have, 0 to 4294967294. */
MUST_CHECK bool users_number(const char *user, unsigned long *out);

/*
 * Calls `each` for each user that a section names and that does not exist now: `where` is section
 * and key, `text` what follows from it. A name of which the directory server does not tell in time
 * is passed over. `reader`: see proc_reader.h.
 */
void users_each_unknown(const struct conf *conf, struct proc_reader *reader,
                        void (*each)(void *ctx, const char *where, const char *text), void *ctx);

/* Logs a warning for each of them. */
void users_log_unknown(const struct conf *conf, struct proc_reader *reader);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* users.h - the users that conditions of [target] sections name. */
#ifndef AGENT_DISCOVER_USERS_H
#define AGENT_DISCOVER_USERS_H

#include "agent/discover/proc_reader.h"
#include "conf/conf.h"

/* What to do about a user that does not exist. */
#define USERS_CURE "correct the name, or give the user's number"

/* True if the text `user` is a valid user number, 0 to 4294967294; writes it to *out. */
MUST_CHECK bool users_number(const char *user, unsigned long *out);

/*
 * Calls `each` for each user that a section names and that does not exist now. `where`: section and
 * key; `text`: the consequence, for users. A name is skipped if the directory server does not
 * answer in time. `reader`: see proc_reader.h.
 */
void users_each_unknown(const struct conf *conf, struct proc_reader *reader,
                        void (*each)(void *ctx, const char *where, const char *text), void *ctx);

/* Logs a warning for each of them. */
void users_log_unknown(const struct conf *conf, struct proc_reader *reader);

#endif

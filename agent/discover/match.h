/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - which [target] section of the ini file a process belongs to. */
#ifndef AGENT_DISCOVER_MATCH_H
#define AGENT_DISCOVER_MATCH_H

#include "agent/discover/proc_reader.h"
#include "agent/discover/target_profile.h"
#include "base/buf.h"
#include "conf/conf.h"

struct matcher;

/* Gives: a matcher for the targets of `conf`, which must outlive it; NULL: out of memory. */
MUST_CHECK struct matcher *matcher_new(const struct conf *conf);
void matcher_free(struct matcher *matcher);

/* Makes later calls read files that may block through `reader`, which is borrowed; NULL: directly.
 * A process that blocks the reader matches no target. */
void matcher_use_reader(struct matcher *matcher, struct proc_reader *reader);

/* Finds the first target with all conditions true for a process, and sets *out by it. False: there
 * is none, the process has set PYSTROBE_DISABLE, or, with out->unknown, it could not be read. */
MUST_CHECK bool matcher_choose(const struct matcher *matcher, pid_t pid,
                               struct target_profile *out);

/* Appends why the first eight targets do not match a process: each one's first false condition. */
void matcher_explain(const struct matcher *matcher, pid_t pid, struct buf *out);

/* Converts the setting `split` to the enum of target_profile.h. */
enum service_split match_split(enum conf_split split);

#endif

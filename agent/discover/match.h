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

/* From now on what may block is read by this reader, which the caller keeps. A process that blocks
 * it fits no target. NULL: it is read here. */
void matcher_use_reader(struct matcher *matcher, struct proc_reader *reader);

/* The first target all of whose conditions a process fulfils. False: none, or out->unknown. */
MUST_CHECK bool matcher_choose(const struct matcher *matcher, pid_t pid,
                               struct target_profile *out);

/* Appends why no section is for the process: of each, the first condition that keeps it off. */
void matcher_explain(const struct matcher *matcher, pid_t pid, struct buf *out);

/* The engine's name for a way to split. */
enum service_split match_split(enum conf_split split);

#endif

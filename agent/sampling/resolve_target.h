/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_target.h - resolves the TARGET of a command: a pid, a section of the ini file, or a
 * service. */
#ifndef AGENT_SAMPLING_RESOLVE_TARGET_H
#define AGENT_SAMPLING_RESOLVE_TARGET_H

#include "agent/sampling/bursts.h"
#include "conf/conf.h"

/* True if all processes of a section have one service name: it has no '$'. */
MUST_CHECK bool resolve_target_is_fixed(const struct conf_target *section);

/*
 * Gives a burst that covers `target`: digits are the pid of a process (one that runs now, so that a
 * later process with the pid is not covered); a name is a section of `conf` that
 * resolve_target_is_fixed, or else a service; "" covers every process. rate_hz and until_ns are 0.
 */
struct burst resolve_target(const struct conf *conf, const char *target);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_target.h - what people mean by a TARGET: a process, a section of the settings, or a
 * service. */
#ifndef AGENT_SAMPLING_RESOLVE_TARGET_H
#define AGENT_SAMPLING_RESOLVE_TARGET_H

#include "agent/sampling/bursts.h"
#include "conf/conf.h"

/*
 * Whom `target` names: the process that has it as its number now, a section whose service is known,
 * else a service; "" is everybody. The burst has no rate and no end yet.
 */
struct burst resolve_target(const struct conf *conf, const char *target);

#endif

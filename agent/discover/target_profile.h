/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_profile.h - how a process that is wanted is to be sampled, and under which name.
 *
 * It holds no pointer: the process that finds targets may hand it to the one that samples.
 */
#ifndef AGENT_DISCOVER_TARGET_PROFILE_H
#define AGENT_DISCOVER_TARGET_PROFILE_H

#include "agent/discover/labels.h"
#include "agent/discover/sample_options.h"

/* How finely the samples of one service are told apart. */
enum service_split { SPLIT_NONE, SPLIT_PROCESS, SPLIT_THREAD };

struct target_profile {
    char service[256];
    struct labels labels;
    uint32_t auto_labels; /* which of naming_auto are wanted, a bit each */
    bool otel_name;       /* a service.name that the process publishes goes before `service` */
    double rate_hz;
    enum service_split split;
    size_t max_split; /* processes or threads told apart in a profile; 0: no limit */
    struct sample_options options;
};

#endif

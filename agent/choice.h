/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.h - how a process that is wanted is to be sampled, and under which name.
 *
 * It holds no pointer: the process that finds targets may hand it to the one that samples.
 */
#ifndef AGENT_CHOICE_H
#define AGENT_CHOICE_H

#include "agent/labels.h"
#include "agent/service.h"
#include "agent/wants.h"

struct choice {
    char service[256];
    struct labels labels;
    uint32_t auto_labels; /* which of naming_auto are wanted, a bit each */
    bool otel_name;       /* a service.name that the process publishes goes before `service` */
    double rate_hz;
    enum service_split split;
    size_t max_split; /* processes or threads told apart in a profile; 0: no limit */
    struct wants wants;
};

#endif

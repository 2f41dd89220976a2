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

struct choice {
    char service[256];
    struct labels labels;
    bool labels_version; /* the version of Python becomes a label, too */
    double rate_hz;
    enum service_split split;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_profile.h - how a process is sampled, and the service name and labels of its profiles.
 *
 * It holds no pointer, so that the process that finds targets can send it to the one that samples.
 */
#ifndef AGENT_DISCOVER_TARGET_PROFILE_H
#define AGENT_DISCOVER_TARGET_PROFILE_H

#include "agent/discover/labels.h"
#include "agent/discover/sample_options.h"

/* Label that splits the samples of one service: none, the process, or the thread. */
enum service_split { SPLIT_NONE, SPLIT_PROCESS, SPLIT_THREAD };

struct target_profile {
    char service[256];
    char named_by[96]; /* source of the name, for users */
    struct labels labels;
    uint32_t auto_labels; /* labels to detect: bit N is labels_found[N] of labels.h */
    bool otel_name;       /* service.name of otel_context.h replaces `service`, unless `declared` */
    bool declared;        /* `service` is declared by the process's environment */
    double rate_hz;       /* samples per second */
    enum service_split split;
    size_t max_split; /* most processes or threads that a profile splits; 0: no limit */
    struct sample_options options;
    uint64_t owner;  /* owner_hash of owner.h; 0: not known */
    bool from_birth; /* count all CPU time since the process's start, not only from now on */
    bool unknown;    /* the rules could not be decided, because a read did not answer in time */
};

#endif

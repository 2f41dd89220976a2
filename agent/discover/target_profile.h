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

/* By what the samples of one service are split. */
enum service_split { SPLIT_NONE, SPLIT_PROCESS, SPLIT_THREAD };

struct target_profile {
    char service[256];
    char named_by[96]; /* why it is called so, for people */
    struct labels labels;
    uint32_t auto_labels; /* bit set: indices into labels_found of labels.h */
    bool otel_name;       /* a service.name that the process publishes replaces `service`, */
    bool declared;        /* unless its environment says how it is called */
    double rate_hz;
    enum service_split split;
    size_t max_split; /* most processes or threads that a profile splits; 0: no limit */
    struct sample_options options;
    uint64_t owner;  /* whose it is: see owner.h; 0: not known */
    bool from_birth; /* all CPU time that it has used counts, not just what it uses from now on */
    bool unknown;    /* what decides could not be read: no answer in time */
};

#endif

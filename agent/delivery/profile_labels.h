/* SPDX-License-Identifier: Apache-2.0 */
/* profile_labels.h - the labels of a service's profiles, the most important ones first. */
#ifndef AGENT_DELIVERY_PROFILE_LABELS_H
#define AGENT_DELIVERY_PROFILE_LABELS_H

#include "agent/sampling/service.h"
#include "base/label.h"

enum { PROFILE_LABELS_MAX = 2 * LABELS_MAX + 40 }; /* further ones are left out */

struct profile_labels {
    struct label items[PROFILE_LABELS_MAX]; /* borrowed from the service and the settings */
    size_t count;
};

/*
 * Lists the service's own labels, then those of the settings, then those of the service that were
 * detected (labels_found). A setting is left out if the service has a label of that name, own or
 * detected.
 */
void profile_labels_list(struct profile_labels *out, const struct service *service,
                         const struct label *settings, size_t setting_count);

/*
 * Removes labels from the end until at most PYROSCOPE_LABELS_MAX remain. The limit includes the
 * label names of the service's samples, and `added` labels that the server and the agent add.
 * Does not check lengths. Logs the first removal and sets *warned, which begins as false.
 */
void profile_labels_limit(struct profile_labels *labels, const struct service *service,
                          size_t added, bool *warned);

#endif

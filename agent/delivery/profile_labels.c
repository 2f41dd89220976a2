/* SPDX-License-Identifier: Apache-2.0 */
/* profile_labels.c - see profile_labels.h. */
#include "agent/delivery/profile_labels.h"

#include <string.h>

#include "agent/host/log.h"
#include "exporters/settings.h"

static bool was_found(const char *name)
{
    for (size_t i = 0; labels_found[i]; i++)
        if (strcmp(labels_found[i], name) == 0)
            return true;
    return false;
}

static void list_label(struct profile_labels *labels, const char *name, const char *value)
{
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, name) == 0)
            return;
    if (labels->count < PROFILE_LABELS_MAX)
        labels->items[labels->count++] = (struct label){name, value};
}

static void list_of_service(struct profile_labels *labels, const struct service *service,
                            bool found)
{
    const char *name, *value;
    size_t at = 0;

    while (labels_next(&service->labels, &at, &name, &value))
        if (was_found(name) == found)
            list_label(labels, name, value);
}

void profile_labels_list(struct profile_labels *out, const struct service *service,
                         const struct label *settings, size_t setting_count)
{
    out->count = 0;
    list_of_service(out, service, false);
    for (size_t i = 0; i < setting_count; i++)
        if (!labels_get(&service->labels, settings[i].name))
            list_label(out, settings[i].name, settings[i].value);
    list_of_service(out, service, true);
}

void profile_labels_limit(struct profile_labels *labels, const struct service *service,
                          size_t added, bool *warned)
{
    size_t beside = added + pprof_label_count(service->profile);
    size_t most = beside < PYROSCOPE_LABELS_MAX ? PYROSCOPE_LABELS_MAX - beside : 0;

    if (labels->count <= most)
        return;
    if (!*warned)
        log_line(LOG_LEVEL_WARNING,
                 "service %s: a Pyroscope takes %d labels, with %zu of its own and of samples: "
                 "%.200s and the %zu after it are left out; limits = none sends all",
                 service->name, PYROSCOPE_LABELS_MAX, beside, labels->items[most].name,
                 labels->count - most - 1);
    *warned = true;
    labels->count = most;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - one encoded profile with its service, labels and times, for an exporter. */
#ifndef EXPORTERS_PROFILE_H
#define EXPORTERS_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/label.h"

/* All is borrowed. */
struct exporter_profile {
    const char *service;
    const char *type; /* "cpu", "wall", "gil"; NULL: all types in one */
    const struct label *labels;
    size_t label_count;
    int64_t start_ns, end_ns; /* UTC */
    uint32_t owner;    /* hash of the user or container that its processes belong to; 0: unknown */
    const void *bytes; /* gzip'd: a pprof, or an OTLP request (see enum exporter_form) */
    size_t size;       /* bytes */
};

#endif

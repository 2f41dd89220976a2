/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - one profile on its way to an exporter. */
#ifndef EXPORTERS_PROFILE_H
#define EXPORTERS_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/label.h"

/* One profile to deliver. All is borrowed. */
struct exporter_profile {
    const char *service;
    const char *type; /* "cpu", "wall", "gil"; NULL: all types in one */
    const struct label *labels;
    size_t label_count;
    int64_t start_ns, end_ns; /* UTC */
    uint32_t owner;           /* whose processes it is of: any number that tells them from others;
                                 0: not known */
    const void *bytes;        /* gzip'd: a pprof, or what the form says */
    size_t size;
};

#endif

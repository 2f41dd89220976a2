/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the files of a delivery share; nobody else includes it.
 */
#ifndef AGENT_DELIVERY_INTERNAL_H
#define AGENT_DELIVERY_INTERNAL_H

#include <stdatomic.h>

#include "agent/delivery/export_worker.h"
#include "agent/delivery/spooler.h"
#include "base/time_units.h"

/* What a cancel may take beyond the deadline, out of the 200 ms that are promised. */
#define GRACE_NS (150 * NS_PER_MS)

struct delivery {
    struct delivery_world world;
    struct export_worker **workers; /* owned, and so is each */
    size_t count;
    uint64_t last_id;           /* of a lane */
    struct spooler *spooler;    /* owned; NULL: there is no spool */
    atomic_uint_fast64_t order; /* of the profiles put, without a spool */
    bool flushed;
};

/* As delivery_add, but the lane is the caller's, and gets no profiles yet. */
MUST_CHECK bool delivery_make_worker(struct delivery *delivery, const char *name,
                                     enum exporter_form form, const struct delivery_sink *sink,
                                     const struct delivery_limits *limits,
                                     struct export_worker **out);

/* Says what a lane that has ended has lost. True: nothing is. */
bool delivery_take_stock(const struct delivery_world *world, struct export_worker *worker);

#endif

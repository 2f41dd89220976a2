/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - builds the message of Pyroscope's Push.
 *
 * Shape:   push_labels, then push_encode with these labels.
 * Threads: all functions may be called from any thread; they keep no state.
 * Source:  push.proto, the fields as Pyroscope 2.x reads them.
 */
#ifndef EXPORTERS_PUSH_H
#define EXPORTERS_PUSH_H

#include "base/arena.h"
#include "base/buf.h"
#include "exporters/exporter.h"

struct push_labels {
    struct label *items; /* borrowed from the arena */
    size_t count;
};

/*
 * Collects the series labels of a profile, valid for the server and sorted by name: `__name__` and
 * `service_name` from the profile's type and service, then the profile's own labels, named by
 * exporter_label_name. Of two equal names ("." equals "_") the first stays. Labels are left out if
 * the value is empty or the name is empty, too long or begins with "__" (the server's own). Long
 * values are cut.
 *
 * Lends:  out->items, until the arena is reset.
 * Errors: EXPORTER_REFUSED (no type), EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc push_labels(const struct exporter_profile *profile, struct arena *arena,
                                        struct push_labels *out, struct err *err);

/*
 * Appends a PushRequest of one series with one profile, which gets the id `id`.
 *
 * Errors: EXPORTER_REFUSED: no room for it in `out`; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc push_encode(const struct push_labels *labels, const char *id,
                                        const struct exporter_profile *profile, struct arena *arena,
                                        struct buf *out);

/*
 * Finds out which profiles of a batch the server refused; it has stored the others. A reply that
 * names none, or that is cut off, is about all.
 *
 * Gives:  answer->failed and failed_count; puts the names of the first three before answer->err.
 * Source: Pyroscope 2.x, pkg/distributor: "push series with index %d and id %s failed: %w" for
 *         each that failed, whatever the status.
 */
void push_failed(const void *reply, size_t size, const struct batch *batch,
                 struct exporter_answer *answer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - builds the message that Pyroscope's Push takes.
 *
 * Shape:   push_labels, then push_encode with what it gave.
 * Threads: functions of their arguments alone.
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
 * Gathers the series labels of a profile, sorted by name, valid for the server:
 * `__name__` and `service_name` from the profile's type and service, then the
 * profile's own, named as exporter_label_name says. Of two with one name, "." being the
 * same as "_", the earlier stays; names that are empty, too long or begin with "__" (the
 * server's own) and empty values are left out; long values are cut.
 *
 * Lends:  out's items, until the arena is reset.
 * Errors: EXPORTER_REFUSED (no type), EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc push_labels(const struct exporter_profile *profile, struct arena *arena,
                                        struct push_labels *out, struct err *err);

/*
 * Appends a PushRequest of one series and one profile.
 *
 * Errors: EXPORTER_REFUSED when it is larger than `out` may be, EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc push_encode(const struct push_labels *labels, const char *id,
                                        const struct exporter_profile *profile, struct arena *arena,
                                        struct buf *out);

/*
 * Finds out which profiles of a request a refusal is about: the others have been stored. A reply
 * that names none, or is cut off, is about all.
 *
 * Gives:  answer->failed, failed_count, and the names of the first few in front of answer->err.
 * Source: Pyroscope 2.x, pkg/distributor: "push series with index %d and id %s failed: %w" for
 *         each that failed, whatever the status.
 */
void push_failed(const void *reply, size_t size, const struct batch *batch,
                 struct exporter_answer *answer);

#endif

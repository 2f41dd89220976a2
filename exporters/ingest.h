/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - builds what a Pyroscope from before Push takes: POST /ingest.
 *
 * Shape:   ingest_query and ingest_body, one each a request.
 * Threads: functions of their arguments alone.
 * Source:  what Pyroscope 2.x does with /ingest, which is what Pyroscope 0.x did.
 */
#ifndef EXPORTERS_INGEST_H
#define EXPORTERS_INGEST_H

#include "base/buf.h"
#include "exporters/exporter.h"
#include "exporters/push.h"

/*
 * Appends the query: the name with its labels, the time, the rate. `labels` are those
 * of push_labels. There is no quoting in a name: what would end it becomes "_".
 */
void ingest_query(const struct exporter_profile *profile, const struct push_labels *labels,
                  struct buf *out);

/* Appends the multipart body. `boundary` must be in no profile: a random one is in none. */
void ingest_body(const struct exporter_profile *profile, const char *boundary, struct buf *out);

#endif

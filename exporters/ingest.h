/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - builds the request that Pyroscope servers older than Push take: POST /ingest.
 *
 * Shape:   ingest_query and ingest_body, once each for a request.
 * Threads: all functions may be called from any thread; they keep no state.
 * Source:  the behaviour of /ingest in Pyroscope 2.x, the same as in 0.x.
 */
#ifndef EXPORTERS_INGEST_H
#define EXPORTERS_INGEST_H

#include "base/buf.h"
#include "exporters/exporter.h"
#include "exporters/push.h"

/*
 * Appends the query of the URL: the name with its labels, the time, the rate. `labels` are those of
 * push_labels. Names have no quoting, so characters that would end one become "_".
 */
void ingest_query(const struct exporter_profile *profile, const struct push_labels *labels,
                  struct buf *out);

/* Appends the multipart body. `boundary` must not occur in the profile: use a random one. */
void ingest_body(const struct exporter_profile *profile, const char *boundary, struct buf *out);

#endif

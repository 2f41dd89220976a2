/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_query.h - queries of a local store, with answers as JSON for the browser page.
 *
 * If there are more profiles than the limits and the deadline allow, those that are read are spread
 * evenly over the time range. "files" in an answer counts all, "read" those that were read.
 *
 * Gives:  appends one JSON object and a newline to `out`; store_query_profile a pprof file.
 * Errors: false; `err` says why, and `out` may have a part of the answer.
 */
#ifndef AGENT_REPORT_STORE_QUERY_H
#define AGENT_REPORT_STORE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/report/sum.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    STORE_QUERY_FILES_MAX = 4096, /* most profiles in a sum */
    STORE_QUERY_POINTS_MAX = 800, /* most profiles in a time line, a point each */
    /* Most nodes of a flame graph; the smallest are left out, and count for their callers. */
    STORE_QUERY_NODES_MAX = 100000,
    /* Most memory of a sum, and of each decoded profile; profiles that do not fit are left out. */
    STORE_QUERY_BYTES_MAX = 32 << 20
};

/* A selection of one service's profiles. All borrowed. */
struct store_query {
    const char *store, *folder; /* path of the store; "folder" of store_query_services */
    int64_t from_ms, to_ms;     /* UTC: profiles that start at from_ms or later, before to_ms */
    int64_t pid;                /* only samples of this process; 0: of all */
    struct pprof_label label;   /* only samples with this label; key NULL: all */
    /* Monotonic: no profile is read after it. Without any read, all but the time line fail. */
    uint64_t deadline_ns;
};

/*
 * Order of reading that spreads evenly: the index (0 to `count` - 1) to read in turn `turn` (0 to
 * `count` - 1). Each index comes once. After N turns at most 2 * count / N in a row are unread.
 */
size_t store_query_index_of_turn(size_t turn, size_t count);

/* Writes the labels that samples must have for a query; gives their number. Lends their texts while
 * those of the query live. */
size_t store_query_labels(const struct store_query *query,
                          struct pprof_label out[REPORT_LABELS_MAX]);

/* Lists the folders of a store: folder, service, number and bytes of profiles, first and last start
 * (ms). An empty list if there is no store. At most 10000 folders. */
MUST_CHECK bool store_query_services(const char *store, struct buf *out, struct err *err);

/* Writes the totals of each profile that is read, in the order of reading, not of time; only the
 * values that the first profile has. */
MUST_CHECK bool store_query_timeline(const struct store_query *query, struct buf *out,
                                     struct err *err);

/* Writes the flame graph of the sum of the profiles, with all their values. `type`: the value to
 * show first; fails if the profiles do not have it. NULL: cpu, else wall, else the last. */
MUST_CHECK bool store_query_graph(const struct store_query *query, const char *type,
                                  struct buf *out, struct err *err);

/* Writes the sum of the profiles as a pprof file. `type`: as for store_query_graph. */
MUST_CHECK bool store_query_profile(const struct store_query *query, const char *type,
                                    struct buf *out, struct err *err);

/* Writes the flame graph of the difference of `after` and `before`, which is scaled to the recorded
 * time of `after`. `type`: the value to compare, as above. Fails if the units differ. */
MUST_CHECK bool store_query_difference(const struct store_query *before,
                                       const struct store_query *after, const char *type,
                                       struct buf *out, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_query.h - what a local store holds, as JSON for the page.
 *
 * If there are more profiles than the limits and the deadline allow, those that are read are spread
 * evenly over the time range. The answer has how many there are (files) and were read (read).
 *
 * Gives:  all but store_query_index_of_turn append one JSON object and a newline to `out`.
 * Errors: false; `err` says why, and part of the object may be there.
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
    STORE_QUERY_FILES_MAX = 4096, /* profiles that are added up */
    STORE_QUERY_POINTS_MAX = 800, /* profiles of a time line, a point each */
    /* Nodes of a flame graph; beyond it the smallest are left out, and count for their callers. */
    STORE_QUERY_NODES_MAX = 100000,
    /* Memory of a sum, and of each profile; what does not fit is left out. */
    STORE_QUERY_BYTES_MAX = 32 << 20
};

/* Profiles of one service. All borrowed. */
struct store_query {
    const char *store, *folder; /* the folder as store_query_services names it */
    int64_t from_ms, to_ms;     /* UTC: those that began from from_ms on and before to_ms */
    int64_t pid;                /* only samples of this process; 0: of all */
    struct pprof_label label;   /* only samples with this label; key NULL: all */
    /* Monotonic: none is read after it; if none was by then, graph and difference fail. */
    uint64_t deadline_ns;
};

/*
 * Index, 0 to `count` - 1, of what is read in turn `turn` (0 to `count` - 1): each once, and after
 * N turns no more than 2 * count / N in a row are unread.
 */
size_t store_query_index_of_turn(size_t turn, size_t count);

/* The labels that rows must have for a query. Lends them while the query lives. */
size_t store_query_labels(const struct store_query *query,
                          struct pprof_label out[REPORT_LABELS_MAX]);

/* The folders of a store: service, number and bytes of profiles, first and last start. No
 * store: an empty list. 10000 folders at most. */
MUST_CHECK bool store_query_services(const char *store, struct buf *out, struct err *err);

/* The totals of each profile that is read, in the order of reading, not of time; for the values
 * that the first one read has. */
MUST_CHECK bool store_query_timeline(const struct store_query *query, struct buf *out,
                                     struct err *err);

/* The flame graph of their sum, with all values. `type`: the one that is shown first; fails if
 * the profiles have no value of that name. NULL: cpu, else wall, else the last. */
MUST_CHECK bool store_query_graph(const struct store_query *query, const char *type,
                                  struct buf *out, struct err *err);

/* All of them as one pprof file, in place of JSON. `type`: as above. */
MUST_CHECK bool store_query_profile(const struct store_query *query, const char *type,
                                    struct buf *out, struct err *err);

/* The flame graph of what `after` took more or less than `before`, which is scaled to the recorded
 * time of `after`. `type`: the value that is compared, as above. Fails if the units differ. */
MUST_CHECK bool store_query_difference(const struct store_query *before,
                                       const struct store_query *after, const char *type,
                                       struct buf *out, struct err *err);

#endif

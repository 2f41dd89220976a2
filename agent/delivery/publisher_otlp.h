/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher_otlp.h - gathers the services of an interval into OTLP requests for the exporters.
 *
 * Shape:   publisher_otlp_new, publisher_otlp_service for each service of an interval, then
 *          publisher_otlp_end; publisher_otlp_free. A request that is full goes earlier.
 */
#ifndef AGENT_DELIVERY_PUBLISHER_OTLP_H
#define AGENT_DELIVERY_PUBLISHER_OTLP_H

#include "agent/delivery/delivery.h"
#include "agent/sampling/service.h"

struct publisher_otlp; /* private */

/*
 * The labels become attributes of each service. All is borrowed until publisher_otlp_free.
 *
 * Gives: *out; false: out of memory.
 */
MUST_CHECK bool publisher_otlp_new(struct delivery *delivery, const struct label *labels,
                                   size_t label_count, struct publisher_otlp **out);

/* Takes other labels from here on. All is borrowed until publisher_otlp_free or the next call. */
void publisher_otlp_set_labels(struct publisher_otlp *publisher, const struct label *labels,
                               size_t label_count);

/* Adds what a service did until `now_ns`, which is the same for all services of an interval. */
void publisher_otlp_service(struct publisher_otlp *publisher, const struct service *service,
                            uint64_t now_ns);

/* Hands what was gathered to the exporters: the interval is over. */
void publisher_otlp_end(struct publisher_otlp *publisher);

/* How many requests were handed over so far. */
uint64_t publisher_otlp_requests(const struct publisher_otlp *publisher);

/* Ends it; hands nothing over. NULL is fine. */
void publisher_otlp_free(struct publisher_otlp *publisher);

#endif

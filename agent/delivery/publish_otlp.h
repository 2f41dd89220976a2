/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish_otlp.h - gathers the services of an interval into OTLP requests for the exporters.
 *
 * Shape:   ship_otlp_new, ship_otlp_service for each service of an interval, then
 *          ship_otlp_end; ship_otlp_free. A request that is full goes earlier.
 */
#ifndef AGENT_DELIVERY_PUBLISH_OTLP_H
#define AGENT_DELIVERY_PUBLISH_OTLP_H

#include "agent/delivery/delivery.h"
#include "agent/sampling/service.h"

struct ship_otlp; /* private */

/*
 * The labels become attributes of each service. All is borrowed until ship_otlp_free.
 *
 * Gives: *out; false: out of memory.
 */
MUST_CHECK bool ship_otlp_new(struct delivery *delivery, const struct exporter_label *labels,
                              size_t label_count, struct ship_otlp **out);

/* Takes other labels from here on. All is borrowed until ship_otlp_free or the next call. */
void ship_otlp_set_labels(struct ship_otlp *ship, const struct exporter_label *labels,
                          size_t label_count);

/* Adds what a service did until `now_ns`, which is the same for all services of an interval. */
void ship_otlp_service(struct ship_otlp *ship, const struct service *service, uint64_t now_ns);

/* Hands what was gathered to the exporters: the interval is over. */
void ship_otlp_end(struct ship_otlp *ship);

/* How many requests were handed over so far. */
uint64_t ship_otlp_requests(const struct ship_otlp *ship);

/* Ends it; hands nothing over. NULL is fine. */
void ship_otlp_free(struct ship_otlp *ship);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher_otlp.h - gathers the services of an interval into OTLP requests for the exporters.
 *
 * Shape:   publisher_otlp_new, publisher_otlp_service for each service of an interval, then
 *          publisher_otlp_end; publisher_otlp_free. A full request is handed over earlier.
 */
#ifndef AGENT_DELIVERY_PUBLISHER_OTLP_H
#define AGENT_DELIVERY_PUBLISHER_OTLP_H

#include "agent/delivery/delivery.h"
#include "agent/sampling/service.h"

struct publisher_otlp; /* private */

/*
 * Makes a publisher for `delivery`. The labels become attributes of each service. Borrows both
 * until publisher_otlp_free.
 *
 * Gives: *out, ended with publisher_otlp_free; false: out of memory.
 */
MUST_CHECK bool publisher_otlp_new(struct delivery *delivery, const struct label *labels,
                                   size_t label_count, struct publisher_otlp **out);

/* Uses other labels from here on, borrowed until publisher_otlp_free or the next call. */
void publisher_otlp_set_labels(struct publisher_otlp *publisher, const struct label *labels,
                               size_t label_count);

/* Adds the profile of a service. `now_ns`: the monotonic end of the interval, the same for all of
 * its services. A profile that cannot be encoded is logged and lost. */
void publisher_otlp_service(struct publisher_otlp *publisher, const struct service *service,
                            uint64_t now_ns);

/* Ends the interval: hands the gathered requests to delivery_put. */
void publisher_otlp_end(struct publisher_otlp *publisher);

/* Number of requests handed over so far. Each is of one exporter_form and counts once, even if
 * several exporters take it. */
uint64_t publisher_otlp_requests(const struct publisher_otlp *publisher);

/* Frees it and what was not handed over. NULL is fine. */
void publisher_otlp_free(struct publisher_otlp *publisher);

#endif

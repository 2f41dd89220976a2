/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - a copy of a profile and all it points to, shared by those who deliver it.
 *
 * Shape:   payload_new makes the copy with one reference, payload_ref adds
 *          one, payload_unref gives one back.
 * Threads: any; a parcel is only read.
 */
#ifndef AGENT_DELIVERY_PAYLOAD_H
#define AGENT_DELIVERY_PAYLOAD_H

#include <stddef.h>

#include "exporters/exporter.h"

struct payload; /* private */

/* Gives: a copy of `profile` with one reference; NULL: out of memory. */
struct payload *payload_new(const struct exporter_profile *profile);

/* Gives: one more reference to it. */
struct payload *payload_ref(struct payload *payload);

/* Gives back one reference. NULL is fine. */
void payload_unref(struct payload *payload);

/* What was copied. Lends it while there is a reference. */
const struct exporter_profile *payload_profile(const struct payload *payload);

/* The memory that it takes. */
size_t payload_bytes(const struct payload *payload);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - a copy of a profile and all it points to, shared by those who deliver it.
 *
 * Shape:   delivery_parcel_new makes the copy with one reference, delivery_parcel_keep adds
 *          one, delivery_parcel_drop gives one back.
 * Threads: any; a parcel is only read.
 */
#ifndef AGENT_DELIVERY_PAYLOAD_H
#define AGENT_DELIVERY_PAYLOAD_H

#include <stddef.h>

#include "exporters/exporter.h"

struct delivery_parcel; /* private */

/* Gives: a copy of `profile` with one reference; NULL: out of memory. */
struct delivery_parcel *delivery_parcel_new(const struct exporter_profile *profile);

/* Gives: one more reference to it. */
struct delivery_parcel *delivery_parcel_keep(struct delivery_parcel *parcel);

/* Gives back one reference. NULL is fine. */
void delivery_parcel_drop(struct delivery_parcel *parcel);

/* What was copied. Lends it while there is a reference. */
const struct exporter_profile *delivery_parcel_profile(const struct delivery_parcel *parcel);

/* The memory that it takes. */
size_t delivery_parcel_bytes(const struct delivery_parcel *parcel);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* batch_of_one.h - a batch of one profile. */
#ifndef TESTS_UNIT_BATCH_OF_ONE_H
#define TESTS_UNIT_BATCH_OF_ONE_H

#include "exporters/batch.h"

/* NULL: out of memory, or too large. */
static inline struct batch *batch_of_one(enum exporter_form form,
                                         const struct exporter_profile *profile)
{
    struct batch_builder builder;
    struct batch *batch = NULL;

    batch_builder_init(&builder, form);
    if (batch_builder_add(&builder, profile))
        batch = batch_builder_take(&builder, 0, profile->end_ns);
    batch_builder_finish(&builder);
    return batch;
}

#endif

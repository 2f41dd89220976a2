/* SPDX-License-Identifier: Apache-2.0 */
/* send_profile.h - has an exporter deliver a batch of one profile. */
#ifndef TESTS_UNIT_EXPORTERS_SEND_PROFILE_H
#define TESTS_UNIT_EXPORTERS_SEND_PROFILE_H

#include "exporters/batch.h"
#include "exporters/exporter.h"
#include "tests/unit/batch_of_one.h"

static inline enum exporter_rc send_profile(struct exporter *exporter,
                                            const struct exporter_profile *profile, int64_t now_ns,
                                            struct exporter_answer *answer)
{
    struct batch *batch = batch_of_one(exporter_form(exporter), profile);
    enum exporter_rc rc = batch ? exporter_send(exporter, batch, now_ns, answer) : EXPORTER_NOMEM;

    batch_unref(batch);
    return rc;
}

#endif

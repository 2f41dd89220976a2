/* SPDX-License-Identifier: Apache-2.0 */
/* spool_example.h - an entry of a spool with a bit of everything in it, and its bytes. */
#ifndef TESTS_UNIT_EXPORTERS_SPOOL_EXAMPLE_H
#define TESTS_UNIT_EXPORTERS_SPOOL_EXAMPLE_H

#include <string.h>

#include "exporters/spool.h"

static const struct label spool_example_labels[] = {{"env", "prod"}, {"zone", ""}};
static const char spool_example_payload[] = "payload: one that no gzip would take";

/* Lends its strings for ever. */
static inline struct spool_head spool_example(void)
{
    return (struct spool_head){
        .owers = {"pyroscope", "collector"},
        .ower_count = 2,
        .form = EXPORTER_PER_TYPE,
        .put_ns = 1700000015000000001,
        .profile =
            {
                .service = "shop",
                .type = "cpu",
                .labels = spool_example_labels,
                .label_count = 2,
                .start_ns = 1700000000000000001,
                .end_ns = 1700000015000000000,
                .bytes = spool_example_payload,
                .size = sizeof(spool_example_payload) - 1,
            },
    };
}

/* Appends the whole file. False: no memory, or no room. */
static inline bool spool_example_file(const struct spool_head *head, struct buf *out)
{
    if (spool_encode(head, out) != SPOOL_OK)
        return false;
    buf_add(out, head->profile.bytes, head->profile.size);
    return !buf_failed(out);
}

static inline bool spool_example_text_is(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* True if what was read is what was written. */
static inline bool spool_example_same(const struct spool_head *a, const struct spool_head *b)
{
    const struct exporter_profile *x = &a->profile, *y = &b->profile;
    bool same = a->ower_count == b->ower_count && a->form == b->form && a->put_ns == b->put_ns &&
                x->start_ns == y->start_ns && x->end_ns == y->end_ns && x->size == y->size &&
                x->label_count == y->label_count && memcmp(x->bytes, y->bytes, x->size) == 0 &&
                spool_example_text_is(x->service, y->service) &&
                spool_example_text_is(x->type, y->type);

    for (size_t i = 0; same && i < a->ower_count; i++)
        same = spool_example_text_is(a->owers[i], b->owers[i]);
    for (size_t i = 0; same && i < x->label_count; i++)
        same = spool_example_text_is(x->labels[i].name, y->labels[i].name) &&
               spool_example_text_is(x->labels[i].value, y->labels[i].value);
    return same;
}

#endif

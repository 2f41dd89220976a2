/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_example.h - the example profile of example.h as a service of an OTLP request. */
#ifndef TESTS_UNIT_PPROF_OTLP_EXAMPLE_H
#define TESTS_UNIT_PPROF_OTLP_EXAMPLE_H

#include "pprof/gzip.h"
#include "pprof/otlp.h"
#include "tests/unit/pprof/example.h"

enum { EXAMPLE_WALL = 1, EXAMPLE_CPU = 2 };

/* CPU first, as counts of microseconds. */
static const struct otlp_type example_kinds[2] = {
    {EXAMPLE_CPU, {"samples", "count"}, 1000, {"cpu", "nanoseconds"}, 1000},
    {EXAMPLE_WALL, {"wall", "nanoseconds"}, 1, {"wall", "nanoseconds"}, 10000000},
};

static const struct otlp_attribute example_attributes[2] = {{"service.name", "demo", 0},
                                                            {"process.pid", NULL, 42}};

static const unsigned char example_id[OTLP_ID_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* The service whose rows `profile` has. */
static inline struct otlp_service example_service(const struct pprof *profile)
{
    return (struct otlp_service){
        .profile = profile,
        .attributes = example_attributes,
        .attribute_count = 2,
        .types = example_kinds,
        .type_count = 2,
        .time_ns = 1700000000000000000,
        .duration_ns = 60000000,
    };
}

/* Adds all rows of a service that has room in the request. */
static inline enum pprof_rc example_request(struct otlp *otlp, const struct otlp_service *service)
{
    struct otlp_rows *rows = NULL;
    enum pprof_rc rc = otlp_rows_new(service, &rows);

    if (rc == PPROF_OK)
        rc = otlp_add(otlp, rows);
    if (rc == PPROF_OK && otlp_rows_left(rows) > 0)
        rc = PPROF_FULL;
    otlp_rows_free(rows);
    return rc;
}

/* Appends the request as it is before it is packed. */
static inline enum pprof_rc example_finish(struct otlp *otlp, struct buf *out)
{
    enum pprof_rc rc;
    struct buf packed;

    buf_init(&packed, 8 << 20);
    rc = otlp_finish(otlp, &packed);
    if (rc == PPROF_OK)
        rc = gzip_unpack(packed.data, packed.size, out, NULL);
    buf_finish(&packed);
    return rc;
}

#endif

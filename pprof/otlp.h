/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.h - turns the profiles of several services into one OTLP profiles request.
 *
 * Shape:   otlp_new once; for each service otlp_rows_new, then otlp_add as long as
 *          rows are left, with otlp_finish and otlp_reset between when the request is
 *          full; otlp_finish for the last. otlp_free.
 * Threads: a request belongs to one thread at a time; requests share nothing.
 * Source:  opentelemetry-proto as pprof/otlp.proto says. What the specification asks
 *          of a request holds by construction, and tests/tools/otlp_check.h holds us
 *          to it: no receiver does.
 */
#ifndef PPROF_OTLP_H
#define PPROF_OTLP_H

#include "pprof/pprof.h"

enum {
    OTLP_ID_SIZE = 16,
    OTLP_ATTRIBUTES_MAX = 512 /* of one resource */
};

/* An attribute of a resource: a text if `str` is not NULL, else a number. Borrowed. */
struct otlp_attribute {
    const char *key;
    const char *str;
    int64_t num;
};

/*
 * One profile to make of a value of the rows. `period` may not be 0: a Pyroscope
 * takes its name from the period's type, and refuses a profile without.
 */
struct otlp_type {
    size_t value; /* which of the pprof's types */
    struct pprof_type sample_type;
    int64_t scale; /* values are divided by it, at least 1; the total is rounded once */
    struct pprof_type period_type;
    int64_t period;
};

/* What a service did in an interval. Everything is borrowed until otlp_rows_free. */
struct otlp_service {
    const struct pprof *profile;
    const struct otlp_attribute *attributes; /* of two with one key the earlier stays */
    size_t attribute_count;                  /* service.name becomes one of each sample, too */
    const struct otlp_type *types;           /* in the order in which they are written */
    size_t type_count;                       /* at most PPROF_TYPES_MAX */
    int64_t time_ns, duration_ns;            /* start, UTC, and length */
};

/* When a request is full: no further row is begun then. 0: no such limit. */
struct otlp_limits {
    size_t request_bytes; /* of the request */
    size_t pprof_bytes;   /* of the pprofs together that a server would make of it */
    size_t samples;       /* of one profile */
};

struct otlp;      /* private */
struct otlp_rows; /* private: the rows of a service and how far they were added */

/*
 * Makes an empty request. The scope's name and version tell who took the profiles;
 * they are borrowed until otlp_free.
 *
 * Gives: *out, which the caller ends with otlp_free; untouched on failure.
 */
MUST_CHECK enum pprof_rc otlp_new(const char *scope_name, const char *scope_version,
                                  const struct otlp_limits *limits, struct otlp **out);

/* Frees it. NULL is fine. */
void otlp_free(struct otlp *otlp);

/*
 * Forgets what was added and keeps the memory. `id` should be random: it becomes the
 * id of the first profile, and the next ones count on from it; zeros: no ids.
 */
MUST_CHECK enum pprof_rc otlp_reset(struct otlp *otlp, const unsigned char id[OTLP_ID_SIZE]);

/*
 * Brings the rows of a service into the order that their content alone decides.
 *
 * Gives: *out, which the caller ends with otlp_rows_free; untouched on failure.
 */
MUST_CHECK enum pprof_rc otlp_rows_new(const struct otlp_service *service, struct otlp_rows **out);

/* How many rows were not added yet. */
size_t otlp_rows_left(const struct otlp_rows *rows);

/* Frees them. NULL is fine. */
void otlp_rows_free(struct otlp_rows *rows);

/*
 * Adds a service: a resource with a profile for each type that has a value. Ends
 * early when the request is full, but not before one row. Values below 1 are left out.
 *
 * Errors: PPROF_FULL, PPROF_NOMEM; the rows that were added before stay good.
 */
MUST_CHECK enum pprof_rc otlp_add(struct otlp *otlp, struct otlp_rows *rows);

/* How many profiles it has. A request without one should not be sent. */
size_t otlp_profile_count(const struct otlp *otlp);

/* Appends the request to `out`, gzip'd. Errors: PPROF_FULL (over out->max), PPROF_NOMEM. */
MUST_CHECK enum pprof_rc otlp_finish(struct otlp *otlp, struct buf *out);

#endif

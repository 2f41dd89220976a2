/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.h - turns the profiles of several services into OTLP profiles requests.
 *
 * Shape:   otlp_new; for each service otlp_rows_new, otlp_add, otlp_rows_free. While rows are left
 *          after otlp_add, the request is full: otlp_finish, otlp_reset, otlp_add again. At
 *          the end otlp_finish and otlp_free.
 * Threads: a request belongs to one thread at a time; requests share nothing.
 * Source:  opentelemetry-proto, in the version that pprof/otlp.proto names. Requests meet its rules
 *          by construction; tests/tools/otlp_check.h checks them, because no receiver does.
 */
#ifndef PPROF_OTLP_H
#define PPROF_OTLP_H

#include "pprof/pprof.h"

enum {
    OTLP_ID_SIZE = 16,        /* bytes of a profile's id */
    OTLP_ATTRIBUTES_MAX = 512 /* of one resource */
};

/* An attribute of a resource: a text if `str` is not NULL, else a number. Borrowed. */
struct otlp_attribute {
    const char *key;
    const char *str;
    int64_t num;
};

/*
 * A profile to make of one value of the rows. `period` must not be 0: a Pyroscope names the profile
 * by the period's type, and refuses one without it.
 */
struct otlp_type {
    size_t value; /* index of a type of the pprof */
    struct pprof_type sample_type;
    int64_t scale; /* divisor of the values, at least 1; a remainder goes to the next row */
    struct pprof_type period_type;
    int64_t period; /* in the unit of period_type */
};

/* The profile of a service in one interval. Everything is borrowed until otlp_rows_free. */
struct otlp_service {
    const struct pprof *profile;
    const struct otlp_attribute *attributes; /* of the resource; of equal keys the first stays */
    size_t attribute_count;                  /* service.name is also added to each sample */
    const struct otlp_type *types;           /* profiles to write, in this order */
    size_t type_count;                       /* at most PPROF_TYPES_MAX */
    int64_t time_ns, duration_ns;            /* start (UTC) and length */
};

/* Limits of a request: if one is reached, it is full and takes no further row. 0: no limit. */
struct otlp_limits {
    size_t request_bytes; /* bytes of the request, unpacked */
    size_t pprof_bytes;   /* bytes of all pprofs that a server makes of it, estimated */
    size_t samples;       /* samples of one profile */
};

struct otlp;      /* private: a request */
struct otlp_rows; /* private: the rows of a service, and how many of them were added */

/*
 * Makes an empty request. The scope's name and version, those of the profiler, are borrowed until
 * otlp_free.
 *
 * Gives:  *out, which the caller ends with otlp_free; untouched on failure.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc otlp_new(const char *scope_name, const char *scope_version,
                                  const struct otlp_limits *limits, struct otlp **out);

/* Frees it. NULL is fine. */
void otlp_free(struct otlp *otlp);

/*
 * Empties the request and keeps the memory. `id` should be random: it is the first profile's id,
 * and is incremented for each next one; zeros: no ids. Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc otlp_reset(struct otlp *otlp, const unsigned char id[OTLP_ID_SIZE]);

/*
 * Sorts the rows of a service: see pprof/order.h.
 *
 * Gives:  *out, which the caller ends with otlp_rows_free; untouched on failure.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc otlp_rows_new(const struct otlp_service *service, struct otlp_rows **out);

/* Gives how many rows were not added yet. */
size_t otlp_rows_left(const struct otlp_rows *rows);

/* Frees the rows. NULL is fine. */
void otlp_rows_free(struct otlp_rows *rows);

/*
 * Adds the rows that are left: a resource with a profile for each type that has values. Stops early
 * if the request is full; an empty request takes at least one row. Scaled values below 1 are left
 * out.
 *
 * Errors: PPROF_FULL, PPROF_NOMEM; rows that were added before stay in the request.
 */
MUST_CHECK enum pprof_rc otlp_add(struct otlp *otlp, struct otlp_rows *rows);

/* Gives the number of profiles in the request. Do not send a request without any. */
size_t otlp_profile_count(const struct otlp *otlp);

/* Appends the request to `out`, gzip'd. Errors: PPROF_FULL (over out->max), PPROF_NOMEM. */
MUST_CHECK enum pprof_rc otlp_finish(struct otlp *otlp, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_request.h - writes the nested parts of an OTLP request from the inside out.
 *
 * Shape: otlp_begin, otlp_sample for each row, otlp_profile for each type that is wanted,
 *        otlp_resource; again for the next resource; otlp_finish.
 *
 * A message in a message begins with its length, so each part is written first, and then
 * moved behind its length and what else stands before it.
 */
#ifndef PPROF_OTLP_REQUEST_H
#define PPROF_OTLP_REQUEST_H

#include "pprof/otlp.h"
#include "pprof/otlp_dictionary.h"

enum { OTLP_SAMPLE_ATTRIBUTES_MAX = 1 + PPROF_LABELS_MAX }; /* the service's name and labels */

/* What tells samples of a profile apart. Its bytes end with its last attribute. */
struct otlp_row {
    uint32_t stack;
    uint32_t attributes[OTLP_SAMPLE_ATTRIBUTES_MAX];
};

struct otlp {
    struct otlp_dictionary dictionary; /* owned */
    struct otlp_limits limits;
    const char *scope_name, *scope_version; /* borrowed */
    unsigned char id[OTLP_ID_SIZE];         /* of the next profile */
    struct arena arena;                     /* owned: the keys of `rows` */
    struct table rows;                      /* of the resource that is being added */
    size_t type_count;                      /* values of each row */
    int64_t *values;                        /* owned: by row */
    size_t values_capacity;                 /* numbers */
    struct buf request;                     /* owned: its fields up to the dictionary */
    size_t resource_start;                  /* there: of the resource that is being added */
    struct buf part;                        /* owned: scratch */
    size_t profile_count;
    size_t pprof_bytes; /* about what a server would make of it */
};

/* Begins a resource whose rows have `type_count` values. */
void otlp_begin(struct otlp *otlp, size_t type_count);

/*
 * Adds values to a row; equal rows are one. A value of 0 or less is not in its profile.
 * Puts the row's attributes in order; no two of them may have one key.
 */
MUST_CHECK enum pprof_rc otlp_sample(struct otlp *otlp, struct otlp_row *row,
                                     size_t attribute_count, const int64_t *values);

/* Writes a profile of value `type` of all rows; nothing if no row has one. */
MUST_CHECK enum pprof_rc otlp_profile(struct otlp *otlp, size_t type, const struct otlp_type *kind,
                                      int64_t time_ns, int64_t duration_ns);

/* Ends the resource; writes nothing if it has no profile. */
MUST_CHECK enum pprof_rc otlp_resource(struct otlp *otlp, const struct otlp_attribute *attributes,
                                       size_t count);

/*
 * Makes the texts of an attribute valid UTF-8; they are copies that last until otlp_begin or
 * otlp_resource. False: out of memory.
 */
MUST_CHECK bool otlp_repair(struct otlp *otlp, struct otlp_attribute *attribute);

/* How large the request is so far. */
size_t otlp_size(const struct otlp *otlp);

#endif

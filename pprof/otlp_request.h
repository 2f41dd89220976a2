/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_request.h - writes the nested parts of an OTLP request from the inside out.
 *
 * Shape: for each resource: otlp_begin, otlp_sample for each row, otlp_profile for each type,
 *        otlp_resource. Then otlp_finish.
 *
 * The length of a nested message stands before its content. So each part is written first, then
 * moved to make room for its length and for the fields that precede it.
 */
#ifndef PPROF_OTLP_REQUEST_H
#define PPROF_OTLP_REQUEST_H

#include "pprof/otlp.h"
#include "pprof/otlp_dictionary.h"

enum { OTLP_SAMPLE_ATTRIBUTES_MAX = 1 + PPROF_LABELS_MAX }; /* the service's name and labels */

/* Key of a row: numbers of the dictionary. Its bytes end with the last attribute in use. */
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
    struct table rows;                      /* struct otlp_row of the current resource */
    size_t type_count;                      /* values of each row */
    int64_t *values;                        /* owned: type_count numbers a row */
    size_t values_capacity;                 /* numbers that `values` has room for */
    struct buf request;                     /* owned: the encoded resources */
    size_t resource_start;                  /* offset of the current resource in `request` */
    struct buf part;                        /* owned: scratch */
    size_t profile_count;
    size_t pprof_bytes; /* estimate: size of the pprofs that a server makes of the request */
};

/* Begins a resource whose rows have `type_count` values. */
void otlp_begin(struct otlp *otlp, size_t type_count);

/*
 * Adds values to a row, which is made if none is equal; values below 1 are ignored. Sorts the
 * row's attributes; no two of them may have the same key.
 */
MUST_CHECK enum pprof_rc otlp_sample(struct otlp *otlp, struct otlp_row *row,
                                     size_t attribute_count, const int64_t *values);

/* Writes the profile of value `type`: of all rows that have one; nothing if none has. */
MUST_CHECK enum pprof_rc otlp_profile(struct otlp *otlp, size_t type, const struct otlp_type *kind,
                                      int64_t time_ns, int64_t duration_ns);

/* Ends the resource; writes nothing if it has no profile. Of two attributes with one key the first
 * counts. */
MUST_CHECK enum pprof_rc otlp_resource(struct otlp *otlp, const struct otlp_attribute *attributes,
                                       size_t count);

/*
 * Replaces the texts of an attribute by copies that are valid UTF-8.
 *
 * Lends: the copies, until otlp_begin or otlp_resource. False: out of memory.
 */
MUST_CHECK bool otlp_repair(struct otlp *otlp, struct otlp_attribute *attribute);

/* Bytes of the request so far, before gzip, without rows that no profile has yet. */
size_t otlp_size(const struct otlp *otlp);

#endif

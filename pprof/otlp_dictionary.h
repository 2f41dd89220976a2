/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_dictionary.h - the tables that all profiles of an OTLP request share.
 *
 * Each thing is in its table once; the numbers that are given out are the indices that go
 * into the request. Number 0 of each table is the empty item: it is there from the start,
 * and stands for "not set". What a table has as the key of a thing is its message as it is
 * sent, so that equal things are equal bytes and nothing is kept twice.
 *
 * Shape: otlp_dictionary_init, otlp_dictionary_reset, otlp_text..., otlp_dictionary_write,
 *        otlp_dictionary_reset or otlp_dictionary_finish.
 */
#ifndef PPROF_OTLP_DICTIONARY_H
#define PPROF_OTLP_DICTIONARY_H

#include "pprof/table.h"

enum otlp_table {
    OTLP_MAPPINGS, /* only the empty one: frames of Python are in no mapped file */
    OTLP_LOCATIONS,
    OTLP_FUNCTIONS,
    OTLP_LINKS, /* only the empty one: samples belong to no spans */
    OTLP_TEXTS,
    OTLP_ATTRIBUTES,
    OTLP_STACKS,
    OTLP_TABLES
};

struct otlp_dictionary {
    struct arena arena; /* owned: the keys of the tables */
    struct table tables[OTLP_TABLES];
    size_t size;    /* of all items as fields of a ProfilesDictionary */
    struct buf key; /* owned: scratch */
};

/* Makes one that takes about `max_bytes` of memory at most; allocates nothing. */
void otlp_dictionary_init(struct otlp_dictionary *dictionary, size_t max_bytes);
void otlp_dictionary_finish(struct otlp_dictionary *dictionary);

/* Forgets everything but the empty items, and keeps the memory. */
MUST_CHECK enum pprof_rc otlp_dictionary_reset(struct otlp_dictionary *dictionary);

/* All of these give the number of a thing. Errors: PPROF_FULL, PPROF_NOMEM. Texts must be UTF-8. */
MUST_CHECK enum pprof_rc otlp_text(struct otlp_dictionary *dictionary, const char *text,
                                   uint32_t *out);
MUST_CHECK enum pprof_rc otlp_function(struct otlp_dictionary *dictionary, uint32_t name,
                                       uint32_t file, int32_t start_line, uint32_t *out);

/* A line of a function, with one attribute or none (0). */
MUST_CHECK enum pprof_rc otlp_location(struct otlp_dictionary *dictionary, uint32_t function,
                                       int32_t line, int32_t column, uint32_t attribute,
                                       uint32_t *out);

/* Leaf first. */
MUST_CHECK enum pprof_rc otlp_stack(struct otlp_dictionary *dictionary, const uint64_t *locations,
                                    size_t depth, uint32_t *out);

/* A text if `str` is not NULL, else a number. `key` and `unit` are numbers of texts; 0: no unit. */
MUST_CHECK enum pprof_rc otlp_attribute(struct otlp_dictionary *dictionary, uint32_t key,
                                        const char *str, int64_t num, uint32_t unit, uint32_t *out);

/* How many bytes otlp_dictionary_write appends. */
size_t otlp_dictionary_size(const struct otlp_dictionary *dictionary);

/* Writes the fields of the ProfilesDictionary; `out` remembers a failure. */
void otlp_dictionary_write(const struct otlp_dictionary *dictionary, struct buf *out);

#endif

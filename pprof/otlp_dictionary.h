/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_dictionary.h - the tables that all profiles of an OTLP request share.
 *
 * Each item is in its table once; its number is its index in the request. Item 0 of each table is
 * empty and means "not set". The key of an item is its encoded message: equal items have equal
 * keys, and nothing is stored twice.
 *
 * Shape: otlp_dictionary_init; for each request otlp_dictionary_reset, otlp_text and the like,
 *        otlp_dictionary_write; otlp_dictionary_finish.
 */
#ifndef PPROF_OTLP_DICTIONARY_H
#define PPROF_OTLP_DICTIONARY_H

#include "pprof/table.h"

enum otlp_table {
    OTLP_MAPPINGS, /* only the empty item: Python frames are in no mapped file */
    OTLP_LOCATIONS,
    OTLP_FUNCTIONS,
    OTLP_LINKS, /* only the empty item: samples belong to no spans */
    OTLP_TEXTS,
    OTLP_ATTRIBUTES,
    OTLP_STACKS,
    OTLP_TABLES
};

struct otlp_dictionary {
    struct arena arena; /* owned: keys of the tables */
    struct table tables[OTLP_TABLES];
    size_t size;    /* bytes of all items as fields of a ProfilesDictionary */
    struct buf key; /* owned: scratch for a key */
};

/* Makes a dictionary of about `max_bytes` of memory at most; allocates nothing. */
void otlp_dictionary_init(struct otlp_dictionary *dictionary, size_t max_bytes);
void otlp_dictionary_finish(struct otlp_dictionary *dictionary);

/* Removes all but the empty items, and keeps the memory. Errors: PPROF_FULL, PPROF_NOMEM. */
MUST_CHECK enum pprof_rc otlp_dictionary_reset(struct otlp_dictionary *dictionary);

/* The next five give the number of an item, and add it if it is new. Texts must be UTF-8; other
 * items are given by number. Negative lines become 0. Errors: PPROF_FULL, PPROF_NOMEM. */
MUST_CHECK enum pprof_rc otlp_text(struct otlp_dictionary *dictionary, const char *text,
                                   uint32_t *out);
MUST_CHECK enum pprof_rc otlp_function(struct otlp_dictionary *dictionary, uint32_t name,
                                       uint32_t file, int32_t start_line, uint32_t *out);

/* A line of a function. `attribute` 0: none. */
MUST_CHECK enum pprof_rc otlp_location(struct otlp_dictionary *dictionary, uint32_t function,
                                       int32_t line, int32_t column, uint32_t attribute,
                                       uint32_t *out);

/* `locations`: leaf first. */
MUST_CHECK enum pprof_rc otlp_stack(struct otlp_dictionary *dictionary, const uint64_t *locations,
                                    size_t depth, uint32_t *out);

/* The value is `str`, or else `num`. `key` and `unit` are numbers of texts; unit 0: none. */
MUST_CHECK enum pprof_rc otlp_attribute(struct otlp_dictionary *dictionary, uint32_t key,
                                        const char *str, int64_t num, uint32_t unit, uint32_t *out);

/* Gives how many bytes otlp_dictionary_write appends. */
size_t otlp_dictionary_size(const struct otlp_dictionary *dictionary);

/* Appends the fields of the ProfilesDictionary. A failure sets out->failed. */
void otlp_dictionary_write(const struct otlp_dictionary *dictionary, struct buf *out);

#endif

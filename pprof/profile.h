/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what a profile is inside: five tables that stand on each other.
 *
 * texts <- functions <- locations <- stacks <- rows. The keys below are compared
 * as bytes, so they have 32-bit members only and no padding.
 */
#ifndef PPROF_PROFILE_H
#define PPROF_PROFILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "pprof/pprof.h"
#include "pprof/table.h"

#define NO_TEXT UINT32_MAX /* a number that no text has */

struct function_key {
    uint32_t name, file; /* texts */
    int32_t start_line;
};

struct location_key {
    uint32_t function;
    int32_t line, column;
};

struct label_key {
    uint32_t key;       /* text */
    uint32_t str;       /* text; NO_TEXT: the label is a number */
    uint32_t unit;      /* text; NO_TEXT: none */
    uint32_t low, high; /* the number's halves: 64 bits would bring padding */
};

/* The bytes of a row's key end with its last label. */
struct row_key {
    uint32_t stack;
    struct label_key labels[PPROF_LABELS_MAX];
};

struct pprof {
    struct arena arena; /* owned: the keys of all tables; its budget is max_bytes */
    struct table texts, functions, locations, stacks, rows;
    int64_t *values;     /* owned: type_count numbers a row */
    size_t values_count; /* rows that `values` has room for */
    struct buf repaired; /* owned: scratch of profile_text */
    struct buf names;    /* owned: what `types` points to */
    struct pprof_type types[PPROF_TYPES_MAX];
    size_t type_count;
    char binary[256], build_id[68]; /* "": not known */
};

/* Interns a text of `size` bytes, made valid UTF-8. */
MUST_CHECK enum pprof_rc profile_text(struct pprof *profile, const char *text, size_t size,
                                      uint32_t *out);

/* As pprof_set_binary, for texts without a NUL. */
void profile_set_binary(struct pprof *profile, const char *file, size_t file_size,
                        const char *build_id, size_t build_id_size);

/* Interns a row whose labels' texts are interned; puts the labels in order. */
MUST_CHECK enum pprof_rc profile_row(struct pprof *profile, struct row_key *row, size_t label_count,
                                     uint32_t *out);

/* True for a label that pprof cannot carry: the text "", the number 0 without a unit. */
bool label_is_lost(const struct pprof *profile, const struct label_key *label);

/* Puts labels in order, member after member. */
void sort_labels(struct label_key *labels, size_t count);
int compare_labels(const struct label_key *a, const struct label_key *b);

/* The number of a label. */
int64_t label_number(const struct label_key *label);
void label_set_number(struct label_key *label, int64_t number);

/* The sum, or the largest or smallest number if it does not fit. */
int64_t add_saturated(int64_t a, int64_t b);

/* Lends what a number stands for, until reset. */
const char *text_at(const struct pprof *profile, uint32_t text);
const struct function_key *function_at(const struct pprof *profile, uint32_t function);
const struct location_key *location_at(const struct pprof *profile, uint32_t location);
const uint32_t *stack_at(const struct pprof *profile, uint32_t stack, size_t *depth);
const struct row_key *row_at(const struct pprof *profile, uint32_t row, size_t *label_count);
int64_t *values_at(const struct pprof *profile, uint32_t row);

#endif

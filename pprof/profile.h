/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - struct pprof: five tables, each of which refers to the ones before it.
 *
 * texts <- functions <- locations <- stacks <- rows. A reference is the number of an entry. The
 * keys below are compared as bytes, so they have 32-bit members only and no padding.
 */
#ifndef PPROF_PROFILE_H
#define PPROF_PROFILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "pprof/pprof.h"
#include "pprof/table.h"

#define NO_TEXT UINT32_MAX /* in a key: no text */

struct function_key {
    uint32_t name, file; /* texts */
    int32_t start_line;  /* 0: not known */
};

struct location_key {
    uint32_t function;
    int32_t line, column;
};

struct label_key {
    uint32_t key;       /* text */
    uint32_t str;       /* text; NO_TEXT: the label is a number */
    uint32_t unit;      /* text; NO_TEXT: none */
    uint32_t low, high; /* the number's halves, because a 64-bit member would need padding */
};

/* Key of a row. Its bytes end with the last label in use. */
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
    struct buf names;    /* owned: the strings of `types` */
    struct pprof_type types[PPROF_TYPES_MAX];
    size_t type_count;
    char binary[256], build_id[68]; /* "": not known */
};

/* Interns a text of `size` bytes, made valid UTF-8. Over 1 MiB: PPROF_FULL. */
MUST_CHECK enum pprof_rc profile_text(struct pprof *profile, const char *text, size_t size,
                                      uint32_t *out);

/* As pprof_set_binary, for texts that no NUL ends. */
void profile_set_binary(struct pprof *profile, const char *file, size_t file_size,
                        const char *build_id, size_t build_id_size);

/* Interns a row whose labels' texts are interned. Sorts its labels, and drops duplicates and those
 * of label_is_lost. */
MUST_CHECK enum pprof_rc profile_row(struct pprof *profile, struct row_key *row, size_t label_count,
                                     uint32_t *out);

/* True for a label that pprof cannot encode: the text "", or the number 0 without a unit. */
bool label_is_lost(const struct pprof *profile, const struct label_key *label);

/* Sorts labels by compare_labels, which orders by key, str, unit and number. */
void sort_labels(struct label_key *labels, size_t count);
int compare_labels(const struct label_key *a, const struct label_key *b);

/* Join and split the halves of a label's number. */
int64_t label_number(const struct label_key *label);
void label_set_number(struct label_key *label, int64_t number);

/* The sum; INT64_MAX or INT64_MIN if it does not fit. */
int64_t add_saturated(int64_t a, int64_t b);

/* Entries by their number. Lend until pprof_reset; values_at only until the next new row. */
const char *text_at(const struct pprof *profile, uint32_t text);
const struct function_key *function_at(const struct pprof *profile, uint32_t function);
const struct location_key *location_at(const struct pprof *profile, uint32_t location);
const uint32_t *stack_at(const struct pprof *profile, uint32_t stack, size_t *depth);
const struct row_key *row_at(const struct pprof *profile, uint32_t row, size_t *label_count);
int64_t *values_at(const struct pprof *profile, uint32_t row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder pprof: knows profiles as rows of stacks with values, and their bytes as pprof and OTLP.
 * Does not know Python, processes, files and servers.
 *
 * pprof.h - collects stacks with values, encodes them as pprof, and decodes pprof.
 *
 * Shape:   pprof_new once per service and interval (or pprof_reset to use one
 *          again); pprof_function, pprof_location, pprof_stack, pprof_row intern
 *          and give small numbers that hold until reset; pprof_add adds weights;
 *          pprof_encode gives the bytes.
 * Threads: a profile belongs to one thread at a time; profiles share nothing.
 * Source:  google/pprof's profile.proto (the copy in pprof/profile.proto names
 *          its version); backends' demands are said at the lines that obey them.
 */
#ifndef PPROF_PPROF_H
#define PPROF_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Every outcome: enum name, text. */
#define PPROF_OUTCOMES(X)                           \
    X(OK, "done")                                   \
    X(FULL, "the profile is as large as it may be") \
    X(BAD, "the bytes are not a valid profile")     \
    X(NOMEM, "out of memory")

enum pprof_rc {
#define PPROF_ENUM(name, text) PPROF_##name,
    PPROF_OUTCOMES(PPROF_ENUM)
#undef PPROF_ENUM
};

enum {
    PPROF_TYPES_MAX = 8,     /* values of one sample */
    PPROF_LABELS_MAX = 16,   /* labels of one sample */
    PPROF_DEPTH_MAX = 16384, /* locations of one stack */
    PPROF_COMMENTS_MAX = 16
};

/* What one value of a sample counts, e.g. {"cpu", "nanoseconds"}. Borrowed during a call. */
struct pprof_type {
    const char *type;
    const char *unit;
};

/* A label of a sample: a text if `str` is not NULL, else a number. Borrowed. */
struct pprof_label {
    const char *key;
    const char *str;
    int64_t num;
    const char *num_unit; /* of `num`; may be NULL */
};

struct pprof; /* private */

/*
 * Makes an empty profile whose samples have `type_count` values.
 *
 * Takes:  at most `max_bytes` of memory for interned data. Calls that need more fail with
 *         PPROF_FULL; the profile stays valid.
 * Gives:  *out, which the caller ends with pprof_free; untouched on failure.
 */
MUST_CHECK enum pprof_rc pprof_new(const struct pprof_type *types, size_t type_count,
                                   size_t max_bytes, struct pprof **out);

/* Frees it. NULL is fine. */
void pprof_free(struct pprof *profile);

/*
 * Sets the file of the program whose functions are in the profile (for Python: the interpreter) and
 * its build id in hexadecimal; "": not known. The first call with a file counts, also after
 * pprof_reset. The merge functions set it from `from`. Cut at 255 and 67 bytes.
 */
void pprof_set_binary(struct pprof *profile, const char *file, const char *build_id);

/* Removes all rows and interned data; keeps the types, the binary and the memory. */
void pprof_reset(struct pprof *profile);

/*
 * Interns a function: same name, file and first line give the same number.
 * `start_line` 0: not known. Bytes that are not UTF-8 become U+FFFD (Pyroscope
 * refuses a profile with invalid UTF-8). A text over 1 MiB, here and below: PPROF_FULL.
 */
MUST_CHECK enum pprof_rc pprof_function(struct pprof *profile, const char *name, const char *file,
                                        int32_t start_line, uint32_t *out);

/* Interns a line of a function. `line` 0 and `column` 0: not known. */
MUST_CHECK enum pprof_rc pprof_location(struct pprof *profile, uint32_t function, int32_t line,
                                        int32_t column, uint32_t *out);

/* Interns a stack: `depth` locations, leaf first. */
MUST_CHECK enum pprof_rc pprof_stack(struct pprof *profile, const uint32_t *locations, size_t depth,
                                     uint32_t *out);

/*
 * Interns a row (a sample in pprof's terms): the same stack and set of labels give the same number.
 * Labels with the text "", or with the number 0 and no unit, are dropped, because pprof cannot
 * encode them.
 */
MUST_CHECK enum pprof_rc pprof_row(struct pprof *profile, uint32_t stack,
                                   const struct pprof_label *labels, size_t label_count,
                                   uint32_t *out);

/* Adds `type_count` values to a row. Saturates at INT64_MAX and INT64_MIN; never fails. */
void pprof_add(struct pprof *profile, uint32_t row, const int64_t *values);

/*
 * Adds all rows of `from` to `into`, each value to the type of the same name and
 * unit; types that `into` lacks are left out.
 *
 * Errors: PPROF_FULL, PPROF_NOMEM; then some of the rows were added.
 */
MUST_CHECK enum pprof_rc pprof_merge(struct pprof *into, const struct pprof *from);

/* Which rows are merged, and how. All zero: as pprof_merge. Borrowed. */
struct pprof_rule {
    bool subtract;                  /* subtract the values; rows that become 0 are not encoded */
    const struct pprof_label *with; /* only rows that have all of these labels. A text also matches
                                     * a number with these digits; units are ignored */
    size_t with_count;
    const char *extra[2]; /* key and text of a label to add where there is room; {NULL}: none */
};

/* As pprof_merge, for the rows that match a rule. */
MUST_CHECK enum pprof_rc pprof_merge_by(struct pprof *into, const struct pprof *from,
                                        const struct pprof_rule *rule);

/*
 * Interns the stack and labels of row `row` of `from` as a row of `into`; does not add its values.
 *
 * Errors: as pprof_row.
 * Cost:   that of interning each of its frames.
 */
MUST_CHECK enum pprof_rc pprof_copy_row(struct pprof *into, const struct pprof *from, uint32_t row,
                                        uint32_t *out);

/* A label's key here, and the key that a receiver wants (`as`). */
struct pprof_rename {
    const char *key, *as;
};

/* Names and limits of a receiver. All zero: as they are. Borrowed. */
struct pprof_fit {
    const struct pprof_rename *renames; /* ends with NULLs; NULL: none */
    bool texts;                         /* a number whose key is renamed becomes a text */
    size_t label_max;                   /* bytes of a label's text, which is cut; 0: no limit */
    size_t depth_max; /* frames of a stack; in deeper ones the frame "<... 523 frames left out>"
                       * replaces the middle; 0: no limit */
};

/*
 * Copies a profile so that the copy is within a receiver's limits.
 *
 * Gives:  *out, which the caller ends with pprof_free; NULL: the profile itself fits, or failure.
 * Errors: PPROF_NOMEM.
 * Cost:   that of pprof_merge, unless the profile fits.
 */
MUST_CHECK enum pprof_rc pprof_fit(const struct pprof *profile, const struct pprof_fit *fit,
                                   struct pprof **out);

/*
 * Adds value `type` of all rows of `from`, times `factor` (if above 0), to value `to` of `into`,
 * whatever their types are called. The rounding error of the sum over all rows is at most 1.
 *
 * Errors: as pprof_merge; PPROF_BAD if there is no such value.
 */
MUST_CHECK enum pprof_rc pprof_merge_value(struct pprof *into, size_t to, const struct pprof *from,
                                           size_t type, double factor);

/* The most labels that a row has. */
size_t pprof_label_count(const struct pprof *profile);

/* Number of rows. */
size_t pprof_row_count(const struct pprof *profile);

/* Bytes of the texts, stacks and rows that were interned since pprof_new or pprof_reset. */
size_t pprof_interned_bytes(const struct pprof *profile);

/* Sum of value `type` over all rows, saturated as by pprof_add; 0: there is no such type. */
int64_t pprof_total(const struct pprof *profile, size_t type);

/* Metadata of an encoded profile. Strings are borrowed during the call. */
struct pprof_meta {
    int64_t time_ns;               /* start of the interval, UTC */
    int64_t duration_ns;           /* its real length */
    struct pprof_type period_type; /* `type` NULL: none */
    int64_t period;                /* between samples, in units of period_type */
    uint32_t types;                /* bit i: value i is in the profile; 0: all are */
    const char *default_type;      /* name of the type to show first; NULL: the last one */
    const char *const *comments;   /* the first PPROF_COMMENTS_MAX are written */
    size_t comment_count;
    const char *doc_url; /* NULL: none */
};

/*
 * Appends the profile as a gzip'd profile.proto to `out`.
 *
 * Gives:  the same bytes for the same content, in whatever order it was added.
 *         Rows whose chosen values are all 0 are left out. system_name is empty.
 *         A quote in a label's text gets a backslash before it, because go tool pprof does
 *         not escape it; pprof_decode removes it.
 *         Ids count from 1 in table order (Parca refuses others). The binary is the only
 *         mapping; all locations are in it.
 * Errors: PPROF_NOMEM, PPROF_FULL (over out->max); then `out` is as before.
 */
MUST_CHECK enum pprof_rc pprof_encode(const struct pprof *profile, const struct pprof_meta *meta,
                                      struct buf *out);

/* The largest size of a part. */
struct pprof_bounds {
    size_t bytes; /* before gzip */
    size_t rows;  /* samples */
};

/*
 * Encodes the profile as one part, or as several parts within `bounds`: each part holds some
 * of the rows, with all their values. A part of one row may exceed `bounds`. Calls `each` once
 * a part; during the call `out` holds that part and nothing else.
 *
 * Errors: those of pprof_encode; `each` may have been called for some parts by then.
 * Cost:   that of pprof_encode for one part; several times that for more.
 */
MUST_CHECK enum pprof_rc pprof_encode_parts(const struct pprof *profile,
                                            const struct pprof_meta *meta,
                                            const struct pprof_bounds *bounds, struct buf *out,
                                            void (*each)(void *ctx), void *ctx);

/* A decoded profile and its metadata: see struct pprof_meta. */
struct pprof_decoded {
    struct pprof *profile;                    /* owned by the caller: pprof_free */
    struct pprof_type types[PPROF_TYPES_MAX]; /* strings borrowed from the profile */
    size_t type_count;
    int64_t time_ns, duration_ns, period;
};

/*
 * Reads a pprof file: gzip'd or plain, ours or another tool's.
 *
 * Refuses what google/pprof's own CheckValid refuses, and two concatenated profiles.
 * Inlined calls become frames of their own; an address without a function becomes a
 * function named after it.
 *
 * Takes:  at most `max_bytes` of memory for each of: the unpacked file, the profile, and
 *         temporary lists.
 * Gives:  *out; untouched on failure.
 * Errors: PPROF_BAD, PPROF_FULL (over `max_bytes` or a limit above), PPROF_NOMEM;
 *         `err` says what.
 */
MUST_CHECK enum pprof_rc pprof_decode(const void *bytes, size_t size, size_t max_bytes,
                                      struct pprof_decoded *out, struct err *err);

/* One function's share of a profile: own and cumulative totals of one value. */
struct pprof_top {
    const char *name; /* borrowed from the profile */
    const char *file;
    int32_t start_line;
    int64_t flat; /* sum over rows in which it is the leaf */
    int64_t cum;  /* sum over rows with it on the stack; recursion counts once */
};

/*
 * Totals per function of value `type`, largest flat first (then cum, name, file, first line).
 * Functions whose flat and cum are 0 are left out.
 *
 * Gives:  *out, *count; the caller frees *out with free(). Untouched on failure.
 * Errors: PPROF_NOMEM, PPROF_BAD: there is no such type.
 */
MUST_CHECK enum pprof_rc pprof_top(const struct pprof *profile, size_t type, struct pprof_top **out,
                                   size_t *count);

/* What an outcome means, as a sentence's end. Never NULL. */
const char *pprof_rc_text(enum pprof_rc rc);

#endif

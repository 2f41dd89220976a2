/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder pprof: knows profiles as rows of stacks with values, and their bytes as pprof and OTLP.
 * Does not know Python, processes, files and servers.
 *
 * pprof.h - gathers weighted stacks and turns them into pprof bytes, and back.
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
 * Takes:  at most `max_bytes` of memory for what it interns; over it everything
 *         that would grow it says PPROF_FULL, and what is there stays good.
 * Gives:  *out, which the caller ends with pprof_free; untouched on failure.
 */
MUST_CHECK enum pprof_rc pprof_new(const struct pprof_type *types, size_t type_count,
                                   size_t max_bytes, struct pprof **out);

/* Frees it. NULL is fine. */
void pprof_free(struct pprof *profile);

/*
 * Says which file the program is whose functions are in the profile (for Python: its interpreter),
 * and that file's build id, in hexadecimal; "": not known. The first call counts, and holds after
 * pprof_reset, too. pprof_merge and its like take it over. Cut at some 250 and 60 bytes.
 */
void pprof_set_binary(struct pprof *profile, const char *file, const char *build_id);

/* Forgets all samples and all interned things; keeps the types, the binary and the memory. */
void pprof_reset(struct pprof *profile);

/*
 * Interns a function: same name, file and first line give the same number.
 * `start_line` 0: not known. Bytes that are not UTF-8 become U+FFFD (Pyroscope
 * refuses a profile with invalid UTF-8).
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
 * Interns a row: what has the same stack and the same set of labels is one sample.
 * The text "" and the number 0 without a unit are left out: pprof cannot tell such
 * a label from none.
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
 * Errors: PPROF_FULL, PPROF_NOMEM; then a part of the rows was added.
 */
MUST_CHECK enum pprof_rc pprof_merge(struct pprof *into, const struct pprof *from);

/* Which rows are merged, and how. All zero: as pprof_merge. Borrowed. */
struct pprof_rule {
    bool subtract; /* takes the values off instead; rows that become 0 are not encoded */
    const struct pprof_label *with; /* only rows that have all of these: a text stands for a number,
                                     * too, and units are not looked at */
    size_t with_count;
    const char *extra[2]; /* a label of text that all of them get; {NULL}: none */
};

/* As pprof_merge, by a rule. */
MUST_CHECK enum pprof_rc pprof_merge_by(struct pprof *into, const struct pprof *from,
                                        const struct pprof_rule *rule);

/*
 * Interns a row with the stack and the labels of one of another profile; its values are not added.
 *
 * Errors: as pprof_row.
 * Cost:   that of interning each of its frames.
 */
MUST_CHECK enum pprof_rc pprof_copy_row(struct pprof *into, const struct pprof *from, uint32_t row,
                                        uint32_t *out);

/* The name that a label of samples has at a receiver. */
struct pprof_rename {
    const char *key, *as;
};

/* What a receiver takes. All zero: everything. Borrowed. */
struct pprof_fit {
    const struct pprof_rename *renames; /* ends with NULLs; NULL: none */
    bool texts;                         /* a number whose key is renamed becomes a text */
    size_t label_max;                   /* bytes of a label's text; 0: no limit */
    size_t depth_max; /* frames of a stack: one stands for what is left out of the middle of a
                       * deeper one, "<... 523 frames left out>"; 0: no limit */
};

/*
 * Makes a copy of a profile that a receiver takes as it is.
 *
 * Gives:  *out, which the caller ends with pprof_free; NULL: the profile itself fits.
 * Errors: PPROF_NOMEM.
 * Cost:   that of pprof_merge, unless the profile fits.
 */
MUST_CHECK enum pprof_rc pprof_fit(const struct pprof *profile, const struct pprof_fit *fit,
                                   struct pprof **out);

/*
 * Adds value `type` of all rows of `from`, times `factor`, to value `to` of `into`, whatever they
 * are called. Rounding leaves the sum of all rows right to 1.
 *
 * Errors: as pprof_merge; PPROF_BAD if there is no such value.
 */
MUST_CHECK enum pprof_rc pprof_merge_value(struct pprof *into, size_t to, const struct pprof *from,
                                           size_t type, double factor);

/* The most labels that a row has. */
size_t pprof_label_count(const struct pprof *profile);

/* How many rows there are, and the total of value `type` over all of them. */
size_t pprof_row_count(const struct pprof *profile);

/* Bytes of the names and stacks that it has interned since pprof_new or pprof_reset. */
size_t pprof_interned_bytes(const struct pprof *profile);
int64_t pprof_total(const struct pprof *profile, size_t type);

/* What stands around the samples. Strings are borrowed during the call. */
struct pprof_meta {
    int64_t time_ns;     /* start of the interval, UTC */
    int64_t duration_ns; /* its real length */
    struct pprof_type period_type;
    int64_t period;
    uint32_t types;           /* bit i: value i is in the profile; 0: all are */
    const char *default_type; /* shown first; NULL: the last one */
    const char *const *comments;
    size_t comment_count;
    const char *doc_url; /* NULL: none */
};

/*
 * Appends the profile as a gzip'd profile.proto to `out`.
 *
 * Gives:  the same bytes for the same content, in whatever order it was added.
 *         Rows whose chosen values are all 0 are left out. system_name is empty.
 *         Quotes in texts of labels have a backslash before them, for go tool pprof;
 *         pprof_decode takes it away.
 *         Ids count from 1 in table order (Parca refuses others). The one mapping is the
 *         binary, and all locations are in it.
 * Errors: PPROF_NOMEM, PPROF_FULL (over out->max).
 */
MUST_CHECK enum pprof_rc pprof_encode(const struct pprof *profile, const struct pprof_meta *meta,
                                      struct buf *out);

/* How large a part may be. */
struct pprof_bounds {
    size_t bytes; /* before packing */
    size_t rows;  /* samples */
};

/*
 * Encodes the profile as one message, or as several within `bounds` whose samples
 * together are the profile's: each holds some of the rows, and all of their values.
 * A single row is given whatever its size. `out` holds the part when `each` is
 * called, and nothing else.
 *
 * Errors: those of pprof_encode; some parts may have been given by then.
 * Cost:   that of pprof_encode while one part is enough, some times that for more.
 */
MUST_CHECK enum pprof_rc pprof_encode_parts(const struct pprof *profile,
                                            const struct pprof_meta *meta,
                                            const struct pprof_bounds *bounds, struct buf *out,
                                            void (*each)(void *ctx), void *ctx);

/* What pprof_decode tells beside the samples. Strings live as long as the profile. */
struct pprof_decoded {
    struct pprof *profile;                    /* owned by the caller: pprof_free */
    struct pprof_type types[PPROF_TYPES_MAX]; /* strings owned by the profile */
    size_t type_count;
    int64_t time_ns, duration_ns, period;
};

/*
 * Reads a pprof file: gzip'd or plain, ours or another tool's.
 *
 * Refuses what google/pprof's own CheckValid refuses, and two profiles one after the
 * other. Inlined calls become frames of their own; an address without a function
 * becomes a function named after it.
 *
 * Takes:  at most `max_bytes` for each of: the unpacked file, the profile, and the
 *         lists it needs meanwhile.
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
    int64_t flat; /* where it was the leaf */
    int64_t cum;  /* where it was on the stack; recursion counts once */
};

/*
 * Totals per function of value `type`, largest flat first (then cum, name, file).
 * Functions with neither are left out.
 *
 * Gives: *out, *count; the caller frees *out with free().
 */
MUST_CHECK enum pprof_rc pprof_top(const struct pprof *profile, size_t type, struct pprof_top **out,
                                   size_t *count);

/* What an outcome means, as a sentence's end. Never NULL. */
const char *pprof_rc_text(enum pprof_rc rc);

#endif

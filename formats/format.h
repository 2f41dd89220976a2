/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder formats: knows how a profile is shown: flame graphs, heat maps, tables, other tools'
 * files. Does not know where a profile comes from.
 *
 * format.h - writes a profile in the formats that other tools and people read.
 *
 * Shape:   format_named or format_of_path chooses one; its `write` appends all of the
 *          output to a buffer.
 * Trust:   names of functions and files may hold anything that is UTF-8; each writer
 *          escapes them as its format asks.
 * Gives:   the same bytes for the same profile.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include "base/buf.h"
#include "pprof/pprof.h"
#include "pprof/stacks.h"
#include "pprof/timeline.h"

#define FORMAT_NO_BASE SIZE_MAX

/* What is written. All is borrowed. */
struct format_view {
    const struct pprof *profile;
    const struct pprof_stacks *stacks;     /* of it */
    const struct pprof_timeline *timeline; /* of it, with weights of `type`, which is a time; NULL:
                                              there are sums only */
    size_t type;                           /* which of its values counts */
    size_t base;         /* of a difference: the value before; else FORMAT_NO_BASE */
    const char *title;   /* what the profile is of */
    int64_t time_ns;     /* UTC: its start; 0: not known */
    int64_t duration_ns; /* 0: not known */
    int64_t period;      /* between two samples, in nanoseconds; 0: not known */
    const char *made_by; /* the program and its version */
    /* Appends a source file for the writers that show lines; false: there is none. NULL: none. */
    bool (*source)(void *ctx, const char *file, struct buf *out);
    void *ctx;
    /*
     * Takes what was written so far and empties the buffer: writers of lines call it now and then,
     * so that not all lines are in memory. False: it cannot, and no more is written. NULL: none.
     */
    bool (*drain)(void *drain_ctx, struct buf *out);
    void *drain_ctx;
};

enum { FORMAT_ENDINGS_MAX = 3 };

struct format {
    const char *name;
    const char *endings[FORMAT_ENDINGS_MAX]; /* of files; NULL behind the last */
    const char *text;                        /* what it is, for people */
    bool differs;                            /* can show a difference */
    bool plain;                              /* lines of text, fit for a terminal */
    bool shows_source;                       /* reads source files */
    bool shows_times;                        /* shows when what ran, where there is a time line */
    enum pprof_rc (*write)(const struct format_view *view, struct buf *out);
};

/* The format called so, or whose files may end so ("html"); NULL if there is none. */
const struct format *format_named(const char *name);

/* The format that a file's name ends like, NULL if none does. */
const struct format *format_of_path(const char *path);

/* The `index`th format, NULL behind the last. */
const struct format *format_at(size_t index);

/*
 * Appends the data of a flame graph, as members of a JSON object without the braces; flame.c
 * says which. Over `nodes_max` nodes the smallest are left out, and their values given to their
 * callers; lines are a quarter as many at most.
 *
 * Errors: PPROF_NOMEM, PPROF_FULL (over out->max).
 */
MUST_CHECK enum pprof_rc format_flame_data(const struct format_view *view, size_t nodes_max,
                                           struct buf *out);

/* The style sheet and the script that draw it: flame.css, flame.js. Static. */
const unsigned char *format_flame_style(size_t *size);
const unsigned char *format_flame_script(size_t *size);

#endif

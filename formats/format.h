/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder formats: knows how a profile is shown: flame graphs, heat maps, tables, other tools'
 * files. Does not know where a profile comes from.
 *
 * format.h - writes a profile in the formats that other tools and people read.
 *
 * Shape:   format_named or format_of_path gives a format; its `write` appends all output to a
 *          buffer.
 * Trust:   names of functions and files may be any UTF-8; each writer escapes them as its format
 *          requires.
 * Gives:   the same bytes for the same profile.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include "base/buf.h"
#include "pprof/pprof.h"
#include "pprof/stacks.h"
#include "pprof/timeline.h"

#define FORMAT_NO_BASE SIZE_MAX

/* The profile to write, and what else a writer needs. All is borrowed. */
struct format_view {
    const struct pprof *profile;
    const struct pprof_stacks *stacks;     /* of `profile` */
    const struct pprof_timeline *timeline; /* of `profile`, weighted by `type`, which is a time;
                                              NULL: no times, only sums */
    size_t type;                           /* index of the value type that is shown */
    size_t base;         /* difference: type with the values before; else FORMAT_NO_BASE */
    const char *title;   /* name of the profiled program or service */
    int64_t time_ns;     /* start, UTC; 0: not known */
    int64_t duration_ns; /* 0: not known */
    int64_t period;      /* time between two samples, ns; 0: not known */
    const char *made_by; /* program that writes, with its version */
    /* Appends the text of a source file. False: it is not there. NULL: no sources. */
    bool (*source)(void *ctx, const char *file, struct buf *out);
    void *ctx;
    /*
     * Writes the content of the buffer elsewhere and empties it. Writers of lines call it now and
     * then to bound their memory. False: it failed; writing stops. NULL: all stays in the buffer.
     */
    bool (*drain)(void *drain_ctx, struct buf *out);
    void *drain_ctx;
};

enum { FORMAT_ENDINGS_MAX = 3 };

struct format {
    const char *name;
    const char *endings[FORMAT_ENDINGS_MAX]; /* of file names, with a dot; NULL behind the last */
    const char *text;                        /* description for users */
    bool differs;                            /* can show a difference: uses view->base */
    bool plain;                              /* lines of text, fit for a terminal */
    bool shows_source;                       /* uses view->source */
    bool shows_times;                        /* uses view->timeline */
    enum pprof_rc (*write)(const struct format_view *view, struct buf *out);
};

/* Gives the format with this name, or with this ending less its dot ("html"); NULL: none. */
const struct format *format_named(const char *name);

/* Gives the format with the longest ending that fits the path; NULL: none fits. */
const struct format *format_of_path(const char *path);

/* Gives the format number `index`, from 0; NULL behind the last. */
const struct format *format_at(size_t index);

/*
 * Appends the data of a flame graph: members of a JSON object, without braces; flame.c describes
 * them. Above `nodes_max` nodes the smallest are left out and their values added to their callers.
 * At most a quarter of `nodes_max` lines are written.
 *
 * Errors: PPROF_NOMEM, PPROF_FULL (over out->max).
 */
MUST_CHECK enum pprof_rc format_flame_data(const struct format_view *view, size_t nodes_max,
                                           struct buf *out);

/* Append the style sheet and the script of a flame graph: flame.css, flame.js. */
void format_flame_style(struct buf *out);
void format_flame_script(struct buf *out);

#endif

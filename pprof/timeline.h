/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - when the rows of a profile were seen: the samples of each thread, with their times.
 *
 * A profile has sums only. Its time line has the samples that the sums are made of, and a track for
 * each thread. What a row's value is, is known once the profile is complete; a sample has its share
 * of that, by its weight: value * sample.weight / pprof_timeline_weight(row).
 *
 * A thread that sleeps on with the same stack has two samples, the first and the last: the weights
 * of those between are in the last one.
 *
 * Shape:   pprof_timeline_new; pprof_timeline_join when a thread comes, pprof_timeline_name,
 *          pprof_timeline_add for each sample, pprof_timeline_leave when it ends; read the members;
 *          pprof_timeline_free.
 * Memory:  32 bytes a sample, twice that at most, and 8 bytes a row. When it is full, it keeps
 *          what it has, and counts what comes then.
 * Threads: a time line belongs to one thread at a time.
 */
#ifndef PPROF_TIMELINE_H
#define PPROF_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    PPROF_TIMELINE_SAMPLES = 1 << 21, /* kept at most: 64 MiB */
    PPROF_TIMELINE_TRACKS = 4096,     /* likewise */
    PPROF_TIMELINE_NAME = 100         /* bytes of a name, with its NUL */
};

struct pprof_timeline_sample {
    uint64_t time_ns; /* since the profile began */
    uint64_t weight;  /* of what the profile counts, ns */
    uint64_t cpu_ns;  /* CPU time of the thread since the sample before, by the kernel */
    uint32_t row;     /* of the profile, as pprof_row gave it */
    bool ran;         /* the thread ran, or was ready to */
};

struct pprof_timeline_track {
    int64_t pid, tid;                      /* tid 0: not known */
    bool main;                             /* the main thread of its process */
    bool joined;                           /* the thread has not left */
    char name[PPROF_TIMELINE_NAME];        /* the last one; valid UTF-8; "": not known */
    struct pprof_timeline_sample *samples; /* owned; by time */
    size_t count, capacity;
};

struct pprof_timeline {
    struct pprof_timeline_track *tracks; /* owned */
    size_t track_count, track_capacity;
    uint64_t *weights; /* owned: of all samples of each row, also of those that were not kept */
    size_t row_count, row_capacity;
    size_t count, max; /* samples in all tracks */
    uint64_t left_out; /* samples that were not kept */
    uint64_t full_ns;  /* since when none is kept any more; 0: there is room */
};

/* Gives: a time line for `max` samples, ended with pprof_timeline_free; NULL: out of memory. */
MUST_CHECK struct pprof_timeline *pprof_timeline_new(size_t max);

/* Frees it. NULL is fine. */
void pprof_timeline_free(struct pprof_timeline *timeline);

/* Removes all samples, because a new profile begins; the tracks stay. NULL is allowed. */
void pprof_timeline_reset(struct pprof_timeline *timeline);

/*
 * Finds the track of a thread that comes, or comes back; makes it if it is new.
 *
 * Gives: its number, at least 1; 0: there is no room for one.
 * Cost:  one comparison a track; not for each sample.
 */
uint32_t pprof_timeline_join(struct pprof_timeline *timeline, int64_t pid, int64_t tid, bool main);

/* The thread of a track ends. All numbers are fine, here and below: 0 is nobody's. */
void pprof_timeline_leave(struct pprof_timeline *timeline, uint32_t track);

/* Says what the thread of a track is called; long names are cut. */
void pprof_timeline_name(struct pprof_timeline *timeline, uint32_t track, const char *name);

/* Adds a sample to a track; without room, or for track 0, to what was left out. */
void pprof_timeline_add(struct pprof_timeline *timeline, uint32_t track,
                        const struct pprof_timeline_sample *sample);

/* The weights of all samples of a row, also of those that were not kept; 0: it was never seen. */
uint64_t pprof_timeline_weight(const struct pprof_timeline *timeline, uint32_t row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - when the rows of a profile were seen: the samples of each thread, with their times.
 *
 * A profile has sums only. Its time line has the samples that make up the sums, in one track for
 * each thread. A row's value is final once the profile is complete. The share of one sample is
 * value * sample.weight / pprof_timeline_weight(row).
 *
 * While a thread sleeps with the same stack, only the first and the last sample are kept; the last
 * one has the weights of those between.
 *
 * Shape:   pprof_timeline_new; pprof_timeline_join when a thread comes, pprof_timeline_name,
 *          pprof_timeline_add for each sample, pprof_timeline_leave when it ends; read the members;
 *          pprof_timeline_free.
 * Memory:  32 bytes a sample, twice that at most, and 8 bytes a row. When it is full, it keeps
 *          its samples and only counts further ones.
 * Threads: a time line belongs to one thread at a time.
 */
#ifndef PPROF_TIMELINE_H
#define PPROF_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    PPROF_TIMELINE_SAMPLES = 1 << 21, /* `max` that the agent uses: 64 MiB */
    PPROF_TIMELINE_TRACKS = 4096,     /* tracks at most */
    PPROF_TIMELINE_NAME = 100         /* bytes of a name, with its NUL */
};

struct pprof_timeline_sample {
    uint64_t time_ns; /* since the profile began */
    uint64_t weight;  /* ns that the sample adds to the value that the time line is of */
    uint64_t cpu_ns;  /* CPU time of the thread since its sample before, as the kernel counts it */
    uint32_t row;     /* of the profile, as pprof_row gave it */
    bool ran;         /* the thread ran, or was ready to */
};

struct pprof_timeline_track {
    int64_t pid, tid;                      /* tid 0: not known */
    bool main;                             /* the main thread of its process */
    bool joined;                           /* the thread has not left */
    char name[PPROF_TIMELINE_NAME];        /* the latest; valid UTF-8; "": not known */
    struct pprof_timeline_sample *samples; /* owned; by time */
    size_t count, capacity;                /* of `samples` */
};

struct pprof_timeline {
    struct pprof_timeline_track *tracks; /* owned */
    size_t track_count, track_capacity;
    uint64_t *weights; /* owned: by row: sum of the weights of its samples, kept or not */
    size_t row_count, row_capacity; /* of `weights` */
    size_t count, max;              /* samples kept in all tracks, and their limit */
    uint64_t left_out;              /* samples that were not kept */
    uint64_t full_ns;               /* time_ns of the first sample without room; 0: there is room */
};

/* Gives: a time line for `max` samples, ended with pprof_timeline_free; NULL: out of memory. */
MUST_CHECK struct pprof_timeline *pprof_timeline_new(size_t max);

/* Frees it. NULL is fine. */
void pprof_timeline_free(struct pprof_timeline *timeline);

/* Removes all samples, because a new profile begins; the tracks stay. NULL is fine. */
void pprof_timeline_reset(struct pprof_timeline *timeline);

/*
 * Takes the track of a thread that has left, if pid and tid match, else a new one.
 *
 * Gives: the track's number, at least 1; 0: no room or memory for one.
 * Cost:  one comparison a track; not for each sample.
 */
uint32_t pprof_timeline_join(struct pprof_timeline *timeline, int64_t pid, int64_t tid, bool main);

/* Marks a track as left: its thread ends. Here and below, numbers of no track are ignored. */
void pprof_timeline_leave(struct pprof_timeline *timeline, uint32_t track);

/* Sets the name of a track; longer names are cut to PPROF_TIMELINE_NAME - 1 bytes. */
void pprof_timeline_name(struct pprof_timeline *timeline, uint32_t track, const char *name);

/* Adds a sample to a track. Without room, or for track 0, adds only its weight, and counts it in
 * left_out. */
void pprof_timeline_add(struct pprof_timeline *timeline, uint32_t track,
                        const struct pprof_timeline_sample *sample);

/* Sum of the weights of all samples of a row, kept or not; 0: it has none. */
uint64_t pprof_timeline_weight(const struct pprof_timeline *timeline, uint32_t row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - see timeline.h. */
#include "pprof/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

struct pprof_timeline *pprof_timeline_new(size_t max)
{
    struct pprof_timeline *timeline = calloc(1, sizeof(*timeline));

    if (timeline)
        timeline->max = max;
    return timeline;
}

void pprof_timeline_free(struct pprof_timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->track_count; i++)
        free(timeline->tracks[i].samples);
    free(timeline->tracks);
    free(timeline->weights);
    free(timeline);
}

void pprof_timeline_reset(struct pprof_timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->track_count; i++)
        timeline->tracks[i].count = 0;
    timeline->row_count = timeline->count = 0;
    timeline->left_out = timeline->full_ns = 0;
}

/* A thread may have several states at a time, as with sub-interpreters: each has its own track. */
static bool is_track_of(const struct pprof_timeline_track *track, int64_t pid, int64_t tid)
{
    return track->pid == pid && track->tid == tid && tid != 0 && !track->joined;
}

uint32_t pprof_timeline_join(struct pprof_timeline *timeline, int64_t pid, int64_t tid, bool main)
{
    struct pprof_timeline_track *tracks = timeline->tracks;
    size_t i = 0;

    while (i < timeline->track_count && !is_track_of(&tracks[i], pid, tid))
        i++;
    if (i == timeline->track_count) {
        if (i == PPROF_TIMELINE_TRACKS ||
            !ARRAY_RESERVE(timeline->tracks, timeline->track_capacity, i + 1))
            return 0;
        timeline->tracks[timeline->track_count++] =
            (struct pprof_timeline_track){.pid = pid, .tid = tid, .main = main};
    }
    timeline->tracks[i].joined = true;
    return (uint32_t)i + 1;
}

/* The track with that number; NULL if no track has it. */
static struct pprof_timeline_track *track_at(struct pprof_timeline *timeline, uint32_t track)
{
    return track > 0 && track <= timeline->track_count ? &timeline->tracks[track - 1] : NULL;
}

void pprof_timeline_leave(struct pprof_timeline *timeline, uint32_t track)
{
    struct pprof_timeline_track *at = track_at(timeline, track);

    if (at)
        at->joined = false;
}

void pprof_timeline_name(struct pprof_timeline *timeline, uint32_t track, const char *name)
{
    struct pprof_timeline_track *at = track_at(timeline, track);
    size_t size;

    if (!at || strncmp(at->name, name, sizeof(at->name)) == 0)
        return;
    size = utf8_good(name, strnlen(name, sizeof(at->name) - 1));
    memcpy(at->name, name, size);
    at->name[size] = '\0';
}

/* Counts a weight for its row. False: out of memory. */
static bool add_weight(struct pprof_timeline *timeline, uint32_t row, uint64_t weight)
{
    if (row >= timeline->row_count) {
        if (!ARRAY_RESERVE(timeline->weights, timeline->row_capacity, (size_t)row + 1))
            return false;
        memset(timeline->weights + timeline->row_count, 0,
               (row + 1 - timeline->row_count) * sizeof(*timeline->weights));
        timeline->row_count = (size_t)row + 1;
    }
    timeline->weights[row] += weight;
    return true;
}

static bool is_asleep_in(const struct pprof_timeline_sample *sample, uint32_t row)
{
    return sample->row == row && !sample->ran && sample->cpu_ns == 0;
}

/* Adds a sample of a thread that sleeps on to the one before, which is not its first in that row.
 * False: it is another one. */
static bool extend_sleep(struct pprof_timeline_track *track,
                         const struct pprof_timeline_sample *sample)
{
    struct pprof_timeline_sample *last;

    if (track->count < 2 || !is_asleep_in(sample, sample->row))
        return false;
    last = &track->samples[track->count - 1];
    if (!is_asleep_in(last, sample->row) || last[-1].row != sample->row)
        return false;
    last->time_ns = sample->time_ns;
    last->weight += sample->weight;
    return true;
}

static bool keep_sample(struct pprof_timeline *timeline, struct pprof_timeline_track *track,
                        const struct pprof_timeline_sample *sample)
{
    if (!track || timeline->full_ns > 0)
        return false;
    if (extend_sleep(track, sample))
        return true;
    if (timeline->count >= timeline->max ||
        !ARRAY_RESERVE(track->samples, track->capacity, track->count + 1)) {
        timeline->full_ns = sample->time_ns > 0 ? sample->time_ns : 1;
        return false;
    }
    track->samples[track->count++] = *sample;
    timeline->count++;
    return true;
}

void pprof_timeline_add(struct pprof_timeline *timeline, uint32_t track,
                        const struct pprof_timeline_sample *sample)
{
    if (!add_weight(timeline, sample->row, sample->weight) ||
        !keep_sample(timeline, track_at(timeline, track), sample))
        timeline->left_out++;
}

uint64_t pprof_timeline_weight(const struct pprof_timeline *timeline, uint32_t row)
{
    return row < timeline->row_count ? timeline->weights[row] : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* assignments.c - see assignments.h. */
#include "agent/supervisor/assignments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct assignment *assignments_add(struct assignments *assignments, struct proc_id id,
                                   const struct target_profile *profile,
                                   struct sampler_process *sampler,
                                   struct sampler_process *quarantine_sampler)
{
    struct assignment *assignment;

    if (!ARRAY_RESERVE(assignments->items, assignments->capacity, assignments->count + 1))
        return NULL;
    assignment = &assignments->items[assignments->count++];
    *assignment = (struct assignment){.id = id, .profile = *profile, .share_ns = INFINITY};
    memcpy(assignment->service, profile->service, sizeof(assignment->service));
    memcpy(assignment->named_by, profile->named_by, sizeof(assignment->named_by));
    assignment->sampler =
        quarantine_find(&assignments->quarantine, id) ? quarantine_sampler : sampler;
    assignment->sampler->processes++;
    return assignment;
}

struct assignment *assignments_find(const struct assignments *assignments, struct proc_id id)
{
    for (size_t i = 0; i < assignments->count; i++)
        if (proc_id_equal(assignments->items[i].id, id))
            return &assignments->items[i];
    return NULL;
}

struct assignment *assignments_reading(const struct assignments *assignments,
                                       const struct sampler_process *sampler, pid_t pid)
{
    for (size_t i = 0; i < assignments->count; i++)
        if (assignments->items[i].id.pid == pid && assignments->items[i].sampler == sampler)
            return &assignments->items[i];
    return NULL;
}

/* Adds one process's counts of two samplers; costs are those of the second. */
static struct engine_counts add_engine_counts(const struct engine_counts *a,
                                              const struct engine_counts *b)
{
    struct engine_counts out = {.samples = a->samples + b->samples,
                                .missed = a->missed + b->missed,
                                .torn = a->torn + b->torn,
                                .torn_moved = a->torn_moved + b->torn_moved,
                                .torn_chain = a->torn_chain + b->torn_chain,
                                .torn_code = a->torn_code + b->torn_code,
                                .torn_unmapped = a->torn_unmapped + b->torn_unmapped,
                                .tick_ns = b->tick_ns,
                                .recent_bytes = b->recent_bytes};

    for (size_t i = 0; i < ENGINE_OUTCOMES; i++)
        out.failed[i] = a->failed[i] + b->failed[i];
    return out;
}

void assignments_count(struct assignments *assignments, const struct sampler_process *sampler,
                       struct proc_id id, const struct engine_counts *counts)
{
    struct assignment *assignment;

    for (size_t i = 0; i < assignments->count;
         i++, assignments->next++) { /* they come in much the same order */
        assignment = &assignments->items[assignments->next % assignments->count];
        if (assignment->id.pid != id.pid || assignment->id.start != id.start)
            continue;
        if (assignment->sampler == sampler && assignment->sent)
            assignment->counts = add_engine_counts(&assignment->before, counts);
        assignments->next = (assignments->next + 1) % assignments->count;
        return;
    }
}

void assignments_remove(struct assignments *assignments, struct assignment *assignment)
{
    if (!assignment)
        return;
    assignment->sampler->processes--;
    *assignment = assignments->items[--assignments->count];
}

static void unsend(struct assignment *assignment)
{
    assignment->sent = false;
    assignment->sampling = false;
    assignment->before = assignment->counts;
    hang_forget(&assignment->hang);
}

void assignments_move(struct assignment *assignment, struct sampler_process *sampler)
{
    assignment->sampler->processes--;
    assignment->sampler = sampler;
    assignment->sampler->processes++;
    unsend(assignment);
}

void assignments_unsend(struct assignments *assignments, const struct sampler_process *sampler)
{
    for (size_t i = 0; i < assignments->count; i++)
        if (assignments->items[i].sampler == sampler)
            unsend(&assignments->items[i]);
}

const struct quarantine_entry *assignments_quarantine(struct assignments *assignments,
                                                      struct assignment *assignment,
                                                      struct sampler_process *quarantine_sampler,
                                                      uint64_t now_ns)
{
    assignments_move(assignment, quarantine_sampler);
    return quarantine_add(&assignments->quarantine, assignment->id, now_ns);
}

uint64_t assignments_retry_ns(const struct assignments *assignments,
                              const struct assignment *assignment)
{
    const struct quarantine_entry *entry =
        quarantine_find(&assignments->quarantine, assignment->id);

    return entry ? quarantine_next_ns(entry) : 0;
}

static bool is_gone(void *ctx, struct proc_id id)
{
    struct proc_stat stat;
    enum proc_rc rc = proc_stat_read(id.pid, &stat);

    (void)ctx;
    return rc == PROC_GONE || (rc == PROC_OK && stat.start != id.start);
}

void assignments_sweep(struct assignments *assignments)
{
    quarantine_sweep(&assignments->quarantine, is_gone, NULL);
}

size_t assignments_opening(const struct assignments *assignments)
{
    size_t i, count = 0;

    for (i = 0; i < assignments->count; i++)
        count += assignments->items[i].sent && !assignments->items[i].sampling;
    return count;
}

size_t assignments_sampling(const struct assignments *assignments)
{
    size_t i, count = 0;

    for (i = 0; i < assignments->count; i++)
        count += assignments->items[i].sampling;
    return count;
}

void assignments_finish(struct assignments *assignments)
{
    free(assignments->items);
    quarantine_finish(&assignments->quarantine);
    *assignments = (struct assignments){0};
}

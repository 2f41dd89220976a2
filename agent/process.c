/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - see process.h. */
#include "agent/process.h"

#include <stdlib.h>
#include <string.h>

enum { CPU_EACH = 16 }; /* samples: so old is what is known of a thread that ends unseen */

void process_init(struct process *p, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns)
{
    const struct cpy_options options = {.status = CPY_STATUS_CPU};

    *p = (struct process){
        .id = id, .target = target, .service = service, .split = split, .last_ns = now_ns};
    if (!proc_cpu_ns(id.pid, &p->cpu_base_ns))
        p->cpu_base_ns = 0;
    cpy_set_options(target, &options);
    memcpy(service->python, cpy_info(target)->version, sizeof(service->python));
}

static void add_cpu(void *ctx, uint32_t row, uint64_t share)
{
    struct process *p = ctx;
    const int64_t values[VALUES] = {[VALUE_CPU] = (int64_t)share};

    pprof_add(p->service->profile, row, values);
    p->cpu_given_ns += share;
}

static void settle_thread(struct process *p, struct process_thread *thread)
{
    if (!thread->has_files)
        return;
    /* What no running stack was seen for stays in the process's remainder. */
    (void)spread_settle(&thread->spread, thread->cpu_ns - thread->settled_ns, add_cpu, p);
    thread->settled_ns = thread->cpu_ns;
}

static void end_thread(struct process *p, struct process_thread *thread)
{
    settle_thread(p, thread);
    spread_finish(&thread->spread);
    if (thread->has_files)
        proc_thread_close(&thread->files);
}

/* Where the thread has ended, what was read last stands. */
static void read_cpu(struct process_thread *thread)
{
    uint64_t cpu_ns;

    if (thread->has_files && proc_thread_cpu_ns(&thread->files, &cpu_ns))
        thread->cpu_ns = cpu_ns;
}

void process_settle(struct process *p)
{
    uint64_t cpu;
    size_t i;

    for (i = 0; i < p->thread_count; i++) {
        read_cpu(&p->threads[i]);
        settle_thread(p, &p->threads[i]);
    }
    if (!proc_cpu_ns(p->id.pid, &cpu) || cpu < p->cpu_base_ns)
        return;
    cpu -= p->cpu_base_ns;
    /* Threads are read one by one and a little earlier: the remainder can come out negative,
     * then it is taken off the next one. */
    if (cpu > p->cpu_given_ns)
        add_cpu(p, service_unseen_row(p->service, p->id.pid, p->split), cpu - p->cpu_given_ns);
}

void process_finish(struct process *p)
{
    size_t i;

    process_settle(p);
    for (i = 0; i < p->thread_count; i++)
        end_thread(p, &p->threads[i]);
    free(p->threads);
    cpy_close(p->target);
    *p = (struct process){0};
}

/* True if another state of the same kernel thread is counted already (sub-interpreters). */
static bool is_counted(const struct process *p, pid_t tid)
{
    size_t i;

    for (i = 0; i < p->thread_count; i++)
        if (p->threads[i].tid == tid && p->threads[i].has_files)
            return true;
    return false;
}

/* How much of a new thread's CPU time it took before it could be ours to tell. */
static uint64_t before_us(const struct process *p, uint64_t cpu_ns, uint64_t now_ns)
{
    uint64_t most = now_ns - p->last_ns; /* since the sample that did not have it yet */

    if (p->sample == 1)
        return cpu_ns;
    return cpu_ns > most ? cpu_ns - most : 0;
}

static struct process_thread *new_thread(struct process *p, const struct cpy_thread *seen,
                                         uint64_t now_ns)
{
    size_t capacity = p->thread_capacity ? p->thread_capacity * 2 : 8;
    struct process_thread *wider, *thread;

    if (p->thread_count == p->thread_capacity) {
        wider = realloc(p->threads, capacity * sizeof(*wider));
        if (!wider)
            return NULL;
        p->threads = wider;
        p->thread_capacity = capacity;
    }
    thread = &p->threads[p->thread_count];
    *thread =
        (struct process_thread){.state = seen->state, .tid = seen->tid, .last_ns = p->last_ns};
    spread_init(&thread->spread);
    thread->has_files = seen->tid && !is_counted(p, seen->tid) &&
                        proc_thread_open(p->id.pid, seen->tid, &thread->files);
    read_cpu(thread);
    thread->settled_ns = before_us(p, thread->cpu_ns, now_ns);
    p->thread_count++;
    return thread;
}

static struct process_thread *thread_of(struct process *p, const struct cpy_thread *seen,
                                        uint64_t now_ns)
{
    struct process_thread *thread;
    size_t i;

    for (i = 0; i < p->thread_count; i++) {
        thread = &p->threads[(p->next + i) % p->thread_count];
        if (thread->state != seen->state || thread->tid != seen->tid)
            continue;
        p->next = (size_t)(thread - p->threads) + 1;
        return thread;
    }
    return new_thread(p, seen, now_ns);
}

/* The row of the profile that a stack is counted under. */
static uint32_t row_of(struct process *p, struct process_thread *thread,
                       const struct cpy_thread *seen)
{
    if (!seen->same || thread->row_ns != p->service->start_ns)
        thread->row = service_row(p->service, seen, p->id.pid, p->split);
    thread->row_ns = p->service->start_ns;
    return thread->row;
}

/* Notes that a thread was seen running with a stack. */
static void note_running(struct process *p, struct process_thread *thread, uint32_t row,
                         uint64_t weight)
{
    if (spread_add(&thread->spread, row, weight))
        return;
    settle_thread(p, thread); /* full: give out what came so far */
    if (!spread_add(&thread->spread, row, weight))
        p->failed = true;
}

/* What a sample carries. */
struct sampling {
    struct process *process;
    uint64_t now_ns;
};

static void each_thread(void *ctx, const struct cpy_thread *seen)
{
    const struct sampling *sampling = ctx;
    struct process *p = sampling->process;
    struct process_thread *thread = thread_of(p, seen, sampling->now_ns);
    int64_t values[VALUES] = {[VALUE_SAMPLES] = 1};
    uint64_t weight;
    uint32_t row;

    p->failed |= !thread;
    if (!thread)
        return;
    thread->seen = p->sample;
    if (!seen->same || seen->status & CPY_STATUS_CPU || p->sample % CPU_EACH == 0)
        read_cpu(thread);
    if (seen->torn)
        return; /* the next good sample of it carries this one's time */
    weight = sampling->now_ns - thread->last_ns;
    thread->last_ns = sampling->now_ns;
    if (weight == 0 || p->sample == 1)
        return;
    row = row_of(p, thread, seen);
    values[VALUE_WALL] = (int64_t)weight;
    values[VALUE_GIL] = seen->status & CPY_STATUS_GIL ? (int64_t)weight : 0;
    pprof_add(p->service->profile, row, values);
    if (seen->status & CPY_STATUS_CPU && thread->has_files)
        note_running(p, thread, row, weight);
}

/* Ends the threads that were not there any more. */
static void drop_ended(struct process *p)
{
    size_t i, kept = 0;

    for (i = 0; i < p->thread_count; i++) {
        if (p->threads[i].seen == p->sample)
            p->threads[kept++] = p->threads[i];
        else
            end_thread(p, &p->threads[i]);
    }
    p->thread_count = kept;
}

enum cpy_rc process_sample(struct process *p, uint64_t now_ns)
{
    struct sampling sampling = {p, now_ns};
    enum cpy_rc rc;

    p->sample++;
    rc = cpy_sample(p->target, each_thread, &sampling);
    if (rc != CPY_OK)
        return rc;
    drop_ended(p);
    p->last_ns = now_ns;
    return p->failed ? CPY_NOMEM : CPY_OK;
}

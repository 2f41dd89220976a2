/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - see process.h. */
#include "agent/process.h"

#include <stdlib.h>
#include <string.h>

/* A process that has done nothing for so long is looked at in each REST_EACH-th tick only, later
 * each time a REST_PART of what it has rested has passed, and at least each REST_MOST_NS. */
#define REST_LONG_NS UINT64_C(500000000)
#define REST_MOST_NS UINT64_C(400000000)

enum { REST_PART = 16 };

void process_init(struct process *p, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns)
{
    const struct cpy_options options = {.status = CPY_STATUS_CPU};

    *p = (struct process){.id = id,
                          .target = target,
                          .service = service,
                          .split = split,
                          .last_ns = now_ns,
                          .rest = {.moved_ns = now_ns, .ticks = 1}};
    p->has_clock = proc_clock(id.pid, &p->clock) && proc_clock_ns(p->clock, &p->cpu_ns);
    p->cpu_base_ns = p->cpu_ns;
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

static void add_wait(void *ctx, uint32_t row, uint64_t share)
{
    struct process *p = ctx;
    const int64_t values[VALUES] = {[VALUE_WAIT] = (int64_t)share};

    pprof_add(p->service->profile, row, values);
}

static uint32_t unseen_row(struct process *p)
{
    return service_unseen_row(p->service, p->id.pid, p->split);
}

/* Gives out what the kernel has counted of a thread. */
static void settle_thread(struct process *p, struct process_thread *thread)
{
    uint64_t waited = thread->times.wait_ns - thread->settled.wait_ns;

    if (!thread->counts)
        return;
    /* CPU time that no running stack was seen for stays in the process's remainder. */
    (void)spread_divide(&thread->spread, thread->times.cpu_ns - thread->settled.cpu_ns, add_cpu, p);
    if (waited > 0 && spread_divide(&thread->spread, waited, add_wait, p) == 0)
        add_wait(p, unseen_row(p), waited);
    spread_clear(&thread->spread);
    thread->settled = thread->times;
}

static void end_thread(struct process *p, struct process_thread *thread)
{
    settle_thread(p, thread);
    spread_finish(&thread->spread);
}

/* The numbers of a sample, or of a look at the thread's file; a late one may be older. */
static void take_times(struct process_thread *thread, uint64_t cpu_ns, uint64_t wait_ns)
{
    if (cpu_ns > thread->times.cpu_ns)
        thread->times.cpu_ns = cpu_ns;
    if (wait_ns > thread->times.wait_ns)
        thread->times.wait_ns = wait_ns;
}

/* Gives a thread's wall time, and that of the GIL, to its row; less what it is to pay back. Gives
 * what the row keeps. */
static uint64_t add_wall(struct process *p, struct process_thread *thread, uint64_t samples,
                         uint64_t wall_ns)
{
    uint64_t paid = wall_ns < thread->owed_ns ? wall_ns : thread->owed_ns, kept = wall_ns - paid;
    const int64_t values[VALUES] = {
        [VALUE_SAMPLES] = (int64_t)samples,
        [VALUE_WALL] = (int64_t)kept,
        [VALUE_GIL] = thread->has_gil ? (int64_t)kept : 0,
    };
    const int64_t back[VALUES] = {[VALUE_WALL] = (int64_t)paid};

    pprof_add(p->service->profile, thread->row, values);
    if (paid > 0)
        pprof_add(p->service->profile, thread->owed_row, back);
    thread->owed_ns -= paid;
    return kept;
}

/* Gives threads the time in which they were known to rest, with the stack that they had. */
static void end_rest(struct process *p)
{
    struct process_thread *thread;
    uint64_t rested;
    size_t i;

    for (i = 0; p->rest.since_ns > 0 && i < p->thread_count; i++) {
        thread = &p->threads[i];
        rested = p->rest.since_ns - thread->last_ns;
        (void)add_wall(p, thread, p->rest.count, rested);
        thread->last_ns = p->rest.since_ns;
    }
    p->rest.since_ns = p->rest.count = 0;
}

/* Brings the CPU time up to date; false: it has not moved. What was read last stands at the end. */
static bool read_clock(struct process *p)
{
    uint64_t now;

    if (!p->has_clock || !proc_clock_ns(p->clock, &now) || now < p->cpu_ns)
        return true; /* less: another process has the number */
    if (now == p->cpu_ns)
        return false;
    p->cpu_ns = now;
    return true;
}

/* The numbers of a sample are old by now; those of a thread that ran are read anew. */
static void refresh_times(struct process *p, struct process_thread *thread)
{
    struct proc_times times;

    if (thread->spread.count > 0 && thread->counts &&
        proc_thread_times(p->id.pid, thread->tid, &times))
        take_times(thread, times.cpu_ns, times.wait_ns);
}

/* All threads have rested until now, and so in `count` samples that were not taken. */
static void note_rest(struct process *p, uint64_t count, uint64_t now_ns)
{
    p->rest.count += count;
    p->rest.since_ns = p->last_ns = now_ns;
}

/* The same in the midst of the ticks that the next sample stands for. */
static void note_rest_so_far(struct process *p, uint64_t now_ns)
{
    uint64_t period_ns = p->service->period_ns;
    uint64_t passed = period_ns > 0 ? (now_ns - p->last_ns) / period_ns : 0;

    passed = passed < p->rest.ticks ? passed : p->rest.ticks - 1;
    p->rest.ticks -= passed;
    note_rest(p, passed, now_ns);
}

void process_settle(struct process *p, uint64_t now_ns)
{
    bool moved = read_clock(p);
    uint64_t cpu;
    size_t i;

    if (moved)
        p->rest.moved_ns = now_ns;
    else if (process_may_rest(p) && cpy_asleep(p->target))
        note_rest_so_far(p, now_ns);
    end_rest(p);
    for (i = 0; i < p->thread_count; i++) {
        refresh_times(p, &p->threads[i]);
        settle_thread(p, &p->threads[i]);
    }
    p->rest.whole_ns = 0; /* a new interval, or it is over */
    (void)read_clock(p);  /* not older than those of the threads */
    cpu = p->cpu_ns - p->cpu_base_ns;
    /* Threads are read one by one and a little earlier: the remainder can come out negative,
     * then it is taken off the next one. */
    if (cpu > p->cpu_given_ns)
        add_cpu(p, unseen_row(p), cpu - p->cpu_given_ns);
}

void process_finish(struct process *p)
{
    size_t i;

    if (!p->target)
        return;
    p->rest.whole_ns = 0; /* it is not read again */
    process_settle(p, p->last_ns);
    for (i = 0; i < p->thread_count; i++)
        end_thread(p, &p->threads[i]);
    free(p->threads);
    cpy_close(p->target);
    *p = (struct process){0};
}

/* What a sample carries. */
struct sampling {
    struct process *process;
    uint64_t now_ns;
    uint64_t odds; /* it stands for so many as to what runs */
    bool whole;    /* all threads so far have a row */
};

/* True if another state of the same kernel thread is counted already (sub-interpreters). */
static bool is_counted(const struct process *p, pid_t tid)
{
    size_t i;

    for (i = 0; i < p->thread_count; i++)
        if (p->threads[i].tid == tid && p->threads[i].counts)
            return true;
    return false;
}

/* How much of a new thread's time it took before it could be ours to tell. */
static uint64_t before_us(const struct process *p, uint64_t took_ns, uint64_t now_ns)
{
    uint64_t most = now_ns - p->last_ns; /* since the sample that did not have it yet */

    if (p->sample == 1)
        return took_ns;
    return took_ns > most ? took_ns - most : 0;
}

/*
 * From when on a new thread's time is counted. Its own time before the sample is not known, but
 * on average it is what is lost of one that ends: half a tick. Where many ticks passed since the
 * last sample, that would be too much by far: the kernel tells when it began.
 */
static uint64_t counted_from(const struct sampling *sampling, pid_t tid)
{
    const struct process *p = sampling->process;
    uint64_t passed = sampling->now_ns - p->last_ns, age;

    if (sampling->odds <= 1)
        return p->last_ns;
    if (!proc_thread_age(p->id.pid, tid, &age))
        age = passed / 2;
    age += passed / sampling->odds / 2;
    return age < passed ? sampling->now_ns - age : p->last_ns;
}

static struct process_thread *new_thread(const struct sampling *sampling,
                                         const struct cpy_thread *seen)
{
    struct process *p = sampling->process;
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
    *thread = (struct process_thread){
        .state = seen->state, .tid = seen->tid, .last_ns = counted_from(sampling, seen->tid)};
    spread_init(&thread->spread);
    thread->counts = seen->tid && !is_counted(p, seen->tid);
    p->thread_count++;
    return thread;
}

static struct process_thread *thread_of(const struct sampling *sampling,
                                        const struct cpy_thread *seen)
{
    struct process *p = sampling->process;
    struct process_thread *thread;
    size_t i;

    for (i = 0; i < p->thread_count; i++) {
        thread = &p->threads[(p->next + i) % p->thread_count];
        if (thread->state != seen->state || thread->tid != seen->tid)
            continue;
        p->next = (size_t)(thread - p->threads) + 1;
        return thread;
    }
    return new_thread(sampling, seen);
}

/* The kernel's numbers of a thread, as they were in the sample. */
static void note_times(struct sampling *sampling, struct process_thread *thread,
                       const struct cpy_thread *seen)
{
    struct process *p = sampling->process;

    if (thread->times.cpu_ns == 0) { /* the first that is known */
        thread->settled.cpu_ns = before_us(p, seen->cpu_ns, sampling->now_ns);
        thread->settled.wait_ns = before_us(p, seen->wait_ns, sampling->now_ns);
    }
    take_times(thread, seen->cpu_ns, seen->wait_ns);
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

/* Counts a thread's stack for the time since its last good sample. */
static void weigh(struct sampling *sampling, struct process_thread *thread,
                  const struct cpy_thread *seen)
{
    struct process *p = sampling->process;
    uint64_t weight = sampling->now_ns - thread->last_ns, kept;
    bool is_known = thread->row_ns == p->service->start_ns, is_met;
    uint32_t row, before = thread->row;

    thread->last_ns = sampling->now_ns;
    thread->has_gil = seen->status & CPY_STATUS_GIL;
    if (weight == 0 || p->sample == 1) {
        sampling->whole = false;
        return;
    }
    row = row_of(p, thread, seen);
    is_met = sampling->odds > 1 && is_known && row != before;
    if (is_met || !is_known || row == thread->owed_row)
        thread->owed_ns = 0; /* it is back, or begins anew */
    kept = add_wall(p, thread, 1, weight);
    if (is_met) {
        thread->owed_ns = weight / 2;
        thread->owed_row = before;
    }
    if (seen->status & CPY_STATUS_CPU && thread->counts)
        note_running(p, thread, row, kept > 0 ? kept : 1);
}

static void each_thread(void *ctx, const struct cpy_thread *seen)
{
    struct sampling *sampling = ctx;
    struct process *p = sampling->process;
    struct process_thread *thread = thread_of(sampling, seen);

    p->failed |= !thread;
    if (!thread)
        return;
    thread->seen = p->sample;
    note_times(sampling, thread, seen);
    if (seen->torn)
        sampling->whole = false; /* the next good sample of it carries this one's time */
    else
        weigh(sampling, thread, seen);
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

/*
 * For how many samples one now would stand, as to what it finds running; 0: it would be as the
 * last. Whoever asks has found out before whether we are alone: a thread that ran then has moved
 * the clock by now, or runs on.
 */
static uint64_t odds_of(struct process *p, uint64_t now_ns, bool alone)
{
    uint64_t odds = p->rest.ticks;

    if (read_clock(p)) {
        p->rest.moved_ns = now_ns;
        return odds;
    }
    if (!process_may_rest(p))
        return odds;
    if (!alone && !cpy_asleep(p->target)) {
        p->rest.moved_ns = now_ns;
        return odds;
    }
    note_rest(p, odds, now_ns);
    return 0;
}

uint64_t process_ticks(const struct process *p)
{
    return p->rest.ticks;
}

void process_rouse(struct process *p, uint64_t now_ns)
{
    p->rest.moved_ns = now_ns;
    p->rest.ticks = 1;
}

/* How many ticks to leave a process alone that has rested for so long. */
static uint64_t ticks_of_rest(const struct process *p, uint64_t rested_ns)
{
    uint64_t span_ns = rested_ns / REST_PART, period_ns = p->service->period_ns, ticks;

    span_ns = span_ns < REST_MOST_NS ? span_ns : REST_MOST_NS;
    ticks = period_ns > 0 ? span_ns / period_ns : 0;
    return ticks > REST_EACH ? ticks : REST_EACH;
}

/* When to look at it next. */
static void set_ticks(struct process *p, uint64_t now_ns)
{
    uint64_t rested_ns = process_may_rest(p) ? now_ns - p->rest.moved_ns : 0;

    if (rested_ns < REST_LONG_NS) {
        p->rest.ticks = 1;
        return;
    }
    if (p->rest.ticks == 1)
        cpy_trim(p->target);
    p->rest.ticks = ticks_of_rest(p, rested_ns);
}

bool process_may_rest(const struct process *p)
{
    return p->rest.whole_ns != 0 && p->rest.whole_ns == p->service->start_ns;
}

enum cpy_rc process_sample(struct process *p, uint64_t now_ns, bool alone, bool *out_read)
{
    struct sampling sampling = {p, now_ns, odds_of(p, now_ns, alone), true};
    enum cpy_rc rc;

    if (out_read)
        *out_read = sampling.odds > 0;
    set_ticks(p, now_ns);
    if (sampling.odds == 0)
        return CPY_OK;
    end_rest(p);
    p->rest.whole_ns = 0;
    p->rest.ticks = 1;
    p->sample++;
    rc = cpy_sample(p->target, each_thread, &sampling);
    if (rc != CPY_OK)
        return rc;
    drop_ended(p);
    p->last_ns = now_ns;
    if (sampling.whole)
        p->rest.whole_ns = p->service->start_ns;
    set_ticks(p, now_ns);
    return p->failed ? CPY_NOMEM : CPY_OK;
}

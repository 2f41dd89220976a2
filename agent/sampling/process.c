/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - see process.h. */
#include "agent/sampling/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/gil_stuck.h"
#include "agent/sampling/idle.h"
#include "base/array.h"

/* A thread that renames itself (to the job that it does, say) has the new name after this. */
#define NAMES_NS (UINT64_C(100) * 1000 * 1000)

/* Between two looks at children and at threads without Python: such a part of its age. */
#define LOOK_AROUND_LEAST_NS (250 * NS_PER_MS)
#define LOOK_AROUND_MOST_NS  (5 * NS_PER_S)
enum { LOOK_AROUND_PART = 8 };

/* So many times the estimate is given to threads that came and went; more is not theirs. */
enum { TAILS_MOST = 2 };

/* A part of a thread's interval (cpu_attribution.h): so many samples saw it run, and for so long
 * that clocks which are a tick old do not matter. */
#define PART_LEAST_NS (200 * NS_PER_MS)
enum { PART_SAMPLES = 32 };

void process_init(struct process *p, struct proc_id id, struct cpy_target *target,
                  struct service *service, enum service_split split, uint64_t now_ns)
{
    const struct cpy_options unwind_options = {.status = CPY_STATUS_CPU};

    *p = (struct process){.id = id,
                          .target = target,
                          .service = service,
                          .split = split,
                          .last_ns = now_ns,
                          .names_ns = now_ns,
                          .idle = {.moved_ns = now_ns, .ticks = 1}};
    p->has_clock = proc_clock(id.pid, &p->clock) && proc_clock_ns(p->clock, &p->cpu_ns);
    p->cpu_base_ns = p->cpu_ns;
    cpu_attribution_init(&p->tails);
    cpu_attribution_init(&p->child_tails);
    cpy_set_options(target, &unwind_options);
    service_set_python(service, cpy_info(target));
}

bool process_set_options(struct process *p, const struct sample_options *options)
{
    const struct cpy_options unwind_options = {
        .frames = options->frames,
        .status = CPY_STATUS_CPU | (options->exception ? CPY_STATUS_EXCEPTION : 0),
        .tasks = options->tasks != TASKS_NONE};

    p->options = *options;
    p->service->missing |= sample_options_missing(options, p->target);
    p->hang.after_ns = options->hang_ns;
    cpy_set_options(p->target, &unwind_options);
    if (options->tasks == TASKS_NONE || !cpy_tells_tasks(p->target))
        return true;
    p->tasks = malloc(sizeof(*p->tasks));
    if (p->tasks)
        async_stacks_init(p->tasks);
    return p->tasks != NULL;
}

/* True if tasks that wait have stacks of their own. */
static bool shows_waiting(const struct process *p)
{
    return p->tasks && p->options.tasks == TASKS_ALL;
}

static struct service_tag tag_of(const struct process *p)
{
    return (struct service_tag){.pid = p->id.pid,
                                .split = p->split,
                                .hang = hang_name(p->hang.kind),
                                .role = cmdline_role_name(p->options.role)};
}

/* Gives CPU time to a row, which is of that class. */
static void give_cpu(struct process *p, enum cpu_class class, uint32_t row, uint64_t ns)
{
    const int64_t values[VALUES] = {[VALUE_CPU] = (int64_t)ns};

    pprof_add(p->service->profile, row, values);
    if (p->by_class)
        p->by_class->ns[class] += ns;
}

/* Some of its own, to a stack that was seen. */
static void add_cpu(void *ctx, uint32_t row, uint64_t share)
{
    struct process *p = ctx;

    give_cpu(p, CPU_STACKS, row, share);
    p->cpu_given_ns += share;
}

/* Some of its own, to the frame of a class. `detail`: see service_class_row. */
static void add_cpu_to(struct process *p, enum cpu_class class, const char *detail, uint64_t ns)
{
    const struct service_tag tag = tag_of(p);

    if (ns == 0)
        return;
    give_cpu(p, class, service_class_row(p->service, class, detail, &tag), ns);
    p->cpu_given_ns += ns;
}

static void add_wait(void *ctx, uint32_t row, uint64_t share)
{
    struct process *p = ctx;
    const int64_t values[VALUES] = {[VALUE_WAIT] = (int64_t)share};

    pprof_add(p->service->profile, row, values);
}

/* What CPU time counts as that no stack was seen for. */
static enum cpu_class unseen_class(const struct process *p)
{
    return p->shuts_down ? CPU_SHUTDOWN : CPU_BETWEEN;
}

/* Ends a part of a thread's interval; see cpu_attribution.h. */
static void end_part(struct process_thread *thread)
{
    if (cpu_attribution_end_part(&thread->cpu_attribution,
                                 thread->times.cpu_ns - thread->part.cpu_ns))
        thread->part = thread->times;
}

/* Gives out what the kernel has counted of a thread. Gives the CPU time that no stack was seen for:
 * it stays in the process's remainder. */
static uint64_t commit_thread(struct process *p, struct process_thread *thread)
{
    const struct service_tag tag = tag_of(p);
    uint64_t waited = thread->times.wait_ns - thread->committed.wait_ns;
    uint64_t took = thread->times.cpu_ns - thread->committed.cpu_ns, left = 0;

    if (!thread->counts)
        return 0;
    end_part(thread);
    if (cpu_attribution_divide(&thread->cpu_attribution, CPU_ATTRIBUTION_RAN, took, add_cpu, p) ==
        0)
        left = took;
    if (waited > 0 && cpu_attribution_divide(&thread->cpu_attribution, CPU_ATTRIBUTION_WAITED,
                                             waited, add_wait, p) == 0)
        add_wait(p, service_class_row(p->service, unseen_class(p), NULL, &tag), waited);
    cpu_attribution_clear(&thread->cpu_attribution);
    thread->committed = thread->part = thread->times;
    if (!p->options.main_only)
        return left;
    add_cpu_to(p, unseen_class(p), NULL, left); /* the remainder has other threads' time, too */
    return 0;
}

/*
 * Notes what threads like one that has ended used unseen, about. Each time that it was seen
 * running, or only waiting for a CPU, stands for a tick; what it had used until its last sample is
 * given to it already.
 */
static void note_tail(struct process *p, const struct process_thread *thread)
{
    const struct cpu_attribution *seen = &thread->cpu_attribution;
    const uint64_t took = thread->times.cpu_ns - thread->part.cpu_ns;
    const bool ran = seen->now > 0;
    const uint64_t total = ran ? seen->now : seen->waited;
    const double part = took < total ? 1 - (double)took / (double)total : 0;
    uint64_t weight;

    for (size_t i = 0; i < seen->count; i++) { /* if it is full, the rest stays without a stack */
        weight = ran ? seen->items[i].now : seen->items[i].waited;
        (void)!cpu_attribution_add(&p->tails, seen->items[i].row, (uint64_t)((double)weight * part),
                                   CPU_ATTRIBUTION_RAN);
    }
}

/* True if the kernel's thread has ended, too, and not just its thread state. */
static bool is_thread_gone(const struct process *p, const struct process_thread *thread)
{
    uint64_t age;

    return proc_thread_age(p->id.pid, thread->tid, &age) == PROC_GONE;
}

static void end_thread(struct process *p, struct process_thread *thread)
{
    bool gone = false;
    uint64_t left;

    if (thread->counts &&
        (thread->cpu_attribution.count > 0 || thread->times.cpu_ns > thread->committed.cpu_ns))
        gone = is_thread_gone(p, thread);
    if (gone)
        note_tail(p, thread);
    left = commit_thread(p, thread);
    if (!gone) {
        p->resting_ns += left;
        native_threads_note(&p->native, thread->tid, thread->times.cpu_ns);
    }
    cpu_attribution_finish(&thread->cpu_attribution);
    if (p->service->timeline)
        pprof_timeline_leave(p->service->timeline, thread->track);
}

/* The numbers of a sample, or of a look at the thread's file; a late one may be older. */
static void take_times(struct process_thread *thread, uint64_t cpu_ns, uint64_t wait_ns)
{
    if (cpu_ns > thread->times.cpu_ns)
        thread->times.cpu_ns = cpu_ns;
    if (wait_ns > thread->times.wait_ns)
        thread->times.wait_ns = wait_ns;
}

/* What a sample counts for in the time line. `wall_ns` went to its row; `ran`: with CPU time. */
static uint64_t timeline_weight(const struct process *p, const struct process_thread *thread,
                                uint64_t wall_ns, bool ran)
{
    switch (p->service->timeline_value) {
    case VALUE_WALL:
        return wall_ns;
    case VALUE_CPU:
        return ran && thread->counts ? wall_ns : 0;
    case VALUE_GIL:
        return thread->has_gil ? wall_ns : 0;
    case VALUE_EXCEPTION:
        return thread->has_exception ? wall_ns : 0;
    case VALUE_SAMPLES:
    case VALUE_WAIT:
    case VALUES:
        break;
    }
    return 0;
}

/* Notes a sample of a thread, of its last_ns, in the time line, if there is one. */
static void note_in_timeline(const struct process *p, struct process_thread *thread,
                             uint64_t wall_ns, bool ran)
{
    struct pprof_timeline_sample sample;

    if (!p->service->timeline)
        return;
    sample = (struct pprof_timeline_sample){.time_ns = thread->last_ns - p->service->start_ns,
                                            .weight = timeline_weight(p, thread, wall_ns, ran),
                                            .cpu_ns = thread->times.cpu_ns - thread->track_cpu_ns,
                                            .row = thread->row,
                                            .ran = ran};
    pprof_timeline_add(p->service->timeline, thread->track, &sample);
    thread->track_cpu_ns = thread->times.cpu_ns;
}

/* Gives a thread's wall time, and that of the GIL, to its row; less what it is to pay back. Gives
 * what the row keeps. */
static uint64_t add_wall(struct process *p, struct process_thread *thread, uint64_t samples,
                         uint64_t wall_ns)
{
    uint64_t paid = wall_ns < thread->overcounted_ns ? wall_ns : thread->overcounted_ns,
             remaining_ns = wall_ns - paid;
    const int64_t values[VALUES] = {
        [VALUE_SAMPLES] = (int64_t)samples,
        [VALUE_WALL] = (int64_t)remaining_ns,
        [VALUE_GIL] = thread->has_gil ? (int64_t)remaining_ns : 0,
        [VALUE_EXCEPTION] = thread->has_exception ? (int64_t)remaining_ns : 0,
    };
    const int64_t back[VALUES] = {[VALUE_WALL] = (int64_t)paid};

    pprof_add(p->service->profile, thread->row, values);
    if (paid > 0)
        pprof_add(p->service->profile, thread->overcounted_row, back);
    thread->overcounted_ns -= paid;
    return remaining_ns;
}

/* Gives threads the time in which they were known to rest, with the stack that they had. */
static void end_idle(struct process *p)
{
    struct process_thread *thread;
    uint64_t idle;

    for (size_t i = 0; p->idle.since_ns > 0 && i < p->thread_count; i++) {
        thread = &p->threads[i];
        idle = p->idle.since_ns - thread->last_ns;
        thread->last_ns = p->idle.since_ns;
        note_in_timeline(p, thread, add_wall(p, thread, p->idle.count, idle), false);
    }
    p->idle.since_ns = p->idle.count = 0;
}

/* The numbers of a sample are old by now; those of a thread that ran are read anew. */
static void refresh_times(struct process *p, struct process_thread *thread)
{
    struct proc_sched times;

    if (thread->cpu_attribution.count > 0 && thread->counts &&
        proc_sched_read(p->id.pid, thread->tid, &times) == PROC_OK)
        take_times(thread, times.cpu_ns, times.wait_ns);
}

static bool is_python_thread(void *ctx, pid_t tid)
{
    const struct process *p = ctx;

    for (size_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].tid == tid)
            return true;
    return false;
}

/* Notes what threads without Python have used, while they are there to tell. */
static void look_at_native_threads(struct process *p)
{
    if (p->native.pid && p->thread_count > 0 && p->children.threads > p->thread_count)
        native_threads_look(&p->native, is_python_thread, p);
}

/* What is left to give out, and of whom. */
struct remainder {
    struct process *process;
    uint64_t ns;
};

static void give_native(void *ctx, const char *name, uint64_t ns)
{
    struct remainder *left = ctx;

    ns = ns < left->ns ? ns : left->ns;
    left->ns -= ns;
    add_cpu_to(left->process, CPU_NATIVE, name, ns);
}

/*
 * Gives out what the process used beyond its threads. Those are read one by one and a little
 * earlier: the remainder can come out negative, then it is taken off the next one.
 */
static void commit_remainder(struct process *p)
{
    const uint64_t cpu = p->cpu_ns - p->cpu_base_ns;
    struct remainder left = {p, 0};
    uint64_t of_tails;

    if (cpu > p->cpu_given_ns && !p->options.main_only)
        left.ns = cpu - p->cpu_given_ns;
    if (left.ns > 0)
        look_at_native_threads(p);
    native_threads_tell(&p->native, give_native, &left);
    of_tails = left.ns > p->resting_ns ? left.ns - p->resting_ns : 0;
    if (of_tails > TAILS_MOST * p->tails.now)
        of_tails = TAILS_MOST * p->tails.now;
    left.ns -= cpu_attribution_divide(&p->tails, CPU_ATTRIBUTION_RAN, of_tails, add_cpu, p);
    cpu_attribution_clear(&p->tails);
    p->resting_ns = 0;
    add_cpu_to(p, unseen_class(p), NULL, left.ns);
}

static void give_to_child_tail(void *ctx, uint32_t row, uint64_t share)
{
    give_cpu(ctx, CPU_STACKS, row, share);
}

/* A look at children. */
struct child_look {
    struct process *process;
    uint64_t now_ns;
    uint64_t tails_ns; /* of child_tails, that may yet be given */
};

/* Some of the time of children that nobody sampled; see children_told. */
static void give_to_children(void *ctx, const char *name, uint64_t start, uint64_t ns)
{
    struct child_look *look = ctx;
    struct process *p = look->process;
    struct service_tag tag = tag_of(p);
    char since[SERVICE_SINCE_MAX];
    uint64_t given_ns;

    if (!name || !name[0]) { /* it may be of a child that was sampled */
        given_ns = cpu_attribution_divide(&p->child_tails, CPU_ATTRIBUTION_RAN,
                                          ns < look->tails_ns ? ns : look->tails_ns,
                                          give_to_child_tail, p);
        look->tails_ns -= given_ns;
        ns -= given_ns;
    }
    if (ns == 0)
        return;
    tag.since = service_since(p->service, start, look->now_ns, since);
    give_cpu(p, CPU_CHILDREN, service_class_row(p->service, CPU_CHILDREN, name, &tag), ns);
}

static void look_at_children(struct process *p, uint64_t now_ns)
{
    struct child_look look = {p, now_ns, p->child_tails.now};

    if (p->children.pid)
        children_look(&p->children, give_to_children, &look);
    if (look.tails_ns < p->child_tails.now)
        cpu_attribution_clear(&p->child_tails);
}

/* Looks at what is around its threads: while a process is young, often, as it may end soon. */
static void look_around(struct process *p, uint64_t now_ns)
{
    uint64_t wait_ns = (now_ns - p->begin_ns) / LOOK_AROUND_PART;

    if (!p->children.pid || now_ns < p->look_around_ns)
        return;
    wait_ns = wait_ns < LOOK_AROUND_LEAST_NS ? LOOK_AROUND_LEAST_NS : wait_ns;
    wait_ns = wait_ns > LOOK_AROUND_MOST_NS ? LOOK_AROUND_MOST_NS : wait_ns;
    p->look_around_ns = now_ns + wait_ns;
    look_at_children(p, now_ns);
    look_at_native_threads(p);
}

void process_account(struct process *p, bool from_birth, struct cpu_by_class *by_class)
{
    p->by_class = by_class;
    if (p->options.main_only)
        return;
    p->begin_ns = p->last_ns;
    children_begin(&p->children, p->id.pid, from_birth);
    native_threads_begin(&p->native, p->id.pid);
    if (!from_birth)
        return;
    (void)idle_clock_moved(p);
    p->cpu_base_ns = 0;
    add_cpu_to(p, CPU_BEFORE, NULL, p->cpu_ns);
}

/* The row of one service that says what a row of another does. A child's name may not be known yet,
 * so that its profile is held apart. False: there is no room. */
static bool row_in_service(const struct service *into, const struct service *from, uint32_t row,
                           uint32_t *out)
{
    *out = row;
    return into == from || pprof_copy_row(into->profile, from->profile, row, out) == PPROF_OK;
}

void process_note_child(struct process *p, const struct process *child, uint64_t now_ns)
{
    const struct process_thread *thread;
    uint32_t row;

    for (size_t i = 0; i < child->thread_count; i++) {
        thread = &child->threads[i];
        if (thread->ran && thread->row_ns == child->service->start_ns &&
            row_in_service(p->service, child->service, thread->row, &row))
            (void)!cpu_attribution_add(&p->child_tails, row, now_ns - thread->last_ns,
                                       CPU_ATTRIBUTION_RAN);
    }
}

void process_commit(struct process *p, uint64_t now_ns)
{
    bool goes_on;

    goes_on = idle_commit(p, now_ns);
    end_idle(p);
    for (size_t i = 0; i < p->thread_count; i++) {
        refresh_times(p, &p->threads[i]);
        p->resting_ns += commit_thread(p, &p->threads[i]);
    }
    if (!goes_on) /* who rests waits for no child */
        look_at_children(p, now_ns);
    cpu_attribution_clear(&p->child_tails); /* rows are the interval's */
    idle_forget(p);
    /* The clock is not to be older than those of the threads. */
    p->idle.goes_on = !idle_clock_moved(p) && goes_on && !p->tasks;
    commit_remainder(p);
}

/* The stack of each thread is to be counted anew: rows have other labels from now on. */
static void forget_rows(struct process *p)
{
    end_idle(p);
    idle_forget(p);
    for (size_t i = 0; i < p->thread_count; i++)
        p->threads[i].row_ns = 0;
}

void process_set_split(struct process *p, enum service_split split, uint64_t now_ns)
{
    if (p->split == split)
        return;
    process_commit(p, now_ns);
    p->split = split;
    forget_rows(p);
}

void process_move(struct process *p, struct service *service, uint64_t now_ns)
{
    process_commit(p, now_ns);
    service_set_python(service, cpy_info(p->target));
    service->missing |= p->service->missing;
    p->service = service;
    idle_forget(p);
    for (size_t i = 0; i < p->thread_count; i++)
        p->threads[i].row_ns = p->threads[i].overcounted_ns = 0; /* rows are the service's */
}

/* All of its own that is known: its clock's, or of its threads if it was reaped before that. */
static uint64_t known_cpu_ns(const struct process *p)
{
    const uint64_t given_ns = p->cpu_base_ns + p->cpu_given_ns;

    return p->cpu_ns > given_ns ? p->cpu_ns : given_ns;
}

void process_finish(struct process *p, struct process_end *out)
{
    if (!p->target)
        return;
    p->idle.whole_ns = 0; /* it is not read again */
    process_commit(p, p->last_ns);
    for (size_t i = 0; i < p->thread_count; i++)
        end_thread(p, &p->threads[i]);
    if (out)
        *out = (struct process_end){.id = p->id,
                                    .parent = p->children.parent,
                                    .cpu_ns = known_cpu_ns(p) + p->children.waited_ns};
    children_finish(&p->children);
    native_threads_finish(&p->native);
    free(p->threads);
    free(p->pending);
    cpu_attribution_finish(&p->tails);
    cpu_attribution_finish(&p->child_tails);
    if (p->tasks)
        async_stacks_finish(p->tasks);
    free(p->tasks);
    cpy_close(p->target);
    *p = (struct process){0};
}

/* What a sample carries. */
struct sampling {
    struct process *process;
    uint64_t now_ns;
    uint64_t weight; /* it stands for so many as to what runs */
    bool whole;      /* all threads so far have a row */
    struct service_tag tag;
};

/*
 * Finds another state of the same kernel thread in this sample, as a sub-interpreter has one.
 * `counts`: whether it must be the one that counts, or one that does not. NULL: no such state.
 */
static struct process_thread *find_same_tid(const struct process *p,
                                            const struct process_thread *thread, bool counts)
{
    for (size_t i = 0; thread->tid && i < p->thread_count; i++)
        if (&p->threads[i] != thread && p->threads[i].tid == thread->tid &&
            p->threads[i].seen == p->sample && p->threads[i].counts == counts)
            return &p->threads[i];
    return NULL;
}

/* The thread's CPU time is counted in another state of it, which was there before. */
static void stop_counting(struct process_thread *thread)
{
    cpu_attribution_clear(&thread->cpu_attribution);
    thread->counts = false;
}

/* The thread's CPU time is counted here from now on; so far it was in a state that has ended. */
static void start_counting(struct process_thread *thread)
{
    thread->committed = thread->part = thread->times;
    thread->counts = true;
}

/*
 * Of several states of a kernel thread one counts: the one that came first, until it ends. To be
 * called while the states that have ended are still listed.
 */
static void choose_counting(struct process *p)
{
    struct process_thread *thread, *heir;

    for (size_t i = 0; i < p->thread_count; i++) {
        thread = &p->threads[i];
        if (!thread->counts)
            continue;
        if (thread->first == p->sample && find_same_tid(p, thread, true))
            stop_counting(thread);
        heir = thread->seen == p->sample ? NULL : find_same_tid(p, thread, false);
        if (heir)
            start_counting(heir);
    }
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

    if (sampling->weight <= 1)
        return p->last_ns;
    if (proc_thread_age(p->id.pid, tid, &age) != PROC_OK)
        age = passed / 2;
    age += passed / sampling->weight / 2;
    return age < passed ? sampling->now_ns - age : p->last_ns;
}

static struct process_thread *new_thread(const struct sampling *sampling,
                                         const struct cpy_thread *seen)
{
    struct process *p = sampling->process;
    struct process_thread *thread;

    if (!ARRAY_RESERVE(p->threads, p->thread_capacity, p->thread_count + 1))
        return NULL;
    thread = &p->threads[p->thread_count];
    *thread = (struct process_thread){
        .state = seen->state, .tid = seen->tid, .counts = seen->tid != 0, .first = p->sample};
    thread->last_ns = counted_from(sampling, seen->tid);
    cpu_attribution_init(&thread->cpu_attribution);
    p->thread_count++;
    return thread;
}

static struct process_thread *find_process_thread(const struct sampling *sampling,
                                                  const struct cpy_thread *seen)
{
    struct process *p = sampling->process;
    struct process_thread *thread;

    for (size_t i = 0; i < p->thread_count; i++) {
        thread = &p->threads[(p->next + i) % p->thread_count];
        if (thread->state != seen->state || thread->tid != seen->tid)
            continue;
        p->next = (size_t)(thread - p->threads) + 1;
        return thread;
    }
    return new_thread(sampling, seen);
}

/* Ends a part with a thread's last sample, once enough samples have seen it run. */
static void end_part_if_due(struct process_thread *thread)
{
    if (thread->cpu_attribution.samples >= PART_SAMPLES &&
        thread->cpu_attribution.now >= PART_LEAST_NS)
        end_part(thread);
}

/* The kernel's numbers of a thread, as they were in the sample. */
static void note_times(struct sampling *sampling, struct process_thread *thread,
                       const struct cpy_thread *seen)
{
    struct process *p = sampling->process;

    if (thread->times.cpu_ns == 0) { /* the first that is known */
        thread->committed.cpu_ns = before_us(p, seen->cpu_ns, sampling->now_ns);
        thread->committed.wait_ns = before_us(p, seen->wait_ns, sampling->now_ns);
        thread->part = thread->committed;
        thread->track_cpu_ns = thread->committed.cpu_ns;
    }
    take_times(thread, seen->cpu_ns, seen->wait_ns);
}

/* The row of the profile that a stack is counted under. */
static uint32_t row_of(const struct sampling *sampling, const struct process_thread *thread,
                       const struct cpy_thread *seen)
{
    const struct process *p = sampling->process;

    if (seen->same && thread->row_ns == p->service->start_ns)
        return thread->row;
    return service_row(p->service, seen, &sampling->tag);
}

/* Notes that a thread was seen running, or waiting for a CPU, with a stack. */
static void note_ready(struct process *p, struct process_thread *thread, uint32_t status,
                       uint32_t row, uint64_t weight)
{
    const enum cpu_attribution_kind kind =
        status & CPY_STATUS_CPU_WAIT ? CPU_ATTRIBUTION_WAITED : CPU_ATTRIBUTION_RAN;

    if (cpu_attribution_add(&thread->cpu_attribution, row, weight, kind))
        return;
    commit_thread(p, thread); /* full: give out what came so far */
    if (!cpu_attribution_add(&thread->cpu_attribution, row, weight, kind))
        p->failed = true;
}

/* Counts a row of a thread for the time since its last good sample. */
static void count_thread_row(struct sampling *sampling, struct process_thread *thread,
                             uint32_t status, uint32_t row)
{
    struct process *p = sampling->process;
    uint64_t weight = sampling->now_ns - thread->last_ns, remaining_ns;
    bool is_known = thread->row_ns == p->service->start_ns, is_met;
    uint32_t before = thread->row;

    thread->row = row;
    thread->row_ns = p->service->start_ns;
    thread->last_ns = sampling->now_ns;
    thread->has_gil = status & CPY_STATUS_GIL;
    thread->has_exception = p->options.exception && status & CPY_STATUS_EXCEPTION;
    thread->ran = status & CPY_STATUS_CPU;
    is_met = sampling->weight > 1 && is_known && row != before;
    if (is_met || !is_known || row == thread->overcounted_row)
        thread->overcounted_ns = 0; /* it is back, or begins anew */
    remaining_ns = add_wall(p, thread, 1, weight);
    note_in_timeline(p, thread, remaining_ns, status & CPY_STATUS_CPU);
    if (is_met) {
        thread->overcounted_ns = weight / 2;
        thread->overcounted_row = before;
    }
    if (status & CPY_STATUS_CPU && thread->counts)
        note_ready(p, thread, status, row, remaining_ns > 0 ? remaining_ns : 1);
}

/* Notes a thread whose stack is that of a task, to be read; `row` is that of its own stack. */
static void put_aside(struct sampling *sampling, const struct process_thread *thread,
                      const struct cpy_thread *seen, uint32_t row)
{
    struct process *p = sampling->process;
    struct process_pending *pending;

    if (!ARRAY_RESERVE(p->pending, p->pending_capacity, p->pending_count + 1)) {
        p->failed = true;
        return;
    }
    pending = &p->pending[p->pending_count++];
    *pending = (struct process_pending){.thread = (size_t)(thread - p->threads),
                                        .state = seen->state,
                                        .status = seen->status,
                                        .row = row};
    (void)snprintf(pending->name, sizeof(pending->name), "%s", seen->name ? seen->name : "");
}

/* The first sample has no time to count; but if it is the only one, it shows what a process that
 * soon ended was doing: see process_note_child. */
static void note_first_row(const struct sampling *sampling, struct process_thread *thread,
                           const struct cpy_thread *seen)
{
    const struct process *p = sampling->process;

    if (!(seen->status & CPY_STATUS_CPU) || (p->tasks && seen->task != 0))
        return;
    thread->row = service_row(p->service, seen, &sampling->tag);
    thread->row_ns = p->service->start_ns;
    thread->ran = true;
}

/* Counts a thread's stack, or puts it aside. */
static void count_thread_stack(struct sampling *sampling, struct process_thread *thread,
                               const struct cpy_thread *seen)
{
    struct process *p = sampling->process;

    if (sampling->now_ns == thread->last_ns || p->sample == 1) {
        sampling->whole = false;
        thread->last_ns = sampling->now_ns;
        if (p->sample == 1)
            note_first_row(sampling, thread, seen);
    } else if (p->tasks && seen->task != 0) {
        put_aside(sampling, thread, seen, service_row(p->service, seen, &sampling->tag));
    } else {
        count_thread_row(sampling, thread, seen->status, row_of(sampling, thread, seen));
    }
}

/* Finds the thread's track in the time line, if there is one, and its name. */
static void note_track(const struct process *p, struct process_thread *thread,
                       const struct cpy_thread *seen)
{
    struct pprof_timeline *timeline = p->service->timeline;

    if (!timeline)
        return;
    if (thread->first == p->sample)
        thread->track =
            pprof_timeline_join(timeline, p->id.pid, seen->tid, seen->status & CPY_STATUS_MAIN);
    if (seen->name)
        pprof_timeline_name(timeline, thread->track, seen->name);
}

static void each_thread(void *ctx, const struct cpy_thread *seen)
{
    struct sampling *sampling = ctx;
    struct process *p = sampling->process;
    struct process_thread *thread;

    if (p->options.main_only && !(seen->status & CPY_STATUS_MAIN))
        return;
    thread = find_process_thread(sampling, seen);
    p->failed |= !thread;
    if (!thread)
        return;
    thread->seen = p->sample;
    thread->ran = false;
    end_part_if_due(thread);
    note_times(sampling, thread, seen);
    note_track(p, thread, seen);
    p->idle.runs |= (seen->status & CPY_STATUS_CPU) != 0;
    gil_stuck_note(thread, seen, sampling->now_ns);
    if (seen->torn)
        sampling->whole = false; /* the next good sample of it carries this one's time */
    else
        count_thread_stack(sampling, thread, seen);
}

/* Counts a task that waits for the time since the sample before; half of it if it came since. */
static void each_waiting(void *ctx, const struct service_stack *stack, bool is_new)
{
    const struct sampling *sampling = ctx;
    const struct process *p = sampling->process;
    uint64_t passed = sampling->now_ns - p->last_ns;
    const int64_t values[VALUES] = {
        [VALUE_SAMPLES] = 1,
        [VALUE_WALL] = (int64_t)(is_new ? passed / 2 : passed),
    };

    if (p->sample > 1)
        pprof_add(p->service->profile, service_stack_row(p->service, stack, NULL, &sampling->tag),
                  values);
}

/* Reads the tasks, and counts the threads that run one; where it moved on, by their own stacks. */
static enum cpy_rc take_tasks(struct sampling *sampling)
{
    struct process *p = sampling->process;
    const struct process_pending *pending;
    uint32_t room[SERVICE_DEPTH_MAX], row;
    struct service_stack stack;
    struct cpy_thread thread;
    enum cpy_rc rc = CPY_OK;

    if (p->pending_count > 0 || shows_waiting(p))
        rc = async_stacks_read(p->tasks, p->target, p->service, shows_waiting(p));
    for (size_t i = 0; i < p->pending_count; i++) {
        pending = &p->pending[i];
        row = pending->row;
        thread = (struct cpy_thread){.tid = p->threads[pending->thread].tid,
                                     .name = pending->name[0] ? pending->name : NULL};
        if (async_stacks_running(p->tasks, pending->state, room, &stack))
            row = service_stack_row(p->service, &stack, &thread, &sampling->tag);
        count_thread_row(sampling, &p->threads[pending->thread], pending->status, row);
    }
    p->pending_count = 0;
    if (shows_waiting(p)) {
        async_stacks_waiting(p->tasks, each_waiting, sampling);
        sampling->whole = false;
    }
    return rc == CPY_RACED ? CPY_OK : rc;
}

/* Ends the threads that were not there any more. */
static void end_unseen_threads(struct process *p)
{
    size_t i, remaining = 0;

    choose_counting(p);
    for (i = 0; i < p->thread_count; i++) {
        if (p->threads[i].seen == p->sample) {
            p->threads[remaining++] = p->threads[i];
            continue;
        }
        end_thread(p, &p->threads[i]);
    }
    p->thread_count = remaining;
}

/* The interpreter shuts down: its threads have had their time. */
static void note_shutdown(struct process *p, uint64_t now_ns)
{
    p->last_ns = now_ns;
    if (p->shuts_down)
        return;
    for (size_t i = 0; i < p->thread_count; i++)
        end_thread(p, &p->threads[i]);
    p->thread_count = 0;
    (void)idle_clock_moved(p);
    commit_remainder(p);
    p->shuts_down = true;
}

/* There are threads again: the program has begun another interpreter. */
static void note_restart(struct process *p)
{
    (void)idle_clock_moved(p);
    commit_remainder(p);
    p->shuts_down = false;
}

/* Reads all threads; if they sleep on, as they are known. */
static enum cpy_rc read_process_threads(struct sampling *sampling)
{
    struct process *p = sampling->process;
    const bool known = p->idle.goes_on;
    enum cpy_rc rc = CPY_RACED;

    end_idle(p);
    idle_forget(p);
    p->idle.ticks = 1;
    p->pending_count = 0;
    p->sample++;
    if (sampling->now_ns - p->names_ns >= NAMES_NS) {
        p->names_ns = sampling->now_ns;
        cpy_look_at_names(p->target);
    }
    cpy_note_cpu(p->target, p->idle.clock_read_ns == sampling->now_ns ? p->cpu_ns : 0,
                 sampling->now_ns);
    if (known)
        rc = cpy_replay_last(p->target, each_thread, sampling);
    if (rc != CPY_OK)
        rc = cpy_sample(p->target, each_thread, sampling);
    if (rc == CPY_STARTING && (p->thread_count > 0 || p->shuts_down))
        note_shutdown(p, sampling->now_ns);
    else if (rc == CPY_OK && p->shuts_down)
        note_restart(p);
    if (rc == CPY_OK && p->tasks)
        rc = take_tasks(sampling);
    if (rc != CPY_OK)
        return rc;
    end_unseen_threads(p);
    look_around(p, sampling->now_ns);
    p->last_ns = sampling->now_ns;
    if (sampling->whole)
        p->idle.whole_ns = p->service->start_ns;
    idle_set_ticks(p, sampling->now_ns);
    return p->failed ? CPY_NOMEM : CPY_OK;
}

enum cpy_rc process_sample(struct process *p, uint64_t now_ns, bool alone, bool *out_read)
{
    struct sampling sampling = {p, now_ns, idle_sample_weight(p, now_ns, alone), true, tag_of(p)};
    enum cpy_rc rc = CPY_OK;

    if (out_read)
        *out_read = sampling.weight > 0;
    idle_set_ticks(p, now_ns);
    if (sampling.weight > 0)
        rc = read_process_threads(&sampling);
    if (rc == CPY_OK && gil_stuck_look(p, now_ns)) {
        p->hang.unreported = true;
        forget_rows(p); /* they get another label */
    }
    return rc;
}

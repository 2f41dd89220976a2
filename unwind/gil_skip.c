/* SPDX-License-Identifier: Apache-2.0 */
/* gil_skip.c - see gil_skip.h. */
#include "unwind/gil_skip.h"

#include "base/array.h"
#include "unwind/thread_list.h"

enum { HEADS_EACH = 64 }; /* GIL-skip samples between two looks at the list of interpreters */

enum { SETS_MAX = 4 }; /* beside those of threads */

/* Adds what code objects are compared by to `count` sets of threads, and what cpy_running_tasks
 * and thread_names_read will read, if that is likely. */
static size_t add_other_sets(struct cpy_target *t, size_t count)
{
    if (t->sets.contents.count > 0 && count > 0)
        t->sets.list[count++] = &t->sets.contents;
    if ((t->names.due || t->names.came) && count > 0 && !t->prefetch.uses_bpf) {
        t->sets.list[count++] = &t->sets.names;
        t->names.fetched = true;
    }
    if (t->tasks.awaiters_wanted)
        t->sets.list[count++] = &t->tasks.awaiters;
    t->tasks.awaiters_fetched = t->tasks.awaiters_wanted;
    return count;
}

/* True if a thread has slept since its stack was read. Where samples tell who runs, the thread is
 * looked at before its stack is fetched: the BPF program cannot interrupt one that sleeps. */
static bool has_slept(struct cpy_target *t, struct cached *cached)
{
    bool slept;

    if (!target_asks_cpu(t))
        return sched_idle_since_read(&cached->sched_idle);
    slept = sched_idle_look(&cached->sched_idle, &t->scratch->stat_files, t->process.proc_fd,
                            cached->out.tid);
    if (cached->sched_idle.look == SCHED_IDLE_SLEPT &&
        cached->out.tid == t->prefetch.bpf_thread.tid)
        t->prefetch.uses_bpf = false;
    return slept;
}

/* True if a thread may go on running, as it did when it was asked last. */
static bool ran_lately(const struct cached *cached)
{
    return cached->used_cpu || cached->out.status & CPY_STATUS_CPU || !cached->sched_idle.asleep;
}

/* Asks those that ran lately whether they have slept. Where the process has used no more than they
 * have, the others need not be asked. */
static void ask_some(struct cpy_target *t, bool asks)
{
    struct cached *cached;
    unsigned running = 0;
    uint64_t used_ns = 0;

    for (size_t i = 0; i < t->cache.threads.count; i++) {
        cached = t->cache.threads.all[i];
        cached->asked = asks && ran_lately(cached);
        if (!cached->asked)
            continue;
        cached->sleeps = has_slept(t, cached);
        if (cached->counted_ns > 0 && cached->sched_idle.cpu_ns > cached->counted_ns)
            used_ns += cached->sched_idle.cpu_ns - cached->counted_ns;
        running += (cached->out.status & CPY_STATUS_CPU) != 0;
    }
    t->list.asks_all = !asks || cpu_account_is_open(&t->cpu_account, used_ns, running);
}

/*
 * Finds out which threads have slept since their stacks were read: of these only the state is.
 * Where the kernel is asked about each thread anyway this costs nothing.
 */
static void find_sleepers(struct cpy_target *t)
{
    const bool asks = target_asks_cpu(t) && target_uses(t, CPY_LAYER_SLEEPERS) &&
                      t->options.only == 0 && t->list.interp_count == 1;
    struct cached *cached;

    ask_some(t, asks);
    for (size_t i = 0; i < t->cache.threads.count; i++) {
        cached = t->cache.threads.all[i];
        if (!cached->asked)
            cached->sleeps =
                asks && (t->list.asks_all ? has_slept(t, cached) : cached->sched_idle.read);
        cached->sleeps = cached->sleeps && cached->whole && !cached->out.torn;
        cached->set.state_only = cached->sleeps;
        if (target_follows(t, cached->out.tid))
            prefetch_follow(&cached->set);
    }
}

void gil_skip_fetch_all(struct cpy_target *t)
{
    struct prefetch_set *common = &t->sets.common;
    size_t i, count = 0;

    find_sleepers(t);
    if (t->cache.threads.count == 0 ||
        !ARRAY_RESERVE(t->sets.list, t->sets.capacity, t->cache.threads.count + SETS_MAX)) {
        prefetch_fetch(&t->prefetch, &common, 1);
    } else {
        t->sets.list[count++] = common; /* first, before the stacks: see gil_skip.h */
        for (i = 0; i < t->cache.threads.count; i++)
            t->sets.list[count++] = &t->cache.threads.all[i]->set;
        prefetch_fetch(&t->prefetch, t->sets.list, add_other_sets(t, count));
    }
    for (i = 0; i < t->cache.threads.count; i++) /* a thread that is read again is read whole */
        t->cache.threads.all[i]->set.state_only = false;
}

/* The thread of an interpreter that held the GIL last; SIZE_MAX: it is none that was listed. */
static size_t last_holder_of(const struct cpy_target *t, size_t interp)
{
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (t->list.threads[i].interp == interp &&
            t->list.threads[i].words.addr == t->list.interps[interp].last_holder)
            return i;
    return SIZE_MAX;
}

/* Marks a thread as one that ran, and adds it to those that are read. */
static void mark(struct cpy_target *t, size_t i)
{
    if (t->list.threads[i].ran)
        return;
    t->list.threads[i].ran = true;
    t->sets.list[t->gil_skip.ran_count] = &t->list.threads[i].cached->set;
    t->gil_skip.ran[t->gil_skip.ran_count++] = i;
}

/* Marks those that held the GILs last, instead of those that ran before the last sample. */
static void mark_runners(struct cpy_target *t)
{
    for (size_t i = 0; i < t->gil_skip.ran_count; i++)
        t->list.threads[t->gil_skip.ran[i]].ran = false;
    t->gil_skip.ran_count = 0;
    for (size_t i = 0; i < t->list.interp_count; i++)
        if (!target_uses(t, CPY_LAYER_SLEEPERS) ||
            !has_slept(t, t->list.threads[t->list.interps[i].runner].cached))
            mark(t, t->list.interps[i].runner);
}

/* Compares an interpreter with the sample before; marks the threads that ran if its GIL went to
 * another one. */
static bool is_interp_unchanged(struct cpy_target *t, size_t i, bool *moved)
{
    struct interp now, *then = &t->list.interps[i];

    if (thread_list_read_interp(t, then, &now) != CPY_OK || now.next != then->next ||
        now.id != then->id || now.threads_head != then->threads_head || !now.counts)
        return false;
    if (now.switches == then->switches && now.last_holder == then->last_holder) {
        if (now.holder != 0 && !t->list.threads[then->runner].ran) {
            mark(t, then->runner); /* it sleeps with the GIL, or is another thread than it says */
            *moved = true;
        }
        *then = now;
        return true;
    }
    if (now.switches != then->switches + 1)
        return false;
    mark(t, then->runner); /* if it slept, it may have had a turn since that was found out */
    *then = now;
    then->runner = last_holder_of(t, i);
    if (then->runner == SIZE_MAX)
        return false;
    mark(t, then->runner);
    *moved = true;
    return true;
}

/* Reads the words of the threads that ran. */
static bool read_ran(struct cpy_target *t)
{
    const struct reader reader = target_reader(t);
    struct thread_words now;

    for (size_t i = 0; i < t->gil_skip.ran_count; i++) {
        struct listed *thread = &t->list.threads[t->gil_skip.ran[i]];

        t->prefetch.now = &thread->cached->set;
        if (walk_read_thread(&reader, thread->words.addr, &now) != CPY_OK ||
            now.interp != thread->words.interp || now.next != thread->words.next ||
            now.thread_id != thread->words.thread_id ||
            now.native_thread_id != thread->words.native_thread_id ||
            !thread_list_is_alive(&t->found.layout, &now))
            return false;
        thread->words = now;
    }
    return true;
}

/* True if what is asked for can be told of threads that are not read. */
static bool is_enough(const struct cpy_target *t)
{
    return !((t->options.status | t->options.only) & CPY_STATUS_GIL_WAIT);
}

/* True if a thread that ran has left the GIL of its interpreter: it may be in a new one. */
static bool is_gil_left(const struct cpy_target *t)
{
    const struct interp *interp;

    for (size_t i = 0; i < t->list.interp_count; i++) {
        interp = &t->list.interps[i];
        if (interp->holder == 0 && t->list.threads[interp->runner].ran)
            return true;
    }
    return false;
}

/* True if there can be no new interpreter. The list's head is read when that is likely, and from
 * time to time. */
static bool are_interps_known(struct cpy_target *t)
{
    cpy_addr head;

    if (++t->gil_skip.samples % HEADS_EACH != 0 && !is_gil_left(t))
        return true;
    return thread_list_heads(t, &head) == CPY_OK && head == t->list.interps[0].addr;
}

/* True if no thread of the process has run: it has only one, which has slept. */
static bool is_process_idle(const struct cpy_target *t)
{
    return t->gil_skip.ran_count == 0 && t->list.thread_count == 1 &&
           t->list.threads[0].cached->sched_idle.only_thread;
}

/* Reads the threads that ran again, after a look at each. */
static void fetch_ran(struct cpy_target *t)
{
    for (size_t i = 0; target_asks_cpu(t) && i < t->gil_skip.ran_count; i++)
        (void)has_slept(t, t->list.threads[t->gil_skip.ran[i]].cached);
    prefetch_fetch(&t->prefetch, t->sets.list, t->gil_skip.ran_count);
}

bool gil_skip_begin(struct cpy_target *t)
{
    size_t i, count;
    bool moved = false;

    if (!t->gil_skip.ready || !is_enough(t))
        return false;
    mark_runners(t);
    t->tasks.awaiters_fetched = t->gil_skip.counted_late = false;
    if (is_process_idle(t))
        return true;
    count = add_other_sets(t, t->gil_skip.ran_count);
    t->sets.list[count] =
        &t->sets.common; /* last: so the count of code objects is read after the stacks */
    prefetch_fetch(&t->prefetch, t->sets.list, count + 1);
    t->prefetch.now = &t->sets.common;
    for (i = 0; i < t->list.interp_count; i++)
        if (!is_interp_unchanged(t, i, &moved))
            return false;
    if (!are_interps_known(t) || !thread_list_same_runtime(t))
        return false;
    t->gil_skip.counted_late = !moved;
    if (moved) /* once more: all that ran since its count was read */
        fetch_ran(t);
    return read_ran(t);
}

bool gil_skip_all_idle(struct cpy_target *t)
{
    struct prefetch_set *common = &t->sets.common;
    struct interp *then, now;
    bool idle = true;

    prefetch_fetch(&t->prefetch, &common, 1);
    t->prefetch.now = common;
    for (size_t i = 0; idle && i < t->list.interp_count; i++) {
        then = &t->list.interps[i];
        idle = thread_list_read_interp(t, then, &now) == CPY_OK && now.next == then->next &&
               now.id == then->id && now.threads_head == then->threads_head && now.counts &&
               now.switches == then->switches && now.last_holder == then->last_holder &&
               sched_idle_since_look(&t->list.threads[then->runner].cached->sched_idle);
    }
    t->prefetch.now = NULL;
    return idle;
}

bool gil_skip_gil_is_free(struct cpy_target *t)
{
    cpy_addr holder = 1;

    if (t->found.gil_current == 0 ||
        mem_read_word(t->process.mem, t->found.gil_current, &holder) != CPY_OK || holder != 0)
        return false;
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (t->list.threads[i].cached->out.tid == t->running.last_ran && !t->list.threads[i].joined)
            return sched_idle_since_look(&t->list.threads[i].cached->sched_idle);
    return false;
}

/* True if all that a GIL-skip sample needs is known after a full sample. */
static bool is_gil_skip_ready(struct cpy_target *t)
{
    const struct listed *thread;

    if (!target_uses(t, CPY_LAYER_GIL_SKIP) || t->list.thread_count == 0 || t->options.only != 0 ||
        !ARRAY_RESERVE(t->sets.list, t->sets.capacity, t->list.thread_count + SETS_MAX) ||
        !ARRAY_RESERVE(t->gil_skip.ran, t->gil_skip.ran_capacity, t->list.thread_count))
        return false;
    for (thread = t->list.threads; thread < t->list.threads + t->list.thread_count; thread++)
        if (!thread->cached->whole || thread->joined || thread->outer != 0)
            return false;
    for (size_t i = 0; i < t->list.interp_count; i++) {
        t->list.interps[i].runner = last_holder_of(t, i);
        if (!t->list.interps[i].counts || t->list.interps[i].runner == SIZE_MAX)
            return false;
    }
    return true;
}

/* Notes the thread that holds the GIL of the first interpreter, or held it last, and its CPU if it
 * ran. */
static void note_runner(struct cpy_target *t)
{
    const struct listed *thread;
    size_t i = t->gil_skip.ready ? t->list.interps[0].runner : 0;

    if (!t->info.free_threaded) /* there nobody holds a GIL; see fetch_thread_by_bpf */
        t->prefetch.bpf_thread.cpu = -1;
    while (!t->gil_skip.ready && i < t->list.thread_count &&
           t->list.threads[i].words.addr != t->list.interps[t->list.threads[i].interp].holder)
        i++;
    if (i == t->list.thread_count)
        return;
    thread = &t->list.threads[i];
    t->running.gil_tid = tids_outer(&t->process.tids, thread->inner_tid);
    t->running.gil_tid_slept =
        thread->cached->sched_idle.asleep || thread->cached->sched_idle.bursts;
    t->prefetch.bpf_thread.tid = t->running.gil_tid;
    t->prefetch.bpf_thread.state = thread->words.addr;
    t->prefetch.bpf_thread.cpu =
        thread->cached->out.status & CPY_STATUS_CPU ? thread->cached->sched_idle.cpu : -1;
}

void gil_skip_end(struct cpy_target *t)
{
    if (!t->gil_skip.active) {
        t->gil_skip.ran_count = 0;
        t->gil_skip.ready = is_gil_skip_ready(t);
    }
    for (size_t i = 0; t->gil_skip.active && i < t->gil_skip.ran_count; i++) {
        const struct cached *cached = t->list.threads[t->gil_skip.ran[i]].cached;

        /* Without a Python frame the interpreter may shut down: a full sample finds that out. */
        t->gil_skip.ready &= cached->whole && cached->out.depth > 0;
    }
    note_runner(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - takes a sample: the stack and status of every thread. */
#include <string.h>

#include "unwind/gil_skip.h"
#include "unwind/resolve.h"
#include "unwind/status.h"
#include "unwind/thread_list.h"
#include "unwind/thread_names.h"

enum {
    WALK_TRIES = 16,
    PINNED_FIRST = 256, /* samples: the first period after a torn one, see cpu_pin.h; each one is 4
                           times longer */
    PINNED_MAX = 1 << 16,
    FAILED_BPF_READS_MAX = 4,
    BPF_PAUSE = 256 /* samples without BPF reads after so many that failed in a row */
};

/* Where the interpreter counts changes of its code objects; 0: it does not. */
static cpy_addr generation_at(const struct cpy_target *t, const struct interp *interp)
{
    uint32_t field = t->found.layout.interp.code_generation;

    return field == NO_FIELD ? 0 : interp->addr + field;
}

/*
 * A stack that the BPF program read is of one moment, but code objects that were not known are read
 * after that, as are those that are checked from time to time. They belong to the stack if no code
 * object has ended since. From 3.14 on the interpreter counts that; before, a program counts as
 * safe if it has never replaced code objects.
 */
static enum cpy_rc verify_codes(const struct cpy_target *t, cpy_addr counted_at,
                                uint64_t generation)
{
    uint64_t now = 0;
    enum cpy_rc rc = counted_at != 0 ? mem_read_word(t->process.mem, counted_at, &now) : CPY_OK;

    if (rc != CPY_OK)
        return rc;
    return (counted_at != 0 ? now == generation : t->cache.codes.replaced == 0) ? CPY_OK
                                                                                : CPY_RACED;
}

/* One try at the part of a stack that one thread state has; `fresh`: it was just fetched. */
static enum cpy_rc try_part(struct cpy_target *t, const struct listed *thread, bool fresh,
                            struct cached_stack *out)
{
    const struct reader reader = target_reader(t);
    const struct interp *interp = &t->list.interps[thread->interp];
    const struct walk_marks marks = {
        .native = t->options.frames & CPY_FRAME_NATIVE,
        .gc = t->options.frames & CPY_FRAME_GC && interp->collecting != 0 &&
              interp->holder == thread->words.addr,
        .gc_frame = interp->gc_frame,
    };
    const struct raw_before before = {out->raw ? out->raw + (out->room - out->depth) : NULL,
                                      out->cut ? 0 : out->depth};
    const bool by_bpf = thread->cached->set.bpf_count != 0;
    const uint64_t decoded = t->cache.codes.decoded;
    struct codes_owner owner = {.interp_id = interp->id};
    cpy_addr counted_at = generation_at(t, interp);
    uint64_t generation = interp->generation;
    enum cpy_rc rc = walk_stack(&reader, t->scratch->walk, &thread->words, &marks, &before,
                                t->gil_skip.counted_late && fresh ? 0 : counted_at, t->scratch->raw,
                                &generation);

    if (rc != CPY_OK)
        return rc;
    owner.generation = counted_at ? codes_stamp(&t->cache.codes, interp->id, generation) : 0;
    rc = resolve(t, t->scratch->raw, &owner, out);
    if (rc == CPY_OK && by_bpf && t->cache.codes.decoded != decoded)
        rc = verify_codes(t, counted_at, generation);
    return rc;
}

/* True if the last try was torn because the stack, of one moment, may have other code objects than
 * those read later: only from the thread's CPU both are of one moment. */
static bool is_unsure(const struct cpy_target *t, const struct listed *thread)
{
    return thread->cached->set.bpf_count != 0 && t->scratch->raw->tear == TEAR_CODE;
}

/* True if the kernel reads for us, and may. */
static bool has_bpf(const struct cpy_target *t)
{
    return target_uses(t, CPY_LAYER_BPF) && bpf_reader_works(t->scratch->bpf_reader);
}

/* True if running threads are to be read by the BPF program. */
static bool uses_bpf(const struct cpy_target *t)
{
    return has_bpf(t) && t->pinned.samples_left == 0 && t->bpf_pause.samples_left == 0 &&
           (t->cpu_pin.avoided_cpu >= 0 || !t->cpu_pin.stays);
}

/*
 * Fetches a thread by the BPF program on the CPU where it was seen. False: it does not run there,
 * or that is not possible.
 */
static bool fetch_thread_by_bpf(struct cpy_target *t, struct listed *thread, pid_t tid)
{
    struct prefetch_set *set = &thread->cached->set;

    if (!uses_bpf(t))
        return false;
    t->prefetch.uses_bpf = true;
    t->prefetch.bpf_thread.tid = tid;
    t->prefetch.bpf_thread.state = thread->words.addr;
    t->prefetch.bpf_thread.cpu =
        t->running.seen_tid == tid ? t->running.seen_cpu : cpu_pin_cpu_of(&t->cpu_pin, tid);
    if (target_follows(t, tid))
        prefetch_follow(set);
    prefetch_fetch(&t->prefetch, &set, 1);
    t->bpf_pause.failed += !t->prefetch.by_bpf;
    return t->prefetch.by_bpf;
}

/* Takes the thread's CPU, and begins a period in which samples do so from the start. */
static void pin_for_sample(struct cpy_target *t, pid_t tid)
{
    if (t->pinned.samples_left == 0 && (t->running.gil_tid != 0 || !has_bpf(t))) {
        t->pinned.samples_next = t->pinned.samples_next == 0 ? PINNED_FIRST
                                 : t->pinned.samples_next * 4 < PINNED_MAX
                                     ? t->pinned.samples_next * 4
                                     : PINNED_MAX;
        t->pinned.samples_left = t->pinned.samples_next;
    }
    t->stats.cpu_pins += cpu_pin_take(&t->cpu_pin, tid);
}

/* Fetches a thread without BPF: from the thread's CPU, if that was taken. */
static void fetch_pinned(struct cpy_target *t, struct prefetch_set *set)
{
    t->prefetch.uses_bpf = false;
    prefetch_fetch(&t->prefetch, &set, 1);
}

/* True if the last try was torn because a code object was found replaced in this sample. */
static bool is_replaced(const struct cpy_target *t)
{
    return t->scratch->raw->tear == TEAR_CODE &&
           t->cache.codes.replaced_at == t->cache.codes.sample;
}

/* Reads the thread again from the CPU that it runs on; *gone: it ended meanwhile. */
static enum cpy_rc read_again(struct cpy_target *t, struct listed *thread, bool *gone)
{
    const struct reader reader = target_reader(t);
    const pid_t tid = tids_outer(&t->process.tids, thread->inner_tid);
    enum cpy_rc rc;

    t->stats.retries++;
    if (is_unsure(t, thread) || !fetch_thread_by_bpf(t, thread, tid)) {
        if (!is_replaced(t)) /* it has not moved */
            pin_for_sample(t, tid);
        fetch_pinned(t, &thread->cached->set);
    }
    rc = walk_read_thread(&reader, thread->words.addr, &thread->words);
    *gone = rc == CPY_OK && (thread->words.interp != t->list.interps[thread->interp].addr ||
                             !thread_list_is_alive(&t->found.layout, &thread->words));
    return rc;
}

/* Reads one state's part until it is whole; *gone: the thread ended meanwhile. */
static enum cpy_rc read_state_stack(struct cpy_target *t, struct listed *thread,
                                    struct cached_stack *out, bool *gone)
{
    enum cpy_rc rc;

    t->prefetch.now = &thread->cached->set;
    rc = try_part(t, thread, true, out);
    for (int tries = 1;
         rc == CPY_RACED && tries < WALK_TRIES && t->process.mem->reads < t->process.reads_limit;
         tries++) {
        rc = read_again(t, thread, gone);
        if (*gone)
            return CPY_OK;
        if (rc == CPY_OK)
            rc = try_part(t, thread, false, out);
    }
    return rc;
}

/* Reads into the thread's cached stack or, if there is no room, into one that lasts until the next
 * thread. */
static enum cpy_rc read_cached(struct cpy_target *t, struct listed *thread,
                               struct cached_stack **out, bool *gone)
{
    enum cpy_rc rc;

    *out = &thread->cached->stack;
    rc = read_state_stack(t, thread, *out, gone);
    if (rc != CPY_NOMEM)
        return rc;
    *out = &t->scratch->stack;
    t->scratch->stack.depth = 0;
    return read_state_stack(t, thread, *out, gone);
}

/* Puts the parts of a stack together: of its innermost state, then of those below. */
static enum cpy_rc read_joined(struct cpy_target *t, struct listed *thread, struct cpy_thread *out,
                               bool *gone)
{
    const struct cached_stack *stack;
    struct cached_stack *part;
    uint32_t count;
    enum cpy_rc rc;

    for (;; thread = &t->list.threads[thread->outer - 1]) {
        rc = read_cached(t, thread, &part, gone);
        if (rc != CPY_OK || *gone)
            return rc;
        stack = part;
        count = CPY_DEPTH_MAX - out->depth;
        count = stack->depth < count ? stack->depth : count;
        memcpy(t->scratch->frames + out->depth, stack->frames + (stack->room - stack->depth),
               count * sizeof(*t->scratch->frames));
        out->depth += count;
        out->cut |= stack->cut || count < stack->depth;
        if (thread->outer == 0)
            break;
    }
    out->frames = t->scratch->frames;
    return rc;
}

/* Reads the whole stack of a thread. */
static enum cpy_rc read_thread_stack(struct cpy_target *t, struct listed *thread,
                                     struct cpy_thread *out, bool *gone)
{
    struct cached_stack *stack = NULL;
    enum cpy_rc rc;

    if (thread->outer != 0)
        return read_joined(t, thread, out, gone);
    rc = read_cached(t, thread, &stack, gone);
    if (rc != CPY_OK || *gone)
        return rc;
    out->depth = stack->depth;
    out->cut = stack->cut;
    out->frames = stack->frames + (stack->room - stack->depth);
    thread->cached->whole = stack != &t->scratch->stack;
    return rc;
}

/* A stack that could not be read whole is not shown. */
static void mark_stack_torn(struct cpy_target *t, struct cpy_thread *out)
{
    static const size_t counters[] = {
        [TEAR_MOVED] = offsetof(struct cpy_stats, torn_moved),
        [TEAR_CHAIN] = offsetof(struct cpy_stats, torn_chain),
        [TEAR_CODE] = offsetof(struct cpy_stats, torn_code),
        [TEAR_UNMAPPED] = offsetof(struct cpy_stats, torn_unmapped),
    };

    ++*(uint64_t *)(void *)((char *)&t->stats + counters[t->scratch->raw->tear]);
    t->stats.torn++;
    out->torn = true;
    out->depth = 0;
    out->cut = false;
}

/* Gives the thread its name. True if that is the one it had. */
static bool put_name(struct cpy_target *t, const struct listed *thread, struct cpy_thread *out)
{
    const char *before = thread->cached->out.name;
    bool changed = false;

    out->name = thread_names_get(t, thread, &changed);
    return !changed && out->name == before;
}

typedef void each_thread(void *ctx, const struct cpy_thread *thread);

/* True if the thread was interrupted during the fetch. */
static bool was_interrupted(const struct cpy_target *t, pid_t tid)
{
    return t->prefetch.by_bpf && t->prefetch.bpf_thread.tid == tid;
}

/* Finds out whether a thread is on a CPU, or waits for one, and what it took so far. */
static void ask_kernel(struct cpy_target *t, struct cached *cached, struct cpy_thread *out)
{
    struct sched_idle *sched_idle = &cached->sched_idle;
    const uint64_t before_ns = sched_idle->cpu_ns;

    sched_idle->is_short = false;
    if (was_interrupted(t, out->tid)) {
        sched_idle_runs(sched_idle, t->process.proc_fd, out->tid, t->prefetch.bpf_thread.cpu);
        out->status |= CPY_STATUS_CPU;
    } else if (sched_idle_is_ready(sched_idle, &t->scratch->stat_files, t->process.proc_fd,
                                   out->tid, &t->running.wake)) {
        out->status |= CPY_STATUS_CPU;
    }
    if (out->status & CPY_STATUS_CPU && sched_idle->cpu_wait)
        out->status |= CPY_STATUS_CPU_WAIT;
    if (sched_idle->cpu_ns != before_ns)
        t->running.last_ran = out->tid;
    if (sched_idle->cpu >= 0) {
        t->running.seen_tid = out->tid;
        t->running.seen_cpu = sched_idle->cpu;
    }
    cpu_account_add(&t->cpu_account, cached, out->status & CPY_STATUS_CPU);
    out->cpu_ns = sched_idle->cpu_ns;
    out->wait_ns = sched_idle->wait_ns;
}

/*
 * True if a thread runs that could change while it was read: on another CPU than the one that the
 * calling thread has taken, or while the BPF program interrupted another thread. If there is a GIL,
 * only its holder can have changed in the latter case. One that has slept lately may have gone to
 * sleep by the time that it is read again: where it sleeps is not where it has run.
 */
static bool has_left(const struct cpy_target *t, const struct listed *thread,
                     const struct cpy_thread *out)
{
    if (!(out->status & CPY_STATUS_CPU) || t->running.seen_tid != out->tid ||
        thread->cached->sched_idle.bursts)
        return false;
    if (!uses_bpf(t))
        return t->cpu_pin.stays && t->running.seen_cpu != t->cpu_pin.cpu;
    return !was_interrupted(t, out->tid) &&
           (!t->prefetch.by_bpf || t->info.free_threaded ||
            thread->words.addr == t->list.interps[thread->interp].holder);
}

/*
 * Finds out whether a thread is on a CPU. Fetches it again, while it does not run, if it holds the
 * GIL in a period of pinned samples, or may have changed during the fetch.
 */
static enum cpy_rc check_cpu(struct cpy_target *t, struct listed *thread, struct cpy_thread *out)
{
    const struct reader reader = target_reader(t);
    struct prefetch_set *set = &thread->cached->set;
    const uint64_t pins = t->stats.cpu_pins;
    bool fetched = false;

    t->prefetch.now = set;
    if (t->pinned.samples_left > 0 && !thread->cached->sched_idle.asleep &&
        thread->words.addr == t->list.interps[thread->interp].holder)
        t->stats.cpu_pins += cpu_pin_hold(&t->cpu_pin, out->tid);
    if (thread->cached->sleeps && !t->gil_skip.active) { /* but it has run: it was not fetched */
        (void)sched_idle_look(&thread->cached->sched_idle, &t->scratch->stat_files,
                              t->process.proc_fd, out->tid);
        fetch_pinned(t, set);
        fetched = true;
    }
    if (target_asks_cpu(t)) {
        ask_kernel(t, thread->cached, out);
        if (thread->cached->sched_idle.is_short)
            return CPY_NOMEM;
    }
    if (t->stats.cpu_pins == pins && has_left(t, thread, out)) {
        if (fetch_thread_by_bpf(t, thread, out->tid))
            fetched = true;
        else
            t->stats.cpu_pins += cpu_pin_take(&t->cpu_pin, out->tid);
    }
    if (t->stats.cpu_pins != pins)
        fetch_pinned(t, set);
    else if (!fetched)
        return CPY_OK;
    t->gil_skip.counted_late = false;
    return walk_read_thread(&reader, thread->words.addr, &thread->words);
}

/* True if a thread's stack is given as it was; `no_new`: each of its frames was reused. */
static bool is_still(const struct cpy_thread *now, const struct cpy_thread *then, bool no_new)
{
    return no_new && now->state == then->state && now->depth == then->depth &&
           now->cut == then->cut && !now->torn && !then->torn && now->task == then->task;
}

/*
 * A thread that sleeps calls no function. If the innermost frame is another one, and the kernel
 * still says that the thread has slept, then another thread runs this state: one made in one
 * thread may be used in another, and keeps the first one's id. Who runs it is not known then.
 * `slept`: it was known to sleep before this sample, and had had so many `turns` of a CPU.
 */
static void check_tid(struct cpy_target *t, struct listed *thread, bool slept, uint64_t turns)
{
    struct cached *cached = thread->cached;

    if (!slept || thread->words.current_frame == cached->frame ||
        !sched_idle_since_look(&cached->sched_idle) || cached->sched_idle.turns != turns)
        return;
    cached->refuted_tid = thread->inner_tid;
    thread->inner_tid = 0;
    sched_idle_finish(&cached->sched_idle);
    t->gil_skip.ready = false; /* it goes by the threads' counters */
}

/* Gives a thread that may have run. */
static enum cpy_rc give_read(struct cpy_target *t, struct listed *thread, each_thread *each,
                             void *ctx)
{
    struct cpy_thread out = {.interpreter = (int64_t)t->list.interps[thread->interp].id,
                             .state = thread->words.addr,
                             .tid = tids_outer(&t->process.tids, thread->inner_tid)};
    const uint64_t decoded = t->stats.frames_decoded;
    const bool slept = thread->cached->whole && thread->cached->sched_idle.asleep &&
                       thread->cached->sched_idle.read;
    const uint64_t turns = thread->cached->sched_idle.turns;
    bool gone = false, same_name;
    enum cpy_rc rc = check_cpu(t, thread, &out);

    check_tid(t, thread, slept, turns);
    thread->cached->whole = false;
    if (rc == CPY_GONE || rc == CPY_NOMEM)
        return rc;
    out.status |= status_of(t, thread);
    if ((out.status & t->options.only) != t->options.only)
        return CPY_OK;
    rc = read_thread_stack(t, thread, &out, &gone);
    if (rc == CPY_RACED) {
        mark_stack_torn(t, &out);
        rc = CPY_OK;
    }
    if (rc != CPY_OK || gone)
        return rc;
    t->stats.threads += !out.torn;
    same_name = put_name(t, thread, &out);
    thread_names_note_run(t, thread);
    out.task = thread->words.running_task;
    out.still = is_still(&out, &thread->cached->out, decoded == t->stats.frames_decoded);
    out.same = out.still && same_name;
    if (target_asks_cpu(t))
        sched_idle_was_read(&thread->cached->sched_idle);
    else if (thread->cached->whole && target_uses(t, CPY_LAYER_SLEEPERS) &&
             (thread->cached->set.room > SCHED_IDLE_BYTES || t->list.thread_count == 1))
        sched_idle_note(&thread->cached->sched_idle, &t->scratch->stat_files, t->process.proc_fd,
                        out.tid, out.same);
    thread->cached->out = out;
    thread->cached->frame = thread->words.current_frame;
    each(ctx, &out);
    return CPY_OK;
}

/* Gives a thread that cannot have run Python code since the sample before. */
static void give_cached(struct cpy_target *t, const struct listed *thread, bool ask,
                        each_thread *each, void *ctx)
{
    struct cached *cached = thread->cached;
    struct cpy_thread *out = &cached->out;

    out->status &=
        ~(uint32_t)(CPY_STATUS_CPU | CPY_STATUS_CPU_WAIT | CPY_STATUS_GIL | CPY_STATUS_GC);
    out->status |= status_of_gil(t, thread); /* it may sleep in C code, and keep it */
    if (ask)
        ask_kernel(t, cached, out);
    out->still = true;
    out->same = put_name(t, thread, out);
    each(ctx, out);
}

/* Gives a thread that has slept since the sample before. */
static void give_asleep(struct cpy_target *t, const struct listed *thread, each_thread *each,
                        void *ctx)
{
    struct cached *cached = thread->cached;
    struct cpy_thread *out = &cached->out;

    out->status &= ~(uint32_t)(CPY_STATUS_CPU | CPY_STATUS_CPU_WAIT | CPY_STATUS_GC);
    out->still = true;
    out->same = put_name(t, thread, out);
    each(ctx, out);
}

/* True if a listed thread has slept since its cached stack was read; see check_tid, too. */
static bool sleeps_on(struct cpy_target *t, const struct listed *thread)
{
    const bool holds_gil = t->list.interps[thread->interp].holder == thread->words.addr;

    if (!thread->cached->sleeps || !thread->cached->whole || thread->outer != 0 || thread->joined ||
        holds_gil || thread->words.current_frame != thread->cached->frame)
        return false;
    thread->cached->sched_idle.look = SCHED_IDLE_NO_LOOK; /* it is this sample's: not used later */
    t->stats.threads++;
    t->stats.threads_kept++;
    return true;
}

/* A sample of all threads: of one that sleeps on the stack is not read. */
static enum cpy_rc give_listed(struct cpy_target *t, each_thread *each, void *ctx)
{
    enum cpy_rc rc = CPY_OK;
    struct listed *thread;

    for (size_t i = 0; rc == CPY_OK && i < t->list.thread_count; i++) {
        thread = &t->list.threads[i];
        if (sleeps_on(t, thread)) {
            cpu_account_add(&t->cpu_account, thread->cached, false);
            give_cached(t, thread, false, each, ctx);
        } else if (t->process.mem->reads >= t->process.reads_limit) {
            rc = CPY_RACED;
        } else if (!thread->joined) {
            rc = give_read(t, thread, each, ctx);
        }
    }
    if (rc == CPY_OK && t->list.asks_all)
        cpu_account_close(&t->cpu_account);
    return rc;
}

/* A GIL-skip sample: those that ran Python, and those that used CPU time when they were asked last;
 * all, unless the process's CPU time can show that the others need not be asked. */
static enum cpy_rc give_active(struct cpy_target *t, each_thread *each, void *ctx)
{
    const bool all = !target_asks_cpu(t) || t->cpu_account.process_ns == 0;
    enum cpy_rc rc = CPY_OK;
    struct listed *thread;

    for (size_t i = 0; rc == CPY_OK && i < t->list.thread_count; i++) {
        thread = &t->list.threads[i];
        thread->cached->given = all || thread->ran || thread->cached->used_cpu ||
                                thread->cached->out.status & CPY_STATUS_CPU;
        if (thread->ran && t->process.mem->reads >= t->process.reads_limit)
            rc = CPY_RACED;
        else if (thread->ran)
            rc = give_read(t, thread, each, ctx);
        else if (thread->cached->given)
            give_cached(t, thread, target_asks_cpu(t), each, ctx);
    }
    return rc;
}

/* The others of a GIL-skip sample; they are asked if one of them may have used CPU time. */
static void give_parked(struct cpy_target *t, each_thread *each, void *ctx)
{
    const bool ask = target_asks_cpu(t) && cpu_account_is_open(&t->cpu_account, 0, 0);

    for (size_t i = 0; i < t->list.thread_count; i++)
        if (!t->list.threads[i].cached->given)
            give_cached(t, &t->list.threads[i], ask, each, ctx);
    if (ask)
        cpu_account_close(&t->cpu_account);
}

/* Reads and gives all threads. */
static enum cpy_rc sample_all_threads(struct cpy_target *t, each_thread *each, void *ctx)
{
    enum cpy_rc rc = CPY_OK;

    t->tasks.awaiters_fetched = t->names.fetched = false;
    t->gil_skip.active = gil_skip_begin(t);
    if (!t->gil_skip.active) {
        t->gil_skip.ready = t->gil_skip.counted_late = false;
        gil_skip_fetch_all(t);
        rc = thread_list_all(t, gil_skip_fetch_all);
    }
    if (rc == CPY_OK)
        thread_names_read(t);
    if (t->gil_skip.active) {
        t->stats.threads += t->list.thread_count - t->gil_skip.ran_count;
        t->stats.threads_kept += t->list.thread_count - t->gil_skip.ran_count;
    }
    if (rc == CPY_OK)
        rc = t->gil_skip.active ? give_active(t, each, ctx) : give_listed(t, each, ctx);
    if (rc == CPY_OK && t->gil_skip.active)
        give_parked(t, each, ctx);
    if (rc == CPY_OK)
        gil_skip_end(t);
    else
        t->gil_skip.ready = false; /* some of those that ran were not read */
    return rc;
}

/* Counts failed BPF reads, and pauses them after several in a row (of too long stacks, say). */
static void note_bpf_reads(struct cpy_target *t, uint64_t bpf_fetches)
{
    if (t->bpf_pause.samples_left > 0)
        t->bpf_pause.samples_left--;
    if (t->prefetch.bpf_fetches != bpf_fetches)
        t->bpf_pause.failed = 0;
    if (t->bpf_pause.failed >= FAILED_BPF_READS_MAX) {
        t->bpf_pause.samples_left = BPF_PAUSE;
        t->bpf_pause.failed = 0;
    }
}

enum cpy_rc cpy_sample(struct cpy_target *t, each_thread *each, void *ctx)
{
    uint64_t reads = t->process.mem->reads, misses = t->prefetch.misses,
             bpf_fetches = t->prefetch.bpf_fetches;
    enum cpy_rc rc;

    if (t->options.tasks) /* to look reads the whole memory map, which may be long */
        target_look_for_asyncio(t, false);
    target_begin(t);
    if (t->pinned.samples_left > 0 && t->running.gil_tid != 0 && !t->running.gil_tid_slept)
        t->stats.cpu_pins += cpu_pin_hold(&t->cpu_pin, t->running.gil_tid);
    t->prefetch.bpf_reader = has_bpf(t) ? t->scratch->bpf_reader : NULL;
    t->prefetch.uses_bpf = t->prefetch.bpf_thread.cpu >= 0 && uses_bpf(t);
    rc = sample_all_threads(t, each, ctx);
    t->tasks.awaiters_wanted = false;
    note_bpf_reads(t, bpf_fetches);
    if (t->pinned.samples_left > 0)
        t->pinned.samples_left--;
    else if (t->pinned.samples_next > PINNED_FIRST && ++t->pinned.untorn % PINNED_FIRST == 0)
        t->pinned.samples_next /= 4; /* it tears less often now */
    t->stats.samples += rc == CPY_OK;
    t->stats.failed += rc == CPY_RACED;
    t->stats.gil_skips += t->gil_skip.active;
    if (t->process.mem->reads > reads && t->cache.threads.lists > 1) {
        t->stats.predictions++;
        t->stats.predictions_held += t->prefetch.misses == misses;
    }
    target_end(t);
    return rc;
}

/* True if all threads were seen to sleep; `still`: the kernel says that they have slept on. */
static bool all_sleep(struct cpy_target *t, bool still)
{
    bool asleep = t->options.status & CPY_STATUS_CPU && t->list.thread_count > 0;
    struct sched_idle *sched_idle;

    for (size_t i = 0; asleep && i < t->list.thread_count; i++) {
        sched_idle = &t->list.threads[i].cached->sched_idle;
        asleep = t->list.threads[i].joined ||
                 (still ? sched_idle_since_look(sched_idle) : sched_idle->asleep);
    }
    return asleep;
}

bool cpy_asleep(struct cpy_target *t)
{
    if (!target_uses(t, CPY_LAYER_SLEEPERS))
        return false;
    /* The first two need one read, and the counters of the thread that had the GIL last. */
    if (t->list.thread_count > 2 && all_sleep(t, false)) {
        if (t->gil_skip.ready)
            return gil_skip_all_idle(t);
        if (gil_skip_gil_is_free(t))
            return true;
    }
    return all_sleep(t, true);
}

/* True if each thread's stack is known as it was. */
static bool is_known_whole(const struct cpy_target *t)
{
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (!t->list.threads[i].cached->whole || t->list.threads[i].joined ||
            t->list.threads[i].outer != 0)
            return false;
    return t->list.thread_count > 0;
}

enum cpy_rc cpy_replay_last(struct cpy_target *t, each_thread *each, void *ctx)
{
    bool known;

    target_begin(t);
    known = is_known_whole(t);
    for (size_t i = 0; known && i < t->list.thread_count; i++)
        give_asleep(t, &t->list.threads[i], each, ctx);
    target_end(t);
    return known ? CPY_OK : CPY_RACED;
}

void cpy_note_cpu(struct cpy_target *t, uint64_t cpu_ns, uint64_t now_ns)
{
    cpu_account_begin(&t->cpu_account, cpu_ns, now_ns);
}

void cpy_trim(struct cpy_target *t)
{
    for (size_t i = 0; i < t->cache.threads.count; i++)
        prefetch_release(&t->prefetch, &t->cache.threads.all[i]->set);
    prefetch_release(&t->prefetch, &t->sets.contents);
    prefetch_release(&t->prefetch, &t->sets.names);
    prefetch_release(&t->prefetch, &t->tasks.all);
    prefetch_release(&t->prefetch, &t->tasks.awaiters);
    memos_finish(&t->tasks.all_memos);
    memos_finish(&t->tasks.awaiter_memos);
}

/* Moves to the CPU of the thread that will most likely run; the sample before may have found it. */
static bool go_to_runner(struct cpy_target *t)
{
    if (t->running.gil_tid != 0 && t->running.seen_tid == t->running.gil_tid)
        return cpu_pin_move_to(&t->cpu_pin, t->running.gil_tid, t->running.seen_cpu);
    return t->running.gil_tid != 0 && cpu_pin_move(&t->cpu_pin, t->running.gil_tid, true);
}

/* Moves away from the CPU of the thread that will most likely run, if BPF can read that. */
static bool avoid_runner(struct cpy_target *t)
{
    struct bpf_reader_thread *runner = &t->prefetch.bpf_thread;
    int cpu = runner->cpu;

    if (!has_bpf(t) || t->pinned.samples_left > 0 || t->bpf_pause.samples_left > 0 ||
        t->running.gil_tid == 0)
        return false;
    if (cpu < 0)
        cpu = cpu_pin_cpu_of(&t->cpu_pin, t->running.gil_tid);
    if (!target_asks_cpu(t)) /* no other part of the sample finds that out */
        runner->cpu = cpu;
    return cpu_pin_avoid(&t->cpu_pin, cpu);
}

/* The CPU on which most of the threads sleep that have run lately; -1: not known. (The list may be
 * of a sample that failed, and have threads that are not known any more.) */
static int cpu_of_sleepers(const struct cpy_target *t)
{
    unsigned counts[CPU_SETSIZE] = {0};
    const struct cached *cached;
    int best = -1, cpu;

    for (size_t i = 0; i < t->cache.threads.count; i++) {
        cached = t->cache.threads.all[i];
        cpu = cached->sched_idle.slept_on;
        if (cpu >= 0 && cpu < CPU_SETSIZE && cached->used_cpu &&
            ++counts[cpu] > (best < 0 ? 0 : counts[best]))
            best = cpu;
    }
    return best;
}

/*
 * Moves away from the CPU of threads that sleep again and again. An idle CPU comes late to its
 * timers (in virtual machines some 60 us), and then to all that are due by then: where their timers
 * and ours are of one CPU, they would be seen waking up far too often.
 */
static bool avoid_sleepers(struct cpy_target *t)
{
    return t->running.gil_tid_slept && t->pinned.samples_left == 0 &&
           cpu_pin_avoid(&t->cpu_pin, cpu_of_sleepers(t));
}

bool cpy_pin_cpu(struct cpy_target *t)
{
    bool pays = t->pinned.samples_left > 0 || !t->cpu_pin.denied;

    t->running.wake.woke_ns = 0;
    if (!avoid_sleepers(t) && !avoid_runner(t) && (!pays || !go_to_runner(t))) {
        cpu_pin_release(&t->cpu_pin);
        return false;
    }
    t->cpu_pin.stays = true;
    return true;
}

void cpy_woke(struct cpy_target *t, uint64_t now_ns)
{
    t->running.wake.woke_ns = t->cpu_pin.stays && t->cpu_pin.avoided_cpu < 0 ? now_ns : 0;
    t->running.wake.cpu = t->cpu_pin.cpu;
}

void cpy_unpin_cpu(struct cpy_target *t)
{
    t->running.wake.woke_ns = 0;
    cpu_pin_release(&t->cpu_pin);
}

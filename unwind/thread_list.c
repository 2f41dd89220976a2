/* SPDX-License-Identifier: Apache-2.0 */
/* thread_list.c - see thread_list.h. */
#include "unwind/thread_list.h"

#include <string.h>

#include "base/array.h"

enum { LIST_TRIES = 8, FETCH_TRIES = 4 };

bool thread_list_is_alive(const struct layout *l, const struct thread_words *words)
{
    return (l->status_bound == 0 || words->status & l->status_bound) &&
           !(words->status & l->status_cleared);
}

/* Adds a range for a field, unless the version has none. */
static void want(struct mem_range *ranges, size_t *count, cpy_addr base, uint32_t field, void *into,
                 size_t size)
{
    if (field != NO_FIELD)
        ranges[(*count)++] = (struct mem_range){base + field, into, size};
}

/* Says of an interpreter whose last_holder is known what its GIL is now. */
static void note_holder(struct interp *interp, int32_t locked, int32_t enabled)
{
    interp->holder = locked == 1 && enabled != 0 ? interp->last_holder : 0;
    interp->counts = locked >= 0 && enabled != 0;
}

/* Reads which thread state holds the GIL, and which held it last. */
static enum cpy_rc read_gil(struct cpy_target *t, struct interp *interp)
{
    const struct layout *l = &t->found.layout;
    int32_t locked = 0, enabled = 1;
    struct mem_range gil[4];
    size_t count = 0;
    enum cpy_rc rc;

    if (t->found.gil_current != 0) /* one GIL for all interpreters */
        return mem_read_word(&t->prefetch.mem, t->found.gil_current, &interp->holder);
    if (l->interp.gil == NO_FIELD)
        return CPY_OK;
    want(gil, &count, interp->gil, l->gil.last_holder, &interp->last_holder, 8);
    want(gil, &count, interp->gil, l->gil.locked, &locked, 4);
    want(gil, &count, interp->gil, l->gil.switch_number, &interp->switches, 8);
    want(gil, &count, interp->gil, l->gil.enabled, &enabled, 4);
    rc = mem_read_ranges(&t->prefetch.mem, gil, count);
    note_holder(interp, locked, enabled);
    interp->counts &= l->gil.switch_number != NO_FIELD;
    return rc;
}

/* The words of the interpreter at out->addr, but for what tells where its GIL is. */
static enum cpy_rc read_interp_words(struct cpy_target *t, struct interp *out)
{
    const struct layout *l = &t->found.layout;
    struct mem_range ranges[9];
    size_t count = 0;
    cpy_addr addr = out->addr;

    want(ranges, &count, addr, l->interp.next, &out->next, 8);
    want(ranges, &count, addr, l->interp.id, &out->id, 8);
    want(ranges, &count, addr, l->interp.threads_head, &out->threads_head, 8);
    want(ranges, &count, addr, l->interp.threads_main, &out->threads_main, 8);
    want(ranges, &count, addr, l->interp.collecting, &out->collecting, 4);
    want(ranges, &count, addr, l->interp.gc_frame, &out->gc_frame, 8);
    want(ranges, &count, addr, l->interp.code_generation, &out->generation, 8);
    want(ranges, &count, addr, l->interp.marker, &out->marker, 8);
    want(ranges, &count, t->found.runtime, l->runtime.collecting, &out->collecting, 4);
    return mem_read_ranges(&t->prefetch.mem, ranges, count);
}

/* The copy of a part of an interpreter. */
struct block {
    const unsigned char *bytes;
    uint32_t from, size; /* in the interpreter */
};

/* A field of `size` bytes; 0 where the version has none. */
static uint64_t field_in(const struct block *block, uint32_t field, size_t size)
{
    uint64_t value = 0;

    if (field != NO_FIELD)
        memcpy(&value, block->bytes + (field - block->from), size);
    return value;
}

static void take_words(const struct layout *l, const struct block *block, struct interp *out)
{
    out->next = field_in(block, l->interp.next, 8);
    out->id = field_in(block, l->interp.id, 8);
    out->threads_head = field_in(block, l->interp.threads_head, 8);
    out->threads_main = field_in(block, l->interp.threads_main, 8);
    out->gc_frame = field_in(block, l->interp.gc_frame, 8);
    out->generation = field_in(block, l->interp.code_generation, 8);
    out->marker = field_in(block, l->interp.marker, 8);
    out->collecting = (int32_t)field_in(block, l->interp.collecting, 4);
}

/* Takes the GIL if it is in the block, too. */
static bool take_gil(const struct layout *l, const struct block *block, struct interp *out)
{
    const uint32_t last = l->gil.switch_number; /* the field behind all others */
    const uint64_t at = out->gil - out->addr;
    uint32_t gil;

    if (last == NO_FIELD || last < l->gil.locked || last < l->gil.last_holder || at < block->from ||
        at > block->from + block->size || block->from + block->size - at < (uint64_t)last + 8)
        return false;
    gil = (uint32_t)at;
    out->last_holder = field_in(block, gil + l->gil.last_holder, 8);
    out->switches = field_in(block, gil + last, 8);
    note_holder(out, (int32_t)field_in(block, gil + l->gil.locked, 4),
                l->gil.enabled == NO_FIELD ? 1 : (int32_t)field_in(block, gil + l->gil.enabled, 4));
    return true;
}

/* The same as read_interp_words and read_gil, of a whole block. False: it has to be done by
 * them. */
static bool read_block(struct cpy_target *t, struct interp *out)
{
    const struct layout *l = &t->found.layout;
    struct block block = {NULL, l->interp.from, l->interp.span};
    unsigned char own[LAYOUT_SPAN_MAX];
    enum cpy_rc rc;

    if (l->interp.span == 0 || l->runtime.collecting != NO_FIELD || t->found.gil_current != 0)
        return false;
    block.bytes = mem_bytes(&t->prefetch.mem, out->addr + l->interp.from, l->interp.span, own, &rc);
    if (!block.bytes)
        return false;
    take_words(l, &block, out);
    return take_gil(l, &block, out);
}

static enum cpy_rc read_interp(struct cpy_target *t, cpy_addr addr, struct interp *out)
{
    uint32_t gil = t->found.layout.interp.gil;
    enum cpy_rc rc = CPY_OK;

    *out = (struct interp){.addr = addr};
    if (gil != NO_FIELD)
        rc = mem_read_word(&t->prefetch.mem, addr + gil, &out->gil);
    if (rc != CPY_OK || read_block(t, out))
        return rc;
    rc = read_interp_words(t, out);
    return rc == CPY_OK ? read_gil(t, out) : rc;
}

enum cpy_rc thread_list_read_interp(struct cpy_target *t, const struct interp *then,
                                    struct interp *now)
{
    enum cpy_rc rc;

    *now = (struct interp){.addr = then->addr, .gil = then->gil, .runner = then->runner};
    if (read_block(t, now))
        return CPY_OK;
    rc = read_interp_words(t, now);
    return rc == CPY_OK ? read_gil(t, now) : rc;
}

/* Another thread has got the state of one that ended: what is known of that one is not its. */
static void forget_thread(struct cached *cached)
{
    thread_name_finish(&cached->name);
    cached->inner_tid = cached->refuted_tid = 0;
    cached->whole = cached->sleeps = false;
    cached->out = (struct cpy_thread){0};
    sched_idle_finish(&cached->sched_idle);
}

static enum cpy_rc add_listed_thread(struct cpy_target *t, const struct thread_words *words,
                                     struct cached *cached)
{
    if (t->list.thread_count == CPY_THREADS_MAX)
        return CPY_RACED; /* more likely a list that loops */
    if (!ARRAY_RESERVE(t->list.threads, t->list.thread_capacity, t->list.thread_count + 1))
        return CPY_NOMEM;
    t->list.threads[t->list.thread_count++] = (struct listed){
        .words = *words, .cached = cached, .interp = (uint32_t)t->list.interp_count - 1};
    if (cached->thread_id != words->thread_id || cached->native_id != words->native_thread_id)
        forget_thread(cached);
    cached->thread_id = words->thread_id;
    cached->native_id = words->native_thread_id;
    return CPY_OK;
}

/* Reads the thread state at `addr`, which must say that it is of that interpreter. */
static enum cpy_rc list_thread(struct cpy_target *t, const struct interp *interp, cpy_addr addr,
                               struct thread_words *words)
{
    const struct reader reader = target_reader(t);
    struct cached *cached = thread_cache_get(&t->cache.threads, addr);
    enum cpy_rc rc;

    if (!cached)
        return CPY_NOMEM;
    t->prefetch.now = t->sets.only ? t->sets.only : &cached->set;
    rc = walk_read_thread(&reader, addr, words);
    if (rc == CPY_OK && words->interp != interp->addr)
        rc = CPY_RACED;
    return rc == CPY_OK && thread_list_is_alive(&t->found.layout, words)
               ? add_listed_thread(t, words, cached)
               : rc;
}

static enum cpy_rc list_threads(struct cpy_target *t, const struct interp *interp)
{
    struct thread_words words = {0};
    cpy_addr addr = interp->threads_head;
    uint32_t count = 0;
    enum cpy_rc rc = CPY_OK;

    for (; addr != 0 && rc == CPY_OK; addr = words.next)
        rc = ++count > CPY_THREADS_MAX ? CPY_RACED : list_thread(t, interp, addr, &words);
    return rc;
}

/* What reads of interpreters are served from. */
static void begin_common(struct cpy_target *t)
{
    t->prefetch.now = t->sets.only ? t->sets.only : &t->sets.common;
}

static enum cpy_rc add_listed_interp(struct cpy_target *t, const struct interp *interp)
{
    if (t->list.interp_count == CPY_INTERPRETERS_MAX)
        return CPY_RACED; /* more likely a list that loops */
    if (!ARRAY_RESERVE(t->list.interps, t->list.interp_capacity, t->list.interp_count + 1))
        return CPY_NOMEM;
    t->list.interps[t->list.interp_count++] = *interp;
    return CPY_OK;
}

static enum cpy_rc list_interps(struct cpy_target *t, cpy_addr addr)
{
    struct interp interp;
    enum cpy_rc rc = CPY_OK;

    t->list.interp_count = t->list.thread_count = 0;
    for (; addr != 0 && rc == CPY_OK; addr = interp.next) {
        begin_common(t);
        rc = read_interp(t, addr, &interp);
        if (rc == CPY_OK)
            rc = add_listed_interp(t, &interp);
        if (rc == CPY_OK)
            rc = list_threads(t, &interp);
    }
    return rc;
}

static enum cpy_rc find_main_thread(struct cpy_target *t)
{
    const struct layout *l = &t->found.layout;

    if (l->interp.threads_main != NO_FIELD || t->list.thread_count == 0)
        return CPY_OK;
    if (l->runtime.main_thread != NO_FIELD)
        return mem_read_word(&t->prefetch.mem, t->found.runtime + l->runtime.main_thread,
                             &t->list.main_thread_id);
    /* 3.6: both lists have the newest first, and the main thread of the main interpreter is the
     * oldest of all. */
    t->list.main_thread_id = t->list.threads[t->list.thread_count - 1].words.thread_id;
    return CPY_OK;
}

static void find_tids(struct cpy_target *t)
{
    struct listed *thread;

    for (thread = t->list.threads; thread < t->list.threads + t->list.thread_count; thread++) {
        if (!t->sets.only)
            t->prefetch.now = &thread->cached->set;
        if (t->found.layout.thread.native_thread_id != NO_FIELD)
            thread->inner_tid =
                tids_of_native(&t->process.tids, &t->prefetch.mem, thread->words.thread_id,
                               thread->words.native_thread_id, thread->cached->inner_tid);
        else
            thread->inner_tid =
                tids_of_pthread(&t->process.tids, &t->prefetch.mem, thread->words.thread_id,
                                t->list.main_thread_id, thread->cached->inner_tid);
        /* Before 3.11 one thread after another may have the same pthread_t, and state. */
        if (thread->cached->inner_tid != 0 && thread->cached->inner_tid != thread->inner_tid)
            forget_thread(thread->cached);
        thread->cached->inner_tid = thread->inner_tid;
        if (thread->inner_tid == thread->cached->refuted_tid)
            thread->inner_tid = 0;
    }
}

/*
 * An address in the kernel thread's own stack, where the state's newest call into the
 * interpreter began: of two states the lower one runs inside of the other. 0: not known.
 */
static cpy_addr stack_address(struct cpy_target *t, const struct thread_words *words)
{
    const struct layout *l = &t->found.layout;
    cpy_addr addr = words->current_frame, previous = 0;
    uint8_t owner = 0;

    if (!t->sets.only)
        t->prefetch.now = &thread_cache_get(&t->cache.threads, words->addr)->set;
    if (l->thread.cframe != NO_FIELD || l->frames == FRAMES_OBJECT)
        return l->thread.cframe != NO_FIELD ? words->cframe : 0;
    for (int steps = 0; addr != 0 && addr != words->base_frame && steps < CPY_DEPTH_MAX; steps++) {
        struct mem_range ranges[2] = {{addr + l->frame.owner, &owner, 1},
                                      {addr + l->frame.previous, &previous, 8}};

        if (mem_read_ranges(&t->prefetch.mem, ranges, 2) != CPY_OK)
            return 0;
        if (owner >= l->shim_owner) /* it is a variable of the interpreter's C code */
            return addr;
        addr = previous;
    }
    return 0;
}

/* True if `a` runs above `b` on the kernel thread that both belong to. */
static bool is_above(struct cpy_target *t, const struct listed *a, const struct listed *b)
{
    const struct interp *left = &t->list.interps[a->interp], *right = &t->list.interps[b->interp];
    bool left_runs = left->holder == a->words.addr, right_runs = right->holder == b->words.addr;
    cpy_addr left_at, right_at;

    if (left_runs != right_runs)
        return left_runs;
    left_runs = a->words.current_frame != a->words.base_frame; /* else it runs no Python code */
    right_runs = b->words.current_frame != b->words.base_frame;
    if (left_runs != right_runs)
        return left_runs;
    left_at = stack_address(t, &a->words);
    right_at = stack_address(t, &b->words);
    return left_at && right_at && left_at != right_at ? left_at < right_at : left->id > right->id;
}

/* Puts `thread` into the chain of states of its kernel thread; gives the chain's new top. */
static struct listed *insert_into_chain(struct cpy_target *t, struct listed *top,
                                        struct listed *thread)
{
    struct listed *above = top;

    if (is_above(t, thread, top)) {
        thread->outer = (uint32_t)(top - t->list.threads) + 1;
        top->joined = true;
        return thread;
    }
    while (above->outer && is_above(t, &t->list.threads[above->outer - 1], thread))
        above = &t->list.threads[above->outer - 1];
    thread->outer = above->outer;
    thread->joined = true;
    above->outer = (uint32_t)(thread - t->list.threads) + 1;
    return top;
}

/* Joins the states of kernel threads that are in several interpreters. */
static void join_thread_states(struct cpy_target *t)
{
    struct listed *thread, *other, *top, *end = t->list.threads + t->list.thread_count;

    for (thread = t->list.threads; thread < end; thread++) {
        if (thread->inner_tid == 0 || thread->joined || thread->outer != 0)
            continue;
        top = thread;
        for (other = thread + 1; other < end; other++)
            if (other->inner_tid == thread->inner_tid)
                top = insert_into_chain(t, top, other);
    }
}

bool thread_list_same_runtime(struct cpy_target *t)
{
    const struct interp *oldest = &t->list.interps[t->list.interp_count - 1];
    const struct runtime now = {oldest->marker, oldest->generation, oldest->switches};
    const struct runtime then = t->list.runtime;
    const bool same = now.marker == then.marker && now.generation >= then.generation &&
                      now.switches >= then.switches;

    t->list.runtime = now;
    t->cache.codes.restarts += !same;
    if (!same)
        names_forget(&t->cache.names);
    return same;
}

enum cpy_rc thread_list_heads(struct cpy_target *t, cpy_addr *head)
{
    const struct layout *l = &t->found.layout;
    cpy_addr finalizing = 0;
    struct mem_range ranges[2];
    size_t count = 0;
    enum cpy_rc rc;

    *head = 0;
    want(ranges, &count, t->found.runtime, l->runtime.interpreters_head, head, 8);
    want(ranges, &count, t->found.runtime, l->runtime.finalizing, &finalizing, 8);
    rc = mem_read_ranges(&t->prefetch.mem, ranges, count);
    if (rc != CPY_OK || (*head != 0 && finalizing == 0))
        return rc;
    t->list.runtime = (struct runtime){0}; /* it ends: the next one is another */
    return CPY_STARTING;
}

/* Forgets what was fetched beforehand: it is too old by now. */
static void forget_fetched(struct cpy_target *t)
{
    prefetch_forget(&t->sets.common);
    for (size_t i = 0; i < t->cache.threads.count; i++)
        prefetch_forget(&t->cache.threads.all[i]->set);
}

enum cpy_rc thread_list_all(struct cpy_target *t, thread_list_fetch *fetch)
{
    enum cpy_rc rc = CPY_RACED;
    cpy_addr head;

    for (int tries = 0; rc == CPY_RACED && tries < LIST_TRIES; tries++) {
        t->prefetch.uses_bpf &= tries == 0;
        if (tries > 0 && tries < FETCH_TRIES && fetch)
            fetch(t);
        else if (tries > 0)
            forget_fetched(t);
        begin_common(t);
        thread_cache_begin_list(&t->cache.threads);
        rc = thread_list_heads(t, &head);
        if (rc == CPY_OK)
            rc = list_interps(t, head);
    }
    thread_cache_end_list(&t->cache.threads, &t->prefetch);
    begin_common(t);
    if (rc == CPY_OK)
        rc = find_main_thread(t);
    if (rc == CPY_OK && t->list.interp_count > 0)
        (void)thread_list_same_runtime(t);
    if (rc != CPY_OK || t->list.thread_count == 0)
        return rc;
    find_tids(t);
    if (t->list.interp_count > 1)
        join_thread_states(t);
    return CPY_OK;
}

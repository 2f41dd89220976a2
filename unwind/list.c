/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - see list.h. */
#include "unwind/list.h"

#include <stdlib.h>

enum { LIST_TRIES = 8 };

bool list_is_alive(const struct layout *l, const struct thread_words *words)
{
    return (l->status_bound == 0 || words->status & l->status_bound) &&
           !(words->status & l->status_cleared);
}

/* Who holds the GIL: the thread state, 0 if nobody does. */
static enum cpy_rc read_holder(struct cpy_target *t, struct interp *interp)
{
    const struct layout *l = &t->found.layout;
    cpy_addr last_holder = 0;
    int32_t locked = 0, enabled = 1;
    struct mem_range gil[3] = {
        {interp->gil + l->gil.last_holder, &last_holder, sizeof(last_holder)},
        {interp->gil + l->gil.locked, &locked, sizeof(locked)},
        {interp->gil + l->gil.enabled, &enabled, sizeof(enabled)},
    };
    enum cpy_rc rc;

    if (t->found.gil_current != 0) /* one GIL for all interpreters */
        return mem_read_word(t->mem, t->found.gil_current, &interp->holder);
    if (l->interp.gil == NO_FIELD)
        return CPY_OK;
    rc = mem_read_ranges(t->mem, gil, l->gil.enabled == NO_FIELD ? 2 : 3);
    interp->holder = locked == 1 && enabled != 0 ? last_holder : 0;
    return rc;
}

/* Adds a range for a field, unless the version has none. */
static void want(struct mem_range *ranges, size_t *count, cpy_addr base, uint32_t field, void *into,
                 size_t size)
{
    if (field != NO_FIELD)
        ranges[(*count)++] = (struct mem_range){base + field, into, size};
}

static enum cpy_rc read_interp(struct cpy_target *t, cpy_addr addr, struct interp *out)
{
    const struct layout *l = &t->found.layout;
    struct mem_range ranges[8];
    size_t count = 0;
    enum cpy_rc rc;

    *out = (struct interp){.addr = addr};
    want(ranges, &count, addr, l->interp.next, &out->next, 8);
    want(ranges, &count, addr, l->interp.id, &out->id, 8);
    want(ranges, &count, addr, l->interp.threads_head, &out->threads_head, 8);
    want(ranges, &count, addr, l->interp.threads_main, &out->threads_main, 8);
    want(ranges, &count, addr, l->interp.gil, &out->gil, 8);
    want(ranges, &count, addr, l->interp.collecting, &out->collecting, 4);
    want(ranges, &count, addr, l->interp.gc_frame, &out->gc_frame, 8);
    want(ranges, &count, t->found.runtime, l->runtime.collecting, &out->collecting, 4);
    rc = mem_read_ranges(t->mem, ranges, count);
    return rc == CPY_OK ? read_holder(t, out) : rc;
}

/* Makes room for one more of `size` bytes. */
static enum cpy_rc grow(void **items, size_t *capacity, size_t count, size_t most, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *wider;

    if (count >= most)
        return CPY_RACED; /* more likely a list that loops */
    if (count < *capacity)
        return CPY_OK;
    wider = realloc(*items, wanted * size);
    if (!wider)
        return CPY_NOMEM;
    *items = wider;
    *capacity = wanted;
    return CPY_OK;
}

static enum cpy_rc add_thread(struct cpy_target *t, const struct thread_words *words)
{
    void *items = t->threads;
    enum cpy_rc rc =
        grow(&items, &t->thread_capacity, t->thread_count, CPY_THREADS_MAX, sizeof(*t->threads));

    t->threads = items;
    if (rc == CPY_OK)
        t->threads[t->thread_count++] =
            (struct listed){.words = *words, .interp = (uint32_t)t->interp_count - 1};
    return rc;
}

/* Lists the threads of an interpreter; each must say that it belongs there. */
static enum cpy_rc list_threads(struct cpy_target *t, const struct interp *interp)
{
    const struct reader reader = {t->mem, &t->found.layout};
    struct thread_words words;
    cpy_addr addr = interp->threads_head;
    uint32_t count = 0;
    enum cpy_rc rc = CPY_OK;

    for (; addr != 0 && rc == CPY_OK; addr = words.next) {
        rc = walk_read_thread(&reader, addr, &words);
        if (rc == CPY_OK && (words.interp != interp->addr || ++count > CPY_THREADS_MAX))
            rc = CPY_RACED;
        if (rc == CPY_OK && list_is_alive(&t->found.layout, &words))
            rc = add_thread(t, &words);
        if (rc != CPY_OK)
            break;
    }
    return rc;
}

static enum cpy_rc list_interps(struct cpy_target *t, cpy_addr addr)
{
    struct interp interp;
    enum cpy_rc rc = CPY_OK;
    void *items;

    t->interp_count = t->thread_count = 0;
    for (; addr != 0 && rc == CPY_OK; addr = interp.next) {
        rc = read_interp(t, addr, &interp);
        items = t->interps;
        if (rc == CPY_OK)
            rc = grow(&items, &t->interp_capacity, t->interp_count, CPY_INTERPRETERS_MAX,
                      sizeof(*t->interps));
        t->interps = items;
        if (rc != CPY_OK)
            break;
        t->interps[t->interp_count++] = interp;
        rc = list_threads(t, &interp);
    }
    return rc;
}

static enum cpy_rc find_main_thread(struct cpy_target *t)
{
    const struct layout *l = &t->found.layout;

    if (l->interp.threads_main != NO_FIELD || t->thread_count == 0)
        return CPY_OK;
    if (l->runtime.main_thread != NO_FIELD)
        return mem_read_word(t->mem, t->found.runtime + l->runtime.main_thread, &t->main_thread_id);
    /* 3.6: both lists have the newest first, and the main thread of the main interpreter is the
     * oldest of all. */
    t->main_thread_id = t->threads[t->thread_count - 1].words.thread_id;
    return CPY_OK;
}

static void find_tids(struct cpy_target *t)
{
    struct listed *thread;

    for (thread = t->threads; thread < t->threads + t->thread_count; thread++)
        thread->inner_tid =
            t->found.layout.thread.native_thread_id != NO_FIELD
                ? thread->words.native_thread_id
                : tids_of_pthread(&t->tids, t->mem, thread->words.thread_id, t->main_thread_id);
}

/*
 * An address in the kernel thread's own stack, where the state's newest call into the
 * interpreter began: of two states the lower one runs inside of the other. 0: not known.
 */
static cpy_addr stack_place(struct cpy_target *t, const struct thread_words *words)
{
    const struct layout *l = &t->found.layout;
    cpy_addr addr = words->current_frame, previous = 0;
    uint8_t owner = 0;
    int steps;

    if (l->thread.cframe != NO_FIELD || l->frames == FRAMES_OBJECT)
        return l->thread.cframe != NO_FIELD ? words->cframe : 0;
    for (steps = 0; addr != 0 && addr != words->base_frame && steps < CPY_DEPTH_MAX; steps++) {
        struct mem_range ranges[2] = {{addr + l->frame.owner, &owner, 1},
                                      {addr + l->frame.previous, &previous, 8}};

        if (mem_read_ranges(t->mem, ranges, 2) != CPY_OK)
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
    const struct interp *left = &t->interps[a->interp], *right = &t->interps[b->interp];
    bool left_runs = left->holder == a->words.addr, right_runs = right->holder == b->words.addr;
    cpy_addr left_at, right_at;

    if (left_runs != right_runs)
        return left_runs;
    left_runs = a->words.current_frame != a->words.base_frame; /* else it runs no Python code */
    right_runs = b->words.current_frame != b->words.base_frame;
    if (left_runs != right_runs)
        return left_runs;
    left_at = stack_place(t, &a->words);
    right_at = stack_place(t, &b->words);
    return left_at && right_at && left_at != right_at ? left_at < right_at : left->id > right->id;
}

/* Puts `thread` into the chain of states of its kernel thread; gives the chain's new top. */
static struct listed *insert(struct cpy_target *t, struct listed *top, struct listed *thread)
{
    struct listed *above = top;

    if (is_above(t, thread, top)) {
        thread->outer = (uint32_t)(top - t->threads) + 1;
        top->joined = true;
        return thread;
    }
    while (above->outer && is_above(t, &t->threads[above->outer - 1], thread))
        above = &t->threads[above->outer - 1];
    thread->outer = above->outer;
    thread->joined = true;
    above->outer = (uint32_t)(thread - t->threads) + 1;
    return top;
}

/* Joins the states of kernel threads that are in several interpreters. */
static void join(struct cpy_target *t)
{
    struct listed *thread, *other, *top, *end = t->threads + t->thread_count;

    for (thread = t->threads; thread < end; thread++) {
        if (thread->inner_tid == 0 || thread->joined || thread->outer != 0)
            continue;
        top = thread;
        for (other = thread + 1; other < end; other++)
            if (other->inner_tid == thread->inner_tid)
                top = insert(t, top, other);
    }
}

enum cpy_rc list_all(struct cpy_target *t)
{
    const struct layout *l = &t->found.layout;
    cpy_addr head = 0, finalizing = 0;
    struct mem_range ranges[2];
    enum cpy_rc rc = CPY_RACED;
    size_t count;
    int tries;

    for (tries = 0; rc == CPY_RACED && tries < LIST_TRIES; tries++) {
        count = 0;
        want(ranges, &count, t->found.runtime, l->runtime.interpreters_head, &head, 8);
        want(ranges, &count, t->found.runtime, l->runtime.finalizing, &finalizing, 8);
        rc = mem_read_ranges(t->mem, ranges, count);
        if (rc == CPY_OK && (head == 0 || finalizing != 0))
            return CPY_STARTING;
        if (rc == CPY_OK)
            rc = list_interps(t, head);
    }
    if (rc == CPY_OK)
        rc = find_main_thread(t);
    if (rc != CPY_OK || t->thread_count == 0)
        return rc;
    find_tids(t);
    if (t->interp_count > 1)
        join(t);
    return CPY_OK;
}

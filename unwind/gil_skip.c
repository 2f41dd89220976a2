/* SPDX-License-Identifier: Apache-2.0 */
/* gil_skip.c - see gil_skip.h. */
#include "unwind/gil_skip.h"

#include <stdlib.h>

#include "unwind/thread_list.h"

enum { HEADS_EACH = 64 }; /* light samples: then the list of interpreters is looked at */

/* Room for so many sets. */
static bool make_room(struct cpy_target *t, size_t count)
{
    struct prefetch_set **wider;

    if (count <= t->set_capacity)
        return true;
    wider = realloc(t->sets, 2 * count * sizeof(struct prefetch_set *));
    if (!wider)
        return false;
    t->sets = wider;
    t->set_capacity = 2 * count;
    return true;
}

/* Adds what cpy_running_tasks will read to `count` sets, if it is likely to be called. */
static size_t add_awaiters(struct cpy_target *t, size_t count)
{
    if (t->awaiters_wanted)
        t->sets[count++] = &t->awaiters;
    t->awaiters_there = t->awaiters_wanted;
    return count;
}

/*
 * Finds out which threads have slept since their stacks were read: of these only the state is.
 * Where the kernel is asked about each thread anyway this costs nothing.
 */
static void find_sleepers(struct cpy_target *t)
{
    const bool asks = target_asks_cpu(t) && t->options.only == 0 && t->interp_count == 1;
    struct cached *cached;
    size_t i;

    for (i = 0; i < t->thread_cache.count; i++) {
        cached = t->thread_cache.all[i];
        cached->sleeps = asks && cached->whole && !cached->out.torn &&
                         sched_idle_since_read(&cached->sched_idle);
        cached->set.state_only = cached->sleeps;
        if (target_follows(t, cached->out.tid))
            prefetch_follow(&cached->set);
    }
}

void gil_skip_fetch_all(struct cpy_target *t)
{
    struct prefetch_set *common = &t->common;
    size_t i, count = 0;

    find_sleepers(t);
    if (t->thread_cache.count == 0 || !make_room(t, t->thread_cache.count + 2)) {
        prefetch_fetch(&t->prefetch, &common, 1);
    } else {
        t->sets[count++] = common; /* before the stacks: see gil_skip.h */
        for (i = 0; i < t->thread_cache.count; i++)
            t->sets[count++] = &t->thread_cache.all[i]->set;
        prefetch_fetch(&t->prefetch, t->sets, add_awaiters(t, count));
    }
    for (i = 0; i < t->thread_cache.count; i++) /* whoever is read again is read whole */
        t->thread_cache.all[i]->set.state_only = false;
}

/* The thread of an interpreter that held the GIL last; SIZE_MAX: it is none that was listed. */
static size_t last_holder_of(const struct cpy_target *t, size_t interp)
{
    size_t i;

    for (i = 0; i < t->thread_count; i++)
        if (t->threads[i].interp == interp &&
            t->threads[i].words.addr == t->interps[interp].last_holder)
            return i;
    return SIZE_MAX;
}

/* Marks a thread that ran, and plans to read it. */
static void mark(struct cpy_target *t, size_t i)
{
    if (t->threads[i].ran)
        return;
    t->threads[i].ran = true;
    t->sets[t->ran_count] = &t->threads[i].cached->set;
    t->ran[t->ran_count++] = i;
}

/* Marks those that held the GILs last, instead of those that ran before the last sample. */
static void mark_runners(struct cpy_target *t)
{
    size_t i;

    for (i = 0; i < t->ran_count; i++)
        t->threads[t->ran[i]].ran = false;
    t->ran_count = 0;
    for (i = 0; i < t->interp_count; i++)
        if (!sched_idle_since_read(&t->threads[t->interps[i].runner].cached->sched_idle))
            mark(t, t->interps[i].runner);
}

/* Compares an interpreter with what it was; marks who ran if its GIL went to another thread. */
static bool is_known(struct cpy_target *t, size_t i, bool *moved)
{
    struct interp now, *then = &t->interps[i];

    if (thread_list_read_interp(t, then, &now) != CPY_OK || now.next != then->next ||
        now.id != then->id || now.threads_head != then->threads_head || !now.counts)
        return false;
    if (now.switches == then->switches && now.last_holder == then->last_holder) {
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
    size_t i;

    for (i = 0; i < t->ran_count; i++) {
        struct listed *thread = &t->threads[t->ran[i]];

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
static bool is_enough(struct cpy_target *t)
{
    uint32_t asked = t->options.status | t->options.only;
    cpy_addr head;

    if (asked & CPY_STATUS_GIL_WAIT || (t->nameless > 0 && names_are_due(&t->names)))
        return false;
    if (++t->light_samples % HEADS_EACH != 0)
        return true;
    t->prefetch.now = NULL;
    return thread_list_heads(t, &head) == CPY_OK && head == t->interps[0].addr;
}

/* True if nothing in the process has run: its only thread is one that has slept. */
static bool stands_still(const struct cpy_target *t)
{
    return t->ran_count == 0 && t->thread_count == 1 && t->threads[0].cached->sched_idle.sole;
}

bool gil_skip_begin(struct cpy_target *t)
{
    size_t i, count;
    bool moved = false;

    if (!t->ready)
        return false;
    names_next_sample(&t->names, t->thread_count);
    if (!is_enough(t))
        return false;
    mark_runners(t);
    t->awaiters_there = t->counted_late = false;
    if (stands_still(t))
        return true;
    count = add_awaiters(t, t->ran_count);
    t->sets[count] = &t->common; /* last: the count of code objects is to be late */
    prefetch_fetch(&t->prefetch, t->sets, count + 1);
    t->prefetch.now = &t->common;
    for (i = 0; i < t->interp_count; i++)
        if (!is_known(t, i, &moved))
            return false;
    t->counted_late = !moved;
    if (moved) /* once more: all that ran since its count was read */
        prefetch_fetch(&t->prefetch, t->sets, t->ran_count);
    return read_ran(t);
}

bool gil_skip_all_idle(struct cpy_target *t)
{
    struct prefetch_set *common = &t->common;
    struct interp *then, now;
    bool rests = true;
    size_t i;

    prefetch_fetch(&t->prefetch, &common, 1);
    t->prefetch.now = common;
    for (i = 0; rests && i < t->interp_count; i++) {
        then = &t->interps[i];
        rests = thread_list_read_interp(t, then, &now) == CPY_OK && now.next == then->next &&
                now.id == then->id && now.threads_head == then->threads_head && now.counts &&
                now.switches == then->switches && now.last_holder == then->last_holder &&
                sched_idle_since_look(&t->threads[then->runner].cached->sched_idle);
    }
    t->prefetch.now = NULL;
    return rests;
}

bool gil_skip_gil_is_free(struct cpy_target *t)
{
    cpy_addr holder = 1;
    size_t i;

    if (t->found.gil_current == 0 ||
        mem_read_word(t->mem, t->found.gil_current, &holder) != CPY_OK || holder != 0)
        return false;
    for (i = 0; i < t->thread_count; i++)
        if (t->threads[i].cached->out.tid == t->awake && !t->threads[i].joined)
            return sched_idle_since_look(&t->threads[i].cached->sched_idle);
    return false;
}

/* Room to mark all threads. */
static bool make_room_to_mark(struct cpy_target *t)
{
    size_t *wider;

    if (t->thread_count <= t->ran_capacity)
        return true;
    wider = realloc(t->ran, t->thread_capacity * sizeof(*wider));
    if (!wider)
        return false;
    t->ran = wider;
    t->ran_capacity = t->thread_capacity;
    return true;
}

/* True if the state of all threads after a full sample is known well enough for a light one. */
static bool is_ready(struct cpy_target *t)
{
    const struct listed *thread;
    size_t i;

    if (t->thread_count == 0 || t->options.only != 0 || !make_room(t, t->thread_count + 2) ||
        !make_room_to_mark(t))
        return false;
    for (thread = t->threads; thread < t->threads + t->thread_count; thread++)
        if (!thread->cached->whole || thread->joined || thread->outer != 0)
            return false;
    for (i = 0; i < t->interp_count; i++) {
        t->interps[i].runner = last_holder_of(t, i);
        if (!t->interps[i].counts || t->interps[i].runner == SIZE_MAX)
            return false;
    }
    return true;
}

/* Whoever holds the GIL of the first interpreter, or did last: it is where it was, if it ran. */
static void note_runner(struct cpy_target *t)
{
    const struct listed *thread;
    size_t i = t->ready ? t->interps[0].runner : 0;

    while (!t->ready && i < t->thread_count &&
           t->threads[i].words.addr != t->interps[t->threads[i].interp].holder)
        i++;
    if (i == t->thread_count)
        return;
    thread = &t->threads[i];
    t->runner = tids_outer(&t->tids, thread->inner_tid);
    t->prefetch.place.tid = t->runner;
    t->prefetch.place.thread = thread->words.addr;
    t->prefetch.place.cpu =
        thread->cached->out.status & CPY_STATUS_CPU ? thread->cached->sched_idle.cpu : -1;
}

void gil_skip_end(struct cpy_target *t)
{
    size_t i;

    if (!t->gil_skips) {
        t->ran_count = 0;
        t->ready = is_ready(t);
    }
    for (i = 0; t->gil_skips && i < t->ran_count; i++)
        t->ready &= t->threads[t->ran[i]].cached->whole;
    note_runner(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - see status.h. */
#include "unwind/status.h"

/* True if `value` is an exception; in some versions None means that there is none. */
static bool is_exception(struct cpy_target *t, cpy_addr value)
{
    const struct reader reader = target_reader(t);
    cpy_addr type;

    if (value == 0 || value == t->cache.none_object)
        return false;
    if (mem_read_word(&t->prefetch.mem, value + t->found.layout.object.ob_type, &type) != CPY_OK)
        return false;
    if (!object_type_is(&reader, type, "NoneType"))
        return true;
    t->cache.none_object = value;
    return false;
}

/*
 * True if the thread handles or propagates an exception. What it handles is in a stack of
 * items: one of the thread, and one of each generator that runs, which is empty while only
 * the generator's caller handles one. sys.exc_info looks through them in the same way.
 */
static bool has_exception(struct cpy_target *t, const struct thread_words *words)
{
    enum { ITEMS_MAX = 256 };
    const struct layout *l = &t->found.layout;
    cpy_addr value, item = words->exc_info;

    if (words->current_exception != 0)
        return true;
    if (l->thread.exc_info == NO_FIELD)
        return is_exception(t, words->exc_value);
    for (int items = 0; item != 0 && items < ITEMS_MAX; items++) {
        struct mem_range ranges[2] = {{item + l->thread.exc_value, &value, 8},
                                      {item + l->thread.exc_previous, &item, 8}};

        if (mem_read_ranges(&t->prefetch.mem, ranges, 2) != CPY_OK)
            return false;
        if (is_exception(t, value))
            return true;
    }
    return false;
}

/* True if a state of the main interpreter (threads_main) is of the thread with this pthread_t. */
static bool has_main_module(const struct cpy_target *t, uint64_t thread_id)
{
    const struct listed *thread;
    const struct interp *interp;

    for (size_t i = 0; i < t->list.thread_count; i++) {
        thread = &t->list.threads[i];
        interp = &t->list.interps[thread->interp];
        if (interp->id == 0 && interp->threads_main == thread->words.addr)
            return thread->words.thread_id == thread_id;
    }
    return false;
}

/* 3.13 and later: true for the state that lies in the main interpreter itself. The thread that
 * began Python has it, and after its end another one may. */
static bool is_initial(const struct cpy_target *t, const struct listed *thread)
{
    const struct interp *interp = &t->list.interps[thread->interp];

    return interp->id == 0 && thread->words.addr - interp->addr < t->found.layout.interp.size;
}

static bool has_initial(const struct cpy_target *t)
{
    for (size_t i = 0; i < t->list.thread_count; i++)
        if (is_initial(t, &t->list.threads[i]))
            return true;
    return false;
}

/* True for the process's main thread, whichever interpreter it runs. */
static bool is_main(const struct cpy_target *t, const struct listed *thread)
{
    const struct interp *interp = &t->list.interps[thread->interp];

    if (t->found.layout.interp.threads_main == NO_FIELD)
        return thread->words.thread_id == t->list.main_thread_id;
    if (interp->id != 0)
        return has_main_module(t, thread->words.thread_id);
    if (interp->threads_main == 0) /* embedded: no main module runs */
        return is_initial(t, thread) || (thread->inner_tid != 0 && !has_initial(t) &&
                                         thread->inner_tid == (uint64_t)t->process.tids.inner_pid);
    return thread->words.addr == interp->threads_main;
}

uint32_t status_of_gil(const struct cpy_target *t, const struct listed *thread)
{
    const struct interp *interp = &t->list.interps[thread->interp];

    if (thread->words.addr != interp->holder)
        return 0;
    return CPY_STATUS_GIL | (interp->collecting != 0 ? CPY_STATUS_GC : 0);
}

uint32_t status_of(struct cpy_target *t, const struct listed *thread)
{
    const struct thread_words *words = &thread->words;
    uint32_t status = status_of_gil(t, thread), asked = t->options.status | t->options.only;

    if (is_main(t, thread))
        status |= CPY_STATUS_MAIN;
    if (!(status & CPY_STATUS_GIL) && asked & CPY_STATUS_GIL_WAIT && words->gil_requested)
        status |= CPY_STATUS_GIL_WAIT;
    if (asked & CPY_STATUS_EXCEPTION && has_exception(t, words))
        status |= CPY_STATUS_EXCEPTION;
    return status;
}

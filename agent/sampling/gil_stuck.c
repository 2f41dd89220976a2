/* SPDX-License-Identifier: Apache-2.0 */
/* gil_stuck.c - see gil_stuck.h. */
#include "agent/sampling/gil_stuck.h"

#include "agent/sampling/lock_cycle.h"

/* Looks come a little late, each of them. */
enum { LOOKS_ROOM = GIL_STUCK_LOOKS + 4 };

static void begin_stuck_watch(struct process_gil_stuck *stuck, uint64_t now_ns)
{
    *stuck = (struct process_gil_stuck){.since_ns = now_ns};
}

void gil_stuck_note(struct process_thread *thread, const struct cpy_thread *seen, uint64_t now_ns)
{
    if (!(seen->status & CPY_STATUS_GIL) || seen->torn)
        begin_stuck_watch(&thread->stuck, 0);
    else if (!seen->still || thread->stuck.since_ns == 0)
        begin_stuck_watch(&thread->stuck, now_ns);
}

/* Compares what the thread's frames hold with the last time, if that is long enough ago. */
static void look_closer(struct process *p, struct process_thread *thread, uint64_t now_ns)
{
    struct process_gil_stuck *stuck = &thread->stuck;
    const uint64_t last_ns = stuck->looks > 0 ? stuck->looked_ns : stuck->since_ns;
    uint64_t mark = 0;

    if (now_ns - last_ns < p->hang.after_ns / LOOKS_ROOM)
        return;
    if (cpy_fingerprint(p->target, thread->state, &mark) != CPY_OK ||
        (stuck->looks > 0 && stuck->mark != mark))
        begin_stuck_watch(stuck, now_ns);
    stuck->mark = mark;
    stuck->looked_ns = now_ns;
    stuck->looks++;
}

/* The thread that is stuck longest. */
static void find_longest(const struct process *p, struct hang_signs *signs)
{
    const struct process_thread *thread;

    for (thread = p->threads; thread < p->threads + p->thread_count; thread++) {
        if (thread->stuck.since_ns == 0 || thread->stuck.looks < GIL_STUCK_LOOKS)
            continue;
        if (signs->stuck_ns != 0 && signs->stuck_ns <= thread->stuck.since_ns)
            continue;
        signs->stuck_ns = thread->stuck.since_ns;
        signs->tid = thread->tid;
    }
}

bool gil_stuck_is_open(const struct process *p)
{
    for (size_t i = 0; p->hang.after_ns != 0 && i < p->thread_count; i++)
        if (p->threads[i].stuck.since_ns != 0 && p->threads[i].stuck.looks < GIL_STUCK_LOOKS)
            return true;
    return false;
}

bool gil_stuck_look(struct process *p, uint64_t now_ns)
{
    struct hang_signs signs = {.moved_ns = p->idle.moved_ns};
    struct process_thread *thread;

    if (p->hang.after_ns == 0)
        return false;
    for (thread = p->threads; thread < p->threads + p->thread_count; thread++)
        if (thread->stuck.since_ns != 0)
            look_closer(p, thread, now_ns);
    find_longest(p, &signs);
    lock_cycle_look(p, now_ns);
    return hang_note(&p->hang, p->id.pid, &signs, now_ns);
}

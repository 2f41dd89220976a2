/* SPDX-License-Identifier: Apache-2.0 */
/* lock_cycle.c - see lock_cycle.h. */
#include "agent/sampling/lock_cycle.h"

#include "base/hash.h"

#define LOOK_LEAST_NS (2 * NS_PER_S)

enum { WAITS_MAX = 256 }; /* threads that are looked at */

/* True if the holders of the locks lead back to the same wait. */
static bool comes_back(const struct cpy_lock_wait *waits, size_t count, size_t first)
{
    size_t at = first;

    for (size_t steps = 0; steps < count; steps++) {
        at = waits[at].holder;
        if (at >= count)
            return false;
        if (at == first)
            return true;
    }
    return false;
}

uint64_t lock_cycle_find(const struct cpy_lock_wait *waits, size_t count, size_t *out_first)
{
    uint64_t hash = 0;

    for (size_t i = count; i-- > 0;) {
        if (!comes_back(waits, count, i))
            continue;
        hash = hash_fnv(hash ? hash : HASH_START, &waits[i].state, sizeof(waits[i].state));
        hash = hash_fnv(hash, &waits[i].lock, sizeof(waits[i].lock));
        *out_first = i;
    }
    return hash;
}

/* The threads that wait, and their ids. Gives their number. *out_hash differs if one has run. */
static size_t list_waits(const struct process *p, struct cpy_lock_wait waits[WAITS_MAX],
                         pid_t tids[WAITS_MAX], uint64_t *out_hash)
{
    uint64_t hash = HASH_START, at;
    size_t count = 0;

    for (size_t i = 0; i < p->thread_count && count < WAITS_MAX; i++) {
        if (!hang_thread_waits(p->id.pid, p->threads[i].tid, &at))
            continue;
        hash = hash_fnv(hash, &p->threads[i].state, sizeof(cpy_addr));
        hash = hash_fnv(hash, &p->threads[i].times.cpu_ns, sizeof(uint64_t));
        hash = hash_fnv(hash, &at, sizeof(at));
        waits[count] = (struct cpy_lock_wait){.state = p->threads[i].state, .futex = at};
        tids[count++] = p->threads[i].tid;
    }
    *out_hash = hash;
    return count;
}

void lock_cycle_look(struct process *p, uint64_t now_ns)
{
    const uint64_t every_ns = p->hang.after_ns > LOOK_LEAST_NS ? p->hang.after_ns : LOOK_LEAST_NS;
    struct hang_cycle *cycle = &p->hang.cycle;
    struct cpy_lock_wait waits[WAITS_MAX];
    pid_t tids[WAITS_MAX] = {0};
    uint64_t mark = 0, waits_mark;
    size_t count, first = 0;

    if (cycle->looked_ns != 0 && now_ns - cycle->looked_ns < every_ns)
        return;
    cycle->looked_ns = now_ns;
    count = list_waits(p, waits, tids, &waits_mark);
    if (waits_mark == cycle->waits_mark) /* all as they were */
        return;
    if (count > 1 && cpy_lock_holders(p->target, waits, count) == CPY_OK)
        mark = lock_cycle_find(waits, count, &first);
    if (mark != cycle->mark)
        cycle->since_ns = now_ns;
    cycle->waits_mark = waits_mark;
    cycle->mark = mark;
    cycle->tid = tids[first];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* asked_use.c - see asked_use.h. */
#include "agent/host/asked_use.h"

#include <stdatomic.h>
#include <time.h>

#include "base/time_units.h"

static atomic_uint_fast64_t cpu_ns;
static atomic_size_t memory;
static _Thread_local uint64_t counted_ns; /* of this thread, in cpu_ns already */

void asked_use_count_thread(void)
{
    struct timespec used;
    uint64_t now_ns;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0)
        return;
    now_ns = timespec_to_ns(used);
    atomic_fetch_add(&cpu_ns, now_ns - counted_ns);
    counted_ns = now_ns;
}

uint64_t asked_use_cpu_ns(void)
{
    return atomic_load(&cpu_ns);
}

bool asked_use_take_memory(size_t bytes, size_t max)
{
    size_t before = atomic_load(&memory);

    do {
        if (before > max || bytes > max - before)
            return false;
    } while (!atomic_compare_exchange_weak(&memory, &before, before + bytes));
    return true;
}

void asked_use_return_memory(size_t bytes)
{
    atomic_fetch_sub(&memory, bytes);
}

size_t asked_use_memory(void)
{
    return atomic_load(&memory);
}

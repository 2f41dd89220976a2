/* SPDX-License-Identifier: Apache-2.0 */
/* log_limit.c - see log_limit.h. */
#include "agent/host/log_limit.h"

#include <stddef.h>

enum { TRIES = 8, ENTRIES = LOG_KINDS - 1 };

/* The place of a kind; the first one of the table where there is none left. */
static struct log_kind *find_log_kind(struct log_limit *limit, uint64_t kind)
{
    kind = kind ? kind : 1; /* 0 is a free place */
    for (uint64_t i = 0; i < TRIES; i++) {
        struct log_kind *entry = &limit->kinds[1 + (kind + i) % (uint64_t)ENTRIES];
        uint_fast64_t there = 0;

        if (atomic_compare_exchange_strong(&entry->kind, &there, kind) || there == kind)
            return entry;
    }
    return &limit->kinds[0];
}

bool log_limit_pass(struct log_limit *limit, uint64_t kind, uint64_t now_ns, uint64_t *out_left_out)
{
    struct log_kind *entry = find_log_kind(limit, kind);
    uint_fast64_t due = atomic_load(&entry->due_ns), from;

    do {
        from = due > now_ns ? due : now_ns;
        if (from - now_ns > (LOG_BURST - 1) * LOG_EVERY_NS) {
            atomic_fetch_add(&entry->left_out, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&entry->due_ns, &due, from + LOG_EVERY_NS));
    *out_left_out = atomic_exchange(&entry->left_out, 0);
    return true;
}

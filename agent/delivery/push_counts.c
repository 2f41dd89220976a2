/* SPDX-License-Identifier: Apache-2.0 */
/* push_counts.c - see push_counts.h. */
#include "agent/delivery/push_counts.h"

#include "base/time_units.h"

const char *push_outcome_name(enum push_outcome outcome)
{
    static const char *const names[] = {
        [PUSH_OK] = "ok",
        [PUSH_RETRY] = "retry",
        [PUSH_REFUSED] = "refused",
        [PUSH_DENIED] = "denied",
    };

    return names[outcome];
}

static enum push_outcome outcome_of(enum exporter_rc rc, const struct exporter_answer *answer)
{
    if (rc == EXPORTER_OK)
        return PUSH_OK;
    if (answer->denied)
        return PUSH_DENIED;
    return rc == EXPORTER_REFUSED ? PUSH_REFUSED : PUSH_RETRY;
}

/* The last place stands for all codes that there was none for. */
static void count_code(struct push_counts *counts, long code)
{
    size_t i = 0;

    while (i < counts->code_count && counts->codes[i].code != code)
        i++;
    if (i >= PUSH_CODES - 1) {
        i = PUSH_CODES - 1;
        code = PUSH_CODE_OTHER;
    }
    if (i >= counts->code_count)
        counts->code_count = i + 1;
    counts->codes[i].code = code;
    counts->codes[i].count++;
}

void push_counts_add(struct push_counts *counts, enum exporter_rc rc,
                     const struct exporter_answer *answer, uint64_t took_ns, int64_t utc_ns)
{
    static const uint64_t bounds_ms[PUSH_BOUNDS] = PUSH_BOUNDS_MS;
    enum push_outcome outcome = outcome_of(rc, answer);
    size_t bucket = 0;

    while (bucket < PUSH_BOUNDS && took_ns > bounds_ms[bucket] * NS_PER_MS)
        bucket++;
    counts->buckets[bucket]++;
    counts->duration_ns += took_ns;
    counts->pushes[outcome]++;
    count_code(counts, answer->status);
    if (outcome == PUSH_OK)
        counts->last_ok_ns = utc_ns;
}

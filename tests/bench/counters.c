/* SPDX-License-Identifier: Apache-2.0 */
/* counters.c - see counters.h. */
#include "tests/bench/counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct counter {
    const char *name;
    size_t offset;
} counters[] = {
#define COUNTER(field, label, text) {label, offsetof(struct cpy_stats, field)},
    CPY_STATS(COUNTER)
#undef COUNTER
};

static uint64_t value_of(const struct cpy_stats *stats, const struct counter *counter)
{
    uint64_t value;

    memcpy(&value, (const char *)stats + counter->offset, sizeof(value));
    return value;
}

void counters_print(const struct cpy_stats *before, const struct cpy_stats *after)
{
    size_t i;

    for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        (void)printf("%s\"%s\": %" PRIu64, i ? ", " : "{", counters[i].name,
                     value_of(after, &counters[i]) - value_of(before, &counters[i]));
    (void)printf("}");
}

uint64_t counters_torn(const struct cpy_stats *stats)
{
    return stats->torn;
}

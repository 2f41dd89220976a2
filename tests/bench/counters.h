/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - all counters of the unwinder by name: the one place of the benchmark that lists
 * them. */
#ifndef TESTS_BENCH_COUNTERS_H
#define TESTS_BENCH_COUNTERS_H

#include "unwind/cpy.h"

/* Prints what was counted between two moments, as a JSON object. */
void counters_print(const struct cpy_stats *before, const struct cpy_stats *after);

/* Stacks and tasks that were given up, for whatever reason. */
uint64_t counters_torn(const struct cpy_stats *stats);

#endif

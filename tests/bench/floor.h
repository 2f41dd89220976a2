/* SPDX-License-Identifier: Apache-2.0 */
/* floor.h - what the cheapest read of so many bytes of a process costs, in the same run. */
#ifndef TESTS_BENCH_FLOOR_H
#define TESTS_BENCH_FLOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Medians, in ns, the two readings of the clock included as in every other figure. */
struct floor_cost {
    uint64_t bytes;              /* what was read: as asked for, as far as one mapping has it */
    uint64_t readv_ns, pread_ns; /* process_vm_readv of one range, /proc/PID/mem kept open */
    uint64_t word_readv_ns, word_pread_ns; /* the same of 8 bytes */
    uint64_t clock_ns;                     /* nothing between the two readings */
};

/* Measures it. False: the process cannot be read. */
bool floor_measure(pid_t pid, uint64_t bytes, struct floor_cost *out);

/* CLOCK_MONOTONIC. */
uint64_t floor_now_ns(void);

#endif

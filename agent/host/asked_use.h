/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked_use.h - CPU time and memory that this process uses to answer HTTP requests. It is no part
 * of the cost of sampling.
 *
 * Threads: any.
 */
#ifndef AGENT_HOST_ASKED_USE_H
#define AGENT_HOST_ASKED_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Adds the CPU time of the calling thread since its last call; at the first one, since it was
 * started. */
void asked_use_count_thread(void);

/* CPU time of all threads that have called asked_use_count_thread. */
uint64_t asked_use_cpu_ns(void);

/* Counts `bytes` of memory, unless the sum would be over `max`: false. */
MUST_CHECK bool asked_use_take_memory(size_t bytes, size_t max);
void asked_use_return_memory(size_t bytes);
size_t asked_use_memory(void);

#endif

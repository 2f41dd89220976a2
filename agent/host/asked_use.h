/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked_use.h - counts the CPU time and memory with which this process answers HTTP requests. They
 * are no cost of sampling.
 *
 * Threads: any.
 */
#ifndef AGENT_HOST_ASKED_USE_H
#define AGENT_HOST_ASKED_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Adds the CPU time of the calling thread since its last call of this, or since its start. */
void asked_use_count_thread(void);

/* Sum of what asked_use_count_thread has added. */
uint64_t asked_use_cpu_ns(void);

/* Adds `bytes` to the memory in use. False: the sum would exceed `max`; nothing is added. */
MUST_CHECK bool asked_use_take_memory(size_t bytes, size_t max);

/* Subtracts bytes that were added. */
void asked_use_return_memory(size_t bytes);

/* Bytes of memory in use. */
size_t asked_use_memory(void);

#endif

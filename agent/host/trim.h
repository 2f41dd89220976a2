/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim.h - decides when free memory of the heap is given back to the system (malloc_trim).
 *
 * glibc by itself gives back only the end of the heap. To open a process takes some hundred KiB for
 * a moment (its maps, its ELF files), next to small blocks that stay. So the heap gets more holes
 * than contents: a third of all memory with 100 processes. Profiles come and go in a heap, too,
 * whose holes would grow by some 500 KiB an hour on hosts that replace workers all the time.
 *
 * Shape: a struct of zeros; trim_soon after each use of much memory; trim_now in the main loop.
 * Units: now_ns is monotonic.
 */
#ifndef AGENT_HOST_TRIM_H
#define AGENT_HOST_TRIM_H

#include <stdbool.h>
#include <stdint.h>

struct trim {
    uint64_t due_ns, by_ns; /* time to give memory back, and its latest; by_ns 0: nothing to do */
};

/* Notes that much memory was used: trim_now gives it back one second after the last call, or ten
 * seconds after the first. */
void trim_soon(struct trim *trim, uint64_t now_ns);

/* True if trim_now would give memory back. */
bool trim_is_due(const struct trim *trim, uint64_t now_ns);

/*
 * Gives memory back if trim_is_due. True: it did.
 *
 * Cost: nothing if it is not due; else about 0.1 ms per MiB of holes.
 */
bool trim_now(struct trim *trim, uint64_t now_ns);

#endif

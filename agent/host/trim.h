/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim.h - when to give memory back to the system that the allocator keeps.
 *
 * To open a process takes some hundred KiB for a moment (its maps, its ELF files), between what is
 * kept of those opened before: the heap ends up with more holes than contents, a third of all
 * memory with 100 processes. glibc gives back only what is at its end. Profiles come and go in a
 * heap, too, whose holes would add up to some 500 KiB an hour where workers are replaced all the
 * time.
 *
 * Shape: a struct of zeros; trim_soon after each use of much memory, trim now and then.
 */
#ifndef AGENT_HOST_TRIM_H
#define AGENT_HOST_TRIM_H

#include <stdbool.h>
#include <stdint.h>

struct trim {
    uint64_t due_ns, by_ns; /* 0: nothing is to be given back */
};

/* Much memory was used: it is to be given back once that is over, a second after the last use or
 * ten after the first. */
void trim_soon(struct trim *trim, uint64_t now_ns);

/* True if trim_now would give memory back. */
bool trim_is_due(const struct trim *trim, uint64_t now_ns);

/*
 * Gives the memory back if it is time to. True: it was.
 *
 * Cost: nothing as a rule; some 0.1 ms a MiB of holes when it is time to.
 */
bool trim_now(struct trim *trim, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - FNV-1a, a hash of bytes that is the same in each process and version.
 *
 * Not for tables whose keys a sampled process chooses, because collisions are easy to construct:
 * pprof/table.h has a seeded hash for those.
 *
 * Source:  http://www.isthe.com/chongo/tech/comp/fnv/
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(14695981039346656037) /* the hash of no bytes */

/* Gives `hash`, that of the preceding bytes, extended by these bytes. Begin with HASH_START. */
uint64_t hash_fnv(uint64_t hash, const void *bytes, size_t size);

/* Gives the hash of a string. */
uint64_t hash_text(const char *text);

/* Gives the 32-bit FNV-1a hash of a string; it is not the lower half of hash_text. */
uint32_t hash_text_32(const char *text);

#endif

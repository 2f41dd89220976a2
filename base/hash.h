/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - FNV-1a, a hash for short texts that is the same in each process and version.
 *
 * Not for tables with keys that a target chooses: equal hashes are easily made. pprof/table.h has a
 * hash with a seed for those.
 *
 * Source:  http://www.isthe.com/chongo/tech/comp/fnv/
 * Threads: functions of their arguments alone.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(14695981039346656037)

/* Gives the hash of all bytes so far: `hash` is that of the bytes before, HASH_START for none. */
uint64_t hash_fnv(uint64_t hash, const void *bytes, size_t size);

/* Gives the hash of a string. */
uint64_t hash_text(const char *text);

/* Gives the hash of a string in 32 bits, another number than the lower half of the one above. */
uint32_t hash_text_32(const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* opcode_names.h - the tables behind opcodes.c, generated: see opcode_names.c. */
#ifndef UNWIND_LAYOUTS_OPCODE_NAMES_H
#define UNWIND_LAYOUTS_OPCODE_NAMES_H

#include <stdint.h>

enum { OPCODES_FIRST_MINOR = 6, OPCODES_LAST_MINOR = 15 };
enum { CACHES_FIRST_MINOR = 11, CACHES_LAST_MINOR = 12 };

/* Each name that any version has, once. [0] is NULL. */
extern const char *const opcode_names[];

/* For each minor version and opcode the index of its name in opcode_names; 0: it has none. */
extern const uint16_t opcode_indexes[OPCODES_LAST_MINOR - OPCODES_FIRST_MINOR + 1][UINT8_MAX + 1];

/* For each of these minor versions and opcode what opcode_caches gives. */
extern const uint8_t opcode_cache_counts[CACHES_LAST_MINOR - CACHES_FIRST_MINOR + 1][UINT8_MAX + 1];

#endif

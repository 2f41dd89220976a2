/* SPDX-License-Identifier: Apache-2.0 */
/* opcodes.c - see opcodes.h. */
#include "unwind/layouts/opcodes.h"

#include <stddef.h>

#include "unwind/layouts/opcode_names.h"

const char *opcode_name(uint8_t minor, uint8_t opcode)
{
    if (minor < OPCODES_FIRST_MINOR || minor > OPCODES_LAST_MINOR)
        return NULL;
    return opcode_names[opcode_indexes[minor - OPCODES_FIRST_MINOR][opcode]];
}

uint8_t opcode_caches(uint8_t minor, uint8_t opcode)
{
    if (minor < CACHES_FIRST_MINOR || minor > CACHES_LAST_MINOR)
        return OPCODE_UNKNOWN;
    return opcode_cache_counts[minor - CACHES_FIRST_MINOR][opcode];
}

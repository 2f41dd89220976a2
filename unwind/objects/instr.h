/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instr.h - names the instruction that a frame is at, from the bytecode in the target.
 *
 * An instruction is a code unit with its opcode and, from 3.11 on, further units with its
 * inline caches: data, which may look like any opcode. A frame points to the first unit; but
 * in 3.11 and 3.12, while it waits for a Python function that it called, to the last cache.
 * To tell these apart, the instructions are followed one by one from the first. From 3.12 on
 * a debugger or a coverage tool may have replaced an opcode: then a table of the code object
 * has the original one, which determines the number of caches.
 */
#ifndef UNWIND_OBJECTS_INSTR_H
#define UNWIND_OBJECTS_INSTR_H

#include "unwind/objects/code.h"

enum { INSTR_UNITS_MAX = 1 << 20 }; /* code units; instructions behind these get no name */

/*
 * Names the instruction that is now at `unit` of a code object.
 *
 * Gives:  *out, static; NULL: it cannot be told.
 * Errors: CPY_RACED: the bytecode cannot be read (any more); others of mem_read.
 * Cost:   a read; in 3.11 and 3.12 one for each 1024 units up to `unit`, in 3.12 up to two more.
 */
MUST_CHECK enum cpy_rc instr_name(const struct reader *reader, const struct code_entry *entry,
                                  int32_t unit, const char **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instr.h - names the instruction that a frame is at, from the bytecode in the target.
 *
 * An instruction is a code unit with its opcode and, from 3.11 on, further units with its
 * inline caches: data, which may look like any opcode. A frame points to the first unit; but
 * in 3.11 and 3.12, while it waits for a Python function that it called, to the last of the
 * caches. Only who goes from instruction to instruction, from the first one on, can tell.
 * From 3.12 on a debugger or a coverage tool may have put another opcode in the place of an
 * instruction's own: how many caches follow is told by a table of the code object.
 */
#ifndef UNWIND_OBJECTS_INSTR_H
#define UNWIND_OBJECTS_INSTR_H

#include "unwind/objects/code.h"

enum { INSTR_UNITS_MAX = 1 << 20 }; /* what lies behind so many code units has no name */

/*
 * Names the instruction at `unit` of a code object, as it stands there now.
 *
 * Gives:  *out, static; NULL where it cannot be told.
 * Errors: CPY_RACED: the bytecode cannot be read (any more).
 * Cost:   a read; in 3.11 and 3.12 one or two more for each thousand units before `unit`.
 */
MUST_CHECK enum cpy_rc instr_name(const struct reader *reader, const struct code_entry *entry,
                                  int32_t unit, const char **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcodes.h - what CPython calls its instructions, version by version.
 *
 * An opcode is the first byte of a code unit. Its number means something else in each
 * minor version, and stays as it is within one. From 3.11 on the interpreter overwrites
 * an instruction with a form specialised for the types it met, and from 3.12 on with one
 * that reports to a debugger or profiler: those have numbers and names of their own.
 */
#ifndef UNWIND_LAYOUTS_OPCODES_H
#define UNWIND_LAYOUTS_OPCODES_H

#include <stdint.h>

/*
 * Names an opcode of CPython 3.`minor`, e.g. "BINARY_OP_ADD_INT".
 *
 * Gives: a static string; NULL where that version has no such opcode, or is not known.
 */
const char *opcode_name(uint8_t minor, uint8_t opcode);

/* What opcode_caches gives instead of a count. */
enum {
    OPCODE_CACHES_MAX = 0xF,
    OPCODE_HIDES_LINE = 0xFD,        /* as many as the opcode has that INSTRUMENTED_LINE hides */
    OPCODE_HIDES_INSTRUCTION = 0xFE, /* ... or INSTRUMENTED_INSTRUCTION */
    OPCODE_UNKNOWN = 0xFF            /* it begins no instruction, or the version is not known */
};

/*
 * Tells how many code units of inline caches follow an opcode of CPython 3.`minor`. Known of
 * 3.11 and 3.12: elsewhere nobody needs it.
 */
uint8_t opcode_caches(uint8_t minor, uint8_t opcode);

#endif

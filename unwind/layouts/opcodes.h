/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcodes.h - names of CPython's instructions, for each version.
 *
 * An opcode is the first byte of a code unit. The meaning of its number is fixed within a
 * minor version, and differs between minor versions. From 3.11 on the interpreter replaces
 * opcodes by forms specialised for the types that it met, from 3.12 on also by forms that
 * report to a debugger or profiler: these have numbers and names of their own.
 */
#ifndef UNWIND_LAYOUTS_OPCODES_H
#define UNWIND_LAYOUTS_OPCODES_H

#include <stdint.h>

/*
 * Names an opcode of CPython 3.`minor`, e.g. "BINARY_OP_ADD_INT".
 *
 * Gives: a static string; NULL: that version has no such opcode, or is not known.
 */
const char *opcode_name(uint8_t minor, uint8_t opcode);

/* Results of opcode_caches. */
enum {
    OPCODE_CACHES_MAX = 0xF,         /* up to this: a count */
    OPCODE_HIDES_LINE = 0xFD,        /* the count of the opcode that INSTRUMENTED_LINE replaced */
    OPCODE_HIDES_INSTRUCTION = 0xFE, /* ... or INSTRUMENTED_INSTRUCTION */
    OPCODE_UNKNOWN = 0xFF            /* it begins no instruction, or the version is not known */
};

/*
 * Number of code units of inline caches that follow an opcode of CPython 3.`minor`. Known for 3.11
 * and 3.12 only, because only instr.c needs it, for versions with instr_in_caches.
 */
uint8_t opcode_caches(uint8_t minor, uint8_t opcode);

#endif

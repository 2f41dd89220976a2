/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_legacy.h - version of CPython 3.6 to 3.10, and interpreters of 3.6, which no symbol gives.
 */
#ifndef UNWIND_LOCATE_FIND_LEGACY_H
#define UNWIND_LOCATE_FIND_LEGACY_H

#include "unwind/locate/elf.h"

/*
 * The version, as sys.hexversion, from the text of Py_GetVersion in the object's writable data:
 * "3.8.18 (default, ...". 0: not found.
 */
uint32_t find_legacy_version(struct mem *mem, const struct elf_image *image);

/*
 * Finds the variable interp_head, the list of interpreters of 3.6, which has no _PyRuntime. Its
 * address is only in the machine code of PyInterpreterState_Head (x86-64 only).
 *
 * Errors: CPY_FOREIGN: no such function, or other code; those of mem_read.
 */
MUST_CHECK enum cpy_rc find_legacy_interp_head(struct mem *mem, const struct elf_image *image,
                                               cpy_addr *out);

#endif

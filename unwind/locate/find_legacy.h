/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_legacy.h - what has to be guessed of CPython 3.6 to 3.10, which do not say it themselves.
 */
#ifndef UNWIND_LOCATE_FIND_LEGACY_H
#define UNWIND_LOCATE_FIND_LEGACY_H

#include "unwind/locate/elf.h"

/*
 * The version, from the text that Py_GetVersion keeps in the object's data:
 * "3.8.18 (default, ...". As sys.hexversion; 0: not found.
 */
uint32_t find_legacy_version(struct mem *mem, const struct elf_image *image);

/*
 * 3.6 has no _PyRuntime. Its list of interpreters begins in the variable interp_head,
 * which only the machine code of PyInterpreterState_Head gives away.
 *
 * Errors: CPY_FOREIGN: there is no such function, or its code is another.
 */
MUST_CHECK enum cpy_rc find_legacy_interp_head(struct mem *mem, const struct elf_image *image,
                                               cpy_addr *out);

#endif

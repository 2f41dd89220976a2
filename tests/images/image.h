/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - memory images for tests: what the unwinder read from a process, kept in a file, and a
 * target that is read from such a file instead of a process.
 *
 * The format, little endian: "PYSTIMG2", u32 Py_Version (0: the runtime carries debug
 * offsets), u32 count of ranges, u64 address of _PyRuntime, u64 address of
 * _PyThreadState_Current (3.6; else 0); then for each range, by
 * address and without overlap: u64 address, u64 size, the bytes. Where a process has
 * nothing, at ASYNCIO_IN_IMAGE, an image has the u64 address of asyncio's table, if any.
 *
 * Threads: as a target.
 */
#ifndef TESTS_IMAGES_IMAGE_H
#define TESTS_IMAGES_IMAGE_H

#include "unwind/target.h"

/* As cpy_open, for an image. Errors: CPY_FOREIGN: it is no image; CPY_NOMEM; `err` says why. */
MUST_CHECK enum cpy_rc image_open_target(const char *path, struct cpy_target **out,
                                         struct err *err);

/*
 * Writes what opening, one sample and the tasks of process `pid` read into an image file. Errors:
 * those of cpy_open and cpy_sample; `err` says why.
 */
MUST_CHECK enum cpy_rc image_take(pid_t pid, const char *path, struct err *err);

/* An image as memory, and what was found in the process that it is of. */
MUST_CHECK enum cpy_rc image_open(const char *path, struct mem **out, struct found *found,
                                  struct err *err);

/* Memory that remembers what is read through it. Takes over `inner`. */
MUST_CHECK struct mem *image_recorder(struct mem *inner);

/* Writes what a recorder has seen. */
MUST_CHECK enum cpy_rc image_write(const struct mem *recorder, const char *path,
                                   const struct found *found, struct err *err);

#endif

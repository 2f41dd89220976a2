/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_write.h - brings a file into a directory whole, or not at all.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_STORE_WRITE_H
#define EXPORTERS_STORE_WRITE_H

#include "base/err.h"
#include "exporters/store_name.h"

/*
 * Writes `bytes` aside, makes them durable and gives them their name in the open
 * directory `dir`. While the file lies aside it is locked.
 *
 * Errors: false and errno; nothing is left in the directory.
 */
MUST_CHECK bool store_write(int dir, const struct store_file *file, const void *bytes, size_t size);

/* Makes the names in a directory durable. False and errno on failure. */
MUST_CHECK bool store_write_sync(int dir);

#endif

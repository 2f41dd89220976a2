/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - finds and reads the pprof files that a report is about. */
#ifndef AGENT_REPORT_FILES_H
#define AGENT_REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "exporters/store_name.h"

enum { REPORT_FILES_MAX = 200000 };

/* Paths in the order of their names. */
struct report_files {
    char **paths; /* owned, each */
    size_t count;
    size_t capacity;
    size_t shut;   /* folders that could not be read, and were named on the standard error */
    bool explains; /* whose it is that could not be read; set by report_files_of_store */
    /* Names before the one are too old, from the other on too new. */
    char since[STORE_FILE_SIZE], until[STORE_FILE_SIZE];
};

/*
 * Adds all *.pb.gz of a store: DIR/SERVICE/FILE, of one service if it is not NULL, and only those
 * that began at `since_ns` (UTC) or later, by their names; 0: all. Without `service`, a folder that
 * cannot be read is named and left out.
 *
 * Errors: false; `err` says what.
 */
MUST_CHECK bool report_files_of_store(const char *store, const char *service, int64_t since_ns,
                                      struct report_files *files, struct err *err);

/*
 * The same for one service's folder, and what began from `from_ms` on and before `to_ms` (UTC).
 *
 * Errors: false; `err` says what. A folder that is not there has no files.
 */
MUST_CHECK bool report_files_of_range(const char *store, const char *folder, int64_t from_ms,
                                      int64_t to_ms, struct report_files *files, struct err *err);

/* Frees the paths. */
void report_files_finish(struct report_files *files);

/*
 * Reads a regular file to the end of `out`. `info`: what stat(2) tells of it; may be NULL.
 *
 * Errors: false; `err` says what, and errno is ENOENT only if there is no such file.
 */
MUST_CHECK bool report_read(const char *path, struct buf *out, struct stat *info, struct err *err);

#endif

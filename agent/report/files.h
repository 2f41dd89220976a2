/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - finds and reads the pprof files for a report in a store: a directory with a folder for
 * each service. A file's name begins with the start of its profile (store_name.h).
 */
#ifndef AGENT_REPORT_FILES_H
#define AGENT_REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "exporters/store_name.h"

enum { REPORT_FILES_MAX = 200000 }; /* more files are an error */

/* Paths of files. After each successful call of a function below, all are sorted by the whole path,
 * and thus those of one service by time. The caller sets all fields to 0 before the first use, and
 * calls report_files_finish at the end. */
struct report_files {
    char **paths; /* owned: the array and each path */
    size_t count;
    size_t capacity;
    size_t unreadable; /* folders that could not be read */
    /* report_files_of_range sets both, report_files_of_store only `since`. File names that sort
     * before `since` are too old; the name `until` and those that sort after it are too new. "":
     * there is no such limit. */
    char since[STORE_FILE_SIZE], until[STORE_FILE_SIZE];
};

/*
 * Adds the *.pb.gz files of a store whose profiles start at `since_ns` or later (UTC, ns since
 * 1970; 0: all profiles). `since_ns` is rounded down to a second. `service` is the name of the
 * service whose files to add; NULL: all services.
 *
 * If the folder of `service` is absent, adds nothing; if it cannot be read, that is an error. Where
 * `service` is NULL, a store that is absent or cannot be read is an error, too, and a folder of a
 * service that cannot be read is named on stderr and left out.
 *
 * Errors: false; `err` says why. *files may have grown.
 */
MUST_CHECK bool report_files_of_store(const char *store, const char *service, int64_t since_ns,
                                      struct report_files *files, struct err *err);

/*
 * Adds the *.pb.gz files of one folder of a store, whose profiles start at `from_ms` or later and
 * before `to_ms` (UTC, ms since 1970). `folder` is the folder's name in the store, as
 * store_name_service makes it of the service's name. If the folder is absent, there are no files.
 *
 * Errors: false; `err` says why. *files may have grown.
 */
MUST_CHECK bool report_files_of_range(const char *store, const char *folder, int64_t from_ms,
                                      int64_t to_ms, struct report_files *files, struct err *err);

/* Frees the paths, and sets all fields to 0. */
void report_files_finish(struct report_files *files);

/*
 * Appends the content of a regular file, or with the path "-" of the standard input, to `out`. It
 * is an error if `out` would exceed its maximum. Fills in *info as fstat(2) does; `info` may be
 * NULL.
 *
 * Errors: false: `err` says why, without the path, and errno is ENOENT only if there is no such
 *         file. `out` may have grown.
 */
MUST_CHECK bool report_read(const char *path, struct buf *out, struct stat *info, struct err *err);

#endif

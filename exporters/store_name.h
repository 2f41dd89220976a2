/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_name.h - the names of the store's directories and files, to and from.
 *
 * Threads: functions of their arguments alone.
 *
 * A directory is named after its service: letters, digits, '-', '_' and '.' stay,
 * every other byte is %XX, and so is a '.' in front; the empty name is "%00". A
 * name that gets longer than STORE_SERVICE_PLAIN is cut and ends in '~' and a hash:
 * that one cannot be turned back (the profile itself has the whole name).
 *
 * A file is named 20261120T175501.123Z-0123456789abcdef-01234567.pb.gz: the start of the
 * profile in UTC, a random number, and whose processes it is of. Without the last part, as
 * older versions wrote it, that is not known. While it is written, it has a '.' in front and .tmp
 * for .pb.gz.
 */
#ifndef EXPORTERS_STORE_NAME_H
#define EXPORTERS_STORE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORE_SERVICE_PLAIN = 180,                         /* bytes of a name that is not cut */
    STORE_SERVICE_SIZE = STORE_SERVICE_PLAIN + 17 + 1, /* room for any, with the NUL */
    STORE_START_SIZE = 21,                             /* 20261120T175501.123Z, with the NUL */
    STORE_FILE_SIZE = 56                               /* room for any, with the NUL */
};

struct store_file {
    int64_t start_ms; /* UTC */
    uint64_t id;
    uint32_t owner; /* see exporter_profile; 0: not known */
};

/* Writes the directory's name of a service. */
void store_name_service(const char *service, char out[STORE_SERVICE_SIZE]);

/* True if store_name_service can have made this name. */
bool store_name_is_service(const char *name);

/*
 * Turns a directory's name back into the service's. `out` has room for strlen(name) + 1.
 *
 * Gives: false if the name is none of ours or was cut.
 */
bool store_name_read_service(const char *name, char *out);

/* Writes 20261120T175501.123Z; no year before 1970 or after 9999 is any profile's. */
void store_name_start(int64_t ms, char out[STORE_START_SIZE]);

/* Writes the name of a file, or of the temporary that will become it. */
void store_name_file(const struct store_file *file, bool temporary, char out[STORE_FILE_SIZE]);

/* Reads such a name. Gives: false if it is none of ours; then *file is untouched. */
bool store_name_read_file(const char *name, bool temporary, struct store_file *file);

#endif

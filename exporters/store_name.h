/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_name.h - makes and parses the names of the store's directories and files.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 *
 * A directory is named after its service: ASCII letters, digits, '-', '_' and '.' stay, each other
 * byte becomes %XX, as does a leading '.'; the empty name is "%00". A name that gets longer than
 * STORE_SERVICE_PLAIN is cut and ends in '~' and a hash, so it cannot be turned back; the profile
 * itself has the whole name.
 *
 * A file is named 20261120T175501.123Z-0123456789abcdef-01234567.pb.gz: the start of the profile in
 * UTC, a random number, the owner. The last is absent if it is not known, as in files of older
 * versions. While the file is written, its name begins with '.' and ends in .tmp, not .pb.gz.
 */
#ifndef EXPORTERS_STORE_NAME_H
#define EXPORTERS_STORE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORE_SERVICE_PLAIN = 180,                         /* bytes of a directory name, uncut */
    STORE_SERVICE_SIZE = STORE_SERVICE_PLAIN + 17 + 1, /* bytes of the longest, with the NUL */
    STORE_START_SIZE = 21,                             /* 20261120T175501.123Z, with the NUL */
    STORE_FILE_SIZE = 56                               /* bytes of the longest, with the NUL */
};

struct store_file {
    int64_t start_ms; /* UTC */
    uint64_t id;      /* the random number */
    uint32_t owner;   /* see exporter_profile; 0: not known */
};

/* Writes the name of a service's directory. */
void store_name_service(const char *service, char out[STORE_SERVICE_SIZE]);

/* True if store_name_service makes such names. */
bool store_name_is_service(const char *name);

/*
 * Turns a directory's name back into the service's. `out` has room for strlen(name) + 1.
 *
 * Gives: false if store_name_service makes no such name, or has cut it.
 */
bool store_name_read_service(const char *name, char *out);

/* Writes 20261120T175501.123Z; a time before 1970 or after 9999 becomes the first or last one. */
void store_name_start(int64_t ms, char out[STORE_START_SIZE]);

/* Writes the name of a file, or of the temporary file that will become it. */
void store_name_file(const struct store_file *file, bool temporary, char out[STORE_FILE_SIZE]);

/* Parses such a name. False: store_name_file makes no such name; *file is untouched. */
bool store_name_read_file(const char *name, bool temporary, struct store_file *file);

#endif

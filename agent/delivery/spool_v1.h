/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_v1.h - reads a spool of version 1, which had one profile a file.
 *
 * Shape:   spool_v1_list, spool_v1_read each, spool_v1_remove.
 * Threads: any; no state is shared.
 *
 * The file name of an entry, such as 0123456789abcdef-0003.profile, is its number and a bit mask of
 * the exporters that have yet to deliver it, both in hex. Bit 0 is the first exporter in the head.
 * A file is, little-endian:
 *
 *   offset size
 *        0    8  89 50 53 50 4f 4f 4c 0a ("\x89PSPOOL\n")
 *        8    4  version: 1
 *       12    4  size of the head: this table and the strings
 *       16    8  size of the payload, which ends the file
 *       24    4  CRC-32 of the payload, as zlib has it
 *       28    4  CRC-32 of the head with these four bytes as 0
 *       32    8  start of the profile, in ns since 1970, UTC
 *       40    8  its end
 *       48    8  when it was put here
 *       56    4  its form: enum exporter_form
 *       60    2  count of exporters, 1 to 16
 *       62    2  count of labels, up to 256
 *       64       strings: the exporters' names, service, type, then name and value of each label
 *
 * A string is its size (4 bytes) and that many bytes, the last of them 0; size 0: there is none.
 */
#ifndef AGENT_DELIVERY_SPOOL_V1_H
#define AGENT_DELIVERY_SPOOL_V1_H

#include <stdbool.h>

#include "base/err.h"
#include "exporters/profile.h"

enum {
    SPOOL_V1_OWERS_MAX = 16, /* exporters in a head */
    SPOOL_V1_LABELS_MAX = 256,
    SPOOL_V1_HEAD_MAX = 64 * 1024,   /* bytes */
    SPOOL_V1_PAYLOAD_MAX = 64 << 20, /* bytes */
    SPOOL_V1_LIST_MAX = 64 * 1024,   /* entries */
    SPOOL_V1_NAME_SIZE = 32          /* bytes of a file name, with the final 0 byte */
};

/* A parsed file name of an entry. */
struct spool_v1_name {
    uint64_t number;
    uint16_t owed; /* bit n: owers[n] has yet to deliver it; never 0 */
};

/* Names of entries of a directory, the oldest first. */
struct spool_v1_list {
    struct spool_v1_name *names; /* owned: ended with free */
    size_t count, capacity;
};

struct spool_v1_entry {
    unsigned char *bytes;                  /* owned: ended with free */
    const char *owers[SPOOL_V1_OWERS_MAX]; /* the exporters in the head, delivered or not */
    size_t ower_count;
    unsigned form; /* enum exporter_form */
    /* Its labels are in `labels`: do not copy the struct. Service and type may be NULL. */
    struct exporter_profile profile;
    struct label labels[SPOOL_V1_LABELS_MAX];
};

/*
 * Lists a directory. Of more than SPOOL_V1_LIST_MAX entries it lists any that many.
 *
 * Gives:  *out, whose names the caller frees, on failure too.
 * Errors: false: it cannot be read, or out of memory; errno says which.
 */
MUST_CHECK bool spool_v1_list(int dir, struct spool_v1_list *out);

/*
 * Reads an entry and checks it.
 *
 * Gives:  *out, whose bytes the caller frees; on failure there is nothing to free.
 * Errors: false: it is no complete profile, is gone, cannot be read, or out of memory.
 */
MUST_CHECK bool spool_v1_read(int dir, const struct spool_v1_name *name,
                              struct spool_v1_entry *out);

/* Reads an entry from all bytes of its file: *out points into `bytes`, and out->bytes is NULL.
 * False: it is no complete profile. */
MUST_CHECK bool spool_v1_decode(const void *bytes, size_t size, struct spool_v1_entry *out);

/* Removes an entry. */
void spool_v1_remove(int dir, const struct spool_v1_name *name);

/* The file name of an entry. */
void spool_v1_file_name(const struct spool_v1_name *name, char out[SPOOL_V1_NAME_SIZE]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - profiles of one interval that go to an exporter together.
 *
 * Shape:   batch_builder_init, batch_builder_add for each profile, batch_builder_take gives the
 *          batch; or batch_read from bytes. batch_ref and batch_unref count its users.
 * Threads: a batch never changes: any thread may use it. A builder belongs to one at a time.
 *
 * A batch is one block of bytes in memory and in the spool; numbers are little-endian:
 *
 *   offset size
 *        0    8  89 50 42 41 54 43 48 0a ("\x89PBATCH\n")
 *        8    4  version: 3 (2 has no owners; 1 is spool_v1.h's, which has one profile a file)
 *       12    4  CRC-32, as zlib's, of all bytes from offset 16 on
 *       16    8  size of the batch
 *       24    4  form: enum exporter_form
 *       28    4  count of profiles, 1 to BATCH_PROFILES_MAX
 *       32    8  start of the earliest profile, in ns since 1970, UTC
 *       40    8  end of the latest profile, likewise
 *       48    8  time when the batch was made, likewise
 *       56    8  number of the interval
 *       64       the profiles
 *
 *   offset size  of a profile
 *        0    8  start, in ns since 1970, UTC
 *        8    8  end, likewise
 *       16    4  count of labels, at most BATCH_LABELS_MAX
 *       20    4  size of the payload
 *       24    4  owner; not in version 2
 *       28       strings: service, type, then name and value of each label
 *                the payload
 *
 * A string is its size (4 bytes) and that many bytes, the last of them 0; size 0: NULL.
 */
#ifndef EXPORTERS_BATCH_H
#define EXPORTERS_BATCH_H

#include <stdatomic.h>

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "exporters/profile.h"
#include "exporters/settings.h"

enum {
    BATCH_VERSION = 3,
    BATCH_VERSION_OLDEST = 2, /* oldest version that can be read */
    BATCH_HEAD_SIZE = 64,
    BATCH_PROFILES_MAX = 256,
    BATCH_LABELS_MAX = 256,
    BATCH_SIZE_FULL = 2 << 20, /* bytes that a batch of several profiles should not exceed */
    BATCH_SIZE_MAX = 66 << 20  /* bytes: room for a profile of 64 MiB with its labels */
};

/* A set of a batch's profiles, by their index. */
struct batch_set {
    uint64_t bits[BATCH_PROFILES_MAX / 64];
};

struct batch {
    enum exporter_form form;
    int64_t start_ns, end_ns, made_ns;       /* UTC */
    uint64_t interval;                       /* its number */
    size_t count;                            /* profiles */
    const struct exporter_profile *profiles; /* owned; they point into `bytes` */
    const unsigned char *bytes;              /* owned: the whole batch */
    size_t size;                             /* bytes */
    atomic_uint references;
};

/* BATCH_NEWER: a newer version of the program wrote it. */
enum batch_rc { BATCH_OK, BATCH_CORRUPT, BATCH_NEWER, BATCH_NOMEM };

/* Content of the first BATCH_HEAD_SIZE bytes; as in struct batch. */
struct batch_head {
    unsigned version, form;
    size_t count;
    int64_t start_ns, end_ns, made_ns;
    uint64_t interval;
};

struct batch_builder {
    struct buf bytes;       /* owned: head, still unset, and profiles */
    struct batch_head head; /* of the profiles so far */
};

/* Makes an empty builder for batches of this form; allocates nothing. */
void batch_builder_init(struct batch_builder *builder, enum exporter_form form);
void batch_builder_finish(struct batch_builder *builder);

/* True if the batch should be taken before a profile of about `size` bytes is added. */
bool batch_builder_is_full(const struct batch_builder *builder, size_t size);

/* Adds a copy of a profile. False: out of memory, over one of the limits above, or the batch is
 * full; nothing is added. */
MUST_CHECK bool batch_builder_add(struct batch_builder *builder,
                                  const struct exporter_profile *profile);

/*
 * Gives: the batch of all profiles added, with one reference; the builder is empty then. NULL: it
 *        was empty, or out of memory: then the profiles are lost.
 */
struct batch *batch_builder_take(struct batch_builder *builder, uint64_t interval, int64_t made_ns);

/*
 * Makes a batch from its bytes, which are from malloc and become the batch's; on failure it frees
 * them. Gives: *out, with one reference.
 */
MUST_CHECK enum batch_rc batch_read(unsigned char *bytes, size_t size, struct batch **out);

/* Reads the head of a batch of `file_size` bytes; ignores its CRC. BATCH_CORRUPT, BATCH_NEWER. */
MUST_CHECK enum batch_rc batch_read_head(const unsigned char bytes[BATCH_HEAD_SIZE],
                                         uint64_t file_size, struct batch_head *out);

/* Gives: a new batch of the profiles in `set`; NULL: there are none, or out of memory. */
struct batch *batch_subset(const struct batch *batch, const struct batch_set *set);

/* Gives: `batch`, with one more reference. */
struct batch *batch_ref(struct batch *batch);
/* Drops one reference; the last one frees the batch. NULL is fine. */
void batch_unref(struct batch *batch);

void batch_set_add(struct batch_set *set, size_t i);
bool batch_set_has(const struct batch_set *set, size_t i);
size_t batch_set_count(const struct batch_set *set);

#endif

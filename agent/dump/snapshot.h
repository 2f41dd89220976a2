/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - copies the threads that cpy_sample lends, so that they can be used after the sample.
 *
 * Shape: snapshot_init, cpy_sample(target, snapshot_add, &snapshot), check `failed`,
 *        snapshot_reset before another sample, snapshot_finish.
 */
#ifndef AGENT_DUMP_SNAPSHOT_H
#define AGENT_DUMP_SNAPSHOT_H

#include "base/arena.h"
#include "base/pointer_table.h"
#include "unwind/cpy.h"

enum { SNAPSHOT_BYTES_MAX = 256 << 20 }; /* of the arena */

/*
 * Cache: copies of code objects
 * Key:   cpy_code.id, which is unique within a target
 * Ends:  with the snapshot
 * Test:  tests/unit/dump/test_snapshot.c: keeps_a_code_object_once
 */
struct snapshot {
    struct cpy_thread *threads; /* owned; what they point to lies in the arena */
    size_t count, capacity;
    struct arena arena;
    struct pointer_table codes; /* struct cpy_code in the arena, by id: those copied already */
    size_t torn;                /* threads whose stack changed while it was read */
    bool failed;                /* out of memory: threads are missing */
};

void snapshot_init(struct snapshot *snapshot);

/* Frees all memory; the snapshot is empty then, and can be used again. NULL is fine. */
void snapshot_finish(struct snapshot *snapshot);

/* Drops all threads and copies, and keeps the memory. */
void snapshot_reset(struct snapshot *snapshot);

/* Callback for cpy_sample: copies a thread into the snapshot `ctx`. All threads must be of one
 * target. Sets `failed` without memory, and then copies no more until snapshot_reset. */
void snapshot_add(void *ctx, const struct cpy_thread *thread);

#endif

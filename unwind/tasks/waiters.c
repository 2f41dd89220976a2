/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.c - see waiters.h. */
#include "unwind/tasks/waiters.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 128 };

/* Futures whose waiters are still to be looked up. */
struct futures {
    cpy_addr seen[WAITERS_FUTURES_MAX];
    struct awaited awaited[WAITERS_FUTURES_MAX];
    size_t count;
};

void waiters_take(const struct layout *l, const unsigned char *bytes, struct awaited *out)
{
    memcpy(&out->by, bytes + l->asyncio.awaited_by, sizeof(out->by));
    out->by &= l->tag_mask;
    out->by_is_set = bytes[l->asyncio.awaited_by_is_set] != 0;
    out->is_task = bytes[l->asyncio.is_task] != 0;
}

/* Reads the words of `count` tasks or futures at once. */
static enum cpy_rc read_awaited(const struct reader *reader, const cpy_addr *addrs, size_t count,
                                struct awaited *out)
{
    const struct layout *l = reader->layout;
    struct mem_range ranges[3 * BATCH];
    unsigned char is_task[BATCH], is_set[BATCH];
    cpy_addr by[BATCH];
    enum cpy_rc rc;

    for (size_t i = 0; i < count; i++) {
        ranges[3 * i] = (struct mem_range){addrs[i] + l->asyncio.is_task, &is_task[i], 1};
        ranges[3 * i + 1] =
            (struct mem_range){addrs[i] + l->asyncio.awaited_by_is_set, &is_set[i], 1};
        ranges[3 * i + 2] = (struct mem_range){addrs[i] + l->asyncio.awaited_by, &by[i], 8};
    }
    rc = mem_read_ranges(reader->mem, ranges, 3 * count);
    for (size_t i = 0; i < count && rc == CPY_OK; i++)
        out[i] = (struct awaited){by[i] & l->tag_mask, is_set[i] != 0, is_task[i] != 0};
    return rc;
}

/* True: there was no room for it. */
static bool add_future(struct futures *futures, cpy_addr future, const struct awaited *awaited)
{
    for (size_t i = 0; i < futures->count; i++)
        if (futures->seen[i] == future)
            return false;
    if (futures->count == WAITERS_FUTURES_MAX)
        return true;
    futures->seen[futures->count] = future;
    futures->awaited[futures->count++] = *awaited;
    return false;
}

/* Keeps the tasks among tasks[first..] and puts the futures aside. */
static enum cpy_rc sort_out(const struct reader *reader, struct waiters *out, size_t first,
                            struct futures *futures)
{
    struct awaited awaited[BATCH];
    cpy_addr batch[BATCH];
    size_t at, i, count, used = first;
    enum cpy_rc rc;

    for (at = first; at < out->count; at += count) {
        count = out->count - at < BATCH ? out->count - at : BATCH;
        memcpy(batch, out->tasks + at, count * sizeof(batch[0]));
        rc = read_awaited(reader, batch, count, awaited);
        if (rc != CPY_OK)
            return rc;
        for (i = 0; i < count; i++) {
            if (awaited[i].is_task)
                out->tasks[used++] = batch[i];
            else
                out->cut |= add_future(futures, batch[i], &awaited[i]);
        }
    }
    out->count = used;
    return CPY_OK;
}

/* Adds the waiters that `awaited` names. */
static enum cpy_rc add_waiters_of(const struct reader *reader, const struct awaited *awaited,
                                  struct waiters *out, struct futures *futures)
{
    size_t first = out->count, room = WAITERS_MAX - first, count = 1;
    uint64_t total = 1;
    enum cpy_rc rc = CPY_OK;

    if (awaited->by_is_set)
        rc = object_read_set(reader, awaited->by, out->tasks + first, room, &count, &total);
    else if (room > 0)
        out->tasks[first] = awaited->by;
    if (rc != CPY_OK)
        return rc;
    out->cut |= total > room;
    out->count += count < room ? count : room;
    return sort_out(reader, out, first, futures);
}

static int compare_addresses(const void *a, const void *b)
{
    const cpy_addr *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void drop_duplicate_waiters(struct waiters *out)
{
    size_t i, used = 0;

    qsort(out->tasks, out->count, sizeof(out->tasks[0]), compare_addresses);
    for (i = 0; i < out->count; i++)
        if (used == 0 || out->tasks[used - 1] != out->tasks[i])
            out->tasks[used++] = out->tasks[i];
    out->count = used;
}

enum cpy_rc waiters_read(const struct reader *reader, const struct awaited *awaited,
                         struct waiters *out)
{
    struct futures futures;
    enum cpy_rc rc = CPY_OK;

    futures.count = 0;
    out->count = 0;
    out->cut = false;
    if (awaited->by != 0)
        rc = add_waiters_of(reader, awaited, out, &futures);
    for (size_t i = 0; i < futures.count && rc == CPY_OK; i++)
        if (futures.awaited[i].by != 0)
            rc = add_waiters_of(reader, &futures.awaited[i], out, &futures);
    if (rc == CPY_OK && out->count > 1)
        drop_duplicate_waiters(out);
    return rc;
}

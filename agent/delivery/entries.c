/* SPDX-License-Identifier: Apache-2.0 */
/* entries.c - how entries of queues begin and end, and their files with them; see internal.h. */
#include <stdlib.h>

#include "agent/delivery/internal.h"
#include "base/array.h"

void spool_pending_add(struct spool_writer *writer, struct export_worker *worker,
                       struct export_entry *entry)
{
    if (!ARRAY_RESERVE(writer->pending, writer->pending_capacity, writer->pending_count + 1)) {
        writer->stats.in_memory += entry->count;
        return;
    }
    entry->unwritten = true;
    writer->pending[writer->pending_count++] = (struct spool_pending){entry, worker};
    (void)pthread_cond_signal(&writer->changed);
}

void spool_file_release(struct spool_writer *writer, struct spool_file *file)
{
    if (--file->users > 0)
        return;
    file->next = writer->removals;
    writer->removals = file;
    (void)pthread_cond_signal(&writer->changed);
}

struct export_entry *delivery_entry_new(struct delivery *delivery, struct batch *batch)
{
    struct export_entry *entry = calloc(1, sizeof(*entry));
    uint64_t now_ns = delivery_now(delivery);

    if (!entry)
        return NULL;
    entry->interval = batch->interval;
    entry->count = batch->count;
    entry->size = batch->size;
    entry->put_ns = now_ns;
    entry->born_ns = export_born_ns(now_ns, batch->start_ns, batch->made_ns);
    entry->batch = batch;
    return entry;
}

void delivery_entry_unload(struct export_entry *entry)
{
    if (!entry->file || entry->unwritten || entry->in_flight)
        return;
    if (entry->file->profiles != entry->count)
        return; /* it is a part, and the file has all */
    batch_unref(entry->batch);
    entry->batch = NULL;
}

void delivery_entry_end(struct delivery *delivery, struct export_entry *entry)
{
    if (entry->file)
        spool_file_release(delivery->writer, entry->file);
    entry->file = NULL;
    if (entry->unwritten) {
        batch_unref(entry->batch);
        entry->batch = NULL;
        entry->dropped = true;
        return;
    }
    export_entry_free(entry);
}

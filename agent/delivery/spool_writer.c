/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_writer.c - the thread of the spool: writes batches before they are sent, removes those that
 * were delivered, keeps the bounds, and takes up what an earlier run left.
 *
 * Nobody waits for the disk: while it fails, or has not answered within the queue's patience, a
 * batch is sent from memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/internal.h"
#include "agent/delivery/spool_v1.h"
#include "base/array.h"
#include "base/time_units.h"

enum { KIB = 1024, FILES_MAX = 16 * 1024 /* of a queue, so that its memory is bounded */ };

#define RETRY_EVERY_NS (10 * NS_PER_S) /* a disk that fails */
#define LOOK_EVERY_NS  (30 * NS_PER_S) /* for what has become too old */

bool spool_writer_new(const struct delivery_spool *settings, struct spool_writer **out,
                      struct err *err)
{
    struct spool_writer *writer = calloc(1, sizeof(*writer));
    enum spool_rc rc = SPOOL_NOMEM;

    if (!writer)
        return false;
    writer->settings = *settings;
    if (writer->settings.max_size_bytes == 0)
        writer->settings.max_size_bytes = 256 << 20;
    writer->settings.path = strdup(settings->path);
    writer->next_number = 1;
    writer->stats.on = true;
    writer->stats.max_bytes = writer->settings.max_size_bytes;
    if (writer->settings.path)
        rc = spool_open(settings->path, true, &writer->spool, err);
    /* What fails now, the thread tries again. */
    if (rc == SPOOL_OK || rc == SPOOL_FAILED || (rc == SPOOL_LOCKED && settings->held)) {
        (void)pthread_cond_init(&writer->changed, NULL); /* which cannot fail */
        *out = writer;
        return true;
    }
    free((void *)(uintptr_t)writer->settings.path); /* our own copy */
    free(writer);
    return false;
}

void spool_pending_finish(struct spool_writer *writer)
{
    if (!writer)
        return;
    for (size_t i = 0; i < writer->pending_count; i++)
        if (writer->pending[i].entry->dropped)
            export_entry_free(writer->pending[i].entry);
    writer->pending_count = 0;
}

void spool_writer_free(struct spool_writer *writer)
{
    struct spool_file *file;

    if (!writer)
        return;
    free(writer->pending);
    while ((file = writer->removals)) {
        writer->removals = file->next;
        free(file);
    }
    spool_close(writer->spool);
    (void)pthread_cond_destroy(&writer->changed);
    free((void *)(uintptr_t)writer->settings.path);
    free(writer);
}

/* Says what it is like now; the disk worked, or `err` is why it did not. Without the lock. */
static void tell_spool(struct delivery *delivery, const struct err *err)
{
    struct spool_writer *writer = delivery->writer;
    struct delivery_spool_stats stats;

    (void)pthread_mutex_lock(&delivery->lock);
    writer->log.failure_logged |= writer->stats.failing; /* a worker may have said so */
    writer->stats.failing = err != NULL;
    if (err)
        writer->stats.last_error = *err;
    stats = writer->stats;
    (void)pthread_mutex_unlock(&delivery->lock);
    spool_log_tell(&writer->log, delivery_now(delivery), &stats);
}

/* Counts a file in, which an entry has from here on. With the lock. NULL: out of memory. */
static struct spool_file *count_file_in(struct spool_writer *writer, const struct spool_name *name,
                                        uint64_t size, size_t profiles)
{
    struct spool_file *file = calloc(1, sizeof(*file));

    if (!file)
        return NULL;
    *file = (struct spool_file){.name = *name, .size = size, .profiles = profiles, .users = 1};
    writer->stats.files++;
    writer->stats.entries += profiles;
    writer->stats.bytes += size;
    return file;
}

/* Removes a file that nobody uses; it is counted out whether that works or not: a file that stays
 * is found by the next run. Without the lock. */
static bool remove_file(struct delivery *delivery, struct spool_file *file, struct err *err)
{
    struct spool_writer *writer = delivery->writer;
    bool removed = spool_remove(writer->spool, &file->name, err) == SPOOL_OK;

    (void)pthread_mutex_lock(&delivery->lock);
    writer->stats.files--;
    writer->stats.entries -= file->profiles;
    writer->stats.bytes -= file->size;
    (void)pthread_mutex_unlock(&delivery->lock);
    free(file);
    return removed;
}

/* The oldest entry on disk, of all exporters, that is not under way. With the lock. */
static struct export_entry *find_oldest(struct delivery *delivery, struct export_worker **out)
{
    struct export_entry *oldest = NULL;

    for (size_t i = 0; i < delivery->count; i++) {
        const struct export_queue *queue = &delivery->workers[i]->queue;

        for (size_t k = 0; k < queue->count; k++) {
            struct export_entry *entry = queue->entries[k];

            if (!entry->file || entry->in_flight)
                continue;
            if (!oldest || entry->interval < oldest->interval) {
                oldest = entry;
                *out = delivery->workers[i];
            }
            break; /* the queue is sorted */
        }
    }
    return oldest;
}

/* Drops the oldest entry on disk, if `judge` says so. Without the lock. False: none was. */
static bool drop_oldest_entry(struct delivery *delivery, uint64_t *counter,
                              bool (*judge)(const struct delivery *, const struct export_entry *))
{
    struct export_worker *worker = NULL;
    struct export_entry *entry;
    bool dropped;

    (void)pthread_mutex_lock(&delivery->lock);
    entry = find_oldest(delivery, &worker);
    dropped = entry && (!judge || judge(delivery, entry));
    if (dropped) {
        *counter += entry->count;
        worker->stats.dropped_full += judge ? 0 : entry->count;
        worker->stats.dropped_old += judge ? entry->count : 0;
        export_queue_remove(&worker->queue, entry);
        delivery_entry_end(delivery, entry);
    }
    (void)pthread_mutex_unlock(&delivery->lock);
    return dropped;
}

/* Takes the first file that is to be removed. */
static struct spool_file *pop_removal(struct delivery *delivery)
{
    struct spool_file *file;

    (void)pthread_mutex_lock(&delivery->lock);
    file = delivery->writer->removals;
    if (file)
        delivery->writer->removals = file->next;
    (void)pthread_mutex_unlock(&delivery->lock);
    return file;
}

/* Removes what nobody uses. Without the lock. True: there was something. */
static bool remove_files(struct delivery *delivery)
{
    struct spool_file *file;
    struct err err = {""};
    bool any = false;

    while ((file = pop_removal(delivery))) {
        any = true;
        if (!remove_file(delivery, file, &err))
            tell_spool(delivery, &err);
    }
    return any;
}

static bool is_too_old(const struct delivery *delivery, const struct export_entry *entry)
{
    uint64_t max_ns = delivery->writer->settings.max_age_ns;

    return max_ns > 0 && (int64_t)delivery_now(delivery) - entry->born_ns > (int64_t)max_ns;
}

static bool drop_too_old(struct delivery *delivery)
{
    bool any = false;

    while (drop_oldest_entry(delivery, &delivery->writer->stats.dropped_age, is_too_old))
        any = true;
    return remove_files(delivery) || any;
}

static bool is_spool_full(struct delivery *delivery, uint64_t size)
{
    const struct spool_writer *writer = delivery->writer;
    bool full;

    (void)pthread_mutex_lock(&delivery->lock);
    full = writer->stats.files >= FILES_MAX ||
           writer->stats.bytes + size > writer->settings.max_size_bytes;
    (void)pthread_mutex_unlock(&delivery->lock);
    return full;
}

static bool leaves_too_little(const struct spool_writer *writer, uint64_t size)
{
    uint64_t left;

    return writer->settings.min_free_bytes > 0 && spool_free_bytes(writer->spool, &left) &&
           left < writer->settings.min_free_bytes + size;
}

/* Makes room for a batch; the oldest go first. False: `err` says why there is no room. */
static bool make_room(struct delivery *delivery, uint64_t size, struct err *err)
{
    struct spool_writer *writer = delivery->writer;

    if (size > writer->settings.max_size_bytes) {
        err_set(err, "%s: a batch of %" PRIu64 " KiB is larger than spool_max_size: raise that",
                writer->settings.path, size / KIB);
        return false;
    }
    (void)drop_too_old(delivery);
    while (is_spool_full(delivery, size)) {
        if (!drop_oldest_entry(delivery, &writer->stats.dropped_size, NULL)) {
            err_set(err, "%s: is full (spool_max_size), and nothing in it can be removed",
                    writer->settings.path);
            return false;
        }
        (void)remove_files(delivery);
    }
    while (leaves_too_little(writer, size)) {
        if (!drop_oldest_entry(delivery, &writer->stats.dropped_free, NULL)) {
            err_set(err, "%s: the disk has less than spool_min_free left: free some space",
                    writer->settings.path);
            return false;
        }
        (void)remove_files(delivery);
    }
    return true;
}

/* Takes the first of those that are to be written. With the lock. */
static struct spool_pending pop_pending(struct spool_writer *writer)
{
    struct spool_pending first = writer->pending[0];

    writer->pending_count--;
    memmove(&writer->pending[0], &writer->pending[1],
            writer->pending_count * sizeof(writer->pending[0]));
    return first;
}

/* An entry was written, or could not be. With the lock. */
static void finish_write(struct delivery *delivery, struct export_worker *worker,
                         struct export_entry *entry, struct spool_file *file)
{
    struct spool_writer *writer = delivery->writer;
    struct spool_file *before = entry->file;

    entry->unwritten = false;
    writer->stats.written += file ? file->profiles : 0;
    if (entry->dropped) { /* it was delivered meanwhile, or lost */
        if (file)
            spool_file_release(writer, file);
        export_entry_free(entry);
        return;
    }
    if (file) {
        entry->file = file;
        if (before)
            spool_file_release(writer, before);
        delivery_entry_unload(entry);
    } else {
        writer->stats.in_memory += before ? 0 : entry->count;
    }
    (void)pthread_cond_signal(&worker->changed);
    worker->sink.wake(worker->sink.ctx);
}

/* Writes the first that is pending, or leaves it in memory. With the lock, given up meanwhile. */
static void write_first(struct delivery *delivery)
{
    struct spool_writer *writer = delivery->writer;
    struct spool_pending first = pop_pending(writer);
    struct export_entry *entry = first.entry;
    struct spool_name name = {.number = writer->next_number++}; /* also of one that fails */
    struct batch *batch = entry->batch ? batch_ref(entry->batch) : NULL;
    struct spool_file *file = NULL;            /* its own */
    struct err err = writer->stats.last_error; /* of the opening, if it is that */
    bool good = false, listed = writer->listed;
    uint64_t size = 0;

    (void)snprintf(name.exporter, sizeof(name.exporter), "%s", first.worker->name);
    name.part_of = entry->file ? entry->file->name.number : 0;
    (void)pthread_mutex_unlock(&delivery->lock);
    if (batch && listed)
        good = make_room(delivery, batch->size, &err) &&
               spool_write(writer->spool, &name, batch, &size, &err) == SPOOL_OK;
    (void)pthread_mutex_lock(&delivery->lock);
    if (good)
        file = count_file_in(writer, &name, size, batch->count);
    finish_write(delivery, first.worker, entry, file);
    (void)pthread_mutex_unlock(&delivery->lock);
    if (batch)
        tell_spool(delivery, good ? NULL : &err);
    batch_unref(batch);
    (void)pthread_mutex_lock(&delivery->lock);
}

/* True if a worker has this name and takes profiles of this form, with or without limits. */
static bool is_worker_for(const struct export_worker *worker, const char *exporter, unsigned form)
{
    return strcmp(worker->name, exporter) == 0 &&
           exporter_form_unlimited(worker->form) == exporter_form_unlimited(form);
}

/* Whose file this is; NULL: nobody's who is configured and takes such batches. */
static struct export_worker *find_worker(struct delivery *delivery, const char *exporter,
                                         unsigned form)
{
    for (size_t i = 0; i < delivery->count; i++)
        if (is_worker_for(delivery->workers[i], exporter, form))
            return delivery->workers[i];
    return NULL;
}

/* Puts a file that an earlier run left into its exporter's queue. With the lock. */
static void queue_found(struct delivery *delivery, struct export_worker *worker,
                        const struct spool_item *item, const struct batch_head *head)
{
    int64_t utc_ns = delivery->world.utc_ns(delivery->world.ctx);
    struct export_entry *entry = calloc(1, sizeof(*entry));
    struct spool_file *file = NULL;

    if (entry)
        file = count_file_in(delivery->writer, &item->name, item->size, head->count);
    if (!file) {
        free(entry); /* the next run finds the file */
        return;
    }
    *entry = (struct export_entry){
        .interval = head->interval,
        .count = head->count,
        .size = (size_t)item->size,
        .born_ns = export_born_ns(delivery_now(delivery), head->start_ns, utc_ns),
        .file = file,
    };
    delivery->writer->stats.found += head->count;
    export_worker_add(worker, entry);
}

/*
 * Takes up a file that an earlier run left. What cannot be read now, as there are no descriptors
 * or no memory, stays for the next run.
 */
static void take_up(struct delivery *delivery, const struct spool_item *item)
{
    struct spool_writer *writer = delivery->writer;
    struct export_worker *worker = NULL;
    char text[SPOOL_FILE_NAME_SIZE];
    struct batch_head head;
    struct err err = {""};
    enum spool_rc rc = spool_read_head(writer->spool, &item->name, &head, &err);

    if (rc == SPOOL_OK)
        worker = find_worker(delivery, item->name.exporter, head.form);
    if (rc == SPOOL_OK && !worker && spool_remove(writer->spool, &item->name, &err) != SPOOL_OK)
        return; /* the next run tries it again */
    if (rc == SPOOL_CORRUPT || rc == SPOOL_NEWER) {
        spool_file_name(&item->name, text);
        spool_set_aside(writer->spool, text);
    }
    (void)pthread_mutex_lock(&delivery->lock);
    if (worker)
        queue_found(delivery, worker, item, &head);
    else if (rc == SPOOL_OK)
        writer->stats.dropped_unknown += head.count;
    writer->stats.bad += rc == SPOOL_CORRUPT || rc == SPOOL_NEWER ? 1 : 0;
    if (rc == SPOOL_FAILED || rc == SPOOL_NOMEM) {
        writer->stats.unreadable++;
        writer->stats.last_error = err;
    }
    (void)pthread_mutex_unlock(&delivery->lock);
}

/* Writes what was gathered of an older spool for an exporter. */
static bool write_gathered(struct delivery *delivery, struct batch_builder *builder,
                           const char *exporter, struct err *err)
{
    struct spool_writer *writer = delivery->writer;
    struct spool_name name = {.number = writer->next_number};
    uint64_t size, interval = (uint64_t)builder->head.start_ns;
    struct batch *batch;
    bool good;

    if (builder->head.count == 0)
        return true;
    batch = batch_builder_take(builder, interval, delivery->world.utc_ns(delivery->world.ctx));
    (void)snprintf(name.exporter, sizeof(name.exporter), "%s", exporter);
    good = batch && spool_write(writer->spool, &name, batch, &size, err) == SPOOL_OK;
    writer->next_number += good ? 1 : 0;
    batch_unref(batch);
    return good;
}

/* The part of an older spool that is being made into batches, one builder an exporter. */
struct conversion {
    struct batch_builder builders[DELIVERY_EXPORTERS_MAX];
    size_t first; /* of the entries in the builders */
};

/* Adds an entry to the batches of those who owe it. False: one is full. */
static bool convert_entry(struct delivery *delivery, struct conversion *conversion,
                          const struct spool_v1_entry *entry, uint16_t owed)
{
    for (size_t i = 0; i < delivery->count; i++) {
        struct batch_builder *builder = &conversion->builders[i];
        size_t most = delivery->workers[i]->sink.profiles_max;

        if (batch_builder_is_full(builder, entry->profile.size) || builder->head.count >= most)
            return false;
    }
    for (unsigned bit = 0; bit < entry->ower_count; bit++)
        for (size_t i = 0; (owed >> bit & 1) != 0 && i < delivery->count; i++)
            if (is_worker_for(delivery->workers[i], entry->owers[bit], entry->form) &&
                !batch_builder_add(&conversion->builders[i], &entry->profile))
                return false;
    return true;
}

/* Writes all batches, and only then removes the entries that are in them. */
static bool finish_conversion(struct delivery *delivery, struct conversion *conversion,
                              const struct spool_v1_list *list, size_t end, struct err *err)
{
    int dir = spool_directory(delivery->writer->spool);
    bool good = true;

    for (size_t i = 0; good && i < delivery->count; i++)
        good = write_gathered(delivery, &conversion->builders[i], delivery->workers[i]->name, err);
    for (size_t i = conversion->first; good && i < end; i++)
        spool_v1_remove(dir, &list->names[i]);
    conversion->first = end;
    return good;
}

/* An entry that is no whole profile. */
static void set_aside_v1(struct delivery *delivery, const struct spool_v1_name *name)
{
    char text[SPOOL_V1_NAME_SIZE];

    spool_v1_file_name(name, text);
    spool_set_aside(delivery->writer->spool, text);
    (void)pthread_mutex_lock(&delivery->lock);
    delivery->writer->stats.bad++;
    (void)pthread_mutex_unlock(&delivery->lock);
}

/* Makes the entries of an older version's spool into batches. False: the disk fails. */
static bool convert_v1(struct delivery *delivery, struct err *err)
{
    int dir = spool_directory(delivery->writer->spool);
    struct conversion conversion = {.first = 0};
    struct spool_v1_entry *entry = malloc(sizeof(*entry));
    struct spool_v1_list list;
    bool good = entry && spool_v1_list(dir, &list);

    err_set(err, "%s: what an older version left cannot be read: %s",
            delivery->writer->settings.path, strerror(good || !entry ? ENOMEM : errno));
    if (good && list.count == SPOOL_V1_LIST_MAX)
        export_log_say(&delivery->world, "spool", DELIVERY_WARNING,
                       "sends %d profiles of an older version; if it left more, they are sent "
                       "after the next start of pystrobe",
                       SPOOL_V1_LIST_MAX);
    for (size_t i = 0; i < delivery->count; i++)
        batch_builder_init(&conversion.builders[i], delivery->workers[i]->form);
    for (size_t i = 0; good && i < list.count; i++) {
        if (!spool_v1_read(dir, &list.names[i], entry)) {
            set_aside_v1(delivery, &list.names[i]);
            continue;
        }
        if (!convert_entry(delivery, &conversion, entry, list.names[i].owed)) {
            good = finish_conversion(delivery, &conversion, &list, i, err);
            good = good && convert_entry(delivery, &conversion, entry, list.names[i].owed);
        }
        free(entry->bytes);
    }
    good = good && finish_conversion(delivery, &conversion, &list, list.count, err);
    for (size_t i = 0; i < delivery->count; i++)
        batch_builder_finish(&conversion.builders[i]);
    if (entry)
        free(list.names);
    free(entry);
    return good;
}

/* Numbers of new files are greater than those that are there. */
static void choose_number(struct spool_writer *writer, const struct spool_list *list)
{
    if (list->count > 0 && list->items[list->count - 1].name.number >= writer->next_number)
        writer->next_number = list->items[list->count - 1].name.number + 1;
}

static bool is_delivery_stopped(struct delivery *delivery)
{
    bool stopped;

    (void)pthread_mutex_lock(&delivery->lock);
    stopped = delivery->mode >= DELIVERY_CANCELLED;
    (void)pthread_mutex_unlock(&delivery->lock);
    return stopped;
}

/* Reads what an earlier run left. */
static bool recover(struct delivery *delivery, struct err *err)
{
    struct spool_writer *writer = delivery->writer;
    struct spool_list list;

    if (spool_list(writer->spool, &list, err) != SPOOL_OK)
        return false;
    choose_number(writer, &list);
    spool_list_finish(&list);
    if (!convert_v1(delivery, err) || spool_list(writer->spool, &list, err) != SPOOL_OK)
        return false;
    (void)pthread_mutex_lock(&delivery->lock);
    writer->stats.bad += list.bad;
    (void)pthread_mutex_unlock(&delivery->lock);
    choose_number(writer, &list);
    for (size_t i = 0; i < list.count && !is_delivery_stopped(delivery); i++)
        take_up(delivery, &list.items[i]);
    spool_list_finish(&list);
    return true;
}

/* Opens the spool if it is not, unless that failed a moment ago, and takes up what is in it. */
static void open_spool(struct delivery *delivery)
{
    struct spool_writer *writer = delivery->writer;
    enum spool_rc rc = SPOOL_OK;
    struct err err = {""};
    bool good;

    if (delivery_now(delivery) < writer->next_open_ns)
        return;
    if (!writer->spool)
        rc = spool_open(writer->settings.path, true, &writer->spool, &err);
    if (rc == SPOOL_LOCKED && writer->settings.held)
        err_set(&err, "%s: a write from before the settings changed has the spool still",
                writer->settings.path);
    good = rc == SPOOL_OK && recover(delivery, &err);
    (void)pthread_mutex_lock(&delivery->lock);
    writer->listed = good;
    (void)pthread_mutex_unlock(&delivery->lock);
    writer->next_open_ns = delivery_now(delivery) + RETRY_EVERY_NS;
    tell_spool(delivery, good ? NULL : &err);
}

/* When there is nothing to do: what became too old goes, and removals become durable. Without the
 * lock. */
static void tidy_spool(struct delivery *delivery, bool worked)
{
    struct spool_writer *writer = delivery->writer;
    struct err err;

    if (drop_too_old(delivery))
        worked = true;
    if (worked && spool_sync(writer->spool, &err) != SPOOL_OK)
        tell_spool(delivery, &err);
}

/* Does all that there is to do. With the lock, which it gives up meanwhile. */
static void work(struct delivery *delivery)
{
    struct spool_writer *writer = delivery->writer;
    bool worked = false;

    if (!writer->listed) {
        (void)pthread_mutex_unlock(&delivery->lock);
        open_spool(delivery);
        (void)pthread_mutex_lock(&delivery->lock);
    }
    while (writer->pending_count > 0) {
        write_first(delivery);
        worked = true;
    }
    if (!writer->listed)
        return;
    (void)pthread_mutex_unlock(&delivery->lock);
    worked = remove_files(delivery) || worked;
    tidy_spool(delivery, worked);
    (void)pthread_mutex_lock(&delivery->lock);
}

static void *run_spool_writer(void *ctx)
{
    struct delivery *delivery = ctx;
    struct spool_writer *writer = delivery->writer;

    (void)pthread_mutex_lock(&delivery->lock);
    for (;;) {
        work(delivery);
        if (writer->pending_count > 0 || (writer->listed && writer->removals))
            continue;
        if (delivery->mode == DELIVERY_CLOSED)
            break;
        delivery_wait(delivery, &writer->changed,
                      delivery_now(delivery) + (writer->listed ? LOOK_EVERY_NS : RETRY_EVERY_NS));
    }
    (void)pthread_mutex_unlock(&delivery->lock);
    spool_unlock(writer->spool); /* an exporter that hangs may keep the rest for long */
    delivery_end_thread(delivery, &writer->ended);
    return NULL;
}

bool spool_writer_start(struct delivery *delivery)
{
    struct spool_writer *writer = delivery->writer;

    writer->started =
        delivery_start_thread(delivery, &writer->thread, run_spool_writer, delivery, "spool");
    return writer->started;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - opens a process, or an image of one, and closes it. */
#include "unwind/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cpy_target *target_new(void)
{
    struct cpy_target *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->proc_fd = -1;
    codes_init(&t->codes);
    names_init(&t->names);
    tids_init(&t->tids, -1);
    cpu_pin_init(&t->cpu_pin, -1);
    t->prefetch.place.cpu = -1;
    asyncio_init(&t->asyncio);
    prefetch_init(&t->prefetch, &t->mem);
    prefetch_set_init(&t->common, false);
    prefetch_set_init(&t->tasks, true);
    prefetch_set_init(&t->awaiters, true);
    memos_init(&t->tasks_made, &t->prefetch, &t->tasks);
    memos_init(&t->awaiters_made, &t->prefetch, &t->awaiters);
    thread_cache_init(&t->thread_cache);
    t->scratch = cpy_scratch_new();
    if (t->scratch)
        return t;
    cpy_close(t);
    return NULL;
}

static void count_thread(void *ctx, const struct cpy_thread *thread)
{
    size_t *counts = ctx;

    counts[thread->torn] += thread->torn || thread->depth > 0;
}

/* A version that nobody has checked is read only if its frames make sense. */
static enum cpy_rc try_unproven(struct cpy_target *t, struct err *err)
{
    enum { SAMPLES = 20 };
    size_t counts[2] = {0, 0}; /* whole, torn */
    enum cpy_rc rc = CPY_OK;
    int i;

    if (layout_is_proven(t->found.hexversion))
        return CPY_OK;
    for (i = 0; i < SAMPLES && rc == CPY_OK; i++)
        rc = cpy_sample(t, count_thread, counts);
    if (rc == CPY_GONE || rc == CPY_DENIED || rc == CPY_NOMEM)
        return rc;
    if (counts[0] == 0 || counts[1] * 2 > counts[0]) {
        err_set(err,
                "CPython %s is not known to this pystrobe, and its stacks do not read like "
                "those of the versions that are: 3.6 to 3.15",
                t->info.version);
        return CPY_FOREIGN;
    }
    (void)snprintf(t->info.warning, sizeof(t->info.warning),
                   "CPython %s is newer than this pystrobe, or no final release: its stacks read "
                   "well so far, but nobody has checked them",
                   t->info.version);
    return CPY_OK;
}

void target_choose_readers(struct cpy_target *t)
{
    layout_find_spans(&t->found.layout);
    t->prefetch.place.chain = walk_chain_of(&t->found.layout);
    t->info.hexversion = t->found.hexversion;
    t->info.free_threaded = t->found.layout.free_threaded;
    layout_version_text(t->found.hexversion, t->info.version, sizeof(t->info.version));
}

static enum cpy_rc open_proc(struct cpy_target *t, struct err *err)
{
    char path[32];
    int cause;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)t->pid);
    t->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->proc_fd >= 0)
        return CPY_OK;
    cause = errno; /* err_set may change it */
    err_set(err, cause == ENOENT ? "there is no such process" : "%s: %s", path, strerror(cause));
    return cause == EACCES || cause == EPERM ? CPY_DENIED : CPY_GONE;
}

enum cpy_rc cpy_open(pid_t pid, struct cpy_target **out, struct err *err)
{
    struct cpy_target *t = target_new();
    enum cpy_rc rc = CPY_NOMEM;

    if (!t)
        return rc;
    t->pid = pid;
    rc = open_proc(t, err);
    if (rc != CPY_OK)
        goto fail;
    tids_init(&t->tids, t->proc_fd);
    cpu_pin_init(&t->cpu_pin, t->proc_fd);
    rc = mem_open_process(pid, t->proc_fd, &t->mem, err);
    if (rc != CPY_OK)
        goto fail;
    rc = find_runtime(t->mem, t->proc_fd, &t->found, err);
    if (rc != CPY_OK)
        goto fail;
    target_choose_readers(t);
    rc = try_unproven(t, err);
    if (rc != CPY_OK)
        goto fail;
    *out = t;
    return CPY_OK;

fail: /* whatever is not there yet, cpy_close passes over */
    err_within(err, "process %d", (int)pid);
    cpy_close(t);
    return rc;
}

enum cpy_rc cpy_open_image(const char *path, struct cpy_target **out, struct err *err)
{
    struct cpy_target *t = target_new();
    enum cpy_rc rc = CPY_NOMEM;

    if (!t)
        return rc;
    rc = image_open(path, &t->mem, &t->found, err);
    if (rc == CPY_OK)
        rc = find_accept(t->mem, t->found.hexversion, &t->found, err);
    if (rc != CPY_OK) {
        err_within(err, "%s", path);
        cpy_close(t);
        return rc;
    }
    target_choose_readers(t);
    *out = t;
    return CPY_OK;
}

void cpy_close(struct cpy_target *t)
{
    if (!t)
        return;
    cpu_pin_finish(&t->cpu_pin);
    thread_cache_finish(&t->thread_cache, &t->prefetch);
    memos_finish(&t->tasks_made);
    memos_finish(&t->awaiters_made);
    prefetch_set_finish(&t->prefetch, &t->common);
    prefetch_set_finish(&t->prefetch, &t->tasks);
    prefetch_set_finish(&t->prefetch, &t->awaiters);
    prefetch_finish(&t->prefetch);
    mem_close(t->mem);
    codes_finish(&t->codes);
    names_finish(&t->names);
    tids_finish(&t->tids);
    asyncio_finish(&t->asyncio);
    if (!t->borrows)
        cpy_scratch_free(t->scratch);
    free(t->sets);
    free(t->ran);
    free(t->threads);
    free(t->interps);
    if (t->proc_fd >= 0)
        (void)close(t->proc_fd);
    free(t);
}

void target_look_for_asyncio(struct cpy_target *t, bool now)
{
    const struct asyncio_place place = {t->mem, t->proc_fd, t->found.runtime};

    if (now)
        asyncio_look(&t->asyncio, &place, &t->found.layout);
    else
        asyncio_next_sample(&t->asyncio, &place, &t->found.layout);
}

void target_forget_made(struct cpy_target *t)
{
    thread_cache_forget_stacks(&t->thread_cache);
    memos_forget(&t->tasks_made);
    memos_forget(&t->awaiters_made);
    t->ready = false;
}

void cpy_set_options(struct cpy_target *t, const struct cpy_options *options)
{
    t->options = *options;
    target_forget_made(t);
}

const struct cpy_info *cpy_info(const struct cpy_target *t)
{
    return &t->info;
}

const struct cpy_stats *cpy_stats(const struct cpy_target *t)
{
    return &t->stats;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - makes and frees a target; what all parts of a sample ask of it. */
#include "unwind/target.h"

#include <stdlib.h>
#include <unistd.h>

/* System calls of one sample: a hostile target must not hold us up. */
enum { READS_MAX = 1 << 19 };

struct cpy_target *target_new(void)
{
    struct cpy_target *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->process.proc_fd = -1;
    codes_init(&t->cache.codes);
    names_init(&t->cache.names);
    (void)tids_init(&t->process.tids, -1);
    cpu_pin_init(&t->cpu_pin, -1);
    t->prefetch.bpf_thread.cpu = -1;
    asyncio_init(&t->tasks.asyncio);
    prefetch_init(&t->prefetch, &t->process.mem);
    prefetch_set_init(&t->sets.common, false);
    prefetch_set_init(&t->sets.contents, true);
    prefetch_set_init(&t->sets.names, true);
    t->sets.contents.not_by_bpf = true;
    t->prefetch.shared = &t->sets.contents;
    prefetch_set_init(&t->tasks.all, true);
    prefetch_set_init(&t->tasks.awaiters, true);
    memos_init(&t->tasks.all_memos, &t->prefetch, &t->tasks.all);
    memos_init(&t->tasks.awaiter_memos, &t->prefetch, &t->tasks.awaiters);
    thread_cache_init(&t->cache.threads);
    t->scratch = cpy_scratch_new();
    if (t->scratch)
        return t;
    cpy_close(t);
    return NULL;
}

void target_choose_readers(struct cpy_target *t)
{
    layout_find_spans(&t->found.layout);
    t->prefetch.bpf_thread.chain = walk_chain_of(&t->found.layout);
    t->info.hexversion = t->found.hexversion;
    t->info.free_threaded = t->found.layout.free_threaded;
    layout_version_text(t->found.hexversion, t->info.version, sizeof(t->info.version));
    t->info.binary = t->found.binary;
}

void cpy_close(struct cpy_target *t)
{
    if (!t)
        return;
    cpu_pin_finish(&t->cpu_pin);
    thread_cache_finish(&t->cache.threads, &t->prefetch);
    memos_finish(&t->tasks.all_memos);
    memos_finish(&t->tasks.awaiter_memos);
    prefetch_set_finish(&t->prefetch, &t->sets.common);
    prefetch_set_finish(&t->prefetch, &t->sets.contents);
    prefetch_set_finish(&t->prefetch, &t->sets.names);
    prefetch_set_finish(&t->prefetch, &t->tasks.all);
    prefetch_set_finish(&t->prefetch, &t->tasks.awaiters);
    prefetch_finish(&t->prefetch);
    mem_close(t->process.mem);
    codes_finish(&t->cache.codes);
    names_finish(&t->cache.names);
    tids_finish(&t->process.tids);
    asyncio_finish(&t->tasks.asyncio);
    if (!t->scratch_borrowed)
        cpy_scratch_free(t->scratch);
    free(t->sets.list);
    free(t->gil_skip.ran);
    free(t->list.threads);
    free(t->list.interps);
    if (t->process.proc_fd >= 0)
        (void)close(t->process.proc_fd);
    free(t);
}

bool target_asks_cpu(const struct cpy_target *t)
{
    return ((t->options.status | t->options.only) & CPY_STATUS_CPU) != 0;
}

struct reader target_reader(struct cpy_target *t)
{
    return (struct reader){&t->prefetch.mem, &t->found.layout, t->options.tasks || t->sets.only};
}

bool target_uses(const struct cpy_target *t, enum cpy_layer layer)
{
    return !(t->options.plain & layer);
}

bool target_follows(const struct cpy_target *t, pid_t tid)
{
    return t->prefetch.uses_bpf && tid == t->prefetch.bpf_thread.tid &&
           t->found.layout.frames == FRAMES_OBJECT;
}

/* Forgets all cached stacks and tasks, not the ranges to prefetch. */
static void forget_made(struct cpy_target *t)
{
    thread_cache_forget_stacks(&t->cache.threads);
    memos_forget(&t->tasks.all_memos);
    memos_forget(&t->tasks.awaiter_memos);
    t->gil_skip.ready = false;
}

void target_begin(struct cpy_target *t)
{
    uint64_t replaced;

    codes_sweep(&t->cache.codes);
    t->scratch->stack.depth = 0; /* it may be that of another target */
    t->running.seen_tid = 0;
    replaced = t->cache.codes.replaced + t->cache.codes.evicted;
    if (replaced != t->cache.codes_replaced)
        forget_made(t);
    t->cache.codes_replaced = replaced;
    t->process.reads_limit = t->process.mem->reads + READS_MAX;
}

void target_end(struct cpy_target *t)
{
    t->running.wake.woke_ns = 0;
    if (!t->cpu_pin.stays)
        cpu_pin_release(&t->cpu_pin);
    t->prefetch.now = NULL;
    t->prefetch.uses_bpf = t->prefetch.by_bpf = false;
    t->stats.reads = t->process.mem->reads;
    t->stats.iovecs = t->process.mem->iovecs;
    t->stats.bytes = t->process.mem->bytes;
    t->stats.bpf_reader = t->prefetch.bpf_fetches;
    t->stats.bpf_ns = t->process.mem->bpf_ns;
    t->stats.codes_read = t->cache.codes.decoded;
    t->stats.codes_stale = t->cache.codes.replaced;
    t->stats.codes_evicted = t->cache.codes.evicted;
}

void target_look_for_asyncio(struct cpy_target *t, bool now)
{
    const struct asyncio_process process = {t->process.mem, t->process.proc_fd, t->found.runtime};

    if (now)
        asyncio_look(&t->tasks.asyncio, &process, &t->found.layout);
    else
        asyncio_next_sample(&t->tasks.asyncio, &process, &t->found.layout);
}

void cpy_set_options(struct cpy_target *t, const struct cpy_options *options)
{
    t->options = *options;
    cpu_pin_finish(&t->cpu_pin);
    cpu_pin_init(&t->cpu_pin, target_uses(t, CPY_LAYER_PINNING) ? t->process.proc_fd : -1);
    t->prefetch.off = !target_uses(t, CPY_LAYER_PREDICTION);
    t->tasks.all_memos.off = t->tasks.awaiter_memos.off = !target_uses(t, CPY_LAYER_MEMO);
    forget_made(t);
}

const struct cpy_info *cpy_info(const struct cpy_target *t)
{
    return &t->info;
}

const struct cpy_stats *cpy_stats(const struct cpy_target *t)
{
    return &t->stats;
}

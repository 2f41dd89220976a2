/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - opens a process and takes samples of all its threads. */
#include "unwind/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/linetable.h"

enum {
    WALK_TRIES = 16,
    LIST_TRIES = 8,
    SEATED_SAMPLES = 256 /* after a torn one: see seat.h */
};

struct cpy_target *target_new(void)
{
    struct cpy_target *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->proc_fd = -1;
    codes_init(&t->codes);
    names_init(&t->names);
    tids_init(&t->tids, -1);
    seat_init(&t->seat, -1);
    asyncio_init(&t->asyncio);
    t->scratch = walk_scratch_new();
    t->raw = malloc(sizeof(*t->raw));
    t->addrs = malloc(CPY_DEPTH_MAX * sizeof(*t->addrs));
    t->frames = malloc(CPY_DEPTH_MAX * sizeof(*t->frames));
    if (t->scratch && t->raw && t->addrs && t->frames)
        return t;
    cpy_close(t);
    return NULL;
}

void target_settle(struct cpy_target *t)
{
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
    seat_init(&t->seat, t->proc_fd);
    rc = mem_open_process(pid, t->proc_fd, &t->mem, err);
    if (rc != CPY_OK)
        goto fail;
    rc = find_runtime(t->mem, t->proc_fd, &t->found, err);
    if (rc != CPY_OK)
        goto fail;
    target_settle(t);
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
    uint32_t hexversion;
    enum cpy_rc rc = CPY_NOMEM;

    if (!t)
        return rc;
    rc = image_open(path, &t->mem, &t->found.runtime, &hexversion, err);
    if (rc == CPY_OK)
        rc = find_accept(t->mem, hexversion, &t->found, err);
    if (rc != CPY_OK) {
        err_within(err, "%s", path);
        cpy_close(t);
        return rc;
    }
    target_settle(t);
    *out = t;
    return CPY_OK;
}

void cpy_close(struct cpy_target *t)
{
    if (!t)
        return;
    mem_close(t->mem);
    codes_finish(&t->codes);
    names_finish(&t->names);
    tids_finish(&t->tids);
    asyncio_finish(&t->asyncio);
    walk_scratch_free(t->scratch);
    free(t->raw);
    free(t->addrs);
    free(t->frames);
    free(t->threads);
    if (t->proc_fd >= 0)
        (void)close(t->proc_fd);
    free(t);
}

const struct cpy_info *cpy_info(const struct cpy_target *t)
{
    return &t->info;
}

const struct cpy_stats *cpy_stats(const struct cpy_target *t)
{
    return &t->stats;
}

/* Who holds the GIL: the thread state, 0 if nobody does. */
static enum cpy_rc read_holder(struct cpy_target *t, const struct interp *interp, cpy_addr *out)
{
    const struct layout *l = &t->found.layout;
    cpy_addr last_holder = 0;
    int32_t locked = 0;
    struct mem_range gil[] = {
        {interp->gil + l->gil.last_holder, &last_holder, sizeof(last_holder)},
        {interp->gil + l->gil.locked, &locked, sizeof(locked)},
    };
    enum cpy_rc rc;

    if (l->runtime.tstate_current != NO_FIELD) /* one GIL for all interpreters */
        return mem_read_word(t->mem, t->found.runtime + l->runtime.tstate_current, out);
    rc = mem_read_ranges(t->mem, gil, 2);
    *out = locked == 1 ? last_holder : 0;
    return rc;
}

static enum cpy_rc read_interp(struct cpy_target *t, cpy_addr addr, struct interp *out)
{
    const struct layout *l = &t->found.layout;
    struct mem_range ranges[5] = {
        {addr + l->interp.next, &out->next, 8},
        {addr + l->interp.id, &out->id, 8},
        {addr + l->interp.threads_head, &out->threads_head, 8},
    };
    size_t count = 3;
    enum cpy_rc rc;

    *out = (struct interp){.addr = addr};
    if (l->interp.threads_main != NO_FIELD)
        ranges[count++] = (struct mem_range){addr + l->interp.threads_main, &out->threads_main, 8};
    if (l->interp.gil != NO_FIELD)
        ranges[count++] = (struct mem_range){addr + l->interp.gil, &out->gil, 8};
    rc = mem_read_ranges(t->mem, ranges, count);
    return rc == CPY_OK ? read_holder(t, out, &out->holder) : rc;
}

static enum cpy_rc add_thread(struct cpy_target *t, const struct thread_words *words)
{
    size_t capacity = t->thread_capacity ? t->thread_capacity * 2 : 16;
    struct thread_words *wider;

    if (t->thread_count >= CPY_THREADS_MAX)
        return CPY_RACED; /* more likely a list that loops */
    if (t->thread_count == t->thread_capacity) {
        wider = realloc(t->threads, capacity * sizeof(*wider));
        if (!wider)
            return CPY_NOMEM;
        t->threads = wider;
        t->thread_capacity = capacity;
    }
    t->threads[t->thread_count++] = *words;
    return CPY_OK;
}

/* Lists the threads of an interpreter; each must say that it belongs there. */
static enum cpy_rc list_threads(struct cpy_target *t, const struct interp *interp)
{
    const struct reader reader = {t->mem, &t->found.layout};
    struct thread_words words;
    cpy_addr addr = interp->threads_head;
    enum cpy_rc rc = CPY_OK;

    for (t->thread_count = 0; addr != 0 && rc == CPY_OK; addr = words.next) {
        rc = walk_read_thread(&reader, addr, &words);
        if (rc == CPY_OK && words.interp != interp->addr)
            rc = CPY_RACED;
        if (rc == CPY_OK)
            rc = add_thread(t, &words);
        if (rc != CPY_OK)
            break;
    }
    return rc;
}

enum cpy_rc target_resolve(struct cpy_target *t, uint64_t generation, uint32_t *depth)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const struct code_entry *entry;
    const struct raw_frame *raw;
    uint32_t i;
    enum cpy_rc rc;

    for (i = 0; i < t->raw->depth; i++)
        t->addrs[i] = t->raw->frames[i].code;
    rc = codes_check(&t->codes, &reader, t->addrs, t->raw->depth, generation);
    if (rc != CPY_OK)
        return rc;
    *depth = 0;
    for (i = 0; i < t->raw->depth; i++) {
        raw = &t->raw->frames[i];
        entry = codes_find(&t->codes, raw->code);
        if (!entry || raw->unit >= entry->unit_count)
            return CPY_RACED;
        if (raw->may_skip && raw->unit < entry->first_traceable)
            continue; /* pushed, but its arguments are not in place yet */
        t->frames[(*depth)++] = (struct cpy_frame){
            .code = &entry->code,
            .line =
                linetable_line(entry->table, entry->table_size, entry->code.first_line, raw->unit),
        };
    }
    return CPY_OK;
}

/* One try at a thread's stack. */
static enum cpy_rc try_stack(struct cpy_target *t, const struct interp *interp,
                             const struct thread_words *words, uint32_t *depth)
{
    const struct reader reader = {t->mem, &t->found.layout};
    uint32_t field = t->found.layout.interp.code_generation;
    cpy_addr at = field == NO_FIELD ? 0 : interp->addr + field;
    uint64_t generation = 0;
    enum cpy_rc rc = walk_stack(&reader, t->scratch, words, at, t->raw, &generation);

    /* Interpreters count apart; the address keeps their counts from being mixed up. */
    return rc == CPY_OK ? target_resolve(t, at ? generation + interp->addr : 0, depth) : rc;
}

/* True if the state is of a thread that runs, or may run, Python code. */
static bool is_alive(const struct layout *l, const struct thread_words *words)
{
    return (l->status_bound == 0 || words->status & l->status_bound) &&
           !(words->status & l->status_cleared);
}

/* Reads a stack until it is whole; *gone: the thread ended meanwhile. */
static enum cpy_rc read_stack(struct cpy_target *t, const struct interp *interp,
                              struct thread_words *words, struct cpy_thread *out, bool *gone)
{
    const struct reader reader = {t->mem, &t->found.layout};
    enum cpy_rc rc = try_stack(t, interp, words, &out->depth);
    int tries;

    *gone = false;
    for (tries = 1; rc == CPY_RACED && tries < WALK_TRIES; tries++) {
        t->stats.retries++;
        t->seated = SEATED_SAMPLES;
        (void)seat_take(&t->seat, tids_outer(&t->tids, words->native_thread_id));
        if (walk_read_thread(&reader, words->addr, words) != CPY_OK)
            continue;
        if (words->interp != interp->addr || !is_alive(&t->found.layout, words)) {
            *gone = true;
            return CPY_OK;
        }
        rc = try_stack(t, interp, words, &out->depth);
    }
    out->torn = rc == CPY_RACED;
    out->cut = t->raw->cut;
    if (out->torn) {
        out->depth = 0;
        out->cut = false;
        t->stats.torn++;
        return CPY_OK;
    }
    t->stats.threads += rc == CPY_OK;
    return rc;
}

typedef void each_thread(void *ctx, const struct cpy_thread *thread);

static enum cpy_rc sample_thread(struct cpy_target *t, const struct interp *interp,
                                 uint64_t main_thread, struct thread_words *words,
                                 each_thread *each, void *ctx)
{
    const struct reader reader = {t->mem, &t->found.layout};
    struct cpy_thread thread = {.interpreter = (int64_t)interp->id, .state = words->addr};
    bool gone = !is_alive(&t->found.layout, words);
    enum cpy_rc rc;

    if (gone)
        return CPY_OK;
    /* While the target tears, whoever holds the GIL is read from its own CPU at once. */
    if (t->seated > 0 && words->addr == interp->holder &&
        seat_take(&t->seat, tids_outer(&t->tids, words->native_thread_id)) &&
        walk_read_thread(&reader, words->addr, words) == CPY_GONE)
        return CPY_GONE;
    rc = read_stack(t, interp, words, &thread, &gone);
    if (rc != CPY_OK || gone)
        return rc;
    thread.tid = tids_outer(&t->tids, words->native_thread_id);
    thread.name = names_of(&t->names, &reader, interp->addr, words->thread_id);
    if (main_thread ? words->thread_id == main_thread : words->addr == interp->threads_main)
        thread.status |= CPY_STATUS_MAIN;
    thread.status |= words->addr == interp->holder ? CPY_STATUS_GIL : 0;
    thread.frames = t->frames;
    thread.task = words->running_task;
    t->seen_threads++;
    each(ctx, &thread);
    return CPY_OK;
}

enum cpy_rc target_list_threads(struct cpy_target *t, cpy_addr addr, struct interp *out)
{
    enum cpy_rc rc = CPY_RACED;
    int tries;

    for (tries = 0; rc == CPY_RACED && tries < LIST_TRIES; tries++) {
        rc = read_interp(t, addr, out);
        if (rc == CPY_OK)
            rc = list_threads(t, out);
    }
    return rc;
}

static enum cpy_rc sample_interp(struct cpy_target *t, cpy_addr *addr, each_thread *each, void *ctx)
{
    const struct layout *l = &t->found.layout;
    struct interp interp;
    uint64_t main_thread = 0;
    enum cpy_rc rc = target_list_threads(t, *addr, &interp);
    size_t i;

    if (rc == CPY_OK && l->runtime.main_thread != NO_FIELD)
        rc = mem_read_word(t->mem, t->found.runtime + l->runtime.main_thread, &main_thread);
    for (i = 0; rc == CPY_OK && i < t->thread_count; i++)
        rc = sample_thread(t, &interp, main_thread, &t->threads[i], each, ctx);
    if (rc == CPY_OK)
        *addr = interp.next;
    return rc;
}

enum cpy_rc target_begin(struct cpy_target *t, cpy_addr *interp)
{
    const struct layout *l = &t->found.layout;
    cpy_addr finalizing = 0;
    struct mem_range head[] = {
        {t->found.runtime + l->runtime.interpreters_head, interp, sizeof(*interp)},
        {t->found.runtime + l->runtime.finalizing, &finalizing, sizeof(finalizing)},
    };
    enum cpy_rc rc = mem_read_ranges(t->mem, head, 2);

    codes_sweep(&t->codes);
    return rc == CPY_OK && (*interp == 0 || finalizing != 0) ? CPY_STARTING : rc;
}

void target_end(struct cpy_target *t)
{
    seat_leave(&t->seat);
    t->stats.reads = t->mem->reads;
    t->stats.bytes = t->mem->bytes;
    t->stats.codes_read = t->codes.decoded;
}

static struct asyncio_place asyncio_place(const struct cpy_target *t)
{
    return (struct asyncio_place){t->mem, t->proc_fd, t->found.runtime};
}

void target_look_for_asyncio(struct cpy_target *t)
{
    const struct asyncio_place place = asyncio_place(t);

    asyncio_look(&t->asyncio, &place, &t->found.layout);
}

enum cpy_rc cpy_sample(struct cpy_target *t, each_thread *each, void *ctx)
{
    const struct asyncio_place place = asyncio_place(t);
    cpy_addr interp;
    size_t count = 0;
    enum cpy_rc rc = target_begin(t, &interp);

    names_next_sample(&t->names, t->seen_threads);
    asyncio_next_sample(&t->asyncio, &place, &t->found.layout);
    t->seen_threads = 0;
    while (rc == CPY_OK && interp != 0)
        rc = ++count > CPY_INTERPRETERS_MAX ? CPY_RACED : sample_interp(t, &interp, each, ctx);
    t->seated -= t->seated > 0;
    target_end(t);
    return rc;
}

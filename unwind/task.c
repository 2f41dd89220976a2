/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - see task.h. */
#include "unwind/task.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/resolve.h"

enum { TASK_MAX = 1024, TASK_TRIES = 16 };

/* The words of a task, and what its thread says of it. */
struct words {
    cpy_addr name, coro, next, running_task;
    struct awaited awaited;
};

/*
 * Stored result of a task; followed by its frames, the ids of its waiters and its name. A running
 * task's frames are those of its thread, and are not stored.
 *
 * Cache: tasks with the names and lines of their coroutines (in memos)
 * Key:   address of the task, and of its thread state
 * Ends:  as in memo.h, and when the code objects of its interpreter are others (generation)
 * Test:  tests/unit/unwind/test_reused_addresses.c:
 *          names_the_coroutines_of_interpreters_that_are_made_in_turn
 */
struct cached_task {
    struct cpy_task task;
    uint64_t generation; /* of its code objects; 0: not known */
    cpy_addr own;        /* the frame of its coroutine */
};

static cpy_addr addr_in(const unsigned char *bytes, uint32_t offset)
{
    cpy_addr addr;

    memcpy(&addr, bytes + offset, sizeof(addr));
    return addr;
}

/* What a thread state says of its event loop. */
struct running {
    cpy_addr loop, task;
};

/* Where that is read; gives the number of ranges. */
static size_t running_ranges(const struct layout *l, const struct task_group *group,
                             struct running *into, struct mem_range ranges[2])
{
    *into = (struct running){0};
    if (group->thread == 0)
        return 0;
    ranges[0] = (struct mem_range){group->thread + l->asyncio.running_loop, &into->loop, 8};
    ranges[1] = (struct mem_range){group->thread + l->asyncio.running_task, &into->task, 8};
    return 2;
}

static cpy_addr task_of(const struct layout *l, const struct running *running)
{
    return running->loop != 0 ? running->task & l->tag_mask : 0;
}

/* The task that runs in the group's thread; 0: none. */
static enum cpy_rc read_running_task(struct cpy_target *t, const struct task_group *group,
                                     enum mem_when when, cpy_addr *out)
{
    const struct layout *l = &t->found.layout;
    struct mem_range ranges[2];
    struct running running;
    enum cpy_rc rc;

    t->prefetch.mem.when = when;
    rc = mem_read_ranges(&t->prefetch.mem, ranges, running_ranges(l, group, &running, ranges));
    t->prefetch.mem.when = MEM_FIRST;
    *out = task_of(l, &running);
    return rc;
}

static enum cpy_rc read_task_words(struct cpy_target *t, const struct task_group *group,
                                   enum mem_when when, cpy_addr addr, struct words *out)
{
    const struct layout *l = &t->found.layout;
    struct mem *mem = &group->memos->mem;
    unsigned char bytes[TASK_MAX];
    struct mem_range ranges[3] = {{addr, bytes, l->asyncio.task_size}};
    struct running running;
    const size_t count = 1 + running_ranges(l, group, &running, ranges + 1);
    enum cpy_rc rc;

    mem->when = when;
    rc = addr & 7 ? CPY_RACED : mem_read_ranges(mem, ranges, count);
    mem->when = MEM_FIRST;
    if (rc != CPY_OK)
        return rc;
    out->running_task = task_of(l, &running);
    out->name = addr_in(bytes, l->asyncio.name) & l->tag_mask;
    out->coro = addr_in(bytes, l->asyncio.coro) & l->tag_mask;
    out->next = addr_in(bytes, l->asyncio.node + l->llist.next);
    waiters_take(l, bytes, &out->awaited);
    return CPY_OK;
}

static bool is_same_task_words(const struct words *a, const struct words *b, cpy_addr task)
{
    return a->name == b->name && a->coro == b->coro &&
           (a->running_task == task) == (b->running_task == task) &&
           a->awaited.by == b->awaited.by && a->awaited.by_is_set == b->awaited.by_is_set &&
           a->awaited.is_task == b->awaited.is_task && (a->next == 0) == (b->next == 0);
}

/* As CPython makes it; snprintf takes as long as all the rest of a task. */
static void add_default_name(struct buf *text, uint64_t number)
{
    char digits[24], *at = digits + sizeof(digits);

    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    buf_add_str(text, "Task-");
    buf_add(text, at, (size_t)(digits + sizeof(digits) - at));
}

/* The name is a str or, as long as nobody asked for a default name, its number. */
static bool read_name_text(const struct reader *reader, enum kind kind, cpy_addr name,
                           struct buf *text)
{
    uint64_t number;

    buf_reset(text);
    if (kind == KIND_STR)
        return object_read_str(reader, name, text) == CPY_OK;
    if (kind != KIND_INT || object_read_uint(reader, name, &number) != CPY_OK)
        return false;
    add_default_name(text, number);
    return !buf_failed(text);
}

static const char *read_task_name(struct cpy_target *t, const struct reader *reader, cpy_addr name)
{
    enum kind kind = KIND_OTHER;
    cpy_addr type;

    t->tasks.asyncio.name_kind = KIND_OTHER;
    if (name == 0 ||
        mem_read_word(reader->mem, name + reader->layout->object.ob_type, &type) != CPY_OK ||
        kinds_of(&t->tasks.asyncio.kinds, reader, type, &kind) != CPY_OK ||
        !read_name_text(reader, kind, name, &t->tasks.asyncio.name))
        return NULL;
    t->tasks.asyncio.name_kind = kind;
    return buf_text(&t->tasks.asyncio.name);
}

/* True if the name is what it was: its memory may be another one's by the time it is read. */
static bool verify_name(struct cpy_target *t, const struct reader *reader, cpy_addr name)
{
    struct buf *again = &t->tasks.asyncio.name_again;
    bool good;

    if (t->tasks.asyncio.name_kind == KIND_OTHER)
        return true;
    reader->mem->when = MEM_AGAIN;
    good = read_name_text(reader, t->tasks.asyncio.name_kind, name, again);
    reader->mem->when = MEM_FIRST;
    return good && strcmp(buf_text(again), buf_text(&t->tasks.asyncio.name)) == 0;
}

/* The frames of a running task: its thread's stack down to `own`, the task's own coroutine. */
static enum cpy_rc read_running(struct cpy_target *t, const struct task_group *group, cpy_addr own)
{
    const struct reader reader = target_reader(t);
    const struct walk_marks marks = {0};
    const struct raw_before before = {0};
    struct raw_stack *raw = t->scratch->raw;
    struct thread_words thread;
    uint32_t i;
    enum cpy_rc rc = walk_read_thread(&reader, group->thread, &thread);

    if (rc == CPY_OK)
        rc = walk_stack(&reader, t->scratch->walk, &thread, &marks, &before, 0, raw, NULL);
    if (rc != CPY_OK)
        return rc;
    for (i = 0; i < raw->depth && raw->frames[i].addr != own; i++) {
    }
    if (i == raw->depth)
        return raw->cut ? CPY_OK : CPY_RACED;
    raw->depth = i + 1;
    raw->cut = false;
    return CPY_OK;
}

/* The same, of the stack that the last sample has read. False: it has none that will do. */
static bool take_running(const struct cpy_target *t, const struct listed *thread, cpy_addr own,
                         struct cpy_task *out)
{
    const struct cached_stack *stack = &thread->cached->stack;
    const struct raw_frame *raw = stack->raw + (stack->room - stack->depth);
    uint32_t i;

    if (!thread->cached->whole || t->options.frames & (CPY_FRAME_NATIVE | CPY_FRAME_GC))
        return false;
    for (i = 0; i < stack->depth && raw[i].addr != own; i++) {
    }
    if (i == stack->depth)
        return false;
    out->frames = stack->frames + (stack->room - stack->depth);
    out->depth = i + 1;
    return true;
}

/* Fills t->scratch->raw; *finished: the task's coroutine has ended. */
static enum cpy_rc read_frames(struct cpy_target *t, const struct reader *reader,
                               const struct task_group *group, const struct words *words,
                               bool running, bool *finished)
{
    const struct reader plain = target_reader(t); /* it stays there: see cache_task */
    struct chain *chain = t->tasks.asyncio.chain;
    enum cpy_rc rc;

    *finished = words->coro == 0;
    if (*finished)
        return CPY_OK;
    rc = chain_read(running ? &plain : reader, &t->tasks.asyncio.kinds, words->coro, chain);
    if (rc != CPY_OK)
        return rc;
    *finished = chain->finished;
    if (running && chain->executing) {
        chain->depth = 0; /* it moves; the walk sees to it that this is whole */
        return read_running(t, group, chain->links[0].frame.addr);
    }
    chain_frames(chain, t->scratch->raw);
    return CPY_OK;
}

static enum cpy_rc read_generation(struct cpy_target *t, const struct task_group *group,
                                   uint64_t *out)
{
    uint32_t field = t->found.layout.interp.code_generation;
    uint64_t count = 0;
    enum cpy_rc rc;

    *out = 0;
    if (field == NO_FIELD)
        return CPY_OK;
    rc = mem_read_again(&t->prefetch.mem, &(struct mem_range){group->interp + field, &count, 8}, 1);
    *out = codes_stamp(&t->cache.codes, group->interp_id, count);
    return rc;
}

/* Reads all of a task that is there; *finished: its coroutine has ended. */
static enum cpy_rc read_whole_task(struct cpy_target *t, const struct task_group *group,
                                   const struct words *words, struct cpy_task *out,
                                   uint64_t *generation, bool *finished)
{
    const struct reader reader = {&group->memos->mem, &t->found.layout, true};
    struct waiters *waiters = t->tasks.asyncio.waiters;
    enum cpy_rc rc = read_frames(t, &reader, group, words, out->running, finished);

    if (rc != CPY_OK || *finished)
        return rc;
    out->name = read_task_name(t, &reader, words->name);
    rc = waiters_read(&reader, &words->awaited, waiters);
    if (rc == CPY_OK)
        rc = chain_verify(&reader, t->tasks.asyncio.chain);
    if (rc == CPY_OK && !verify_name(t, &reader, words->name))
        rc = CPY_RACED;
    if (rc == CPY_OK)
        rc = read_generation(t, group, generation);
    if (rc == CPY_OK)
        rc = resolve(t, t->scratch->raw, &(struct codes_owner){group->interp_id, *generation},
                     &t->scratch->stack);
    out->depth = t->scratch->stack.depth;
    out->frames = t->scratch->stack.frames + (t->scratch->stack.room - t->scratch->stack.depth);
    out->awaited_by = waiters->tasks;
    out->awaited_by_count = (uint32_t)waiters->count;
    out->cut = t->scratch->raw->cut || waiters->cut;
    return rc;
}

/* One try. */
static enum cpy_rc try_task(struct cpy_target *t, const struct task_group *group, cpy_addr addr,
                            struct cpy_task *out, uint64_t *generation, bool *gone)
{
    struct words words, after;
    enum cpy_rc rc = read_task_words(t, group, MEM_FIRST, addr, &words);

    if (rc != CPY_OK)
        return rc;
    *out = (struct cpy_task){
        .id = addr, .state = group->thread, .running = words.running_task == addr};
    *gone = !words.awaited.is_task || (words.next == 0 && !out->running);
    if (*gone)
        return CPY_OK;
    rc = read_whole_task(t, group, &words, out, generation, gone);
    if (rc != CPY_OK || *gone)
        return rc;
    rc = read_task_words(t, group, MEM_AGAIN, addr, &after);
    return rc == CPY_OK && !is_same_task_words(&words, &after, addr) ? CPY_RACED : rc;
}

/* A task may have two results: all of it, and the part that stays the same while it runs. */
static struct memo_key key_of(const struct task_group *group, cpy_addr addr, bool running)
{
    return (struct memo_key){addr, group->thread | running};
}

/*
 * Stores the result of a task that was read from the copies. A task's coroutine stays at its
 * address as long as the task has it, so for a running task nothing of the coroutine is compared.
 */
static void cache_task(struct cpy_target *t, const struct task_group *group,
                       const struct cpy_task *task, uint64_t generation)
{
    const size_t frames = task->running ? 0 : task->depth * sizeof(*task->frames);
    const size_t waiters = task->awaited_by_count * sizeof(*task->awaited_by);
    const size_t name = task->name ? strlen(task->name) + 1 : 0;
    struct cached_task *cached;
    unsigned char *at;

    if (generation == 0 || t->options.frames & CPY_FRAME_OPCODES ||
        (task->running && !t->tasks.asyncio.chain->executing))
        return;
    cached = memo_store(group->memos, key_of(group, task->id, task->running),
                        sizeof(*cached) + frames + waiters + name);
    if (!cached)
        return;
    *cached = (struct cached_task){*task, generation, 0};
    if (task->running) { /* all else is read from its thread */
        cached->own = t->tasks.asyncio.chain->links[0].frame.addr;
        cached->task.cut = t->tasks.asyncio.waiters->cut;
    }
    at = (unsigned char *)(cached + 1);
    cached->task.frames = memcpy(at, task->frames, frames);
    cached->task.awaited_by = memcpy(at + frames, task->awaited_by, waiters);
    if (task->name)
        cached->task.name = memcpy(at + frames + waiters, task->name, name);
}

/* Adds the frames to a running task's result, which has none. */
static bool add_running(struct cpy_target *t, const struct task_group *group, cpy_addr own,
                        struct cpy_task *out)
{
    struct cached_stack *stack = &t->scratch->stack;

    if (group->sampled)
        return take_running(t, group->sampled, own, out);
    if (read_running(t, group, own) != CPY_OK ||
        resolve(t, t->scratch->raw, &(struct codes_owner){group->interp_id, group->generation},
                stack) != CPY_OK)
        return false;
    out->frames = stack->frames + (stack->room - stack->depth);
    out->depth = stack->depth;
    out->cut |= t->scratch->raw->cut;
    return true;
}

/*
 * Finds the stored result of a task; false: the task has to be read. The running task and the count
 * of code objects are compared once for all tasks of a group.
 */
static bool find_cached(struct cpy_target *t, const struct task_group *group, cpy_addr addr,
                        struct cpy_task *out)
{
    const bool running = addr == group->running;
    const struct cached_task *cached =
        group->consistent ? memo_find(group->memos, key_of(group, addr, running)) : NULL;

    if (!cached || (!running && cached->generation != group->generation))
        return false;
    *out = cached->task;
    if (running && !add_running(t, group, cached->own, out))
        return false;
    t->stats.frames_reused += running ? 0 : out->depth;
    return true;
}

/* Takes the words of the last sample, if it read the count of code objects after the tasks. */
static bool begin_sampled(const struct cpy_target *t, struct task_group *group)
{
    const struct interp *interp;

    if (!group->sampled || !t->gil_skip.active || !t->gil_skip.counted_late ||
        group->sampled->outer != 0)
        return false;
    interp = &t->list.interps[group->sampled->interp];
    group->running = group->sampled->words.running_task;
    group->generation = codes_stamp(&t->cache.codes, interp->id, interp->generation);
    return true;
}

void task_begin_group(struct cpy_target *t, struct task_group *group)
{
    cpy_addr again;

    group->consistent = begin_sampled(t, group);
    if (group->consistent || t->prefetch.now != group->memos->set)
        return;
    group->sampled = NULL;
    t->prefetch.now->missed = false;
    if (read_running_task(t, group, MEM_FIRST, &group->running) == CPY_OK &&
        read_running_task(t, group, MEM_AGAIN, &again) == CPY_OK &&
        read_generation(t, group, &group->generation) == CPY_OK)
        group->consistent = group->running == again;
}

void task_prepare_retry(struct cpy_target *t, const struct task_group *group)
{
    t->stats.retries++;
    t->prefetch.now = NULL; /* what was fetched is too old */
    if (group->tid != 0)
        t->stats.cpu_pins += cpu_pin_take(&t->cpu_pin, group->tid);
}

/* Reads a task as often as it takes. */
static enum cpy_rc try_often(struct cpy_target *t, const struct task_group *group, cpy_addr addr,
                             struct cpy_task *out, bool *gone)
{
    uint64_t generation = 0;
    enum cpy_rc rc = CPY_RACED;

    memo_record(group->memos, group->thread, t->found.layout.asyncio.thread_size);
    for (int tries = 0; rc == CPY_RACED && tries < TASK_TRIES; tries++) {
        if (tries > 0) {
            memo_discard(group->memos);
            task_prepare_retry(t, group);
        }
        rc = try_task(t, group, addr, out, &generation, gone);
    }
    if (rc == CPY_OK && !*gone)
        cache_task(t, group, out, generation);
    memo_discard(group->memos);
    return rc;
}

enum cpy_rc task_read(struct cpy_target *t, const struct task_group *group, cpy_addr addr,
                      struct cpy_task *out, bool *gone)
{
    enum cpy_rc rc;

    *gone = false;
    if (find_cached(t, group, addr, out))
        return CPY_OK;
    if (!t->tasks.asyncio.chain)
        t->tasks.asyncio.chain = malloc(sizeof(*t->tasks.asyncio.chain));
    if (!t->tasks.asyncio.waiters)
        t->tasks.asyncio.waiters = malloc(sizeof(*t->tasks.asyncio.waiters));
    if (!t->tasks.asyncio.chain || !t->tasks.asyncio.waiters)
        return CPY_NOMEM;
    if (t->prefetch.now) /* what came before has nothing to do with this one */
        t->prefetch.now->missed = false;
    rc = try_often(t, group, addr, out, gone);
    t->prefetch.now = t->sets.only;
    if (rc != CPY_RACED)
        return rc;
    t->stats.torn++;
    t->stats.torn_tasks++;
    *gone = true;
    return CPY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - see task.h. */
#include "unwind/task.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/resolve.h"

enum { TASK_MAX = 1024, TASK_TRIES = 16 };

/* The words of a task, and what its thread says of it. */
struct words {
    cpy_addr name, coro, next;
    struct awaited awaited;
    bool running;
};

static cpy_addr addr_in(const unsigned char *bytes, uint32_t offset)
{
    cpy_addr addr;

    memcpy(&addr, bytes + offset, sizeof(addr));
    return addr;
}

static enum cpy_rc read_words(struct cpy_target *t, const struct task_place *place, cpy_addr addr,
                              struct words *out)
{
    const struct layout *l = &t->found.layout;
    unsigned char bytes[TASK_MAX];
    cpy_addr loop = 0, running = 0;
    struct mem_range ranges[] = {
        {addr, bytes, l->asyncio.task_size},
        {place->thread + l->asyncio.running_loop, &loop, sizeof(loop)},
        {place->thread + l->asyncio.running_task, &running, sizeof(running)},
    };
    enum cpy_rc rc =
        addr & 7 ? CPY_RACED : mem_read_ranges(&t->ahead.mem, ranges, place->thread ? 3 : 1);

    if (rc != CPY_OK)
        return rc;
    out->name = addr_in(bytes, l->asyncio.name) & l->tag_mask;
    out->coro = addr_in(bytes, l->asyncio.coro) & l->tag_mask;
    out->next = addr_in(bytes, l->asyncio.node + l->llist.next);
    waiters_take(l, bytes, &out->awaited);
    out->running = loop != 0 && (running & l->tag_mask) == addr;
    return CPY_OK;
}

static bool same(const struct words *a, const struct words *b)
{
    return a->name == b->name && a->coro == b->coro && a->running == b->running &&
           a->awaited.by == b->awaited.by && a->awaited.by_is_set == b->awaited.by_is_set &&
           a->awaited.is_task == b->awaited.is_task && (a->next == 0) == (b->next == 0);
}

/* The name is a str or, as long as nobody asked for a default name, its number. */
static const char *read_name(struct cpy_target *t, cpy_addr name)
{
    const struct reader reader = target_reader(t);
    struct buf *text = &t->asyncio.name;
    enum kind kind;
    cpy_addr type;
    uint64_t number;

    buf_reset(text);
    if (name == 0 ||
        mem_read_word(&t->ahead.mem, name + reader.layout->object.ob_type, &type) != CPY_OK ||
        kinds_of(&t->asyncio.kinds, &reader, type, &kind) != CPY_OK)
        return NULL;
    if (kind == KIND_STR && object_read_str(&reader, name, text) == CPY_OK)
        return (const char *)text->data;
    if (kind != KIND_INT || object_read_uint(&reader, name, &number) != CPY_OK)
        return NULL;
    buf_add_fmt(text, "Task-%llu", (unsigned long long)number);
    buf_add(text, "", 1);
    return buf_failed(text) ? NULL : (const char *)text->data;
}

/* The frames of a running task: its thread's stack down to the task's own coroutine. */
static enum cpy_rc read_running(struct cpy_target *t, const struct task_place *place)
{
    const struct reader reader = target_reader(t);
    const struct walk_marks marks = {0};
    const struct raw_before before = {0};
    cpy_addr own = t->asyncio.chain->links[0].frame.addr;
    struct thread_words thread;
    uint32_t i;
    enum cpy_rc rc = walk_read_thread(&reader, place->thread, &thread);

    if (rc == CPY_OK)
        rc = walk_stack(&reader, t->scratch->walk, &thread, &marks, &before, 0, t->scratch->raw,
                        NULL);
    if (rc != CPY_OK)
        return rc;
    for (i = 0; i < t->scratch->raw->depth && t->scratch->raw->frames[i].addr != own; i++) {
    }
    if (i == t->scratch->raw->depth)
        return t->scratch->raw->cut ? CPY_OK : CPY_RACED;
    t->scratch->raw->depth = i + 1;
    t->scratch->raw->cut = false;
    t->asyncio.chain->depth = 0; /* it moves; the walk has seen to it that this is whole */
    return CPY_OK;
}

/* Fills t->scratch->raw; *finished: the task's coroutine has ended. */
static enum cpy_rc read_frames(struct cpy_target *t, const struct task_place *place,
                               const struct words *words, bool *finished)
{
    const struct reader reader = target_reader(t);
    struct chain *chain = t->asyncio.chain;
    enum cpy_rc rc;

    *finished = words->coro == 0;
    if (*finished)
        return CPY_OK;
    rc = chain_read(&reader, &t->asyncio.kinds, words->coro, chain);
    if (rc != CPY_OK)
        return rc;
    *finished = chain->finished;
    if (words->running && chain->executing)
        return read_running(t, place);
    chain_frames(chain, t->scratch->raw);
    return CPY_OK;
}

static enum cpy_rc read_generation(struct cpy_target *t, const struct task_place *place,
                                   uint64_t *out)
{
    uint32_t field = t->found.layout.interp.code_generation;
    enum cpy_rc rc;

    *out = 0;
    if (field == NO_FIELD)
        return CPY_OK;
    rc = mem_read_again(&t->ahead.mem, &(struct mem_range){place->interp + field, out, 8}, 1);
    *out += place->interp; /* interpreters count apart: see resolve.h */
    return rc;
}

/* One try. */
static enum cpy_rc try_task(struct cpy_target *t, const struct task_place *place, cpy_addr addr,
                            struct cpy_task *out, bool *gone)
{
    const struct reader reader = target_reader(t);
    struct waiters *waiters = t->asyncio.waiters;
    struct words words, after;
    uint64_t generation;
    enum cpy_rc rc = read_words(t, place, addr, &words);

    if (rc != CPY_OK)
        return rc;
    *gone = !words.awaited.is_task || (words.next == 0 && !words.running);
    if (*gone)
        return CPY_OK;
    rc = read_frames(t, place, &words, gone);
    if (rc != CPY_OK || *gone)
        return rc;
    *out = (struct cpy_task){.id = addr, .state = place->thread, .running = words.running};
    out->name = read_name(t, words.name);
    rc = waiters_read(&reader, &words.awaited, waiters);
    if (rc == CPY_OK)
        rc = chain_verify(&reader, t->asyncio.chain);
    if (rc == CPY_OK)
        rc = read_generation(t, place, &generation);
    if (rc == CPY_OK)
        rc = resolve(t, t->scratch->raw, generation, &t->scratch->stack);
    t->ahead.mem.when = MEM_AGAIN;
    if (rc == CPY_OK)
        rc = read_words(t, place, addr, &after);
    t->ahead.mem.when = MEM_FIRST;
    if (rc == CPY_OK && !same(&words, &after))
        rc = CPY_RACED;
    out->depth = t->scratch->stack.depth;
    out->frames = t->scratch->stack.frames + (t->scratch->stack.room - t->scratch->stack.depth);
    out->awaited_by = waiters->tasks;
    out->awaited_by_count = (uint32_t)waiters->count;
    out->cut = t->scratch->raw->cut || waiters->cut;
    return rc;
}

void task_approach(struct cpy_target *t, const struct task_place *place)
{
    t->stats.retries++;
    t->ahead.now = NULL; /* what was fetched is not good enough */
    if (place->tid != 0)
        t->stats.seats += seat_take(&t->seat, place->tid);
}

enum cpy_rc task_read(struct cpy_target *t, const struct task_place *place, cpy_addr addr,
                      struct cpy_task *out, bool *gone)
{
    enum cpy_rc rc = CPY_RACED;
    int tries;

    if (!t->asyncio.chain)
        t->asyncio.chain = malloc(sizeof(*t->asyncio.chain));
    if (!t->asyncio.waiters)
        t->asyncio.waiters = malloc(sizeof(*t->asyncio.waiters));
    if (!t->asyncio.chain || !t->asyncio.waiters)
        return CPY_NOMEM;
    for (tries = 0; rc == CPY_RACED && tries < TASK_TRIES; tries++) {
        if (tries > 0)
            task_approach(t, place);
        else if (t->ahead.now) /* what came before has nothing to do with this one */
            t->ahead.now->missed = false;
        rc = try_task(t, place, addr, out, gone);
    }
    t->ahead.now = t->one_set;
    if (rc != CPY_RACED)
        return rc;
    t->stats.torn++;
    t->stats.torn_tasks++;
    *gone = true;
    return CPY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - generators and asyncio tasks in a fake target. */
#ifndef TESTS_UNIT_UNWIND_TASKS_H
#define TESTS_UNIT_UNWIND_TASKS_H

#include "tests/unit/unwind/chain.h"
#include "unwind/tasks/asyncio.h"

enum { TASK_FLAG_HEAP = 1 << 9, TASK_FLAG_INT = 1 << 24, TASK_FLAG_STR = 1 << 28 };
enum { TASK_STATE_EXECUTING_15 = 4, TASK_LOCALS = 64 };

/* What an AsyncioDebug table of a layout may say. */
static inline void tasks_words(const struct layout *l, uint64_t words[LAYOUT_ASYNCIO_WORDS])
{
    const uint64_t all[LAYOUT_ASYNCIO_WORDS] = {168,
                                                136,
                                                96,
                                                108,
                                                109,
                                                128,
                                                152,
                                                l->interp.size,
                                                10880,
                                                l->thread.size + 64,
                                                l->thread.size,
                                                l->thread.size + 8,
                                                l->thread.size + 16};

    memcpy(words, all, sizeof(all));
}

static inline struct fake *tasks_fake(unsigned minor)
{
    struct layout layout = fake_layout(minor);
    uint64_t words[LAYOUT_ASYNCIO_WORDS];

    tasks_words(&layout, words);
    assert_true(layout_add_asyncio(&layout, words));
    return fake_new(&layout);
}

static inline cpy_addr tasks_type(struct fake *fake, const char *name, uint64_t flags)
{
    cpy_addr type = fake_type(fake, name);

    fake_put64(fake, type + fake->layout.type.tp_flags, flags);
    return type;
}

/* An object of a type with one word after its head. */
static inline cpy_addr tasks_object(struct fake *fake, cpy_addr type, uint64_t word)
{
    cpy_addr object = fake_room(fake, 64);

    fake_put64(fake, object + fake->layout.object.ob_type, type);
    fake_put64(fake, object + fake->layout.object.ob_size, word);
    return object;
}

/* A suspended generator at unit `unit` of `code` that awaits `awaited` (0: nothing). */
static inline cpy_addr tasks_generator(struct fake *fake, cpy_addr type, cpy_addr code,
                                       int64_t unit, cpy_addr awaited)
{
    const struct layout *l = &fake->layout;
    cpy_addr object = fake_room(fake, l->generator.size + TASK_LOCALS);
    cpy_addr frame = object + l->generator.iframe;
    cpy_addr top = object + l->generator.size + 32;

    fake_put64(fake, object + l->object.ob_type, type);
    fake_put8(fake, object + l->generator.frame_state,
              (uint8_t)(awaited ? l->generator.delegates_first : l->generator.delegates_first - 1));
    chain_put_frame(fake, frame,
                    &(struct chain_frame){.code = code, .unit = unit, .owner = OWNER_GENERATOR});
    fake_put64(fake, frame + l->generator.stackpointer, top);
    fake_put64(fake, top - l->generator.awaited, awaited);
    return object;
}

/* Appends a node to the ring at `head`. */
static inline void tasks_append(struct fake *fake, cpy_addr head, cpy_addr node)
{
    const struct layout *l = &fake->layout;
    cpy_addr last;

    memcpy(&last, fake->bytes + (head + l->llist.prev - FAKE_BASE), sizeof(last));
    fake_put64(fake, last + l->llist.next, node);
    fake_put64(fake, node + l->llist.prev, last);
    fake_put64(fake, node + l->llist.next, head);
    fake_put64(fake, head + l->llist.prev, node);
}

static inline void tasks_init_ring(struct fake *fake, cpy_addr head)
{
    fake_put64(fake, head + fake->layout.llist.next, head);
    fake_put64(fake, head + fake->layout.llist.prev, head);
}

/* A task or (is_task false) a future that `waiter` (0: nobody) waits for. */
static inline cpy_addr tasks_task(struct fake *fake, bool is_task, cpy_addr waiter)
{
    cpy_addr task = fake_room(fake, fake->layout.asyncio.task_size);

    fake_put8(fake, task + fake->layout.asyncio.is_task, is_task);
    fake_put64(fake, task + fake->layout.asyncio.awaited_by, waiter);
    return task;
}

/* A set with room for `slots` entries. */
static inline cpy_addr tasks_set(struct fake *fake, size_t slots)
{
    cpy_addr set = fake_room(fake, fake->layout.set.size), table = fake_room(fake, slots * 16);

    fake_put64(fake, set + fake->layout.set.mask, slots - 1);
    fake_put64(fake, set + fake->layout.set.table, table);
    return set;
}

static inline void tasks_set_put(struct fake *fake, cpy_addr set, size_t slot, cpy_addr member,
                                 int64_t hash)
{
    uint64_t table, used;

    memcpy(&table, fake->bytes + (set + fake->layout.set.table - FAKE_BASE), sizeof(table));
    memcpy(&used, fake->bytes + (set + fake->layout.set.used - FAKE_BASE), sizeof(used));
    fake_put64(fake, table + slot * 16, member);
    fake_put64(fake, table + slot * 16 + 8, (uint64_t)hash);
    fake_put64(fake, set + fake->layout.set.used, used + (hash != -1));
}

#endif

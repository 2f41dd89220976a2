/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - generators and asyncio tasks of a fake process. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { LOCALS = 64, LOCALS_USED = 32, SET_ENTRY = 16 };

void fake_asyncio_words(const struct layout *layout, uint64_t words[LAYOUT_ASYNCIO_WORDS])
{
    const uint64_t all[LAYOUT_ASYNCIO_WORDS] = {168,
                                                136,
                                                96,
                                                108,
                                                109,
                                                128,
                                                152,
                                                layout->interp.size,
                                                10880,
                                                layout->thread.size + 64,
                                                layout->thread.size,
                                                layout->thread.size + 8,
                                                layout->thread.size + 16};

    memcpy(words, all, sizeof(all));
}

struct fake *fake_of_tasks(unsigned minor)
{
    struct layout layout = fake_layout(minor);
    uint64_t words[LAYOUT_ASYNCIO_WORDS];

    fake_asyncio_words(&layout, words);
    assert_true(layout_add_asyncio(&layout, words));
    return fake_new(&layout);
}

cpy_addr fake_generator(struct fake *fake, cpy_addr type, cpy_addr code, int64_t unit,
                        cpy_addr awaited)
{
    const struct layout *l = &fake->layout;
    cpy_addr object = fake_room(fake, l->generator.size + LOCALS);
    cpy_addr frame = object + l->generator.iframe;
    cpy_addr top = object + l->generator.size + LOCALS_USED;

    fake_put64(fake, object + l->object.ob_type, type);
    fake_put8(fake, object + l->generator.frame_state,
              (uint8_t)(awaited ? l->generator.delegates_first : l->generator.delegates_first - 1));
    fake_put_frame(fake, frame,
                   &(struct fake_frame){.code = code, .unit = unit, .owner = OWNER_GENERATOR});
    fake_put64(fake, frame + l->generator.stackpointer, top);
    fake_put64(fake, top - l->generator.awaited, awaited);
    return object;
}

void fake_ring_init(struct fake *fake, cpy_addr head)
{
    fake_put64(fake, head + fake->layout.llist.next, head);
    fake_put64(fake, head + fake->layout.llist.prev, head);
}

void fake_ring_add(struct fake *fake, cpy_addr head, cpy_addr node)
{
    const struct layout *l = &fake->layout;
    cpy_addr last = fake_get64(fake, head + l->llist.prev);

    fake_put64(fake, last + l->llist.next, node);
    fake_put64(fake, node + l->llist.prev, last);
    fake_put64(fake, node + l->llist.next, head);
    fake_put64(fake, head + l->llist.prev, node);
}

cpy_addr fake_task(struct fake *fake, bool is_task, cpy_addr waiter)
{
    cpy_addr task = fake_room(fake, fake->layout.asyncio.task_size);

    fake_put8(fake, task + fake->layout.asyncio.is_task, is_task);
    fake_put64(fake, task + fake->layout.asyncio.awaited_by, waiter);
    return task;
}

cpy_addr fake_set(struct fake *fake, size_t slots)
{
    cpy_addr set = fake_room(fake, fake->layout.set.size);

    fake_put64(fake, set + fake->layout.set.mask, slots - 1);
    fake_put64(fake, set + fake->layout.set.table, fake_room(fake, slots * SET_ENTRY));
    return set;
}

void fake_set_put(struct fake *fake, cpy_addr set, size_t slot, cpy_addr member, int64_t hash)
{
    const cpy_addr entry =
        fake_get64(fake, set + fake->layout.set.table) + slot * (size_t)SET_ENTRY;
    const cpy_addr used = set + fake->layout.set.used;

    fake_put64(fake, entry, member);
    fake_put64(fake, entry + 8, (uint64_t)hash);
    fake_put64(fake, used, fake_get64(fake, used) + (hash != -1));
}

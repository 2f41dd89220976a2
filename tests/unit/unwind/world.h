/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - a target of CPython 3.15 made by hand that has asyncio tasks.
 */
#ifndef TESTS_UNIT_UNWIND_WORLD_H
#define TESTS_UNIT_UNWIND_WORLD_H

#include <stdio.h>

#include "tests/unit/unwind/tasks.h"

/* A target with one interpreter, one thread and whatever tasks a test adds. */
struct world {
    struct cpy_target *target;
    struct fake *fake;
    cpy_addr interp, thread, coroutine, str, integer, code, code_type;
};

static inline cpy_addr put_code(struct fake *fake, cpy_addr type, const char *name)
{
    const struct layout *l = &fake->layout;
    static const unsigned char table[] = {0x80 | 15 << 3 | 7, 0x80 | 15 << 3 | 7};
    cpy_addr code = fake_room(fake, l->code.size);

    fake_put64(fake, code + l->object.ob_type, type);
    fake_put64(fake, code + l->object.ob_size, 16);
    fake_put64(fake, code + l->code.qualname, fake_str(fake, name));
    fake_put64(fake, code + l->code.filename, fake_str(fake, "app.py"));
    fake_put64(fake, code + l->code.linetable, fake_bytes(fake, table, sizeof(table)));
    fake_put32(fake, code + l->code.firstlineno, 7);
    return code;
}

static inline struct world make_world(void)
{
    struct world w = {.target = target_new(), .fake = tasks_fake(15)};
    const struct layout *l = &w.fake->layout;
    cpy_addr runtime = fake_room(w.fake, 4096);

    assert_non_null(w.target);
    w.interp = fake_room(w.fake, l->interp.size);
    w.thread = chain_thread(w.fake, 0);
    fake_put64(w.fake, runtime + l->runtime.interpreters_head, w.interp);
    fake_put64(w.fake, w.interp + l->interp.threads_head, w.thread);
    fake_put64(w.fake, w.interp + l->interp.gil, fake_room(w.fake, 64));
    fake_put64(w.fake, w.thread + l->thread.interp, w.interp);
    tasks_init_ring(w.fake, w.thread + l->asyncio.thread_tasks);
    tasks_init_ring(w.fake, w.interp + l->asyncio.interp_tasks);
    w.coroutine = tasks_type(w.fake, "coroutine", 0);
    w.str = tasks_type(w.fake, "str", TASK_FLAG_STR);
    w.integer = tasks_type(w.fake, "int", TASK_FLAG_INT);
    w.code_type = fake_type(w.fake, "code");
    w.code = put_code(w.fake, w.code_type, "main");
    w.target->process.mem = &w.fake->mem;
    w.target->found.layout = w.fake->layout;
    w.target->found.runtime = runtime;
    w.target->tasks.asyncio.table = 1; /* found */
    w.target->options.tasks = true;
    return w;
}

/* A task that waits at unit 1 of the world's code. */
static inline cpy_addr put_task(struct world *w, cpy_addr ring, cpy_addr name, cpy_addr waiter)
{
    const struct layout *l = &w->fake->layout;
    cpy_addr task = tasks_task(w->fake, true, waiter);

    fake_put64(w->fake, task + l->asyncio.name, name);
    fake_put64(w->fake, task + l->asyncio.coro,
               tasks_generator(w->fake, w->coroutine, w->code, 1, 0));
    tasks_append(w->fake, ring, task + l->asyncio.node);
    return task;
}

static inline cpy_addr thread_ring(const struct world *w)
{
    return w->thread + w->fake->layout.asyncio.thread_tasks;
}

static inline cpy_addr put_name(struct world *w, const char *text)
{
    cpy_addr name = fake_str(w->fake, text);

    fake_put64(w->fake, name + w->fake->layout.object.ob_type, w->str);
    return name;
}

static inline cpy_addr put_number(struct world *w, uint32_t number)
{
    cpy_addr object = fake_room(w->fake, 64);

    fake_put64(w->fake, object + w->fake->layout.object.ob_type, w->integer);
    fake_put64(w->fake, object + w->fake->layout.integer.tag, 1 << 3);
    fake_put32(w->fake, object + w->fake->layout.integer.digit, number);
    return object;
}

/* What the callback was given, as text. */
struct seen {
    char text[4096];
    size_t count;
};

static inline void see(void *ctx, const struct cpy_task *task)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);

    seen->count++;
    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s %s%s %s/%u<%u;",
                   task->name ? task->name : "?", task->state ? "" : "ended ",
                   task->running ? "runs" : "waits", task->depth ? task->frames[0].code->func : "-",
                   task->depth, task->awaited_by_count);
}

/* The thread runs `task`: its coroutine's frame is called by a shim, and calls another. */
static inline void run_task(struct world *w, cpy_addr task)
{
    const struct layout *l = &w->fake->layout;
    cpy_addr coro = tasks_generator(w->fake, w->coroutine, w->code, 1, 0), base, frame;

    fake_put8(w->fake, coro + l->generator.frame_state, TASK_STATE_EXECUTING_15);
    fake_put64(w->fake, task + l->asyncio.coro, coro);
    base = w->thread + l->thread.base_frame;
    frame = fake_room(w->fake, l->frame.size);
    fake_put64(w->fake, base, frame);
    chain_put_frame(w->fake, frame, &(struct chain_frame){.owner = OWNER_SHIM});
    frame = chain_frame(w->fake, w->code, 1, frame); /* what runs the loop */
    fake_put64(w->fake, coro + l->generator.iframe + l->frame.previous, frame);
    frame = chain_frame(w->fake, put_code(w->fake, w->code_type, "leaf"), 1,
                        coro + l->generator.iframe);
    fake_put64(w->fake, w->thread + l->thread.current_frame, frame);
    fake_put64(w->fake, w->thread + l->asyncio.running_loop, FAKE_BASE);
    fake_put64(w->fake, w->thread + l->asyncio.running_task, task);
}

#endif

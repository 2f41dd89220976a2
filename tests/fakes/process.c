/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - a fake process with an interpreter, the target that reads it, and its samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { RUNTIME_SIZE = 4096, GIL_SIZE = 64, FINAL_RELEASE = 0xf0 };

static struct fake_process make_in(struct fake *fake)
{
    struct fake_process p = {.fake = fake, .target = target_new()};
    const struct layout *l = &fake->layout;

    assert_non_null(p.target);
    p.runtime = fake_room(fake, RUNTIME_SIZE);
    p.interp = fake_room(fake, l->interp.size);
    p.gil = fake_room(fake, GIL_SIZE);
    p.code_type = fake_type(fake, "code", 0);
    fake_put64(fake, p.runtime + l->runtime.interpreters_head, p.interp);
    fake_put64(fake, p.interp + l->interp.gil, p.gil);
    p.target->process.mem = &fake->mem;
    p.target->found =
        (struct found){.runtime = p.runtime,
                       .hexversion = 3U << 24 | (uint32_t)l->minor << 16 | FINAL_RELEASE,
                       .layout = *l};
    target_choose_readers(p.target);
    return p;
}

struct fake_process fake_process_make(unsigned minor)
{
    return make_in(fake_of(minor));
}

int fake_process_set_up(void **state)
{
    struct fake_process *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    *p = fake_process_make(12);
    p->seen = calloc(FAKE_SEEN_MAX, sizeof(*p->seen));
    p->innermost = calloc(FAKE_SEEN_MAX, sizeof(*p->innermost));
    assert_true(p->seen && p->innermost);
    *state = p;
    return 0;
}

int fake_process_tear_down(void **state)
{
    struct fake_process *p = *state;

    cpy_close(p->target); /* ends the fake, too */
    free(p->seen);
    free(p->innermost);
    free(p);
    return 0;
}

cpy_addr fake_function(struct fake_process *p, const char *func)
{
    return fake_code(p->fake, &(struct fake_code){.type = p->code_type,
                                                  .func = func,
                                                  .units = FAKE_UNITS,
                                                  .first_line = 10,
                                                  .first_traceable = FAKE_FIRST_TRACEABLE,
                                                  .table = "\xd7\x01\x02",
                                                  .table_size = 3});
}

cpy_addr fake_stack(struct fake_process *p, const char *func, int64_t unit)
{
    return fake_frame(p->fake, fake_function(p, func), unit, fake_shim(p->fake, 0));
}

cpy_addr fake_add_thread(struct fake_process *p, cpy_addr current_frame)
{
    const struct layout *l = &p->fake->layout;
    const cpy_addr head = p->interp + l->interp.threads_head;
    cpy_addr thread = fake_thread(p->fake, current_frame);

    fake_put64(p->fake, thread + l->thread.next, fake_get64(p->fake, head));
    fake_put64(p->fake, thread + l->thread.interp, p->interp);
    fake_put64(p->fake, thread + l->thread.thread_id, 500 + p->threads);
    fake_put64(p->fake, thread + l->thread.native_thread_id, FAKE_TID + p->threads++);
    fake_put64(p->fake, head, thread);
    return thread;
}

void fake_hold_gil(struct fake_process *p, cpy_addr thread)
{
    const struct layout *l = &p->fake->layout;
    const cpy_addr last = fake_get64(p->fake, p->gil + l->gil.last_holder);

    fake_put32(p->fake, p->gil + l->gil.locked, thread != 0);
    if (thread == 0 || thread == last)
        return;
    fake_put64(p->fake, p->gil + l->gil.last_holder, thread);
    fake_put64(p->fake, p->gil + l->gil.switch_number, ++p->switches);
}

static void see(void *ctx, const struct cpy_thread *thread)
{
    struct fake_process *p = ctx;

    assert_true(p->count < FAKE_SEEN_MAX);
    p->innermost[p->count] = thread->depth ? thread->frames[0].code : NULL;
    p->opcode = thread->depth ? thread->frames[0].opcode : NULL;
    p->seen[p->count++] = *thread;
}

enum cpy_rc fake_sample(struct fake_process *p)
{
    p->count = 0;
    return cpy_sample(p->target, see, p);
}

const char *fake_functions(const struct fake_process *p)
{
    static char text[256];

    text[0] = '\0';
    for (size_t i = 0; i < p->count; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
                       p->innermost[i] ? p->innermost[i]->func : "-");
    return text;
}

void fake_make_threads(struct fake_process *p)
{
    for (size_t i = FAKE_THREADS; i-- > 0;)
        p->states[i] = fake_add_thread(p, fake_stack(p, "old", 5));
    fake_hold_gil(p, p->states[2]);
    assert_int_equal(fake_sample(p), CPY_OK);
    assert_int_equal(fake_sample(p), CPY_OK);
    assert_int_equal(fake_gil_skips(p), 1);
}

void fake_move_threads(struct fake_process *p, const char *func)
{
    for (size_t i = 0; i < FAKE_THREADS; i++)
        fake_put_stack(p->fake, p->states[i], fake_stack(p, func, 5));
}

uint64_t fake_gil_skips(const struct fake_process *p)
{
    return cpy_stats(p->target)->gil_skips;
}

void fake_assert_full_once(struct fake_process *p)
{
    const uint64_t before = fake_gil_skips(p);

    assert_int_equal(fake_sample(p), CPY_OK);
    assert_int_equal(fake_gil_skips(p), before);
    for (int i = 0; i < 8; i++)
        assert_int_equal(fake_sample(p), CPY_OK);
    assert_true(fake_gil_skips(p) > before);
}

void fake_assert_never_gil_skip(struct fake_process *p)
{
    const uint64_t before = fake_gil_skips(p);

    for (int i = 0; i < 4; i++)
        assert_int_equal(fake_sample(p), CPY_OK);
    assert_int_equal(fake_gil_skips(p), before);
}

struct fake_process fake_process_with_tasks(void)
{
    struct fake_process p = make_in(fake_of_tasks(15));
    const struct layout *l = &p.fake->layout;

    p.thread = fake_thread(p.fake, 0);
    fake_put64(p.fake, p.interp + l->interp.threads_head, p.thread);
    fake_put64(p.fake, p.thread + l->thread.interp, p.interp);
    fake_ring_init(p.fake, p.thread + l->asyncio.thread_tasks);
    fake_ring_init(p.fake, p.interp + l->asyncio.interp_tasks);
    p.coroutine = fake_type(p.fake, "coroutine", 0);
    p.str = fake_type(p.fake, "str", TYPE_STR);
    p.integer = fake_type(p.fake, "int", TYPE_INT);
    p.code = fake_coroutine_code(&p, "main");
    p.target->tasks.asyncio.table = 1; /* found */
    p.target->options.tasks = true;
    return p;
}

cpy_addr fake_coroutine_code(struct fake_process *p, const char *func)
{
    static const unsigned char table[] = {0x80 | 15 << 3 | 7, 0x80 | 15 << 3 | 7};

    return fake_code(p->fake, &(struct fake_code){.type = p->code_type,
                                                  .func = func,
                                                  .units = 16,
                                                  .first_line = 7,
                                                  .table = table,
                                                  .table_size = sizeof(table)});
}

cpy_addr fake_thread_ring(const struct fake_process *p)
{
    return p->thread + p->fake->layout.asyncio.thread_tasks;
}

cpy_addr fake_put_task(struct fake_process *p, cpy_addr ring, cpy_addr name, cpy_addr waiter)
{
    const struct layout *l = &p->fake->layout;
    cpy_addr task = fake_task(p->fake, true, waiter);

    fake_put64(p->fake, task + l->asyncio.name, name);
    fake_put64(p->fake, task + l->asyncio.coro,
               fake_generator(p->fake, p->coroutine, p->code, 1, 0));
    fake_ring_add(p->fake, ring, task + l->asyncio.node);
    return task;
}

cpy_addr fake_name(struct fake_process *p, const char *text)
{
    cpy_addr name = fake_str(p->fake, text);

    fake_put64(p->fake, name + p->fake->layout.object.ob_type, p->str);
    return name;
}

cpy_addr fake_number(struct fake_process *p, uint32_t number)
{
    cpy_addr object = fake_int(p->fake, number);

    fake_put64(p->fake, object + p->fake->layout.object.ob_type, p->integer);
    return object;
}

void fake_run_task(struct fake_process *p, cpy_addr task)
{
    const struct layout *l = &p->fake->layout;
    cpy_addr coro = fake_generator(p->fake, p->coroutine, p->code, 1, 0), frame;

    fake_put8(p->fake, coro + l->generator.frame_state, FAKE_EXECUTING_15);
    fake_put64(p->fake, task + l->asyncio.coro, coro);
    frame = fake_room(p->fake, l->frame.size);
    fake_put64(p->fake, p->thread + l->thread.base_frame, frame);
    fake_put_frame(p->fake, frame, &(struct fake_frame){.owner = OWNER_SHIM});
    frame = fake_frame(p->fake, p->code, 1, frame); /* what runs the loop */
    fake_put64(p->fake, coro + l->generator.iframe + l->frame.previous, frame);
    frame = fake_frame(p->fake, fake_coroutine_code(p, "leaf"), 1, coro + l->generator.iframe);
    fake_put_stack(p->fake, p->thread, frame);
    fake_put64(p->fake, p->thread + l->asyncio.running_loop, FAKE_BASE);
    fake_put64(p->fake, p->thread + l->asyncio.running_task, task);
}

void fake_tell_task(void *ctx, const struct cpy_task *task)
{
    struct fake_tasks_text *told = ctx;
    size_t used = strlen(told->text);

    told->count++;
    (void)snprintf(told->text + used, sizeof(told->text) - used, "%s %s%s %s/%u<%u;",
                   task->name ? task->name : "?", task->state ? "" : "ended ",
                   task->running ? "runs" : "waits", task->depth ? task->frames[0].code->func : "-",
                   task->depth, task->awaited_by_count);
}

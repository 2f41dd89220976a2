/* SPDX-License-Identifier: Apache-2.0 */
/* test_task.c - a task is one task, whenever the target puts another in its place. */
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { WARM = 12, MOMENTS_MAX = 400, APART = 1 << 15 /* bytes: ranges of their own */ };

/* Memory in which, before some range is copied, another task takes the place of the first. */
struct moving {
    struct mem mem;
    struct fake_process *w;
    cpy_addr task, coro, name, codes[2], waiter;
    unsigned ranges, change_at; /* 0: never */
};

/* The first letter of name and function, and the waiter, are those of the first task or the other.
 */
static void put(struct moving *moving, bool other)
{
    const struct layout *l = &moving->w->fake->layout;
    const cpy_addr frame = moving->coro + l->generator.iframe;
    const cpy_addr code = moving->codes[other];

    fake_put8(moving->w->fake, moving->name + l->unicode.ascii_data, other ? 'b' : 'a');
    fake_put64(moving->w->fake, frame + l->frame.executable, code);
    fake_put64(moving->w->fake, frame + l->frame.instr, code + l->code.bytecode + 2);
    fake_put64(moving->w->fake, moving->task + l->asyncio.awaited_by, other ? moving->waiter : 0);
}

static enum cpy_rc moving_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct moving *moving = (struct moving *)mem;
    struct mem *fake = &moving->w->fake->mem;
    enum cpy_rc rc = CPY_OK;
    size_t i;

    mem->reads++;
    for (i = 0; i < count && rc == CPY_OK; i++) {
        if (++moving->ranges == moving->change_at)
            put(moving, true);
        rc = fake->read(fake, &ranges[i], 1);
    }
    return rc;
}

static void moving_close(struct mem *mem)
{
    (void)mem; /* the test's */
}

static struct moving make_moving(struct fake_process *w)
{
    struct moving moving = {.mem = {.read = moving_read, .close = moving_close}, .w = w};

    moving.codes[0] = fake_coroutine_code(w, "alpha");
    moving.codes[1] = fake_coroutine_code(w, "beta");
    (void)fake_room(w->fake, APART);
    moving.name = fake_name(w, "? name");
    (void)fake_room(w->fake, APART);
    moving.task = fake_put_task(w, fake_thread_ring(w), moving.name, 0);
    moving.waiter = fake_put_task(w, fake_thread_ring(w), fake_name(w, "waiter"), 0);
    moving.coro = fake_get64(w->fake, moving.task + w->fake->layout.asyncio.coro);
    return moving;
}

/* Reads all tasks while the second takes the place of the first at some moment. */
static void read_at(struct moving *moving, unsigned moment, struct fake_tasks_text *seen)
{
    struct cpy_target *target = moving->w->target;
    int i;

    put(moving, false);
    moving->change_at = 0;
    for (i = 0; i < WARM; i++) {
        *seen = (struct fake_tasks_text){.count = 0};
        assert_int_equal(cpy_tasks(target, fake_tell_task, seen), CPY_OK);
    }
    assert_string_equal(seen->text, "a name waits alpha/1<0;waiter waits alpha/1<0;");
    moving->ranges = 0;
    moving->change_at = moment;
    *seen = (struct fake_tasks_text){.count = 0};
    assert_int_equal(cpy_tasks(target, fake_tell_task, seen), CPY_OK);
}

static void never_mixes_two_tasks_that_are_at_one_address(void **state)
{
    struct fake_process w = fake_process_with_tasks();
    struct moving moving = make_moving(&w);
    unsigned moment, first = 0, second = 0;
    const struct layout *l = &w.fake->layout;
    struct fake_tasks_text seen;
    cpy_addr other;

    (void)state;
    other = fake_get64(w.fake, moving.waiter + l->asyncio.coro);
    fake_put64(w.fake, other + l->generator.iframe + l->frame.executable, moving.codes[0]);
    fake_put64(w.fake, other + l->generator.iframe + l->frame.instr,
               moving.codes[0] + l->code.bytecode + 2);
    w.target->process.mem = &moving.mem;
    for (moment = 1; moment == 1 || moving.ranges >= moment; moment++) {
        assert_true(moment < MOMENTS_MAX);
        read_at(&moving, moment, &seen);
        if (strcmp(seen.text, "a name waits alpha/1<0;waiter waits alpha/1<0;") == 0)
            first++;
        else if (strcmp(seen.text, "b name waits beta/1<1;waiter waits alpha/1<0;") == 0)
            second++;
        else
            fail_msg("changed before range %u: %s", moment, seen.text);
    }

    assert_true(first > 0 && second > 0);
    w.target->process.mem = &w.fake->mem;
    cpy_close(w.target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_mixes_two_tasks_that_are_at_one_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_memo.c - tasks that are given again without being decoded are those that decoding
 * gives: a target that has seen all that came before is compared with one that has seen nothing.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { TASKS = 8, STEPS = 6000, UNITS = 2, WARM = 12 };

/* Tasks that can be changed in all ways that a program changes them. */
struct scene {
    struct fake_process w;
    struct cpy_target *other; /* of the same memory */
    cpy_addr tasks[TASKS], coros[TASKS], inner[TASKS], running_coros[TASKS], sets[TASKS];
    cpy_addr names[3], functions[2], codes[2], loop, leaf;
    bool listed[TASKS];
    int running; /* -1: none */
};

struct text {
    char chars[16384];
    size_t used;
};

static void add(struct text *text, const char *word, uint64_t number)
{
    int got = snprintf(text->chars + text->used, sizeof(text->chars) - text->used, "%s %llx ", word,
                       (unsigned long long)number);

    text->used += (size_t)got;
    assert_true(text->used < sizeof(text->chars));
}

/* All that a caller is given of a task. */
static void tell(void *ctx, const struct cpy_task *task)
{
    struct text *text = ctx;
    uint32_t i;

    add(text, task->name ? task->name : "?", task->id);
    add(text, task->running ? "runs" : "waits", task->state);
    add(text, task->cut ? "cut" : "whole", task->depth);
    for (i = 0; i < task->depth; i++) {
        add(text, task->frames[i].code->func, (uint64_t)task->frames[i].line);
        add(text, task->frames[i].code->file, (uint64_t)task->frames[i].end_line);
    }
    for (i = 0; i < task->awaited_by_count; i++)
        add(text, "for", task->awaited_by[i]);
    add(text, "\n", 0);
}

static void ignore_thread(void *ctx, const struct cpy_thread *thread)
{
    (void)ctx;
    (void)thread;
}

/* All tasks, by one target, and those that run with their waiters, by another. */
static void read_both(struct cpy_target *all, struct cpy_target *running, struct text *out)
{
    out->used = 0;
    assert_int_equal(cpy_tasks(all, tell, out), CPY_OK);
    add(out, "---\n", 0);
    assert_int_equal(cpy_sample(running, ignore_thread, NULL), CPY_OK);
    assert_int_equal(cpy_running_tasks(running, tell, out), CPY_OK);
}

static void read_again(struct scene *s, struct text *out)
{
    read_both(s->w.target, s->other, out);
}

/* Another target of the same memory, that has seen nothing. */
static struct cpy_target *make_other(const struct fake_process *w)
{
    struct cpy_target *other = target_new();

    assert_non_null(other);
    other->process.mem = w->target->process.mem;
    other->found = w->target->found;
    other->tasks.asyncio.table = w->target->tasks.asyncio.table;
    other->options = w->target->options;
    return other;
}

static void close_other(struct cpy_target *other)
{
    other->process.mem = NULL; /* it is the first one's */
    cpy_close(other);
}

static void close_scene(struct scene *s)
{
    close_other(s->other);
    cpy_close(s->w.target);
}

/* What targets give that have seen nothing before. */
static void read_fresh(struct scene *s, struct text *out)
{
    struct cpy_target *all = make_other(&s->w), *running = make_other(&s->w);

    read_both(all, running, out);
    close_other(all);
    close_other(running);
}

static void move_coroutine(struct scene *s, cpy_addr coro, unsigned random)
{
    const struct layout *l = &s->w.fake->layout;
    cpy_addr code = s->codes[random / UNITS % 2];

    fake_put64(s->w.fake, coro + l->generator.iframe + l->frame.executable, code);
    fake_put64(s->w.fake, coro + l->generator.iframe + l->frame.instr,
               code + l->code.bytecode + random % UNITS * 2);
}

/* The coroutine awaits another one (0: nothing). */
static void set_awaited(struct scene *s, cpy_addr coro, cpy_addr awaited)
{
    const struct layout *l = &s->w.fake->layout;
    cpy_addr top;

    top = fake_get64(s->w.fake, coro + l->generator.iframe + l->generator.stackpointer);
    fake_put64(s->w.fake, top - l->generator.awaited, awaited);
    fake_put8(s->w.fake, coro + l->generator.frame_state,
              (uint8_t)(awaited ? l->generator.delegates_first : l->generator.delegates_first - 1));
}

static void run(struct scene *s, int which)
{
    const struct layout *l = &s->w.fake->layout;
    struct fake *fake = s->w.fake;

    if (s->running >= 0)
        fake_put64(fake, s->tasks[s->running] + l->asyncio.coro, s->coros[s->running]);
    s->running = which;
    fake_put64(fake, s->w.thread + l->asyncio.running_task, which < 0 ? 0 : s->tasks[which]);
    fake_put64(fake, s->w.thread + l->thread.current_frame, which < 0 ? s->loop : s->leaf);
    if (which < 0)
        return;
    fake_put64(fake, s->tasks[which] + l->asyncio.coro, s->running_coros[which]);
    fake_put64(fake, s->leaf + l->frame.previous, s->running_coros[which] + l->generator.iframe);
}

static void list(struct scene *s, int which, bool listed)
{
    const struct layout *l = &s->w.fake->layout;
    const cpy_addr node = s->tasks[which] + l->asyncio.node;
    cpy_addr next, prev;

    if (s->listed[which] == listed)
        return;
    s->listed[which] = listed;
    if (listed) {
        fake_ring_add(s->w.fake, fake_thread_ring(&s->w), node);
        return;
    }
    next = fake_get64(s->w.fake, node + l->llist.next);
    prev = fake_get64(s->w.fake, node + l->llist.prev);
    fake_put64(s->w.fake, prev + l->llist.next, next);
    fake_put64(s->w.fake, next + l->llist.prev, prev);
}

static void set_waiter(struct scene *s, int which, unsigned random)
{
    const struct layout *l = &s->w.fake->layout;
    const bool many = random % 3 == 0;
    cpy_addr waiter = random % 3 == 1 ? 0 : s->tasks[random / 3 % TASKS];

    if (many) { /* of a set that another change adds to */
        waiter = s->sets[which];
        if (random % 2)
            fake_set_put(s->w.fake, waiter, random / 6 % 4, s->tasks[random / 24 % TASKS], 1);
        /* A slot that is taken twice counts once. */
        fake_put64(s->w.fake, waiter + l->set.used, 0);
        for (size_t i = 0; i < 4; i++)
            fake_set_put(s->w.fake, waiter, i, s->tasks[(random / 24 + i * 3) % TASKS], 1);
    }
    fake_put8(s->w.fake, s->tasks[which] + l->asyncio.awaited_by_is_set, many);
    fake_put64(s->w.fake, s->tasks[which] + l->asyncio.awaited_by, waiter);
}

static void rename_code(struct scene *s, unsigned random)
{
    const struct layout *l = &s->w.fake->layout;
    const cpy_addr at = s->w.interp + l->interp.code_generation;

    fake_put64(s->w.fake, at, fake_get64(s->w.fake, at) + 1);
    if (random % 2)
        fake_put64(s->w.fake, s->codes[random / 2 % 2] + l->code.qualname,
                   s->functions[random / 4 % 2]);
}

static void change(struct scene *s, unsigned random)
{
    const struct layout *l = &s->w.fake->layout;
    const int which = (int)(random % TASKS), kind = (int)(random / TASKS % 12);
    struct fake *fake = s->w.fake;

    random = random / TASKS / 12;
    switch (kind) {
    case 0:
        fake_put64(fake, s->tasks[which] + l->asyncio.name, s->names[random % 3]);
        break;
    case 1: /* another str where one was */
        fake_put8(fake, s->names[0] + l->unicode.ascii_data, (uint8_t)('a' + random % 26));
        break;
    case 2:
        fake_put32(fake, s->names[2] + l->integer.digit, random % 1000);
        break;
    case 3:
        set_waiter(s, which, random);
        break;
    case 4:
        move_coroutine(s, s->coros[which], random);
        break;
    case 5:
        move_coroutine(s, s->inner[which], random);
        break;
    case 6:
        set_awaited(s, s->coros[which], random % 2 ? s->inner[random / 2 % TASKS] : 0);
        break;
    case 7:
        run(s, which);
        break;
    case 8:
        run(s, -1);
        break;
    case 9:
        fake_put64(fake, s->leaf + l->frame.instr,
                   s->codes[0] + l->code.bytecode + random % UNITS * 2);
        break;
    case 10:
        rename_code(s, random);
        break;
    default:
        list(s, which, random % 2);
    }
}

static void make_frames(struct scene *s)
{
    const struct layout *l = &s->w.fake->layout;
    struct fake *fake = s->w.fake;
    cpy_addr base = fake_room(fake, l->frame.size);
    int i;

    fake_put64(fake, s->w.thread + l->thread.base_frame, base);
    fake_put_frame(fake, base, &(struct fake_frame){.owner = OWNER_SHIM});
    s->loop = fake_frame(fake, s->codes[1], 1, base);
    s->leaf = fake_frame(fake, s->codes[0], 1, s->loop);
    fake_put_stack(fake, s->w.thread, s->leaf);
    for (i = 0; i < TASKS; i++) {
        cpy_addr coro = fake_generator(fake, s->w.coroutine, s->codes[i % 2], 1, 0);

        fake_put8(fake, coro + l->generator.frame_state, FAKE_EXECUTING_15);
        fake_put64(fake, coro + l->generator.iframe + l->frame.previous, s->loop);
        s->running_coros[i] = coro;
    }
    fake_put64(fake, s->w.thread + l->asyncio.running_loop, FAKE_BASE);
}

static void make_scene(struct scene *s)
{
    struct fake_process w = fake_process_with_tasks();
    const struct layout *l = &w.fake->layout;
    cpy_addr gil = fake_room(w.fake, 64);
    int i;

    *s = (struct scene){.w = w, .other = make_other(&w)};
    fake_put64(w.fake, w.interp + l->interp.gil, gil);
    fake_put64(w.fake, gil + l->gil.last_holder, w.thread);
    fake_put32(w.fake, gil + l->gil.locked, 1);
    s->names[0] = fake_name(&s->w, "first");
    s->names[1] = fake_name(&s->w, "second");
    s->names[2] = fake_number(&s->w, 17);
    s->functions[0] = fake_name(&s->w, "other");
    s->functions[1] = fake_name(&s->w, "another");
    s->codes[0] = fake_coroutine_code(&w, "one");
    s->codes[1] = fake_coroutine_code(&w, "two");
    for (i = 0; i < TASKS; i++) {
        s->tasks[i] = fake_put_task(&s->w, fake_thread_ring(&s->w), s->names[i % 3], 0);
        s->coros[i] = fake_generator(w.fake, w.coroutine, s->codes[0], 1, 0);
        s->inner[i] = fake_generator(w.fake, w.coroutine, s->codes[1], 0, 0);
        s->sets[i] = fake_set(w.fake, 8);
        fake_put64(w.fake, s->tasks[i] + l->asyncio.coro, s->coros[i]);
        s->listed[i] = true;
    }
    s->running = -1;
    make_frames(s);
    run(s, -1);
}

static unsigned next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(*seed >> 33);
}

static void gives_what_a_target_gives_that_has_seen_nothing_before(void **state)
{
    static struct text seen, fresh;
    struct scene s;
    uint64_t seed = 7;
    unsigned changes, runs = 0;
    int step;

    (void)state;
    make_scene(&s);
    for (step = 0; step < STEPS; step++) {
        for (changes = next_random(&seed) % 4; changes > 0; changes--)
            change(&s, next_random(&seed));
        read_again(&s, &seen);
        read_fresh(&s, &fresh);
        runs += strstr(strstr(seen.chars, "---"), "runs") != NULL;
        if (strcmp(seen.chars, fresh.chars) != 0)
            fail_msg("after step %d:\n%s\nbut should be\n%s", step, seen.chars, fresh.chars);
    }
    assert_int_equal(cpy_stats(s.w.target)->torn, 0);
    assert_true(cpy_stats(s.w.target)->frames_reused > STEPS); /* else this has tested nothing */
    assert_true(cpy_stats(s.other)->gil_skips > STEPS / 2);
    assert_true(runs > STEPS / 8);
    close_scene(&s);
}

/* Reads until all is predicted. */
static void warm(struct scene *s, struct text *out)
{
    int i;

    for (i = 0; i < WARM; i++)
        read_again(s, out);
}

static void decodes_nothing_and_allocates_nothing_while_nothing_changes(void **state)
{
    static struct text seen;
    struct cpy_stats before, after;
    unsigned long allocations;
    struct scene s;

    (void)state;
    make_scene(&s);
    warm(&s, &seen);
    before = *cpy_stats(s.w.target);
    allocations = alloc_fail_stop();
    read_again(&s, &seen);
    allocations = alloc_fail_stop() - allocations;
    after = *cpy_stats(s.w.target);

    assert_int_equal(allocations, 0);
    assert_int_equal(after.frames_decoded, before.frames_decoded);
    assert_int_equal(after.frames_reused - before.frames_reused, TASKS);
    close_scene(&s);
}

static void fetches_running_tasks_together_with_the_sample(void **state)
{
    static struct text seen;
    uint64_t reads;
    struct scene s;

    (void)state;
    make_scene(&s);
    run(&s, 3);
    warm(&s, &seen);
    seen.used = 0;
    reads = s.w.fake->mem.reads;
    assert_int_equal(cpy_sample(s.other, ignore_thread, NULL), CPY_OK);
    assert_int_equal(cpy_running_tasks(s.other, tell, &seen), CPY_OK);

    assert_int_equal(s.w.fake->mem.reads - reads, 1);
    assert_non_null(strstr(seen.chars, "runs"));
    close_scene(&s);
}

static void reads_anew_what_is_asked_for_twice_after_one_sample(void **state)
{
    static struct text first, second;
    struct scene s;

    (void)state;
    make_scene(&s);
    run(&s, 3);
    warm(&s, &first);
    first.used = second.used = 0;
    assert_int_equal(cpy_sample(s.other, ignore_thread, NULL), CPY_OK);
    assert_int_equal(cpy_running_tasks(s.other, tell, &first), CPY_OK);
    fake_put64(s.w.fake, s.tasks[3] + s.w.fake->layout.asyncio.name, s.names[1]);
    assert_int_equal(cpy_running_tasks(s.other, tell, &second), CPY_OK);

    assert_null(strstr(first.chars, "second"));
    assert_non_null(strstr(second.chars, "second"));
    close_scene(&s);
}

static void gives_nothing_again_of_copies_that_were_not_fetched_whole(void **state)
{
    static struct text seen, fresh;
    struct scene s;
    const cpy_addr *hidden = &s.coros[TASKS - 1];

    (void)state;
    make_scene(&s);
    warm(&s, &seen);
    s.w.fake->hole = *hidden;
    s.w.fake->hole_end = *hidden + s.w.fake->layout.generator.size;
    fake_put64(s.w.fake, s.tasks[0] + s.w.fake->layout.asyncio.name, s.names[1]);
    read_again(&s, &seen);
    read_fresh(&s, &fresh);

    assert_string_equal(seen.chars, fresh.chars);
    assert_int_equal(strncmp(seen.chars, "second", 6), 0);
    close_scene(&s);
}

static void gives_the_same_after_its_memory_was_given_back(void **state)
{
    static struct text seen, fresh;
    struct scene s;

    (void)state;
    make_scene(&s);
    run(&s, 3);
    warm(&s, &seen);
    cpy_trim(s.w.target);
    seen.used = 0;
    assert_int_equal(cpy_tasks(s.w.target, tell, &seen), CPY_OK);
    add(&seen, "---\n", 0);
    assert_int_equal(cpy_sample(s.other, ignore_thread, NULL), CPY_OK);
    cpy_trim(s.other);
    assert_int_equal(cpy_running_tasks(s.other, tell, &seen), CPY_OK);
    read_fresh(&s, &fresh);

    assert_string_equal(seen.chars, fresh.chars);
    close_scene(&s);
}

static void gives_the_same_whichever_allocation_fails(void **state)
{
    static struct text seen, fresh;
    unsigned long n, seen_allocations = 1;
    struct scene s;
    enum cpy_rc rc;

    (void)state;
    for (n = 1; n <= seen_allocations; n++) {
        make_scene(&s);
        run(&s, 2);
        alloc_fail_at(n);
        seen.used = 0;
        rc = cpy_tasks(s.w.target, tell, &seen);
        if (rc == CPY_OK)
            rc = cpy_sample(s.other, ignore_thread, NULL);
        if (rc == CPY_OK)
            rc = cpy_running_tasks(s.other, tell, &seen);
        seen_allocations = n == 1 ? 200 : seen_allocations;
        (void)alloc_fail_stop();
        assert_true(rc == CPY_OK || rc == CPY_NOMEM);
        read_again(&s, &seen);
        read_fresh(&s, &fresh);
        assert_string_equal(seen.chars, fresh.chars);
        close_scene(&s);
    }
}

/* Serves all from a place that is no set's copy, as a BPF read does with what it has followed. */
static unsigned char elsewhere[64];

static enum cpy_rc read_nothing(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    (void)mem;
    (void)ranges;
    (void)count;
    return CPY_OK;
}

static const unsigned char *look_elsewhere(struct mem *mem, cpy_addr from, size_t size, size_t most)
{
    (void)mem;
    (void)from;
    (void)size;
    (void)most;
    return elsewhere;
}

static void stores_nothing_that_was_served_from_elsewhere(void **state)
{
    struct mem *inner = NULL;
    struct prefetch prefetch;
    struct prefetch_set set;
    struct memos memos;
    uint64_t word;

    (void)state;
    prefetch_init(&prefetch, &inner);
    prefetch_set_init(&set, true);
    prefetch.mem.read = read_nothing;
    prefetch.mem.look = look_elsewhere;
    prefetch.now = &set;
    memos_init(&memos, &prefetch, &set);
    memos_begin(&memos);
    memo_record(&memos, 0, 0);
    assert_int_equal(mem_read_word(&memos.mem, 0x1000, &word), CPY_OK);
    assert_null(memo_store(&memos, (struct memo_key){0x1000, 0}, 8));
    memos_end(&memos);
    memos_finish(&memos);
    prefetch_finish(&prefetch);
}

static void stops_recording_where_nothing_was_read(void **state)
{
    struct mem *inner = NULL;
    struct prefetch prefetch;
    struct prefetch_set set;
    struct memos memos;

    (void)state;
    prefetch_init(&prefetch, &inner);
    prefetch_set_init(&set, true);
    prefetch.now = &set;
    memos_init(&memos, &prefetch, &set);
    memos_begin(&memos);
    memo_record(&memos, 0, 0);
    assert_true(memos.recording);
    assert_null(memo_store(&memos, (struct memo_key){0x1000, 0}, 8));
    assert_false(memos.recording);
    memos_end(&memos);
    memos_finish(&memos);
    prefetch_finish(&prefetch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_nothing_that_was_served_from_elsewhere),
        cmocka_unit_test(stops_recording_where_nothing_was_read),
        cmocka_unit_test(gives_what_a_target_gives_that_has_seen_nothing_before),
        cmocka_unit_test(decodes_nothing_and_allocates_nothing_while_nothing_changes),
        cmocka_unit_test(fetches_running_tasks_together_with_the_sample),
        cmocka_unit_test(reads_anew_what_is_asked_for_twice_after_one_sample),
        cmocka_unit_test(gives_nothing_again_of_copies_that_were_not_fetched_whole),
        cmocka_unit_test(gives_the_same_after_its_memory_was_given_back),
        cmocka_unit_test(gives_the_same_whichever_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

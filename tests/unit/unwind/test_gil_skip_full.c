/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gil_skip_full.c - GIL-skip samples give what full samples give, whatever the target does.
 *
 * A target is played that keeps CPython's rules: only who holds the GIL moves, comes, goes or
 * replaces code. It moves between samples, and within some. After each quiet sample a second
 * target with the same memory, of which all samples are full, must have given the same.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { STATES = 10, STACKS = 24, NAMES = 8, DEPTH_MAX = 6, STEPS = 3000, TEXT = 256 };

/* What was given last of a thread state. */
struct given {
    pid_t tid;
    char text[TEXT];
};

struct game {
    struct fake_process *gil_skips, *full;
    uint64_t random;
    cpy_addr states[STATES], own_code[STATES], own_stack[STATES], stacks[STACKS], names[NAMES];
    bool lives[STATES];
    size_t holder; /* index; STATES: nobody holds the GIL */
    uint64_t generation, next_tid;
};

static struct game *game; /* what moves within a sample */

static size_t pick(struct game *g, size_t count)
{
    g->random = g->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(g->random >> 33) % count;
}

/* A new thread, in a state that may have been that of another one: at the head of the list. */
static void start_thread(struct game *g, size_t i)
{
    const struct layout *l = &g->gil_skips->fake->layout;
    struct fake *fake = g->gil_skips->fake;
    cpy_addr head = g->gil_skips->interp + l->interp.threads_head, state = g->states[i];

    fake_put32(fake, state + l->thread.status, FAKE_BOUND);
    fake_put64(fake, state + l->thread.native_thread_id, ++g->next_tid);
    fake_put64(fake, state + l->thread.thread_id, 500 + i);
    fake_put64(fake, state + l->thread.next, fake_get64(g->gil_skips->fake, head));
    fake_put64(fake, head, state);
    fake_put_stack(g->gil_skips->fake, state, 0);
    g->lives[i] = true;
}

/* The thread that holds the GIL ends. */
static void end_thread(struct game *g)
{
    const struct layout *l = &g->gil_skips->fake->layout;
    cpy_addr at = g->gil_skips->interp + l->interp.threads_head, state = g->states[g->holder];

    while (fake_get64(g->gil_skips->fake, at) != state)
        at = fake_get64(g->gil_skips->fake, at) + l->thread.next;
    fake_put64(g->gil_skips->fake, at, fake_get64(g->gil_skips->fake, state + l->thread.next));
    fake_put32(g->gil_skips->fake, state + l->thread.status, FAKE_BOUND | l->status_cleared);
    g->lives[g->holder] = false;
    fake_hold_gil(g->gil_skips, 0);
    g->holder = STATES;
}

/* The code object that only this thread runs makes place for another one. */
static void replace_code(struct game *g)
{
    const struct layout *l = &g->gil_skips->target->found.layout;

    fake_put_stack(g->gil_skips->fake, g->states[g->holder], g->own_stack[g->holder]);
    fake_put64(g->gil_skips->fake, g->own_code[g->holder] + l->code.qualname,
               g->names[pick(g, NAMES)]);
    if (l->interp.code_generation != NO_FIELD)
        fake_put64(g->gil_skips->fake, g->gil_skips->interp + l->interp.code_generation,
                   ++g->generation);
}

static void take_gil(struct game *g)
{
    size_t i = pick(g, STATES);

    while (!g->lives[i])
        i = (i + 1) % STATES;
    g->holder = i;
    fake_hold_gil(g->gil_skips, g->states[i]);
}

/* Does one thing that CPython can do. */
static void move(struct game *g)
{
    const struct layout *l = &g->gil_skips->fake->layout;
    size_t what = pick(g, 20), i = pick(g, STATES), count = 0;

    for (size_t k = 0; k < STATES; k++)
        count += g->lives[k];
    if (g->holder == STATES || what < 3)
        take_gil(g);
    else if (what < 5) {
        fake_hold_gil(g->gil_skips, 0);
        g->holder = STATES;
    } else if (what == 5 && !g->lives[i])
        start_thread(g, i);
    else if (what == 6 && count > 1)
        end_thread(g);
    else if (what == 7)
        replace_code(g);
    else if (what == 8)
        fake_put32(g->gil_skips->fake, g->gil_skips->interp + l->interp.collecting,
                   (uint32_t)pick(g, 2));
    else
        fake_put_stack(g->gil_skips->fake, g->states[g->holder], g->stacks[pick(g, STACKS)]);
}

static void move_within(struct fake *fake)
{
    (void)fake;
    move(game);
}

/* A sample as text, and what was given last of each state. */
struct record {
    char text[STATES * TEXT];
    struct given given[STATES];
};

static void write_down(void *ctx, const struct cpy_thread *thread)
{
    struct record *record = ctx;
    struct given *given = record->given;
    size_t used = strlen(record->text);
    char text[TEXT] = "";
    uint32_t i;

    for (i = 0; i < thread->depth; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s:%d",
                       thread->frames[i].code->func, (int)thread->frames[i].line);
    while (game->states[given - record->given] != thread->state)
        given++;
    if (thread->same) {
        assert_int_equal(given->tid, thread->tid);
        assert_string_equal(given->text, text);
    }
    given->tid = thread->tid;
    memcpy(given->text, text, sizeof(text));
    (void)snprintf(record->text + used, sizeof(record->text) - used, "%d%s %x%s;", (int)thread->tid,
                   thread->torn ? " torn" : "", thread->status, text);
}

static enum cpy_rc take(struct fake_process *f, struct record *record)
{
    record->text[0] = '\0';
    return cpy_sample(f->target, write_down, record);
}

static void make_stacks(struct game *g)
{
    struct fake *fake = g->gil_skips->fake;
    cpy_addr codes[NAMES];
    char name[16];

    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        codes[i] = fake_function(g->gil_skips, name);
        g->names[i] = fake_str(fake, name);
    }
    for (size_t i = 0; i < STACKS; i++) {
        g->stacks[i] = fake_shim(fake, 0);
        for (size_t depth = 1 + pick(g, DEPTH_MAX); depth > 0; depth--)
            g->stacks[i] =
                fake_frame(fake, codes[pick(g, NAMES)], 5 + (int64_t)pick(g, 9), g->stacks[i]);
    }
    for (size_t i = 0; i < STATES; i++) {
        g->own_code[i] = fake_function(g->gil_skips, "own");
        g->own_stack[i] = fake_frame(fake, g->own_code[i], 5, fake_shim(fake, 0));
        g->states[i] = fake_thread(fake, 0);
        fake_put64(fake, g->states[i] + fake->layout.thread.interp, g->gil_skips->interp);
    }
}

/* Two targets with the same memory; `counts`: they count their code objects, as 3.14 does. */
static void begin(struct game *g, bool counts)
{
    struct fake_process **both[] = {&g->gil_skips, &g->full};
    void *own;

    *g = (struct game){.random = 1 + counts, .holder = STATES};
    for (size_t i = 0; i < 2; i++) {
        struct layout *l;

        assert_int_equal(fake_process_set_up(&own), 0);
        *both[i] = own;
        l = &(*both[i])->target->found.layout;
        l->interp.code_generation = counts ? l->interp.size - 8 : NO_FIELD;
        layout_find_spans(l);
    }
    make_stacks(g);
    start_thread(g, 0);
    start_thread(g, 1);
    game = g;
}

static void finish(struct game *g)
{
    void *own[] = {g->gil_skips, g->full};

    fake_process_tear_down(&own[0]);
    fake_process_tear_down(&own[1]);
}

static void play(struct game *g, bool counts)
{
    static struct record gil_skips, full;
    struct fake *fake;

    begin(g, counts);
    gil_skips = full = (struct record){.text = ""};
    fake = g->gil_skips->fake;
    for (int step = 0; step < STEPS; step++) {
        for (size_t moves = pick(g, 4); moves > 0; moves--)
            move(g);
        if (pick(g, 3) == 0) { /* it goes on while it is read: nobody knows what is seen */
            fake->change = move_within;
            fake->change_at = fake->mem.reads + 1 + pick(g, 4);
            assert_int_equal(take(g->gil_skips, &gil_skips), CPY_OK);
            fake->change = NULL;
            continue;
        }
        assert_int_equal(take(g->gil_skips, &gil_skips), CPY_OK);
        memcpy(g->full->fake->bytes, fake->bytes, fake->used);
        g->full->target->gil_skip.ready = false;
        assert_int_equal(take(g->full, &full), CPY_OK);
        assert_string_equal(gil_skips.text, full.text);
        assert_null(strstr(gil_skips.text, "torn"));
    }
}

static void gives_what_a_full_sample_gives(void **state)
{
    struct game g;

    (void)state;
    for (int counts = 0; counts < 2; counts++) {
        play(&g, counts);
        assert_true(cpy_stats(g.gil_skips->target)->gil_skips > STEPS / 4);
        assert_true(cpy_stats(g.gil_skips->target)->threads_kept > STEPS / 4);
        assert_true(cpy_stats(g.gil_skips->target)->codes_stale > 0);
        assert_int_equal(cpy_stats(g.full->target)->gil_skips, 0);
        finish(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_what_a_full_sample_gives)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

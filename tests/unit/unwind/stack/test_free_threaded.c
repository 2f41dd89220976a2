/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_free_threaded.c - a process without the GIL gives its exact stacks, names and
 * lines, whichever copy of the bytecode its threads run.
 */
#include <stdio.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { UNITS = 12, COPIES = 3, MAIN_TID = 4000, WORKER_TID = 4001, TEXT_MAX = 4096 };
#define MAIN_IDENT   UINT64_C(0x7f1122334400)
#define WORKER_IDENT UINT64_C(0x7f1122555500)

/* A process: the main thread runs `leaf` in its second copy, a worker the common bytecode. */
struct process {
    struct fake *fake;
    struct cpy_target *target;
    cpy_addr interp, main, worker, code_type, work, leaf, leaf_copies[COPIES], leaf_frame, gil;
};

static const uint16_t wide_name[] = {'g', 0xF6, 0x95A2, '.', 'l', 'o', 'o', 'p'}; /* gö関.loop */

/* Unit i of its code is on line first_line + i. */
static cpy_addr make_code(struct process *p, cpy_addr qualname, uint32_t first_line)
{
    unsigned char table[2 * UNITS];

    for (size_t i = 0; i < UNITS; i++) {
        table[2 * i] = 0x80 | 13 << 3; /* no columns, one code unit */
        table[2 * i + 1] = i == 0 ? 0 : 1 << 1;
    }
    return fake_code(p->fake, &(struct fake_code){.type = p->code_type,
                                                  .qualname = qualname,
                                                  .units = UNITS,
                                                  .first_line = first_line,
                                                  .first_traceable = 3,
                                                  .table = table,
                                                  .table_size = sizeof(table)});
}

static cpy_addr bytecode_in(const struct process *p, cpy_addr code)
{
    return code + p->fake->layout.code.bytecode;
}

/* Gives `code` copies of its bytecode: [0] is its own, the others lie elsewhere. */
static void make_copies(struct process *p, cpy_addr code, cpy_addr *copies)
{
    cpy_addr array = fake_room(p->fake, 8 + COPIES * 8);
    size_t i;

    fake_put64(p->fake, array, COPIES);
    for (i = 0; i < COPIES; i++) {
        copies[i] = i == 0 ? bytecode_in(p, code) : fake_room(p->fake, 2 * UNITS);
        fake_put64(p->fake, array + 8 + i * 8, copies[i]);
    }
    if (p->fake->layout.minor > 13)
        fake_put64(p->fake, code + p->fake->layout.code.tlbc, array);
}

static void put_frame(struct process *p, cpy_addr at, cpy_addr code, cpy_addr instr,
                      cpy_addr previous, uint8_t owner)
{
    /* 3.14 and later tag references that are not counted. */
    fake_put64(p->fake, at + p->fake->layout.frame.executable, code | (p->fake->layout.minor > 13));
    fake_put64(p->fake, at + p->fake->layout.frame.instr, instr);
    fake_put64(p->fake, at + p->fake->layout.frame.previous, previous);
    fake_put8(p->fake, at + p->fake->layout.frame.owner, owner);
}

/* The frame below all others, on the C stack. */
static cpy_addr make_base(struct process *p, cpy_addr thread)
{
    cpy_addr at = fake_room(p->fake, 128);

    put_frame(p, at, 0, 0, 0, OWNER_SHIM);
    if (p->fake->layout.minor == 15)
        fake_put64(p->fake, thread + p->fake->layout.thread.base_frame, at);
    return at;
}

static cpy_addr make_thread(struct process *p, uint64_t ident, uint64_t tid)
{
    cpy_addr thread = fake_room(p->fake, 1024);

    fake_put64(p->fake, thread + p->fake->layout.thread.interp, p->interp);
    fake_put64(p->fake, thread + p->fake->layout.thread.thread_id, ident);
    fake_put64(p->fake, thread + p->fake->layout.thread.native_thread_id, tid);
    fake_put32(p->fake, thread + p->fake->layout.thread.status, FAKE_BOUND);
    return thread;
}

/* A data stack with `count` frames; gives the first. */
static cpy_addr make_chunk(struct process *p, cpy_addr thread, size_t count)
{
    size_t size = 24 + count * p->fake->layout.frame.size;
    cpy_addr chunk = fake_room(p->fake, size);

    fake_put64(p->fake, chunk + 8, size);
    fake_put64(p->fake, thread + p->fake->layout.thread.datastack_chunk, chunk);
    fake_put64(p->fake, thread + p->fake->layout.thread.datastack_chunk + 8, chunk + size);
    return chunk + 24;
}

/* main: an incomplete frame, leaf in its copy 2, a generator, the module. */
static void make_main_stack(struct process *p)
{
    cpy_addr name = fake_str_of(p->fake, 2, false, wide_name, sizeof(wide_name) / 2);
    cpy_addr generator = make_code(p, name, 200), run = make_code(p, fake_str(p->fake, "run"), 300);
    cpy_addr module = make_code(p, fake_str(p->fake, "<module>"), 1);
    cpy_addr at = make_chunk(p, p->main, 3), size = p->fake->layout.frame.size;
    cpy_addr own = fake_room(p->fake, 256); /* a generator's frame is in the generator */

    p->leaf = make_code(p, fake_str(p->fake, "leaf"), 100);
    make_copies(p, p->leaf, p->leaf_copies);
    put_frame(p, at, module, bytecode_in(p, module) + 2 * 11, make_base(p, p->main), OWNER_THREAD);
    put_frame(p, own, generator, bytecode_in(p, generator) + 2 * 4, at, OWNER_GENERATOR);
    p->leaf_frame = at + size;
    put_frame(p, p->leaf_frame, p->leaf, p->leaf_copies[2] + 2 * 7, own, OWNER_THREAD);
    if (p->fake->layout.minor > 13)
        fake_put32(p->fake, p->leaf_frame + p->fake->layout.frame.tlbc_index, 2);
    else
        fake_put64(p->fake, p->leaf_frame + p->fake->layout.frame.instr,
                   bytecode_in(p, p->leaf) + 2 * 7);
    put_frame(p, at + 2 * size, run, bytecode_in(p, run) + 2, p->leaf_frame, OWNER_THREAD);
    fake_put64(p->fake, p->main + p->fake->layout.thread.current_frame, at + 2 * size);
}

static void make_worker_stack(struct process *p)
{
    cpy_addr at = make_chunk(p, p->worker, 1), copies[COPIES];

    p->work = make_code(p, fake_str(p->fake, "work"), 50);
    make_copies(p, p->work, copies);
    put_frame(p, at, p->work, copies[0] + 2 * 5, make_base(p, p->worker), OWNER_THREAD);
    fake_put64(p->fake, p->worker + p->fake->layout.thread.current_frame, at);
}

/* A threading.Thread whose attributes are behind it; its dict, had it one, would be 8 before. */
static cpy_addr make_main_object(struct process *p)
{
    enum { VALUES = 8 };
    struct fake *fake = p->fake;
    const struct fake_item keys[] = {{fake_str(fake, "_target"), 0}, {fake_str(fake, "_name"), 0}};
    cpy_addr object = fake_instance(fake, fake_class(fake, TYPE_MANAGED_DICT | TYPE_INLINE_VALUES,
                                                     -1, fake_keys(fake, KEYS_SPLIT, keys, 2)));

    fake_put8(fake, object + TYPE_BASICSIZE + 3, 1); /* valid */
    fake_put64(fake, object + TYPE_BASICSIZE + VALUES, keys[0].key);
    fake_put64(fake, object + TYPE_BASICSIZE + VALUES + 8, fake_str(fake, "MainThread"));
    return object;
}

/* A threading.Thread whose dict is 8 bytes before it. */
static cpy_addr make_worker_object(struct process *p)
{
    static const unsigned char latin[] = {'W', 0xF6, 'r', 'k', 'e', 'r'};
    struct fake *fake = p->fake;
    const struct fake_item name = {fake_str(fake, "_name"),
                                   fake_str_of(fake, 1, false, latin, sizeof(latin))};
    cpy_addr object = fake_instance(
        fake, fake_class(fake, TYPE_MANAGED_DICT, -1, fake_keys(fake, KEYS_SPLIT, &name, 1)));

    fake_put64(fake, object - 8, fake_dict(fake, KEYS_UNICODE, &name, 1));
    return object;
}

/* sys.modules["threading"]._active */
static void make_names(struct process *p)
{
    enum { MODULE_DICT = 32 };
    struct fake *fake = p->fake;
    const struct fake_int_item active[] = {{MAIN_IDENT, make_main_object(p)},
                                           {WORKER_IDENT, make_worker_object(p)}};
    cpy_addr module = fake_instance(fake, fake_class(fake, 0, MODULE_DICT, 0));
    const struct fake_item names[] = {{fake_str(fake, "os"), module},
                                      {fake_str(fake, "_active"), fake_int_dict(fake, active, 2)}};
    const struct fake_item modules[] = {{fake_str(fake, "sys"), module},
                                        {fake_str(fake, "threading"), module}};

    fake_put64(fake, module + MODULE_DICT, fake_dict(fake, KEYS_UNICODE, names, 2));
    fake_put64(p->fake, p->interp + p->fake->layout.interp.modules,
               fake_dict(fake, KEYS_UNICODE, modules, 2));
}

/* The interpreter's GIL, as the main thread left it when it was switched off. */
static void make_gil(struct process *p)
{
    enum { ENABLED = 0, LAST_HOLDER = 16, LOCKED = 24 };

    p->gil = fake_room(p->fake, 216);
    fake_put32(p->fake, p->gil + ENABLED, 0);
    fake_put64(p->fake, p->gil + LAST_HOLDER, p->main);
    fake_put32(p->fake, p->gil + LOCKED, 1);
    fake_put64(p->fake, p->interp + p->fake->layout.interp.gil, p->gil);
}

static void open_process(struct process *p)
{
    unsigned char table[FAKE_DEBUG_OFFSETS];
    cpy_addr runtime = fake_room(p->fake, sizeof(table));
    struct err err = {""};

    fake_debug_offsets(p->fake->layout.minor, true, table);
    fake_put(p->fake, runtime, table, sizeof(table));
    fake_put64(p->fake, runtime + p->fake->layout.runtime.interpreters_head, p->interp);
    p->target = target_new();
    assert_non_null(p->target);
    p->target->process.mem = &p->fake->mem;
    p->target->found.runtime = runtime;
    if (find_accept(p->target->process.mem, 0, &p->target->found, &err) != CPY_OK)
        fail_msg("%s", err.text);
    target_choose_readers(p->target);
}

/* Ended by cpy_close(p->target), memory and all. */
static void make_process(struct process *p, unsigned minor)
{
    const struct layout layout = fake_layout_free_threaded(minor);

    *p = (struct process){.fake = fake_new(&layout)};
    p->interp = fake_room(p->fake, 8192);
    p->code_type = fake_type(p->fake, "code", 0);
    p->main = make_thread(p, MAIN_IDENT, MAIN_TID);
    p->worker = make_thread(p, WORKER_IDENT, WORKER_TID);
    fake_put64(p->fake, p->worker + p->fake->layout.thread.next, p->main); /* the newest first */
    fake_put64(p->fake, p->interp + p->fake->layout.interp.threads_head, p->worker);
    fake_put64(p->fake, p->interp + p->fake->layout.interp.threads_main, p->main);
    make_main_stack(p);
    make_worker_stack(p);
    make_names(p);
    make_gil(p);
    open_process(p);
}

/* A sample as text. */
static void add_text(void *ctx, const struct cpy_thread *thread)
{
    struct buf *out = ctx;
    uint32_t i;

    buf_add_fmt(out, "%d %s%s%s%s%s\n", (int)thread->tid, thread->name ? thread->name : "None",
                thread->status & CPY_STATUS_MAIN ? " main" : "",
                thread->status & CPY_STATUS_GIL ? " gil" : "", thread->torn ? " torn" : "",
                thread->cut ? " cut" : "");
    for (i = 0; i < thread->depth; i++)
        buf_add_fmt(out, "  %s %s:%d %d\n", thread->frames[i].code->func,
                    thread->frames[i].code->file, (int)thread->frames[i].line,
                    (int)thread->frames[i].code->first_line);
}

/* Samples and compares; `state` is the minor version's number. */
static void check_sample(struct process *p, const char *wanted)
{
    struct buf text;

    buf_init(&text, TEXT_MAX);
    assert_int_equal(cpy_sample(p->target, add_text, &text), CPY_OK);
    assert_false(buf_failed(&text));
    assert_string_equal(buf_text(&text), wanted);
    buf_finish(&text);
}

#define WORKER_TEXT "4001 Wörker\n  work /srv/app.py:55 50\n"
#define MAIN_FRAMES                       \
    "  leaf /srv/app.py:107 100\n"        \
    "  gö関.loop /srv/app.py:204 200\n" \
    "  <module> /srv/app.py:12 1\n"

static void gives_the_exact_stacks_names_and_lines(void **state)
{
    struct process p;

    make_process(&p, *(unsigned *)*state);
    assert_true(cpy_info(p.target)->free_threaded);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES); /* from the caches */
    assert_int_equal(cpy_stats(p.target)->retries, 0);
    assert_int_equal(cpy_stats(p.target)->codes_read, 5);
    cpy_close(p.target);
}

static void names_the_holder_of_a_gil_only_while_it_is_enabled(void **state)
{
    struct process p;

    make_process(&p, *(unsigned *)*state);
    fake_put32(p.fake, p.gil, INT32_MAX); /* for good */
    check_sample(&p, WORKER_TEXT "4000 MainThread main gil\n" MAIN_FRAMES);
    fake_put32(p.fake, p.gil, 0);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    cpy_close(p.target);
}

static void tells_an_exception_by_the_place_of_this_build(void **state)
{
    static const struct cpy_options options = {.status = CPY_STATUS_EXCEPTION,
                                               .only = CPY_STATUS_EXCEPTION};
    struct process p;
    cpy_addr item, none, error;

    make_process(&p, *(unsigned *)*state);
    item = fake_room(p.fake, 16);
    none = fake_room(p.fake, 64);
    error = fake_room(p.fake, 64);
    fake_put64(p.fake, none + p.fake->layout.object.ob_type, fake_type(p.fake, "NoneType", 0));
    fake_put64(p.fake, error + p.fake->layout.object.ob_type, fake_type(p.fake, "ValueError", 0));
    fake_put64(p.fake, p.main + p.fake->layout.thread.exc_info, item);
    cpy_set_options(p.target, &options);
    fake_put64(p.fake, item, none);
    check_sample(&p, "");
    fake_put64(p.fake, item, error);
    check_sample(&p, "4000 MainThread main\n" MAIN_FRAMES);
    fake_put64(p.fake, item, 0);
    fake_put64(p.fake, p.worker + p.fake->layout.thread.current_exception, error);
    check_sample(&p, WORKER_TEXT);
    cpy_close(p.target);
}

static void shows_no_stack_whose_instruction_is_not_in_the_copy_it_runs(void **state)
{
    static const uint32_t wrong[] = {0, 1, COPIES, UINT32_MAX};
    struct process p;
    size_t i;

    make_process(&p, *(unsigned *)*state);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fake_put32(p.fake, p.leaf_frame + p.fake->layout.frame.tlbc_index, wrong[i]);
        check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    }
    fake_put32(p.fake, p.leaf_frame + p.fake->layout.frame.tlbc_index, 2);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    cpy_close(p.target);
}

static void shows_no_stack_where_the_list_of_copies_cannot_be(void **state)
{
    struct process p;
    cpy_addr array;

    make_process(&p, *(unsigned *)*state);
    array = fake_room(p.fake, 32);
    fake_put64(p.fake, p.leaf + p.fake->layout.code.tlbc, NOWHERE);
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    fake_put64(p.fake, p.leaf + p.fake->layout.code.tlbc, array); /* no copies */
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    fake_put64(p.fake, array, UINT64_MAX);
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    fake_put64(p.fake, array, COPIES);
    fake_put64(p.fake, array + 8 + 2 * 8, p.leaf_copies[2]);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    cpy_close(p.target);
}

/* The thread that is said to be the main one; all others are not. */
static void note_main(void *ctx, const struct cpy_thread *thread)
{
    pid_t *main_tid = ctx;

    if (!(thread->status & CPY_STATUS_MAIN))
        return;
    assert_int_equal(*main_tid, 0);
    *main_tid = thread->tid;
}

/* No main module runs in a program that embeds Python. */
static void takes_the_thread_that_began_python_for_the_main_one(void **state)
{
    struct process p;
    pid_t main_tid;

    (void)state;
    for (unsigned minor = 13; minor <= 15; minor++) {
        main_tid = 0;
        make_process(&p, minor);
        fake_put64(p.fake, p.interp + p.fake->layout.interp.threads_main, 0);
        assert_true(p.interp < p.main && p.main < p.worker);
        p.target->found.layout.interp.size = (uint32_t)(p.worker - p.interp);
        assert_int_equal(cpy_sample(p.target, note_main, &main_tid), CPY_OK);
        assert_int_equal(main_tid, MAIN_TID);
        cpy_close(p.target);
    }
}

int main(void)
{
    static unsigned minors[] = {13, 14, 15};
#define OF(test, i)                                                         \
    {                                                                       \
#test " 3." #i "t", test, NULL, NULL, &minors[(i)-FAKE_FIRST_MINOR] \
    }
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_thread_that_began_python_for_the_main_one),
        OF(gives_the_exact_stacks_names_and_lines, 13),
        OF(gives_the_exact_stacks_names_and_lines, 14),
        OF(gives_the_exact_stacks_names_and_lines, 15),
        OF(names_the_holder_of_a_gil_only_while_it_is_enabled, 13),
        OF(names_the_holder_of_a_gil_only_while_it_is_enabled, 14),
        OF(names_the_holder_of_a_gil_only_while_it_is_enabled, 15),
        OF(tells_an_exception_by_the_place_of_this_build, 13),
        OF(tells_an_exception_by_the_place_of_this_build, 14),
        OF(tells_an_exception_by_the_place_of_this_build, 15),
        OF(shows_no_stack_whose_instruction_is_not_in_the_copy_it_runs, 14),
        OF(shows_no_stack_whose_instruction_is_not_in_the_copy_it_runs, 15),
        OF(shows_no_stack_where_the_list_of_copies_cannot_be, 14),
        OF(shows_no_stack_where_the_list_of_copies_cannot_be, 15),
    };
#undef OF

    return cmocka_run_group_tests_name("free-threaded builds", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_free_threaded.c - a process without the GIL gives its exact stacks, names and
 * lines, whichever copy of the bytecode its threads run.
 */
#include <stdio.h>

#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/made.h"

enum { OWNER_THREAD, OWNER_GENERATOR, OWNER_FRAME_OBJECT, OWNER_C };
enum { FLAG_INLINE_VALUES = 1 << 2, FLAG_MANAGED_DICT = 1 << 4, STATUS_BOUND = 1 << 1 };
enum { UNITS = 12, COPIES = 3, MAIN_TID = 4000, WORKER_TID = 4001, TEXT_MAX = 4096 };
#define MAIN_IDENT   UINT64_C(0x7f1122334400)
#define WORKER_IDENT UINT64_C(0x7f1122555500)

/* A process: the main thread runs `leaf` in its second copy, a worker the common bytecode. */
struct process {
    struct made made;
    struct cpy_target *target;
    cpy_addr interp, main, worker, code_type, work, leaf, leaf_copies[COPIES], leaf_frame, gil;
};

static const uint16_t wide_name[] = {'g', 0xF6, 0x95A2, '.', 'l', 'o', 'o', 'p'}; /* gö関.loop */

/* Unit i of its code is on line first_line + i. */
static cpy_addr make_code(struct process *p, cpy_addr qualname, uint32_t first_line)
{
    const struct made *made = &p->made;
    unsigned char table[2 * UNITS];
    size_t i, table_at = made_offset(made, MADE_BYTES_DATA);
    cpy_addr code = fake_room(made->fake, made_offset(made, MADE_CODE_SIZE) + UNITS * 2);
    cpy_addr bytes = fake_room(made->fake, table_at + sizeof(table));

    for (i = 0; i < UNITS; i++) {
        table[2 * i] = 0x80 | 13 << 3; /* no columns, one code unit */
        table[2 * i + 1] = i == 0 ? 0 : 1 << 1;
    }
    made_set(made, bytes, MADE_TUPLE_SIZE, sizeof(table));
    fake_put(made->fake, bytes + table_at, table, sizeof(table));
    made_set(made, code, MADE_OBJECT_TYPE, p->code_type);
    made_set(made, code, MADE_TUPLE_SIZE, UNITS);
    made_set(made, code, MADE_CODE_QUALNAME, qualname);
    made_set(made, code, MADE_CODE_FILENAME, made_str(made, "/srv/app.py"));
    made_set(made, code, MADE_CODE_LINETABLE, bytes);
    made_set32(made, code, MADE_CODE_FIRSTLINENO, first_line);
    made_set32(made, code, MADE_CODE_FIRSTTRACEABLE, 3);
    return code;
}

static cpy_addr bytecode_in(const struct process *p, cpy_addr code)
{
    return code + made_offset(&p->made, MADE_CODE_BYTECODE);
}

/* Gives `code` copies of its bytecode: [0] is its own, the others lie elsewhere. */
static void make_copies(struct process *p, cpy_addr code, cpy_addr *copies)
{
    cpy_addr array = fake_room(p->made.fake, 8 + COPIES * 8);
    size_t i;

    fake_put64(p->made.fake, array, COPIES);
    for (i = 0; i < COPIES; i++) {
        copies[i] = i == 0 ? bytecode_in(p, code) : fake_room(p->made.fake, 2 * UNITS);
        fake_put64(p->made.fake, array + 8 + i * 8, copies[i]);
    }
    if (p->made.minor > 13)
        made_set(&p->made, code, MADE_CODE_TLBC, array);
}

static void put_frame(struct process *p, cpy_addr at, cpy_addr code, cpy_addr instr,
                      cpy_addr previous, uint8_t owner)
{
    const struct made *made = &p->made;

    /* 3.14 and later tag references that are not counted. */
    made_set(made, at, MADE_FRAME_EXECUTABLE, code | (made->minor > 13));
    made_set(made, at, MADE_FRAME_INSTR, instr);
    made_set(made, at, MADE_FRAME_PREVIOUS, previous);
    fake_put8(made->fake, at + made_offset(made, MADE_FRAME_OWNER), owner);
}

/* The frame below all others, on the C stack. */
static cpy_addr make_base(struct process *p, cpy_addr thread)
{
    cpy_addr at = fake_room(p->made.fake, 128);

    put_frame(p, at, 0, 0, 0, OWNER_C);
    if (p->made.minor == 15)
        made_set(&p->made, thread, MADE_THREAD_BASE_FRAME, at);
    return at;
}

static cpy_addr make_thread(struct process *p, uint64_t ident, uint64_t tid)
{
    cpy_addr thread = fake_room(p->made.fake, 1024);

    made_set(&p->made, thread, MADE_THREAD_INTERP, p->interp);
    made_set(&p->made, thread, MADE_THREAD_ID, ident);
    made_set(&p->made, thread, MADE_THREAD_NATIVE_ID, tid);
    made_set32(&p->made, thread, MADE_THREAD_STATUS, STATUS_BOUND);
    return thread;
}

/* A data stack with `count` frames; gives the first. */
static cpy_addr make_chunk(struct process *p, cpy_addr thread, size_t count)
{
    size_t size = 24 + count * made_offset(&p->made, MADE_FRAME_SIZE);
    cpy_addr chunk = fake_room(p->made.fake, size);

    fake_put64(p->made.fake, chunk + 8, size);
    made_set(&p->made, thread, MADE_THREAD_CHUNK, chunk);
    fake_put64(p->made.fake, thread + made_offset(&p->made, MADE_THREAD_CHUNK) + 8, chunk + size);
    return chunk + 24;
}

/* main: an incomplete frame, leaf in its copy 2, a generator, the module. */
static void make_main_stack(struct process *p)
{
    cpy_addr name = made_str_of(&p->made, 2, false, wide_name, sizeof(wide_name) / 2);
    cpy_addr generator = make_code(p, name, 200),
             run = make_code(p, made_str(&p->made, "run"), 300);
    cpy_addr module = make_code(p, made_str(&p->made, "<module>"), 1);
    cpy_addr at = make_chunk(p, p->main, 3), size = made_offset(&p->made, MADE_FRAME_SIZE);
    cpy_addr own = fake_room(p->made.fake, 256); /* a generator's frame is in the generator */

    p->leaf = make_code(p, made_str(&p->made, "leaf"), 100);
    make_copies(p, p->leaf, p->leaf_copies);
    put_frame(p, at, module, bytecode_in(p, module) + 2 * 11, make_base(p, p->main), OWNER_THREAD);
    put_frame(p, own, generator, bytecode_in(p, generator) + 2 * 4, at, OWNER_GENERATOR);
    p->leaf_frame = at + size;
    put_frame(p, p->leaf_frame, p->leaf, p->leaf_copies[2] + 2 * 7, own, OWNER_THREAD);
    if (p->made.minor > 13)
        made_set32(&p->made, p->leaf_frame, MADE_FRAME_TLBC_INDEX, 2);
    else
        made_set(&p->made, p->leaf_frame, MADE_FRAME_INSTR, bytecode_in(p, p->leaf) + 2 * 7);
    put_frame(p, at + 2 * size, run, bytecode_in(p, run) + 2, p->leaf_frame, OWNER_THREAD);
    made_set(&p->made, p->main, MADE_THREAD_CURRENT_FRAME, at + 2 * size);
}

static void make_worker_stack(struct process *p)
{
    cpy_addr at = make_chunk(p, p->worker, 1), copies[COPIES];

    p->work = make_code(p, made_str(&p->made, "work"), 50);
    make_copies(p, p->work, copies);
    put_frame(p, at, p->work, copies[0] + 2 * 5, make_base(p, p->worker), OWNER_THREAD);
    made_set(&p->made, p->worker, MADE_THREAD_CURRENT_FRAME, at);
}

/* A threading.Thread whose attributes are behind it; its dict, had it one, would be 8 before. */
static cpy_addr make_main_object(struct process *p)
{
    enum { BASICSIZE = 40, VALUES = 8 };
    cpy_addr keys[] = {made_str(&p->made, "_target"), made_str(&p->made, "_name")};
    cpy_addr type = made_type(&p->made, "Thread", FLAG_MANAGED_DICT | FLAG_INLINE_VALUES, BASICSIZE,
                              UINT64_MAX);
    cpy_addr object = fake_room(p->made.fake, 256) + 32;

    made_set(&p->made, type, MADE_TYPE_CACHED_KEYS, made_keys(&p->made, false, keys, NULL, 2));
    made_set(&p->made, object, MADE_OBJECT_TYPE, type);
    fake_put8(p->made.fake, object + BASICSIZE + 3, 1); /* valid */
    fake_put64(p->made.fake, object + BASICSIZE + VALUES, keys[0]);
    fake_put64(p->made.fake, object + BASICSIZE + VALUES + 8, made_str(&p->made, "MainThread"));
    return object;
}

/* A threading.Thread whose dict is 8 bytes before it. */
static cpy_addr make_worker_object(struct process *p)
{
    static const unsigned char latin[] = {'W', 0xF6, 'r', 'k', 'e', 'r'};
    cpy_addr key = made_str(&p->made, "_name"),
             name = made_str_of(&p->made, 1, false, latin, sizeof(latin));
    cpy_addr type = made_type(&p->made, "Thread", FLAG_MANAGED_DICT, 40, UINT64_MAX);
    cpy_addr object = fake_room(p->made.fake, 256) + 32;

    made_set(&p->made, type, MADE_TYPE_CACHED_KEYS, made_keys(&p->made, false, &key, NULL, 1));
    made_set(&p->made, object, MADE_OBJECT_TYPE, type);
    fake_put64(p->made.fake, object - 8, made_dict(&p->made, false, &key, &name, 1));
    return object;
}

/* sys.modules["threading"]._active */
static void make_names(struct process *p)
{
    enum { MODULE_DICT = 32 };
    const struct made *made = &p->made;
    cpy_addr idents[] = {made_int(made, MAIN_IDENT), made_int(made, WORKER_IDENT)};
    cpy_addr threads[] = {make_main_object(p), make_worker_object(p)};
    cpy_addr active = made_dict(made, true, idents, threads, 2);
    cpy_addr names[] = {made_str(made, "os"), made_str(made, "_active")}, values[] = {0, active};
    cpy_addr modules[] = {made_str(made, "sys"), made_str(made, "threading")}, both[2];
    cpy_addr module = fake_room(made->fake, 64);

    values[0] = both[0] = module;
    made_set(made, module, MADE_OBJECT_TYPE, made_type(made, "module", 0, 80, MODULE_DICT));
    fake_put64(made->fake, module + MODULE_DICT, made_dict(made, false, names, values, 2));
    both[1] = module;
    made_set(made, p->interp, MADE_INTERP_MODULES, made_dict(made, false, modules, both, 2));
}

/* The interpreter's GIL, as the main thread left it when it was switched off. */
static void make_gil(struct process *p)
{
    enum { ENABLED = 0, LAST_HOLDER = 16, LOCKED = 24 };

    p->gil = fake_room(p->made.fake, 216);
    fake_put32(p->made.fake, p->gil + ENABLED, 0);
    fake_put64(p->made.fake, p->gil + LAST_HOLDER, p->main);
    fake_put32(p->made.fake, p->gil + LOCKED, 1);
    made_set(&p->made, p->interp, MADE_INTERP_CEVAL_GIL, p->gil);
}

static void open_process(struct process *p)
{
    struct err err = {""};

    p->target = target_new();
    assert_non_null(p->target);
    p->target->process.mem = &p->made.fake->mem;
    p->target->found.runtime = made_runtime(&p->made, p->interp);
    if (find_accept(p->target->process.mem, 0, &p->target->found, &err) != CPY_OK)
        fail_msg("%s", err.text);
    target_choose_readers(p->target);
}

/* Ended by cpy_close(p->target), memory and all. */
static void make_process(struct process *p, unsigned minor)
{
    *p = (struct process){.made = {.fake = fake_new(NULL), .minor = minor}};
    p->interp = fake_room(p->made.fake, 8192);
    p->code_type = made_type(&p->made, "code", 0, 0, 0);
    p->main = make_thread(p, MAIN_IDENT, MAIN_TID);
    p->worker = make_thread(p, WORKER_IDENT, WORKER_TID);
    made_set(&p->made, p->worker, MADE_THREAD_NEXT, p->main); /* the newest first */
    made_set(&p->made, p->interp, MADE_INTERP_THREADS, p->worker);
    made_set(&p->made, p->interp, MADE_INTERP_THREADS_MAIN, p->main);
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
    fake_put32(p.made.fake, p.gil, INT32_MAX); /* for good */
    check_sample(&p, WORKER_TEXT "4000 MainThread main gil\n" MAIN_FRAMES);
    fake_put32(p.made.fake, p.gil, 0);
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
    item = fake_room(p.made.fake, 16);
    none = fake_room(p.made.fake, 64);
    error = fake_room(p.made.fake, 64);
    made_set(&p.made, none, MADE_OBJECT_TYPE, made_type(&p.made, "NoneType", 0, 0, 0));
    made_set(&p.made, error, MADE_OBJECT_TYPE, made_type(&p.made, "ValueError", 0, 0, 0));
    made_set(&p.made, p.main, MADE_THREAD_EXC_INFO, item);
    cpy_set_options(p.target, &options);
    fake_put64(p.made.fake, item, none);
    check_sample(&p, "");
    fake_put64(p.made.fake, item, error);
    check_sample(&p, "4000 MainThread main\n" MAIN_FRAMES);
    fake_put64(p.made.fake, item, 0);
    made_set(&p.made, p.worker, MADE_THREAD_CURRENT_EXCEPTION, error);
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
        made_set32(&p.made, p.leaf_frame, MADE_FRAME_TLBC_INDEX, wrong[i]);
        check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    }
    made_set32(&p.made, p.leaf_frame, MADE_FRAME_TLBC_INDEX, 2);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    cpy_close(p.target);
}

static void shows_no_stack_where_the_list_of_copies_cannot_be(void **state)
{
    struct process p;
    cpy_addr array;

    make_process(&p, *(unsigned *)*state);
    array = fake_room(p.made.fake, 32);
    made_set(&p.made, p.leaf, MADE_CODE_TLBC, NOWHERE);
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    made_set(&p.made, p.leaf, MADE_CODE_TLBC, array); /* no copies */
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    fake_put64(p.made.fake, array, UINT64_MAX);
    check_sample(&p, WORKER_TEXT "4000 MainThread main torn\n");
    fake_put64(p.made.fake, array, COPIES);
    fake_put64(p.made.fake, array + 8 + 2 * 8, p.leaf_copies[2]);
    check_sample(&p, WORKER_TEXT "4000 MainThread main\n" MAIN_FRAMES);
    cpy_close(p.target);
}

int main(void)
{
    static unsigned minors[] = {13, 14, 15};
#define OF(test, i)                                                         \
    {                                                                       \
#test " 3." #i "t", test, NULL, NULL, &minors[(i)-MADE_FIRST_MINOR] \
    }
    static const struct CMUnitTest tests[] = {
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

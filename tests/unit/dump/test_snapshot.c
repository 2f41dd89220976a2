/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - what was lent is kept, whole and once. */
#include <stdio.h>
#include <string.h>

#include "agent/dump/snapshot.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { FUNCTIONS = 1000 };

/* Adds a thread whose name, frames and code are gone when this returns. */
static void add_passing_thread(struct snapshot *snapshot, uint64_t id, uint32_t depth)
{
    char name[32], func[32], file[32];
    struct cpy_code code = {.id = id, .func = func, .file = file, .first_line = 3};
    struct cpy_frame frames[4];
    struct cpy_thread thread = {.tid = 7, .name = name, .depth = depth, .frames = frames};
    uint32_t i;

    (void)snprintf(name, sizeof(name), "thread %d", (int)id);
    (void)snprintf(func, sizeof(func), "func %d", (int)id);
    (void)snprintf(file, sizeof(file), "/srv/%d.py", (int)id);
    for (i = 0; i < depth; i++)
        frames[i] = (struct cpy_frame){.code = &code, .line = (int32_t)i + 10};
    snapshot_add(snapshot, &thread);
    memset(name, '?', sizeof(name) - 1);
    memset(func, '?', sizeof(func) - 1);
    memset(frames, 0, sizeof(frames));
    memset(&code, 0, sizeof(code));
}

static void keeps_what_is_gone_afterwards(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    add_passing_thread(&snapshot, 5, 2);

    assert_false(snapshot.failed);
    assert_int_equal(snapshot.count, 1);
    assert_int_equal(snapshot.threads[0].tid, 7);
    assert_string_equal(snapshot.threads[0].name, "thread 5");
    assert_int_equal(snapshot.threads[0].frames[1].line, 11);
    assert_string_equal(snapshot.threads[0].frames[1].code->func, "func 5");
    assert_string_equal(snapshot.threads[0].frames[1].code->file, "/srv/5.py");
    assert_int_equal(snapshot.threads[0].frames[1].code->first_line, 3);
    snapshot_finish(&snapshot);
}

static void keeps_a_code_object_once(void **state)
{
    struct snapshot snapshot;
    size_t i;

    (void)state;
    snapshot_init(&snapshot);
    for (i = 0; i < (size_t)2 * FUNCTIONS; i++)
        add_passing_thread(&snapshot, i % FUNCTIONS, 1);

    assert_false(snapshot.failed);
    assert_int_equal(snapshot.codes.count, FUNCTIONS);
    for (i = 0; i < FUNCTIONS; i++) {
        assert_int_equal(snapshot.threads[i].frames[0].code->id, i);
        assert_ptr_equal(snapshot.threads[i].frames[0].code,
                         snapshot.threads[i + FUNCTIONS].frames[0].code);
    }
    snapshot_finish(&snapshot);
}

static void begins_anew_after_a_reset(void **state)
{
    const struct cpy_thread torn = {.torn = true};
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    add_passing_thread(&snapshot, 1, 1);
    snapshot_add(&snapshot, &torn);
    assert_int_equal(snapshot.torn, 1);
    snapshot_reset(&snapshot);
    assert_int_equal(snapshot.count + snapshot.torn, 0);
    add_passing_thread(&snapshot, 2, 1);

    assert_int_equal(snapshot.count, 1);
    assert_string_equal(snapshot.threads[0].frames[0].code->func, "func 2");
    snapshot_finish(&snapshot);
}

static void says_that_memory_ran_out(void **state)
{
    struct snapshot snapshot;
    unsigned long n, seen;
    bool failed = true;
    size_t i;

    (void)state;
    for (n = 1; failed; n++) {
        snapshot_init(&snapshot);
        alloc_fail_at(n);
        for (i = 0; i < 300; i++)
            add_passing_thread(&snapshot, i, 2);
        seen = alloc_fail_stop();
        failed = snapshot.failed;
        assert_int_equal(failed, seen >= n);
        assert_true(failed || snapshot.count == 300);
        snapshot_finish(&snapshot);
    }
    assert_true(n > 4); /* threads, codes, blocks: each of them failed once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_gone_afterwards),
        cmocka_unit_test(keeps_a_code_object_once),
        cmocka_unit_test(begins_anew_after_a_reset),
        cmocka_unit_test(says_that_memory_ran_out),
    };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}

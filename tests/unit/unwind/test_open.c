/* SPDX-License-Identifier: Apache-2.0 */
/* test_open.c - why a process, or its memory, cannot be opened. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"
#include "unwind/cpy.h"

static void tells_a_process_that_is_gone(void **state)
{
    struct cpy_target *target = NULL;
    struct mem *mem = NULL;
    struct err err = {""};
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(cpy_open(pid, &target, &err), CPY_GONE);
    assert_non_null(strstr(err.text, "there is no such process"));
    assert_int_equal(cpy_memory_open(pid, &mem, NULL), CPY_GONE);
    assert_null(target);
    assert_null(mem);
}

static void does_not_take_an_error_of_our_own_for_its_end(void **state)
{
    struct cpy_target *target = NULL;
    struct mem *mem = NULL;
    struct err err = {""};
    struct rlimit before = descriptors_forbid();
    enum cpy_rc open_rc = cpy_open(getpid(), &target, &err);
    enum cpy_rc memory_rc = cpy_memory_open(getpid(), &mem, NULL);

    (void)state;
    descriptors_allow(before);
    assert_int_equal(open_rc, CPY_NOMEM);
    assert_non_null(strstr(err.text, "Too many open files"));
    assert_int_equal(memory_rc, CPY_NOMEM);
}

static void reads_memory_of_what_is_no_python(void **state)
{
    static const char text[] = "what we have";
    char copy[sizeof(text)] = "";
    struct mem *mem = NULL;

    (void)state;
    assert_int_equal(cpy_memory_open(getpid(), &mem, NULL), CPY_OK);
    assert_int_equal(cpy_memory_read(mem, (uintptr_t)text, copy, sizeof(copy)), CPY_OK);
    assert_string_equal(copy, text);
    assert_int_equal(cpy_memory_read(mem, 8, copy, sizeof(copy)), CPY_RACED);
    cpy_memory_close(mem);
    cpy_memory_close(NULL);
}

static void says_why_each_time_an_allocation_fails(void **state)
{
    unsigned long n = 0, failures = 0, seen;
    struct cpy_target *target = NULL;
    struct mem *mem = NULL;
    enum cpy_rc rc;

    (void)state;
    do {
        struct err err = {""};

        alloc_fail_at(++n);
        rc = cpy_open(getpid(), &target, &err);
        seen = alloc_fail_stop();
        assert_int_not_equal(rc, CPY_OK);
        assert_non_null(strstr(err.text, ": ")); /* behind "process 123" */
        failures += rc == CPY_NOMEM;
    } while (seen >= n); /* until none fails */
    assert_true(failures > 2);

    n = 0;
    do {
        struct err err = {""};

        alloc_fail_at(++n);
        rc = cpy_memory_open(getpid(), &mem, &err);
        seen = alloc_fail_stop();
        assert_true(rc == CPY_OK || err.text[0]);
        if (rc == CPY_OK)
            cpy_memory_close(mem);
    } while (seen >= n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_a_process_that_is_gone),
        cmocka_unit_test(does_not_take_an_error_of_our_own_for_its_end),
        cmocka_unit_test(reads_memory_of_what_is_no_python),
        cmocka_unit_test(says_why_each_time_an_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

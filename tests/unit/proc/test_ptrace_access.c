/* SPDX-License-Identifier: Apache-2.0 */
/* test_ptrace_access.c - why a process cannot be read, in a process that a filter restricts. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/proc/ptrace_access.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/leader.h"
#include "tests/unit/no_vm_readv.h"
#include "tests/unit/unit_test.h"

/* What a process under the filter finds of itself; -1: it cannot be restricted. */
static int find_restricted(bool has_descriptors)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (!forbid_vm_readv(EPERM))
            _exit(255);
        if (!has_descriptors)
            (void)descriptors_forbid();
        _exit((int)ptrace_access_find(getpid()));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

static void tries_the_file_where_the_call_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ptrace_access_find(getpid()), PTRACE_ACCESS_NONE);
    assert_int_equal(find_restricted(true), PTRACE_ACCESS_NONE);
}

static void blames_nobody_else_for_an_error_of_our_own(void **state)
{
    (void)state;
    assert_int_equal(find_restricted(false), PTRACE_ACCESS_OWN_LIMIT);
}

static void may_read_a_process_whose_first_thread_has_ended(void **state)
{
    struct leader leader = leader_start();

    (void)state;
    leader_end_thread(&leader, 0);
    assert_int_equal(ptrace_access_find(leader.pid), PTRACE_ACCESS_NONE);
    leader_end_thread(&leader, 1);
    leader_end_thread(&leader, 2);
    assert_int_equal(ptrace_access_find(leader.pid), PTRACE_ACCESS_GONE);
    leader_finish(&leader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_the_file_where_the_call_is_refused),
        cmocka_unit_test(blames_nobody_else_for_an_error_of_our_own),
        cmocka_unit_test(may_read_a_process_whose_first_thread_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

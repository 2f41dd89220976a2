/* SPDX-License-Identifier: Apache-2.0 */
/* test_command_line.c - the command line of another process, read with a limit in time. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/child/command_line.h"
#include "tests/unit/unit_test.h"

/* Of another process: what valgrind shows of its own is made up. */
static void reads_what_proc_has(void **state)
{
    char here[PROC_COMMAND_MAX], text[PROC_COMMAND_MAX] = "before";
    const pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    proc_command_line(pid, here);
    assert_true(command_line_read(pid, text));
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    assert_true(here[0] != '\0');
    assert_string_equal(text, here);
}

static void is_empty_of_a_process_that_is_not_there(void **state)
{
    char text[PROC_COMMAND_MAX] = "before";

    (void)state;
    assert_true(command_line_read(1 << 29, text));

    assert_string_equal(text, "");
}

static void leaves_no_child(void **state)
{
    char text[PROC_COMMAND_MAX];

    (void)state;
    assert_true(command_line_read(getpid(), text));

    assert_int_equal(child_process_left(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_proc_has),
        cmocka_unit_test(is_empty_of_a_process_that_is_not_there),
        cmocka_unit_test(leaves_no_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

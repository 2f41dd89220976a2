/* SPDX-License-Identifier: Apache-2.0 */
/* test_program.c - a process that executes another program, or ends, is told from the one held. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/proc/program.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

/* A shell that becomes `cat` once it is given a line. */
struct scene {
    pid_t pid;
    int gate;
};

static bool sleeps_in(pid_t pid, const char *program)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) == PROC_OK && strcmp(stat.name, program) == 0 &&
           stat.state == 'S';
}

static void scene_begin(struct scene *scene)
{
    int gate[2];

    assert_int_equal(pipe(gate), 0);
    scene->pid = fork();
    if (scene->pid == 0) {
        (void)dup2(gate[0], STDIN_FILENO);
        (void)close(gate[0]);
        (void)close(gate[1]);
        (void)execl("/bin/sh", "sh", "-c", "read x; exec cat", (char *)NULL);
        _exit(127);
    }
    (void)close(gate[0]);
    scene->gate = gate[1];
    AWAIT(sleeps_in(scene->pid, "sh"));
}

static void scene_exec(struct scene *scene)
{
    assert_int_equal(write(scene->gate, "\n", 1), 1);
    AWAIT(sleeps_in(scene->pid, "cat"));
}

static void scene_end(struct scene *scene)
{
    (void)kill(scene->pid, SIGKILL);
    assert_int_equal(waitpid(scene->pid, NULL, 0), scene->pid);
    (void)close(scene->gate);
}

static void another_program_is_told_by_the_process_that_is_the_same(void **state)
{
    struct held_program held;
    struct program before;
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    program_hold(scene.pid, &held);
    assert_true(program_find(scene.pid, &before));
    assert_true(program_same(&held.program, &before));
    assert_int_equal(program_look(&held), PROGRAM_SAME);

    scene_exec(&scene);

    assert_int_equal(program_look(&held), PROGRAM_ANOTHER);
    program_release(&held);
    program_hold(scene.pid, &held);
    assert_int_equal(program_look(&held), PROGRAM_SAME);
    assert_false(program_same(&held.program, &before));
    program_release(&held);
    scene_end(&scene);
}

static void one_that_has_ended_is_gone_before_its_parent_knows(void **state)
{
    struct held_program held;
    struct scene scene;
    siginfo_t info;

    (void)state;
    scene_begin(&scene);
    program_hold(scene.pid, &held);
    assert_int_equal(kill(scene.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)scene.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_not_equal(program_look(&held), PROGRAM_SAME);
    scene_end(&scene);
    assert_int_equal(program_look(&held), PROGRAM_GONE);
    program_release(&held);
    program_release(&held); /* twice is fine */
}

static void a_number_that_is_another_process_is_gone(void **state)
{
    struct held_program held;

    (void)state;
    program_hold(getpid(), &held);
    held.program.id.start++;
    assert_int_equal(program_look(&held), PROGRAM_GONE);
    program_release(&held);
}

static void what_cannot_be_found_is_gone(void **state)
{
    struct held_program held;
    struct program program;

    (void)state;
    assert_false(program_find(0x7ffffffe, &program));
    program_hold(0x7ffffffe, &held);
    assert_int_equal(program_look(&held), PROGRAM_GONE);
    program_release(&held);
}

static void a_word_has_all_but_the_pid(void **state)
{
    const struct program whole = {{7, UINT64_MAX}, UINT64_MAX - 1};
    static const char *const wrong[] = {
        "",      "1",    ":",    "1:",    ":1",   "1:2 ",
        "1:2:3", "-1:2", "1:-2", "0x1:2", "1 :2", "1:18446744073709551616"};
    struct program read = {{7, 1}, 2};
    char word[PROGRAM_WORD_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(program_parse(wrong[i], &read));
    assert_true(read.id.start == 1 && read.mark == 2);
    program_format(&whole, word);
    assert_true(program_parse(word, &read));
    assert_true(program_same(&read, &whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_program_is_told_by_the_process_that_is_the_same),
        cmocka_unit_test(one_that_has_ended_is_gone_before_its_parent_knows),
        cmocka_unit_test(a_number_that_is_another_process_is_gone),
        cmocka_unit_test(what_cannot_be_found_is_gone),
        cmocka_unit_test(a_word_has_all_but_the_pid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

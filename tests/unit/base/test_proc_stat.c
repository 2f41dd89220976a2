/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_stat.c - what the kernel says of processes and threads, of the test itself mostly. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/leader.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/thread.h"

static int set_up(void **state)
{
    *state = thread_new();
    return 0;
}

static int tear_down(void **state)
{
    thread_free(*state);
    return 0;
}

/* What it says of the calling thread. */
static struct proc_stat own_stat(const struct thread *t)
{
    struct proc_stat stat = {.state = '?', .cpu = -1};
    int fd = proc_file_open(t->proc_fd, "task/%d/stat", (int)(pid_t)syscall(SYS_gettid));

    assert_int_equal(proc_stat_reread(fd, &stat), PROC_OK);
    (void)close(fd);
    return stat;
}

static void says_again_and_again_whether_a_thread_sleeps_or_runs(void **state)
{
    struct thread *t = *state;
    int fd = proc_file_open(t->proc_fd, "task/%d/stat", (int)t->tid);
    struct proc_stat stat;

    assert_int_equal(proc_stat_reread(fd, &stat), PROC_OK);
    assert_int_equal(stat.state, 'S');
    thread_run(t);
    assert_int_equal(proc_stat_reread(fd, &stat), PROC_OK);
    assert_int_equal(stat.state, 'R');
    thread_stop(t);
    assert_int_equal(proc_stat_reread(fd, &stat), PROC_OK);
    assert_int_equal(stat.state, 'S');
    (void)close(fd);
}

static void tells_the_cpu_on_which_a_thread_ran_last(void **state)
{
    struct thread *t = *state;
    cpu_set_t allowed;
    size_t cpu, tried = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        thread_pin(0, cpu);
        assert_int_equal(own_stat(t).cpu, cpu);
        tried++;
    }
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
    assert_true(tried > 0);
}

static void counts_the_threads_of_the_process(void **state)
{
    const size_t before = own_stat(*state).threads;
    struct thread *more = thread_new();

    assert_true(before >= 2);
    assert_int_equal(own_stat(*state).threads, before + 1);
    thread_free(more);
    assert_int_equal(own_stat(*state).threads, before);
}

static void is_not_misled_by_the_name_of_a_thread(void **state)
{
    static const char *const names[] = {") S 1 2 3 4", "(a) (b", "a b c", "))))", ""};
    struct thread *t = *state;
    cpu_set_t allowed;
    const size_t count = own_stat(t).threads;
    char before[16];
    size_t i, cpu = 0;

    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    thread_pin(0, cpu);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_int_equal(own_stat(t).state, 'R');
        assert_int_equal(own_stat(t).cpu, cpu);
        assert_int_equal(own_stat(t).threads, count);
    }
    (void)prctl(PR_SET_NAME, before);
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void counts_the_turns_and_the_time_of_a_thread(void **state)
{
    struct thread *t = *state;
    const struct proc_sched before = thread_counts(t);
    struct proc_sched after;

    if (before.turns == 0)
        skip();
    after = thread_counts(t);
    assert_memory_equal(&before, &after, sizeof(before)); /* it sleeps */
    thread_run(t);
    AWAIT(thread_counts(t).cpu_ns != before.cpu_ns);
    thread_stop(t);
    after = thread_counts(t);
    assert_true(after.turns > before.turns);
    assert_true(after.cpu_ns > before.cpu_ns);
    assert_true(after.wait_ns >= before.wait_ns);
}

/* A thread that has a CPU has begun one turn more than it has ended. */
static void counts_the_turns_that_have_ended(void **state)
{
    struct thread *t = *state;
    int fd = proc_file_open(t->proc_fd, "task/%d/sched", (int)t->tid);
    struct proc_turns turns, before;
    struct proc_sched counts;

    if (fd < 0)
        skip(); /* the kernel has no such file */
    assert_int_equal(proc_turns_reread(fd, &turns), PROC_OK);
    assert_true(turns.ended > 0);
    assert_int_equal(turns.ended, thread_counts(t).turns);
    thread_run(t);
    do {
        counts = thread_counts(t);
        assert_int_equal(proc_turns_reread(fd, &turns), PROC_OK);
    } while (turns.ended + 1 != counts.turns);
    assert_true(turns.counted_ns > 0);
    before = turns;
    thread_stop(t);
    assert_int_equal(proc_turns_reread(fd, &turns), PROC_OK);
    assert_true(turns.slept > before.slept);
    assert_true(turns.ended > before.ended);
    thread_end(t);
    assert_int_equal(proc_turns_reread(fd, &turns), PROC_GONE);
    (void)close(fd);
}

static void says_so_when_a_thread_is_gone(void **state)
{
    struct thread *t = *state;
    int stat_fd = proc_file_open(t->proc_fd, "task/%d/stat", (int)t->tid);
    int sched_fd = proc_file_open(t->proc_fd, "task/%d/schedstat", (int)t->tid);
    struct proc_sched counts;
    struct proc_stat stat;

    assert_int_equal(proc_stat_reread(stat_fd, &stat), PROC_OK);
    assert_int_equal(proc_sched_reread(sched_fd, &counts), PROC_OK);
    thread_end(t);

    assert_int_equal(proc_stat_reread(stat_fd, &stat), PROC_GONE);
    assert_int_equal(proc_sched_reread(sched_fd, &counts), PROC_GONE);
    assert_int_equal(proc_stat_read_thread(getpid(), t->tid, &stat), PROC_GONE);
    assert_int_equal(proc_sched_read(getpid(), t->tid, &counts), PROC_GONE);
    assert_int_equal(proc_file_open(t->proc_fd, "task/%d/stat", (int)t->tid), -1);
    (void)close(stat_fd);
    (void)close(sched_fd);
}

/* Starts a shell whose program, arguments and stack are where those of the next one are, too. */
static pid_t start_shell(int *out_gate)
{
    pid_t pid;
    int gate[2];

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)personality(ADDR_NO_RANDOMIZE);
        (void)dup2(gate[0], STDIN_FILENO);
        (void)execl("/bin/sh", "sh", "-c", "read x; exec cat", (char *)NULL);
        _exit(127);
    }
    (void)close(gate[0]);
    *out_gate = gate[1];
    return pid;
}

/* The mark of a process once it sleeps in that program. */
static uint64_t mark_of(pid_t pid, const char *program)
{
    struct proc_stat stat = {.state = '?'};
    uint64_t mark = 0;

    AWAIT(proc_stat_read(pid, &stat) == PROC_OK && strcmp(stat.name, program) == 0 &&
          stat.state == 'S');
    assert_int_equal(proc_exec_mark(pid, &mark), PROC_OK);
    return mark;
}

static void tells_a_program_from_the_next_where_addresses_are_not_random(void **state)
{
    uint64_t mark, again;
    int gate;
    pid_t pid = start_shell(&gate);

    (void)state;
    mark = mark_of(pid, "sh");
    assert_int_equal(mark_of(pid, "sh"), mark);
    assert_int_equal(write(gate, "\n", 1), 1);
    assert_int_not_equal(mark_of(pid, "cat"), mark);
    (void)close(gate);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_exec_mark(pid, &again), PROC_GONE);
}

static void says_so_where_no_file_is_open(void **state)
{
    struct proc_sched counts;
    struct proc_stat stat;

    (void)state;
    assert_int_equal(proc_stat_reread(-1, &stat), PROC_FAILED);
    assert_int_equal(proc_sched_reread(-1, &counts), PROC_FAILED);
    assert_int_equal(proc_file_open(-1, "task/%d/stat", (int)1), -1);
}

/* A file with this text instead of the kernel's. */
static int file_with(const char *text)
{
    int fd = memfd_create("stat", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static void takes_no_line_without_its_fields(void **state)
{
    static const char a_word[] =
        "1 (name) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 x 18 19 20 21 22 23 24 25 26 27 28 29 "
        "30 31 32 33 34 35 36 37";
    static const char *const texts[] = {"",   "no name",   "1 (name)", "1 (name) R 1 2",
                                        ")(", "1 )x( R 1", a_word};
    struct proc_stat stat = {.cpu = 7};
    size_t i;
    int fd;

    (void)state;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fd = file_with(texts[i]);
        assert_int_equal(proc_stat_reread(fd, &stat), PROC_FAILED);
        assert_int_equal(stat.cpu, 7);
        (void)close(fd);
    }
}

static void takes_no_counters_from_text_without_numbers(void **state)
{
    static const char *const texts[] = {"", "\n", "x", "1", "1 2", "1 2\n", "1 2 x"};
    struct proc_sched counts = {.turns = 7};
    int fd = file_with("1 2 3\n");

    (void)state;
    assert_int_equal(proc_sched_reread(fd, &counts), PROC_OK);
    assert_int_equal(counts.turns, 3);
    (void)close(fd);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fd = file_with(texts[i]);
        assert_int_equal(proc_sched_reread(fd, &counts), PROC_FAILED);
        assert_int_equal(counts.turns, 3);
        (void)close(fd);
    }
}

static void takes_numbers_of_turns_from_their_lines_alone(void **state)
{
#define DASHES "\n-----------------------------------\n"
    static const char *const bad[] = {
        "",
        "x" DASHES,
        "x\nse.exec_start : 1.000000\nnr_switches : 5\nnr_voluntary_switches : 4\n",
        "x" DASHES "se.exec_start : 1.000000\nnr_voluntary_switches : 4\n",
        "x" DASHES "se.exec_start : 1.000000\nnr_switches : 5\n",
        "x" DASHES "nr_switches\nnr_voluntary_switches : 4\nse.exec_start : 1\n",
        "x" DASHES "se.exec_start : -\nnr_switches : 5\nnr_voluntary_switches : 4\n",
        "x" DASHES "se.exec_start : 1.000000\nnr_switches : -\nnr_voluntary_switches : 4\n",
        "x" DASHES "se.exec_start : 1.000000\nnr_switches : 5\nnr_voluntary_switches : -\n"};
    struct proc_turns turns = {.ended = 7};
    int fd = file_with("\nnr_switches :9 (3, #threads: 1)" DASHES
                       "se.exec_start    :    12.000345\nnr_switches   :  42\n"
                       "nr_voluntary_switches  : 38\nnr_involuntary_switches  : 4\n");

    (void)state;
    assert_int_equal(proc_turns_reread(fd, &turns), PROC_OK);
    assert_int_equal(turns.ended, 42);
    assert_int_equal(turns.slept, 38);
    assert_int_equal(turns.counted_ns, 12000345);
    (void)close(fd);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fd = file_with(bad[i]);
        assert_int_equal(proc_turns_reread(fd, &turns), PROC_FAILED);
        assert_int_equal(turns.ended, 42);
        (void)close(fd);
    }
#undef DASHES
}

/* As the kernel tells of a process that its parent has just waited for. */
static void takes_one_that_is_being_removed_for_gone(void **state)
{
    struct proc_stat stat = {.cpu = 7};
    int fd = file_with("1 (name) X 0 -1 -1 0 -1 4227084 0 0 0 0 2 0 0 0 20 0 0 0 99 0 0 0 0 0 0 0 "
                       "0 0 0 0 0 0 0 0 17 5 0\n");

    (void)state;
    assert_int_equal(proc_stat_reread(fd, &stat), PROC_GONE);
    assert_int_equal(stat.cpu, 7);
    (void)close(fd);
}

static void cuts_a_name_that_is_too_long(void **state)
{
    char text[512];
    struct proc_stat stat;

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "1 (%0200d) S 7 8 9 0 0 0 0 0 0 0 0 0 0 0 0 0 3 0 99 0 0 0 11 0 12 0 0 0 0 0 0 "
                   "0 0 0 0 5 0\n",
                   0);
    assert_true(proc_stat_parse(text, &stat));
    assert_int_equal(strlen(stat.name), sizeof(stat.name) - 1);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent, 7);
    assert_int_equal(stat.group, 8);
    assert_int_equal(stat.session, 9);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.start, 99);
    assert_int_equal(stat.cpu, 5);
}

static void tells_a_process_that_is_gone_from_an_error_of_our_own(void **state)
{
    struct proc_stat stat;
    struct proc_statm pages;
    struct rlimit before;
    enum proc_rc failed;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_stat_read(pid, &stat), PROC_GONE);
    assert_int_equal(proc_statm_read(pid, &pages), PROC_GONE);
    before = descriptors_forbid();
    failed = proc_stat_read(getpid(), &stat);
    descriptors_allow(before);
    assert_int_equal(failed, PROC_FAILED);
    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    assert_int_equal(stat.parent, getppid());
}

/* The thread of that process by which it can be read, by both ways to ask. */
static pid_t living_of(pid_t pid)
{
    int proc_fd = proc_file_open(AT_FDCWD, "/proc/%d", (int)pid), dir_fd = proc_living_dir(proc_fd);
    char text[16];
    const struct proc_status_field field = {"Pid:", text, sizeof(text)};

    assert_int_equal(proc_status_read(proc_file_open(dir_fd, "status"), &field, 1), PROC_OK);
    assert_int_equal(strtol(text, NULL, 10), proc_living_thread(pid));
    (void)close(dir_fd);
    (void)close(proc_fd);
    return proc_living_thread(pid);
}

static void finds_a_thread_that_lives_once_the_first_has_ended(void **state)
{
    struct leader leader = leader_start();
    struct proc_stat stat;
    pid_t second, third;

    (void)state;
    assert_int_equal(living_of(leader.pid), leader.pid);
    leader_end_thread(&leader, 0);
    second = living_of(leader.pid);
    assert_int_not_equal(second, leader.pid);
    leader_end_thread(&leader, 1);
    third = living_of(leader.pid);
    assert_int_not_equal(third, leader.pid);
    assert_int_not_equal(third, second);
    assert_int_equal(proc_stat_read(leader.pid, &stat), PROC_OK);
    assert_false(proc_stat_is_ended(&stat));
    leader_end_thread(&leader, 2);
    assert_int_equal(living_of(leader.pid), leader.pid);
    assert_int_equal(proc_stat_read(leader.pid, &stat), PROC_OK);
    assert_true(proc_stat_is_ended(&stat));
    leader_finish(&leader);
    assert_int_equal(proc_living_thread(leader.pid), leader.pid);
    assert_int_equal(proc_living_dir(-1), -1);
}

static void sees_no_exec_and_no_less_memory_once_the_first_thread_has_ended(void **state)
{
    struct leader leader = leader_start();
    struct proc_statm pages;
    uint64_t before, after;

    (void)state;
    assert_int_equal(proc_exec_mark(leader.pid, &before), PROC_OK);
    leader_end_thread(&leader, 0);
    assert_int_equal(proc_exec_mark(leader.pid, &after), PROC_OK);
    assert_int_equal(after, before);
    assert_int_equal(proc_statm_read(leader.pid, &pages), PROC_OK);
    assert_true(pages.size > 0);
    leader_finish(&leader);
}

static void counts_the_pages_of_a_process(void **state)
{
    struct proc_statm pages = {0};

    (void)state;
    assert_int_equal(proc_statm_read(getpid(), &pages), PROC_OK);
    assert_true(pages.size > pages.resident && pages.resident >= pages.shared);
    assert_true(pages.shared > 0 && pages.data > 0);
}

static void reads_lines_of_a_status_file(void **state)
{
    char parent[32], groups[8], none[8] = "x";
    const struct proc_status_field fields[] = {{"PPid:", parent, sizeof(parent)},
                                               {"Name:", groups, sizeof(groups)},
                                               {"Nothing:", none, sizeof(none)}};

    (void)state;
    assert_int_equal(proc_status_read(proc_file_open(AT_FDCWD, "/proc/self/status"), fields, 3),
                     PROC_OK);
    assert_int_equal(strtol(parent, NULL, 10), getppid());
    assert_string_equal(none, "");
    assert_int_equal(strlen(groups), 7); /* "\ttest_proc_stat", cut */
    assert_int_equal(proc_status_read(proc_file_open(AT_FDCWD, "/proc/0/status"), fields, 3),
                     PROC_GONE);
    assert_string_equal(parent, "");
}

static void finds_a_status_line_behind_a_very_long_one(void **state)
{
    char text[32];
    const struct proc_status_field field = {"NSpid:", text, sizeof(text)};
    int fd = memfd_create("status", MFD_CLOEXEC), i;

    (void)state;
    assert_true(dprintf(fd, "Name:\tx\nGroups:\t") > 0);
    for (i = 0; i < 65536; i++) /* NGROUPS_MAX */
        assert_true(dprintf(fd, "%d ", i) > 0);
    assert_true(dprintf(fd, "\nNSpid:\t12\t1\n") > 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(proc_status_read(fd, &field, 1), PROC_OK);
    assert_string_equal(text, "\t12\t1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(says_again_and_again_whether_a_thread_sleeps_or_runs),
        TEST(tells_the_cpu_on_which_a_thread_ran_last),
        TEST(counts_the_threads_of_the_process),
        TEST(is_not_misled_by_the_name_of_a_thread),
        TEST(counts_the_turns_and_the_time_of_a_thread),
        TEST(counts_the_turns_that_have_ended),
        TEST(takes_numbers_of_turns_from_their_lines_alone),
        TEST(takes_no_counters_from_text_without_numbers),
        TEST(says_so_when_a_thread_is_gone),
        TEST(tells_a_program_from_the_next_where_addresses_are_not_random),
        TEST(says_so_where_no_file_is_open),
        TEST(takes_no_line_without_its_fields),
        TEST(takes_one_that_is_being_removed_for_gone),
        TEST(cuts_a_name_that_is_too_long),
        TEST(tells_a_process_that_is_gone_from_an_error_of_our_own),
        TEST(finds_a_thread_that_lives_once_the_first_has_ended),
        TEST(sees_no_exec_and_no_less_memory_once_the_first_thread_has_ended),
        TEST(counts_the_pages_of_a_process),
        TEST(reads_lines_of_a_status_file),
        TEST(finds_a_status_line_behind_a_very_long_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_taskstat.c - what the kernel says of threads of the test itself. */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

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
static struct taskstat own_stat(const struct thread *t)
{
    struct taskstat stat = {.state = '?', .cpu = -1};
    int fd = taskstat_open(t->proc_fd, (pid_t)syscall(SYS_gettid), "stat");

    assert_true(taskstat_reread(fd, &stat));
    (void)close(fd);
    return stat;
}

static void says_again_and_again_whether_a_thread_sleeps_or_runs(void **state)
{
    struct thread *t = *state;
    int fd = taskstat_open(t->proc_fd, t->tid, "stat");
    struct taskstat stat;

    assert_true(taskstat_reread(fd, &stat));
    assert_int_equal(stat.state, 'S');
    thread_run(t);
    assert_true(taskstat_reread(fd, &stat));
    assert_int_equal(stat.state, 'R');
    thread_stop(t);
    assert_true(taskstat_reread(fd, &stat));
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
    const int before = own_stat(*state).threads;
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
    const int count = own_stat(t).threads;
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
    const struct taskstat_sched before = thread_counts(t);
    struct taskstat_sched after;

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

static void says_so_when_a_thread_is_gone(void **state)
{
    struct thread *t = *state;
    int stat_fd = taskstat_open(t->proc_fd, t->tid, "stat");
    int sched_fd = taskstat_open(t->proc_fd, t->tid, "schedstat");
    struct taskstat_sched counts;
    struct taskstat stat;

    assert_true(taskstat_reread(stat_fd, &stat));
    assert_true(taskstat_reread_sched(sched_fd, &counts));
    thread_end(t);

    assert_false(taskstat_reread(stat_fd, &stat));
    assert_false(taskstat_reread_sched(sched_fd, &counts));
    assert_int_equal(taskstat_open(t->proc_fd, t->tid, "stat"), -1);
    (void)close(stat_fd);
    (void)close(sched_fd);
}

static void says_so_where_no_file_is_open(void **state)
{
    struct taskstat_sched counts;
    struct taskstat stat;

    (void)state;
    assert_false(taskstat_reread(-1, &stat));
    assert_false(taskstat_reread_sched(-1, &counts));
    assert_int_equal(taskstat_open(-1, 1, "stat"), -1);
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
    struct taskstat stat = {.cpu = 7};
    int fd = file_with("1 (name) R 1 2");

    (void)state;
    assert_true(taskstat_reread(fd, &stat));
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.cpu, -1); /* not known */
    assert_int_equal(stat.threads, -1);
    (void)close(fd);
    fd = file_with("1 (name)");
    assert_false(taskstat_reread(fd, &stat));
    (void)close(fd);
    fd = file_with("no name");
    assert_false(taskstat_reread(fd, &stat));
    (void)close(fd);
}

static void leaves_no_file_to_programs_that_are_started(void **state)
{
    struct thread *t = *state;
    int fd = taskstat_open(t->proc_fd, t->tid, "stat");

    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)close(fd);
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
        TEST(says_so_when_a_thread_is_gone),
        TEST(says_so_where_no_file_is_open),
        TEST(takes_no_line_without_its_fields),
        TEST(leaves_no_file_to_programs_that_are_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_sched_idle_wake.c - a thread that has used all of its time is known to run; any other is
 * asked about. The kernel's files are made up, so that each number is exact. */
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"
#include "unwind/fast/sched_idle.h"

enum { TID = 7, CPU = 3, MS = 1000000 };

struct fixture {
    struct sched_idle sched_idle;
    struct sched_idle_files files;
    int proc_fd;
};

/* What its stat says, which is the only place that tells whether it was read. */
static void stat_says(char state, int cpu)
{
    char text[256];

    (void)snprintf(
        text, sizeof(text),
        "7 (it) %c 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 "
        "17 %d 0 0\n",
        state, cpu);
    tree_write_text("task/7/stat", text);
}

static void has_taken(uint64_t cpu_ns, uint64_t wait_ns, uint64_t turns)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%llu %llu %llu\n", (unsigned long long)cpu_ns,
                   (unsigned long long)wait_ns, (unsigned long long)turns);
    tree_write_text("task/7/schedstat", text);
}

static bool is_ready(struct fixture *f, uint64_t woke_ns)
{
    const struct sched_idle_wake wake = {.woke_ns = woke_ns, .cpu = CPU};

    return sched_idle_is_ready(&f->sched_idle, &f->files, f->proc_fd, TID, &wake);
}

/* It was seen to run where we woke up after 10 ms, when it had taken 5 ms; its stat says from then
 * on that it sleeps elsewhere. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(tree_make(NULL), 0);
    tree_directory("task");
    tree_directory("task/7");
    f->proc_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->files.max = 1;
    sched_idle_init(&f->sched_idle);
    has_taken(4 * MS, 1 * MS, 10);
    stat_says('R', CPU);
    assert_true(is_ready(f, 10 * MS));
    stat_says('S', CPU + 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sched_idle_finish(&f->sched_idle);
    (void)close(f->proc_fd);
    free(f);
    return tree_remove(NULL);
}

static void is_not_asked_about_if_it_has_used_all_of_its_time(void **state)
{
    struct fixture *f = *state;

    has_taken(4 * MS + 970000, 1 * MS + 30000, 11); /* it waited while we were there */
    assert_true(is_ready(f, 11 * MS));
    assert_int_equal(f->sched_idle.cpu, CPU);
    has_taken(5 * MS + 970000, 1 * MS + 30500, 12);
    assert_true(is_ready(f, 12 * MS + 3000)); /* we came a little later */
    assert_int_equal(f->sched_idle.cpu, CPU);
}

static void is_asked_about_if_it_may_have_slept(void **state)
{
    struct fixture *f = *state;

    has_taken(4 * MS + 970000, 1 * MS + 20000, 11);
    assert_false(is_ready(f, 11 * MS));
    assert_int_equal(f->sched_idle.cpu, CPU + 1);
    has_taken(5 * MS + 970000, 1 * MS + 20000, 12); /* all of its time, but since it slept */
    assert_false(is_ready(f, 12 * MS));
}

static void is_asked_about_if_it_has_used_more_time_than_there_was(void **state)
{
    struct fixture *f = *state;

    has_taken(5 * MS, 1 * MS + 20000, 11);
    assert_false(is_ready(f, 11 * MS));
}

static void is_asked_about_by_who_has_not_woken_up_there(void **state)
{
    struct fixture *f = *state;

    has_taken(5 * MS, 1 * MS, 11);
    assert_false(is_ready(f, 0));
    has_taken(6 * MS, 1 * MS, 12); /* nor is anything known of then */
    assert_false(is_ready(f, 12 * MS));
}

static void is_asked_about_if_it_ran_elsewhere(void **state)
{
    struct fixture *f = *state;

    has_taken(4 * MS, 1 * MS, 11);
    stat_says('R', CPU + 1);
    assert_true(is_ready(f, 11 * MS));
    assert_int_equal(f->sched_idle.cpu, CPU + 1);
    has_taken(5 * MS, 1 * MS, 12);
    stat_says('S', CPU);
    assert_false(is_ready(f, 12 * MS));
}

static void is_asked_about_where_the_kernel_does_not_count(void **state)
{
    struct fixture *f = *state;

    tree_write_text("task/7/schedstat", "");
    assert_false(is_ready(f, 10 * MS));
}

static void is_not_asked_about_where_it_was_interrupted(void **state)
{
    struct fixture *f = *state;

    assert_false(is_ready(f, 20 * MS)); /* its stat says so; it is known to sleep then */
    assert_true(sched_idle_since_look(&f->sched_idle));
    has_taken(5 * MS, 1 * MS, 10); /* the same turn: counted anew only when that ends */
    sched_idle_runs(&f->sched_idle, f->proc_fd, TID, CPU);

    assert_int_equal(f->sched_idle.cpu, CPU);
    assert_true(f->sched_idle.cpu_ns == 5 * MS && f->sched_idle.wait_ns == 1 * MS);
    assert_false(sched_idle_since_look(&f->sched_idle));
    has_taken(6 * MS, 1 * MS,
              11); /* all of its time; but until when that was counted is not known */
    assert_false(is_ready(f, 21 * MS));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(is_not_asked_about_if_it_has_used_all_of_its_time),
        TEST(is_asked_about_if_it_may_have_slept),
        TEST(is_asked_about_if_it_has_used_more_time_than_there_was),
        TEST(is_asked_about_by_who_has_not_woken_up_there),
        TEST(is_asked_about_if_it_ran_elsewhere),
        TEST(is_asked_about_where_the_kernel_does_not_count),
        TEST(is_not_asked_about_where_it_was_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

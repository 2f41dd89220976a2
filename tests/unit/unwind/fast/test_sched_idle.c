/* SPDX-License-Identifier: Apache-2.0 */
/* test_sched_idle.c - a thread that slept all the time is known from one that did not. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/thread.h"
#include "unwind/fast/sched_idle.h"

struct fixture {
    struct thread *thread;
    struct sched_idle sched_idle;
    struct sched_idle_files files; /* one at most */
    struct sched_idle_wake wake;   /* nobody woke up */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->thread = thread_new();
    f->files.max = 1;
    sched_idle_init(&f->sched_idle);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sched_idle_finish(&f->sched_idle);
    thread_free(f->thread);
    free(f);
    return 0;
}

static bool counts(const struct fixture *f)
{
    return thread_counts(f->thread).turns > 0;
}

static void note(struct fixture *f, bool same)
{
    sched_idle_note(&f->sched_idle, &f->files, f->thread->proc_fd, f->thread->tid, same);
}

static bool is_ready(struct fixture *f)
{
    return sched_idle_is_ready(&f->sched_idle, &f->files, f->thread->proc_fd, f->thread->tid,
                               &f->wake);
}

/* Its stack was read twice while it slept. */
static void read_asleep(struct fixture *f)
{
    if (!counts(f))
        skip();
    note(f, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
    note(f, true);
    assert_true(sched_idle_since_read(&f->sched_idle));
}

static void lasts_once_the_stack_of_a_sleeping_thread_was_read(void **state)
{
    struct fixture *f = *state;
    int i;

    assert_false(sched_idle_since_read(&f->sched_idle)); /* nothing is known yet */
    read_asleep(f);
    for (i = 0; i < 3; i++)
        assert_true(sched_idle_since_read(&f->sched_idle));
}

static void ends_when_the_thread_has_run_for_a_moment(void **state)
{
    struct fixture *f = *state;

    read_asleep(f);
    thread_wake(f->thread);

    assert_false(sched_idle_since_read(&f->sched_idle));
    assert_false(sched_idle_since_read(&f->sched_idle)); /* its stack was not read since */
    read_asleep(f);
}

static void ends_when_the_thread_runs(void **state)
{
    struct fixture *f = *state;

    read_asleep(f);
    thread_run(f->thread);
    assert_false(sched_idle_since_read(&f->sched_idle));
    note(f, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
}

static void ends_with_the_thread(void **state)
{
    struct fixture *f = *state;

    read_asleep(f);
    thread_end(f->thread);

    assert_false(sched_idle_since_read(&f->sched_idle));
    note(f, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
    assert_false(is_ready(f));
}

static void does_not_begin_while_the_stack_changes(void **state)
{
    struct fixture *f = *state;
    int i;

    for (i = 0; i < 4; i++) {
        note(f, false);
        assert_false(sched_idle_since_read(&f->sched_idle));
    }
    assert_int_equal(f->sched_idle.fd, -1); /* not even asked about */
}

/* The stack that sched_idle_note is told of may be older than what is_ready saw. */
static void needs_the_stack_read_once_more_if_it_was_asleep_only_since(void **state)
{
    struct fixture *f = *state;

    if (!counts(f))
        skip();
    assert_false(is_ready(f));
    note(f, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
    assert_false(is_ready(f));
    note(f, true);
    assert_true(sched_idle_since_read(&f->sched_idle));
    thread_wake(f->thread);
    assert_false(is_ready(f));
    note(f, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
}

static void asks_ever_less_often_about_a_thread_that_always_runs(void **state)
{
    enum { NOTES = 300 };
    struct fixture *f = *state;
    unsigned asked = 0, longest = 0, since = 0;
    int i;

    if (!counts(f))
        skip();
    thread_run(f->thread);
    for (i = 0; i < NOTES; i++) {
        note(f, true);
        since = f->sched_idle.looks_skipped == 0 ? 0 : since + 1;
        longest = since > longest ? since : longest;
        asked += f->sched_idle.looks_skipped == 0;
    }
    assert_true(asked >= 6 && asked < 15);
    assert_true(longest > 30 && longest <= 130);
    thread_stop(f->thread);
    for (i = 0; i < 130 && !f->sched_idle.asleep; i++)
        note(f, true);
    assert_true(f->sched_idle.asleep);
    assert_int_equal(f->sched_idle.looks_to_skip, 0);
}

static void is_ready_while_the_thread_runs(void **state)
{
    struct fixture *f = *state;

    assert_false(is_ready(f));
    assert_false(is_ready(f));
    thread_run(f->thread);
    assert_true(is_ready(f));
    assert_true(is_ready(f));
    thread_stop(f->thread);
    assert_false(is_ready(f));
    thread_wake(f->thread);
    assert_false(is_ready(f));
}

static void is_not_ready_where_nothing_is_known_of_a_thread(void **state)
{
    struct fixture *f = *state;

    assert_false(sched_idle_is_ready(&f->sched_idle, &f->files, -1, f->thread->tid, &f->wake));
    assert_false(sched_idle_is_ready(&f->sched_idle, &f->files, f->thread->proc_fd, 0, &f->wake));
    sched_idle_note(&f->sched_idle, &f->files, -1, f->thread->tid, true);
    sched_idle_note(&f->sched_idle, &f->files, f->thread->proc_fd, 0, true);
    assert_false(sched_idle_since_read(&f->sched_idle));
    assert_int_equal(f->sched_idle.fd, -1);
}

/* Puts text into a file that stands in for one of the kernel's. */
static void put(int fd, const char *text)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
}

/* Counters of a thread whose files the test writes. */
static void begin_written(struct sched_idle *sched_idle)
{
    sched_idle_init(sched_idle);
    sched_idle->fd = memfd_create("schedstat", MFD_CLOEXEC);
    sched_idle->stat_fd = memfd_create("stat", MFD_CLOEXEC);
    sched_idle->sched_fd = memfd_create("sched", MFD_CLOEXEC);
}

static void put_schedstat(const struct sched_idle *sched_idle, int cpu_ns, int wait_ns, int turns)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%d %d %d\n", cpu_ns, wait_ns, turns);
    put(sched_idle->fd, text);
}

static void put_counters(const struct sched_idle *sched_idle, int cpu_ns, int turns)
{
    put_schedstat(sched_idle, cpu_ns, 0, turns);
}

static void put_state_on(const struct sched_idle *sched_idle, char state, int cpu)
{
    char text[128];

    (void)snprintf(
        text, sizeof(text),
        "1 (x) %c 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 99 0 0 0 11 0 12 0 0 0 0 0 0 0 0 0 "
        "0 %d 0\n",
        state, cpu);
    put(sched_idle->stat_fd, text);
}

static void put_state(const struct sched_idle *sched_idle, char state)
{
    put_state_on(sched_idle, state, CPU_SETSIZE);
}

static bool look(struct fixture *f, struct sched_idle *s)
{
    return sched_idle_look(s, &f->files, -1, 0);
}

/* It slept lately, and its stack was read while it slept. */
static void begin_asleep(struct fixture *f, struct sched_idle *s)
{
    begin_written(s);
    put_counters(s, 1000, 6);
    put_state(s, 'S');
    assert_false(sched_idle_is_ready(s, &f->files, -1, 0, &f->wake));
    sched_idle_was_read(s);
    assert_false(look(f, s)); /* it fell asleep only after its stack was read */
    assert_false(sched_idle_is_ready(s, &f->files, -1, 0, &f->wake));
    sched_idle_was_read(s);
    assert_true(look(f, s));
    assert_false(sched_idle_is_ready(s, &f->files, -1, 0, &f->wake));
}

/* What is told of a thread that works for a moment is true of the moment before its stack is
 * fetched. */
static void tells_whether_a_thread_ran_before_its_stack_was_fetched(void **state)
{
    struct fixture *f = *state;
    struct sched_idle s;

    begin_asleep(f, &s);
    put_counters(&s, 1500, 7); /* it has run, and sleeps again; it wakes up after the fetch */
    assert_false(look(f, &s));
    put_counters(&s, 1500, 8);
    put_state(&s, 'R');
    assert_false(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));

    assert_false(look(f, &s)); /* it runs all the while */
    put_counters(&s, 1600, 8);
    assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
    assert_false(s.cpu_wait);

    assert_false(look(f, &s)); /* it goes to sleep after the look */
    put_counters(&s, 1700, 8);
    put_state(&s, 'S');
    assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
    assert_true(s.cpu_wait);
    sched_idle_was_read(&s);
    assert_false(look(f, &s)); /* that stack may not be the one with which it sleeps */

    put_counters(&s, 1800, 9); /* it sleeps once more between the look and the fetch */
    put_state(&s, 'R');
    assert_false(look(f, &s));
    put_counters(&s, 1900, 10);
    assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
    assert_true(s.cpu_wait);
    sched_idle_finish(&s);
}

/* The turns of a thread; after `slept` of them it slept. */
static void put_turns_that(int fd, int ended, int slept, int counted_us)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "x (1, #threads: 1)\n--------------------\nse.exec_start    :    %d.%03d000\n"
                   "se.vruntime    :    7.000000\nnr_switches    :    %d\n"
                   "nr_voluntary_switches    :    %d\n",
                   counted_us / 1000, counted_us % 1000, ended, slept);
    put(fd, text);
}

static void put_turns(int fd, int ended, int counted_us)
{
    put_turns_that(fd, ended, ended, counted_us);
}

/* Ours began a turn then. Before, it has had three, and has waited for 1 us. */
static void begin_own(struct fixture *f, int counted_us)
{
    f->files.own = (struct sched_idle_own){.is_open = true, .turns = 3, .wait_ns = 1000};
    f->files.own.sched_fd = memfd_create("sched", MFD_CLOEXEC);
    f->files.own.schedstat_fd = memfd_create("schedstat", MFD_CLOEXEC);
    put_turns(f->files.own.sched_fd, 3, counted_us);
    put(f->files.own.schedstat_fd, "0 1000 3\n");
}

/* Looks at a thread that is ready to run on a CPU and has had one six times; true: it has one. */
static bool has_cpu(struct fixture *f, struct sched_idle *s, int cpu, int turns)
{
    put_state_on(s, 'R', cpu);
    put_counters(s, 1500, turns);
    assert_false(look(f, s));
    assert_true(sched_idle_is_ready(s, &f->files, -1, 0, &f->wake));
    return !s->cpu_wait;
}

static void tells_a_thread_that_has_a_cpu_from_one_that_waits(void **state)
{
    struct fixture *f = *state;
    cpu_set_t before, one;
    struct sched_idle s;
    int own;

    begin_asleep(f, &s);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    own = sched_getcpu();
    CPU_SET((size_t)own, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    begin_own(f, 5000);

    put_turns(s.sched_fd, 6, 4000); /* elsewhere: it has begun a turn more than it has ended */
    assert_true(has_cpu(f, &s, own + 1, 7));
    put_turns(s.sched_fd, 8, 5000);
    assert_false(has_cpu(f, &s, own + 1, 8));
    put_turns(s.sched_fd, 10, 5000); /* it began and ended one between the two reads */
    assert_false(has_cpu(f, &s, own + 1, 9));

    put_turns(s.sched_fd, 10, 5000); /* here: it ended its turn when ours began */
    assert_true(has_cpu(f, &s, own, 10));
    put_turns(s.sched_fd, 11, 4900);
    assert_false(has_cpu(f, &s, own, 11));
    put_turns(s.sched_fd, 12, 5100); /* by the clock of another CPU */
    assert_false(has_cpu(f, &s, own, 12));
    put_turns(s.sched_fd, 13, 0);
    assert_false(has_cpu(f, &s, own, 13));

    put_turns(s.sched_fd, 14, 5000); /* here, but ours had to wait for its turn */
    put(f->files.own.schedstat_fd, "0 60000 4\n");
    assert_false(has_cpu(f, &s, own, 14));
    put_turns(s.sched_fd, 15, 5000);
    assert_false(has_cpu(f, &s, own, 15));
    put_turns(s.sched_fd, 16, 5000);
    put(f->files.own.schedstat_fd, "0 61000 5\n"); /* not for the next */
    assert_true(has_cpu(f, &s, own, 16));

    put_turns_that(s.sched_fd, 17, 16,
                   4000); /* it has not slept since, its CPU was taken from it */
    assert_true(has_cpu(f, &s, own, 17));
    put_turns_that(s.sched_fd, 18, 17, 4000);
    assert_false(has_cpu(f, &s, own, 18));
    put_turns_that(s.sched_fd, 19, 17, 4000); /* it still has not run since it slept */
    assert_false(has_cpu(f, &s, own, 19));

    put(s.sched_fd, ""); /* the kernel does not tell */
    assert_true(has_cpu(f, &s, own, 20));
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    sched_idle_finish(&s);
    sched_idle_files_finish(&f->files);
}

/* Where a thread waited when it was looked at says nothing of where it went on. */
static void a_thread_that_waited_when_it_was_looked_at_did_not_run(void **state)
{
    struct fixture *f = *state;
    struct sched_idle s;

    begin_asleep(f, &s);
    put_state(&s, 'R');
    put_counters(&s, 1500, 7);
    put_turns(s.sched_fd, 7, 0);
    assert_false(look(f, &s));
    put_counters(&s, 1900, 8); /* it has had a CPU, and sleeps again */
    put_state(&s, 'S');
    assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
    assert_true(s.cpu_wait);
    sched_idle_finish(&s);
}

/* A sample without a look asks only of a thread that may wait: one that goes on working is not. */
static void asks_after_the_fetch_of_a_thread_that_may_wait(void **state)
{
    static const struct {
        const char *now;
        unsigned lately;
        bool asks;
    } cases[] = {
        {"2000 300 7\n", 0, false},   /* it has worked */
        {"2000 300 7\n", 5, true},    /* it was seen asleep lately */
        {"1000 300 7\n", 0, true},    /* it has not worked */
        {"2000 1000300 7\n", 0, true} /* it has waited */
    };
    struct fixture *f = *state;
    struct sched_idle s;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_written(&s);
        put_schedstat(&s, 1000, 300, 7);
        put_state(&s, 'R');
        put_turns(s.sched_fd, 7, 0);
        assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
        put(s.fd, cases[i].now);
        s.lately = cases[i].lately;
        assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
        assert_false(s.bursts);
        assert_int_equal(s.cpu_wait, cases[i].asks);
        sched_idle_finish(&s);
    }
}

/* Of the kernel's own numbers: a thread that runs is seen to have a CPU sooner or later. */
static void sees_that_a_running_thread_has_a_cpu(void **state)
{
    struct fixture *f = *state;
    int file = proc_file_open(f->thread->proc_fd, "task/%d/sched", (int)f->thread->tid);

    if (file < 0 || !counts(f))
        skip();
    (void)close(file);
    assert_false(is_ready(f));
    thread_run(f->thread);
    do {
        f->sched_idle.lately = SCHED_IDLE_LATELY;
        (void)sched_idle_look(&f->sched_idle, &f->files, f->thread->proc_fd, f->thread->tid);
    } while (f->sched_idle.look != SCHED_IDLE_RUNS);
    thread_stop(f->thread);
    sched_idle_files_finish(&f->files);
}

static void is_looked_at_first_only_for_a_while_after_it_slept(void **state)
{
    struct fixture *f = *state;
    struct sched_idle s;

    begin_asleep(f, &s);
    put_state(&s, 'R');
    for (int i = 0; i < SCHED_IDLE_LATELY; i++) {
        put_counters(&s, 2000 + i, 7 + i);
        assert_false(look(f, &s));
        assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
        assert_true(s.bursts);
    }
    assert_false(look(f, &s));
    assert_int_equal(s.look, SCHED_IDLE_NO_LOOK);
    assert_true(sched_idle_is_ready(&s, &f->files, -1, 0, &f->wake));
    assert_false(s.bursts);
    sched_idle_finish(&s);
}

static void opens_no_more_stat_files_than_may_be_open(void **state)
{
    struct fixture *f = *state;
    const size_t before = thread_files();
    struct sched_idle other;
    int i;

    sched_idle_init(&other);
    for (i = 0; i < 20; i++) { /* there is room for one */
        assert_false(is_ready(f));
        assert_int_equal(thread_files(), before + (i == 0 ? 2 : 3));
        assert_false(
            sched_idle_is_ready(&other, &f->files, f->thread->proc_fd, f->thread->tid, &f->wake));
        assert_int_equal(thread_files(), before + 3);
    }
    assert_int_equal(sched_idle_files_left(&f->files), 3); /* its sched, and two of ours */
    sched_idle_files_finish(&f->files);
    assert_int_equal(sched_idle_files_left(&f->files), 4);
    assert_int_equal(thread_files(), before + 2);
    assert_false(is_ready(f));
    sched_idle_finish(&f->sched_idle);
    sched_idle_finish(&f->sched_idle); /* once more is fine */
    sched_idle_finish(&other);
    assert_int_equal(thread_files(), before);
}

/* Its sched file may be opened first: where its counters tell that it has run on. */
static void has_one_place_for_its_open_files(void **state)
{
    struct fixture *f = *state;
    struct sched_idle s;

    f->files.max = 2;
    sched_idle_init(&s);
    s.fd = memfd_create("schedstat", MFD_CLOEXEC);
    put_counters(&s, 2000, 6);
    s.woke_ns = 1;
    s.lately = 2;
    f->wake.woke_ns = 2001;
    assert_true(sched_idle_is_ready(&s, &f->files, f->thread->proc_fd, f->thread->tid, &f->wake));
    if (s.sched_fd < 0)
        skip();
    assert_int_equal(s.stat_fd, -1);
    f->wake.woke_ns = 0;
    (void)sched_idle_is_ready(&s, &f->files, f->thread->proc_fd, f->thread->tid, &f->wake);
    assert_true(s.stat_fd >= 0);
    assert_ptr_equal(f->files.open[0], &s);
    assert_null(f->files.open[1]);
    sched_idle_files_finish(&f->files);
    sched_idle_finish(&s);
}

static void opens_each_file_of_a_thread_that_runs_once(void **state)
{
    struct fixture *f = *state;
    const size_t before = thread_files();
    int i;

    thread_run(f->thread);
    for (i = 0; i < 20; i++)
        assert_true(is_ready(f));
    assert_in_range(thread_files(), before + 2,
                    before + 5); /* if it waits for a CPU, of ours, too */
    sched_idle_finish(&f->sched_idle);
    sched_idle_files_finish(&f->files);
    assert_int_equal(thread_files(), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lasts_once_the_stack_of_a_sleeping_thread_was_read),
        TEST(ends_when_the_thread_has_run_for_a_moment),
        TEST(ends_when_the_thread_runs),
        TEST(ends_with_the_thread),
        TEST(does_not_begin_while_the_stack_changes),
        TEST(needs_the_stack_read_once_more_if_it_was_asleep_only_since),
        TEST(asks_ever_less_often_about_a_thread_that_always_runs),
        TEST(is_ready_while_the_thread_runs),
        TEST(is_not_ready_where_nothing_is_known_of_a_thread),
        TEST(tells_whether_a_thread_ran_before_its_stack_was_fetched),
        TEST(tells_a_thread_that_has_a_cpu_from_one_that_waits),
        TEST(a_thread_that_waited_when_it_was_looked_at_did_not_run),
        TEST(asks_after_the_fetch_of_a_thread_that_may_wait),
        TEST(sees_that_a_running_thread_has_a_cpu),
        TEST(is_looked_at_first_only_for_a_while_after_it_slept),
        TEST(opens_no_more_stat_files_than_may_be_open),
        TEST(has_one_place_for_its_open_files),
        TEST(opens_each_file_of_a_thread_that_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

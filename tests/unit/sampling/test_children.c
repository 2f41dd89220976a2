/* SPDX-License-Identifier: Apache-2.0 */
/* test_children.c - what children used that nobody sampled is told once, and of whom. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/sampling/children.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

/* CPU time that a child of a test uses; stat files count in hundredths of a second. */
#define USED_NS (150 * NS_PER_MS)
#define TICK_NS (10 * NS_PER_MS)

struct heard {
    uint64_t unnamed_ns, named_ns;
    uint64_t start;
    char name[64];
};

static void hear(void *ctx, const char *name, uint64_t start, uint64_t ns)
{
    struct heard *heard = ctx;

    if (!name) {
        heard->unnamed_ns += ns;
        return;
    }
    heard->named_ns += ns;
    heard->start = start;
    (void)strncpy(heard->name, name, sizeof(heard->name) - 1);
}

static uint64_t used_ns(void)
{
    struct timespec used;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return timespec_to_ns(used);
}

/* A child that uses USED_NS, says so, and waits to be killed. */
static pid_t start_child(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, "a\xff child");
        while (used_ns() < USED_NS) {
        }
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool is_about(uint64_t ns)
{
    return ns + 3 * TICK_NS >= USED_NS && ns <= USED_NS + 10 * TICK_NS;
}

static struct proc_id id_of(pid_t pid)
{
    struct proc_stat stat;

    assert_int_equal(proc_stat_read(pid, &stat), PROC_OK);
    return (struct proc_id){pid, stat.start};
}

static void tells_what_a_child_used_that_was_never_seen(void **state)
{
    struct heard heard = {0};
    struct children c;

    (void)state;
    children_begin(&c, getpid(), false);
    end_child(start_child());
    children_look(&c, hear, &heard);
    assert_true(is_about(heard.unnamed_ns));
    assert_int_equal(heard.named_ns, 0);

    children_look(&c, hear, &heard); /* once */
    assert_true(is_about(heard.unnamed_ns));
    assert_int_equal(c.parent, getppid());
    children_finish(&c);
}

static void tells_what_a_child_used_by_its_name(void **state)
{
    struct heard heard = {0};
    struct children c;
    struct proc_id id;

    (void)state;
    children_begin(&c, getpid(), false);
    id = id_of(start_child());
    children_look(&c, hear, &heard);
    assert_int_equal(heard.named_ns + heard.unnamed_ns, 0); /* it is not waited for yet */
    end_child(id.pid);
    children_look(&c, hear, &heard);

    if (heard.named_ns == 0)
        skip(); /* the kernel lists no children */
    assert_true(is_about(heard.named_ns));
    assert_string_equal(heard.name, "a\xef\xbf\xbd child");
    assert_int_equal(heard.start, id.start);
    assert_true(heard.unnamed_ns <= 3 * TICK_NS);
    children_finish(&c);
}

static void leaves_out_what_is_counted_elsewhere(void **state)
{
    struct heard heard = {0};
    struct children c;
    pid_t pid;

    (void)state;
    children_begin(&c, getpid(), false);
    pid = start_child();
    children_note(&c, id_of(pid), USED_NS + 10 * TICK_NS);
    end_child(pid);
    children_look(&c, hear, &heard);

    assert_int_equal(heard.named_ns + heard.unnamed_ns, 0);
    children_finish(&c);
}

/* Its parent may be sooner to wait for it than we are to see that it has ended. */
static void waits_for_what_is_counted_of_one_that_is_sampled(void **state)
{
    struct heard heard = {0};
    struct children c;
    struct proc_id id;

    (void)state;
    children_begin(&c, getpid(), false);
    id = id_of(start_child());
    children_expect(&c, id);
    children_look(&c, hear, &heard);
    end_child(id.pid);
    children_look(&c, hear, &heard);
    assert_int_equal(heard.named_ns + heard.unnamed_ns, 0);
    children_note(&c, id, USED_NS / 2);
    children_look(&c, hear, &heard);

    assert_true(is_about(heard.named_ns + heard.unnamed_ns + USED_NS / 2));
    children_finish(&c);
}

/* Of one that is sampled for a while only, the rest is told. */
static void tells_the_rest_of_one_that_was_sampled_for_a_while(void **state)
{
    struct heard heard = {0};
    struct children c;
    pid_t pid;

    (void)state;
    children_begin(&c, getpid(), false);
    pid = start_child();
    children_note(&c, id_of(pid), 5 * TICK_NS);
    end_child(pid);
    children_look(&c, hear, &heard);

    assert_true(is_about(heard.named_ns + heard.unnamed_ns + 5 * TICK_NS));
    children_finish(&c);
}

static void leaves_out_what_children_used_before(void **state)
{
    struct heard heard = {0};
    struct children c;
    pid_t pid = start_child();

    (void)state;
    children_begin(&c, getpid(), false);
    if (c.count == 0) {
        end_child(pid);
        skip(); /* the kernel lists no children */
    }
    end_child(pid);
    children_look(&c, hear, &heard);
    assert_true(heard.named_ns + heard.unnamed_ns <= 3 * TICK_NS);
    children_finish(&c);
}

static void counts_all_of_one_from_its_birth(void **state)
{
    struct heard heard = {0};
    struct children c;

    (void)state;
    end_child(start_child());
    children_begin(&c, getpid(), true);
    children_look(&c, hear, &heard);
    assert_true(heard.unnamed_ns + 3 * TICK_NS >= USED_NS);
    children_finish(&c);
}

/* A number that another process has by now is not the child's. */
static void tells_a_number_that_is_used_again_apart(void **state)
{
    struct children c = {.pid = getpid()};

    (void)state;
    children_note(&c, (struct proc_id){INT32_MAX, 1}, 100);
    children_note(&c, (struct proc_id){INT32_MAX, 2}, 30);
    children_note(&c, (struct proc_id){INT32_MAX, 2}, 40);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.known_ns, 100);
    assert_int_equal(c.items[0].counted_ns, 40);
    children_finish(&c);
}

static void tells_so_many_apart_and_counts_the_others(void **state)
{
    struct children c = {.pid = getpid()};

    (void)state;
    for (int i = 0; i < CHILDREN_MAX + 3; i++)
        children_note(&c, (struct proc_id){1000000000 + i, 1}, 10);
    assert_int_equal(c.count, CHILDREN_MAX);
    assert_int_equal(c.known_ns, 30);
    children_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_a_child_used_that_was_never_seen),
        cmocka_unit_test(tells_what_a_child_used_by_its_name),
        cmocka_unit_test(leaves_out_what_is_counted_elsewhere),
        cmocka_unit_test(waits_for_what_is_counted_of_one_that_is_sampled),
        cmocka_unit_test(tells_the_rest_of_one_that_was_sampled_for_a_while),
        cmocka_unit_test(leaves_out_what_children_used_before),
        cmocka_unit_test(counts_all_of_one_from_its_birth),
        cmocka_unit_test(tells_a_number_that_is_used_again_apart),
        cmocka_unit_test(tells_so_many_apart_and_counts_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

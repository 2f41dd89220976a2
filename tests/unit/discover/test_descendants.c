/* SPDX-License-Identifier: Apache-2.0 */
/* test_descendants.c - what a process has started is known, also once its parent has ended. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/descendants.h"
#include "agent/proc/execs.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

/* How an orphan is apart from the root that its parent descended from. */
enum apart { IN_GROUP, IN_OWN_GROUP, IN_OWN_SESSION };

/*
 * A root of a session and group of its own. At a byte it starts a child, which says so; that starts
 * an orphan at the next byte and ends. All others end with the test.
 */
struct family {
    pid_t root, orphan;
    int orders, answers; /* owned */
};

_Noreturn static void wait_for_end(void)
{
    (void)alarm(2 * HANG_LIMIT_S);
    for (;;)
        (void)pause();
}

_Noreturn static void be_orphan(enum apart apart, pid_t parent, int answers)
{
    const pid_t self = getpid();

    if (apart == IN_OWN_GROUP)
        (void)setpgid(0, 0);
    if (apart == IN_OWN_SESSION)
        (void)setsid();
    while (getppid() == parent)
        (void)usleep(HANG_LIMIT_PAUSE_US);
    (void)!write(answers, &self, sizeof(self));
    wait_for_end();
}

_Noreturn static void be_root(enum apart apart, int orders, int answers)
{
    char byte;
    pid_t child;

    (void)setsid();
    (void)!write(answers, "", 1);
    (void)!read(orders, &byte, 1);
    child = fork();
    if (child == 0) {
        child = getpid();
        (void)!write(answers, "", 1);
        (void)!read(orders, &byte, 1);
        if (fork() == 0)
            be_orphan(apart, child, answers);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    wait_for_end();
}

static struct family begin(enum apart apart)
{
    struct family family = {.orphan = 0};
    int orders[2], answers[2];
    char byte;

    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(answers), 0);
    family.root = fork();
    assert_true(family.root >= 0);
    if (family.root == 0)
        be_root(apart, orders[0], answers[1]);
    (void)close(orders[0]);
    (void)close(answers[1]);
    family.orders = orders[1];
    family.answers = answers[0];
    assert_int_equal(read(family.answers, &byte, 1), 1);
    return family;
}

/* Has the root start its child. */
static void make_child(const struct family *family)
{
    char byte;

    assert_int_equal(write(family->orders, "", 1), 1);
    assert_int_equal(read(family->answers, &byte, 1), 1);
}

/* Has that one start the orphan, and end. */
static void make_orphan_of_child(struct family *family)
{
    assert_int_equal(write(family->orders, "", 1), 1);
    assert_int_equal(read(family->answers, &family->orphan, sizeof(family->orphan)),
                     sizeof(family->orphan));
}

static void make_orphan(struct family *family)
{
    make_child(family);
    make_orphan_of_child(family);
}

static void end(struct family *family)
{
    if (family->orphan)
        (void)kill(family->orphan, SIGKILL);
    (void)kill(family->root, SIGKILL);
    assert_int_equal(waitpid(family->root, NULL, 0), family->root);
    (void)close(family->orders);
    (void)close(family->answers);
}

static enum descent find(struct descendants *descendants, pid_t pid)
{
    struct proc_stat stat;

    assert_int_equal(proc_stat_read(pid, &stat), PROC_OK);
    return descendants_find(descendants, pid, &stat);
}

/* What is found of an orphan that came before it was looked for. */
static enum descent find_earlier(enum apart apart)
{
    struct family family = begin(apart);
    struct descendants *descendants;
    enum descent found;

    make_orphan(&family);
    descendants = descendants_new(family.root);
    assert_non_null(descendants);
    assert_int_equal(find(descendants, family.root), DESCENT_NONE);
    assert_int_equal(find(descendants, getpid()), DESCENT_NONE);
    found = find(descendants, family.orphan);
    descendants_free(descendants);
    end(&family);
    return found;
}

static void finds_an_earlier_orphan_by_its_group(void **state)
{
    (void)state;
    assert_int_equal(find_earlier(IN_GROUP), DESCENT_LIKELY);
}

static void knows_no_earlier_orphan_of_another_group(void **state)
{
    (void)state;
    assert_int_equal(find_earlier(IN_OWN_GROUP), DESCENT_NONE);
    assert_int_equal(find_earlier(IN_OWN_SESSION), DESCENT_NONE);
}

static void is_sure_of_what_the_kernel_has_reported(void **state)
{
    const enum apart aparts[] = {IN_GROUP, IN_OWN_GROUP, IN_OWN_SESSION};
    struct descendants *descendants;
    struct family family;
    int fd = forks_open();

    (void)state;
    if (fd < 0)
        skip();
    (void)close(fd);
    for (size_t i = 0; i < 3; i++) {
        family = begin(aparts[i]);
        descendants = descendants_new(family.root);
        assert_non_null(descendants);
        make_orphan(&family);
        assert_int_equal(find(descendants, family.orphan), DESCENT_SURE);
        assert_int_equal(find(descendants, getpid()), DESCENT_NONE);
        descendants_free(descendants);
        end(&family);
    }
}

static void is_sure_of_what_an_earlier_child_starts_and_leaves(void **state)
{
    const enum apart aparts[] = {IN_GROUP, IN_OWN_GROUP, IN_OWN_SESSION};
    struct descendants *descendants;
    struct family family;
    int fd = forks_open();

    (void)state;
    if (fd < 0)
        skip();
    (void)close(fd);
    for (size_t i = 0; i < 3; i++) {
        family = begin(aparts[i]);
        make_child(&family);
        descendants = descendants_new(family.root);
        assert_non_null(descendants);
        make_orphan_of_child(&family);
        assert_int_equal(find(descendants, family.orphan), DESCENT_SURE);
        assert_int_equal(find(descendants, getpid()), DESCENT_NONE);
        descendants_free(descendants);
        end(&family);
    }
}

static void is_sure_of_a_child(void **state)
{
    struct descendants *descendants = descendants_new(getpid());
    pid_t child = fork();

    (void)state;
    if (child == 0)
        wait_for_end();
    assert_non_null(descendants);
    assert_int_equal(find(descendants, child), DESCENT_SURE);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    descendants_free(descendants);
}

static void forgets_a_number_that_another_parent_uses_again(void **state)
{
    struct family family = begin(IN_GROUP);
    struct descendants *descendants = descendants_new(family.root);
    const pid_t other = getppid(); /* is no descendant */
    struct proc_stat stat;

    (void)state;
    assert_non_null(descendants);
    descendants_note(descendants, family.root, other);
    assert_int_equal(find(descendants, other), DESCENT_SURE);
    descendants_note(descendants, 1, other);
    assert_int_equal(find(descendants, other), DESCENT_NONE);
    descendants_note(descendants, family.root, other);
    assert_int_equal(find(descendants, other), DESCENT_SURE);
    assert_int_equal(proc_stat_read(other, &stat), PROC_OK);
    stat.start++;
    assert_int_equal(descendants_find(descendants, other, &stat), DESCENT_NONE);
    descendants_note(descendants, 1, family.root); /* from now on it is not the root */
    descendants_note(descendants, family.root, other);
    assert_int_equal(find(descendants, other), DESCENT_NONE);
    descendants_free(descendants);
    end(&family);
}

static void has_room_for_more_once_others_have_ended(void **state)
{
    struct family family = begin(IN_GROUP);
    struct descendants *descendants = descendants_new(family.root);

    (void)state;
    assert_non_null(descendants);
    for (pid_t i = 0; i < DESCENDANTS_MAX; i++)
        descendants_note(descendants, family.root, INT32_MAX - i); /* numbers that nobody has */
    descendants_note(descendants, family.root, getppid());
    assert_int_equal(find(descendants, getppid()), DESCENT_SURE);
    descendants_free(descendants);
    end(&family);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_an_earlier_orphan_by_its_group),
        cmocka_unit_test(knows_no_earlier_orphan_of_another_group),
        cmocka_unit_test(is_sure_of_what_the_kernel_has_reported),
        cmocka_unit_test(is_sure_of_what_an_earlier_child_starts_and_leaves),
        cmocka_unit_test(is_sure_of_a_child),
        cmocka_unit_test(forgets_a_number_that_another_parent_uses_again),
        cmocka_unit_test(has_room_for_more_once_others_have_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

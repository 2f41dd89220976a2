/* SPDX-License-Identifier: Apache-2.0 */
/* test_children.c - what children used that nobody sampled is told once, and of whom. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/sampling/children.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/waiting_child.h"

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

    if (!name || !name[0]) {
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

static void use(void)
{
    (void)prctl(PR_SET_NAME, "a\xff child");
    while (used_ns() < USED_NS) {
    }
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

struct scene {
    /* A process of its own has the child: qemu makes up what is read of the test's process. */
    pid_t parent;
    int to_parent;     /* owned */
    struct children c; /* of `parent` */
    struct heard heard;
};

/* Starts a child and ends it, as it is told, until the test ends. */
static _Noreturn void be_parent(int from_test)
{
    pid_t child = 0;
    char order;

    while (read(from_test, &order, 1) == 1) {
        if (order == 's')
            child = waiting_child_start(use);
        else
            waiting_child_end(child);
        if (write(from_test, &child, sizeof(child)) != sizeof(child))
            break;
    }
    _exit(0);
}

static pid_t tell_parent(const struct scene *scene, char order)
{
    pid_t child;

    assert_int_equal(write(scene->to_parent, &order, 1), 1);
    assert_int_equal(read(scene->to_parent, &child, sizeof(child)), sizeof(child));
    return child;
}

/* Starts a child; it has used its CPU time when this returns. */
static pid_t start_child(const struct scene *scene)
{
    return tell_parent(scene, 's');
}

/* Ends it; its parent has waited for it when this returns. */
static void end_child(const struct scene *scene)
{
    (void)tell_parent(scene, 'e');
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    int ends[2];

    assert_non_null(scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    scene->parent = fork();
    if (scene->parent == 0) {
        (void)close(ends[0]);
        be_parent(ends[1]);
    }
    assert_true(scene->parent > 0);
    (void)close(ends[1]);
    scene->to_parent = ends[0];
    children_begin(&scene->c, scene->parent, false);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    children_finish(&scene->c);
    (void)close(scene->to_parent);
    assert_int_equal(waitpid(scene->parent, NULL, 0), scene->parent);
    free(scene);
    return 0;
}

static void begin_anew(struct scene *scene, bool from_birth)
{
    children_finish(&scene->c);
    children_begin(&scene->c, scene->parent, from_birth);
}

static void look(struct scene *scene)
{
    children_look(&scene->c, hear, &scene->heard);
}

static void tells_what_a_child_used_that_was_never_seen(void **state)
{
    struct scene *scene = *state;

    (void)start_child(scene);
    end_child(scene);
    look(scene);
    assert_true(is_about(scene->heard.unnamed_ns));
    assert_int_equal(scene->heard.named_ns, 0);

    look(scene); /* once */
    assert_true(is_about(scene->heard.unnamed_ns));
    assert_int_equal(scene->c.parent, getpid());
}

static void tells_what_a_child_used_by_its_name(void **state)
{
    struct scene *scene = *state;
    struct proc_id id;

    id = id_of(start_child(scene));
    look(scene);
    assert_int_equal(scene->heard.named_ns + scene->heard.unnamed_ns,
                     0); /* it is not waited for yet */
    end_child(scene);
    look(scene);

    if (scene->heard.named_ns == 0)
        skip(); /* the kernel lists no children */
    assert_true(is_about(scene->heard.named_ns));
    assert_string_equal(scene->heard.name, "a\xff child");
    assert_int_equal(scene->heard.start, id.start);
    assert_true(scene->heard.unnamed_ns <= 3 * TICK_NS);
}

static void leaves_out_what_is_counted_elsewhere(void **state)
{
    struct scene *scene = *state;
    pid_t pid;

    pid = start_child(scene);
    children_note(&scene->c, id_of(pid), USED_NS + 10 * TICK_NS);
    end_child(scene);
    look(scene);

    assert_int_equal(scene->heard.named_ns + scene->heard.unnamed_ns, 0);
}

/* Its parent may be sooner to wait for it than we are to see that it has ended. */
static void waits_for_what_is_counted_of_one_that_is_sampled(void **state)
{
    struct scene *scene = *state;
    struct proc_id id;

    id = id_of(start_child(scene));
    children_expect(&scene->c, id);
    look(scene);
    end_child(scene);
    look(scene);
    assert_int_equal(scene->heard.named_ns + scene->heard.unnamed_ns, 0);
    children_note(&scene->c, id, USED_NS / 2);
    look(scene);

    assert_true(is_about(scene->heard.named_ns + scene->heard.unnamed_ns + USED_NS / 2));
}

/* Its stacks may get it, which those who hear a name do not know. */
static void
tells_late_time_of_one_that_was_there_before_it_was_sampled_without_its_name(void **state)
{
    struct scene *scene = *state;
    struct proc_id id = id_of(start_child(scene));

    look(scene);
    children_expect(&scene->c, id);
    end_child(scene);
    children_note(&scene->c, id, USED_NS / 2);
    look(scene);

    assert_int_equal(scene->heard.named_ns, 0);
    assert_true(is_about(scene->heard.unnamed_ns + USED_NS / 2));
}

/* Of one that is sampled for a while only, the rest is told. */
static void tells_the_rest_of_one_that_was_sampled_for_a_while(void **state)
{
    struct scene *scene = *state;
    pid_t pid;

    pid = start_child(scene);
    children_note(&scene->c, id_of(pid), 5 * TICK_NS);
    end_child(scene);
    look(scene);

    assert_true(is_about(scene->heard.named_ns + scene->heard.unnamed_ns + 5 * TICK_NS));
}

static void leaves_out_what_children_used_before(void **state)
{
    struct scene *scene = *state;

    (void)start_child(scene);
    begin_anew(scene, false);
    if (scene->c.count == 0) {
        end_child(scene);
        skip(); /* the kernel lists no children */
    }
    end_child(scene);
    look(scene);
    assert_true(scene->heard.named_ns + scene->heard.unnamed_ns <= 3 * TICK_NS);
}

static void counts_all_of_one_from_its_birth(void **state)
{
    struct scene *scene = *state;

    (void)start_child(scene);
    end_child(scene);
    begin_anew(scene, true);
    look(scene);
    assert_true(scene->heard.unnamed_ns + 3 * TICK_NS >= USED_NS);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_what_a_child_used_that_was_never_seen),
        TEST(tells_what_a_child_used_by_its_name),
        TEST(leaves_out_what_is_counted_elsewhere),
        TEST(waits_for_what_is_counted_of_one_that_is_sampled),
        TEST(tells_late_time_of_one_that_was_there_before_it_was_sampled_without_its_name),
        TEST(tells_the_rest_of_one_that_was_sampled_for_a_while),
        TEST(leaves_out_what_children_used_before),
        TEST(counts_all_of_one_from_its_birth),
        cmocka_unit_test(tells_a_number_that_is_used_again_apart),
        cmocka_unit_test(tells_so_many_apart_and_counts_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

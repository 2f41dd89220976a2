/* SPDX-License-Identifier: Apache-2.0 */
/* test_finder.c - each process is looked at once for each program that it runs. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/finder.h"
#include "agent/host/clock.h"
#include "agent/proc/execs.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/sharing_child.h"
#include "tests/unit/unit_test.h"

#define SCAN_NS (NS_PER_S / 5)
#define STEP_NS (10 * NS_PER_MS)

/* One child that the finder is to find, and what it told about it. The finder's clock is the
 * test's: it is set at first, and goes on by a step in each scan, however long that takes. */
struct scene {
    struct finder *finder;
    uint64_t now_ns, step_ns;
    pid_t child;
    int gate; /* closing it lets the child go on */
    const char *wanted;
    bool unknown; /* what it is cannot be read */
    int looks, takes, losses;
    struct proc_id id;
};

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct target_profile *out)
{
    struct scene *scene = ctx;
    char exe[PROC_COMMAND_MAX];

    (void)stat;
    out->unknown = scene->unknown;
    if (pid != scene->child)
        return false;
    scene->looks++;
    proc_executable(pid, exe);
    return !scene->unknown && strstr(exe, scene->wanted);
}

static void take(void *ctx, struct proc_id id, const struct target_profile *profile)
{
    struct scene *scene = ctx;

    (void)profile;
    scene->takes++;
    scene->id = id;
}

static bool holds_nothing(void *ctx, struct proc_id id, const struct target_profile *profile)
{
    (void)ctx;
    (void)id;
    (void)profile;
    return false;
}

static void lost(void *ctx, struct proc_id id)
{
    struct scene *scene = ctx;

    assert_int_equal(id.pid, scene->id.pid);
    assert_int_equal(id.start, scene->id.start);
    scene->losses++;
}

/* A child that waits at the gate, then runs `path`, which sleeps. */
static void begin(struct scene *scene, const char *path, const char *wanted, bool polls)
{
    struct finder_settings settings = {.choose = choose,
                                       .choose_ctx = scene,
                                       .take = take,
                                       .lost = lost,
                                       .ctx = scene,
                                       .scan_ns = SCAN_NS,
                                       .polls = polls};
    int gate[2];
    char byte;

    *scene = (struct scene){.wanted = wanted, .now_ns = clock_mono_ns(), .step_ns = STEP_NS};
    assert_int_equal(pipe(gate), 0);
    scene->child = fork();
    assert_true(scene->child >= 0);
    if (scene->child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also after a test that failed */
        (void)close(gate[1]);
        if (read(gate[0], &byte, 1) >= 0)
            (void)execl(path, path, "-c", "while :; do sleep 1; done; true", (char *)NULL);
        _exit(1);
    }
    (void)close(gate[0]);
    scene->gate = gate[1];
    scene->finder = finder_new(&settings);
    assert_non_null(scene->finder);
}

static void open_gate(struct scene *scene)
{
    if (scene->gate >= 0)
        (void)close(scene->gate);
    scene->gate = -1;
}

static void scan(struct scene *scene)
{
    scene->now_ns += scene->step_ns;
    finder_scan(scene->finder, scene->now_ns);
}

static void scan_times(struct scene *scene, int times)
{
    while (times-- > 0)
        scan(scene);
}

/* Scans until that happens; a scan is one even if it has happened already. */
#define SCAN_UNTIL(scene, condition) AWAIT((scan(scene), (condition)))

static void kill_child(struct scene *scene)
{
    (void)kill(scene->child, SIGKILL);
    (void)waitpid(scene->child, NULL, 0);
}

static void end(struct scene *scene)
{
    open_gate(scene);
    kill_child(scene);
    finder_free(scene->finder);
}

static void finds_what_becomes_wanted_by_exec(struct scene *scene)
{
    SCAN_UNTIL(scene, scene->looks > 0);
    scan_times(scene, 5);
    assert_int_equal(scene->takes, 0);
    assert_int_equal(scene->looks, 1); /* it is looked at again after 1 s */
    open_gate(scene);
    SCAN_UNTIL(scene, scene->takes > 0);
    assert_int_equal(scene->takes, 1);
    assert_int_equal(scene->id.pid, scene->child);
}

static void finds_what_becomes_wanted_by_exec_when_it_polls(void **state)
{
    struct scene scene;
    struct finder_stats stats;

    (void)state;
    begin(&scene, "/bin/sh", "sh", true);
    finds_what_becomes_wanted_by_exec(&scene);
    finder_stats(scene.finder, &stats);
    assert_false(stats.notices);
    assert_int_equal(stats.taken, 1);
    end(&scene);
}

static void finds_what_becomes_wanted_by_exec_when_it_is_told(void **state)
{
    int fd = execs_open();
    struct scene scene;
    struct finder_stats stats;

    (void)state;
    if (fd < 0)
        skip();
    (void)close(fd);
    begin(&scene, "/bin/sh", "sh", false);
    finds_what_becomes_wanted_by_exec(&scene);
    finder_stats(scene.finder, &stats);
    assert_true(stats.notices);
    end(&scene);
}

static void reads_nothing_of_known_processes_when_it_is_told_of_execs(void **state)
{
    int fd = execs_open();
    struct scene scene;
    struct finder_stats before, after;

    (void)state;
    if (fd < 0)
        skip();
    (void)close(fd);
    begin(&scene, "/bin/sh", "nothing", false);
    SCAN_UNTIL(&scene, scene.looks > 0);
    finder_stats(scene.finder, &before);
    scan_times(&scene, 10);
    finder_stats(scene.finder, &after);
    /* Others run programs on this machine, but not as many as there are processes. */
    assert_true(after.checks - before.checks < 10 * after.known);
    assert_int_equal(scene.looks, 1);
    end(&scene);
}

/* Scans at one moment, until the child is known to be none that is wanted. */
static void learn(struct scene *scene)
{
    scene->step_ns = 0;
    SCAN_UNTIL(scene, scene->looks > 0);
    assert_int_equal(scene->looks, 1);
}

/* Scans once, so much later. */
static void scan_after(struct scene *scene, uint64_t after_ns)
{
    scene->step_ns = after_ns;
    scan(scene);
}

static void reads_nothing_of_processes_that_sleep_when_it_polls(void **state)
{
    enum { SCANS = 20 };
    struct scene scene;
    struct finder_stats before, after;

    (void)state;
    begin(&scene, "/bin/sh", "nothing", true);
    learn(&scene);
    finder_stats(scene.finder, &before);
    scene.step_ns = SCAN_NS;
    scan_times(&scene, SCANS);
    finder_stats(scene.finder, &after);
    /* Others work on this machine, but not all of them all the time. (The first look at a process
     * is a check or two, if it is none of the kernel's.) */
    assert_true(after.checks - before.checks < SCANS * before.checks / 2);
    assert_in_range(scene.looks, 1, 3); /* again after 1 s and 2 s */
    end(&scene);
}

/* Waits until the child sleeps in its program: the kernel has counted its CPU time then. */
static void wait_for_exec(const struct scene *scene, uint64_t mark)
{
    struct proc_stat stat = {0};

    AWAIT(proc_exe_mark(scene->child) != mark && proc_stat_read(scene->child, &stat) == PROC_OK &&
          stat.state == 'S');
}

static void leaves_an_old_process_in_peace_for_as_long_as_it_has_run(void **state)
{
    struct proc_stat stat;
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "nothing", true);
    (void)usleep(1500000); /* or longer */
    learn(&scene);
    scan_after(&scene, NS_PER_S + SCAN_NS);
    assert_int_equal(scene.looks, 1);
    assert_int_equal(proc_stat_read(scene.child, &stat), PROC_OK);
    scan_after(&scene, proc_age_ns(stat.start)); /* at the latest */
    assert_int_equal(scene.looks, 2);
    end(&scene);
}

/* The child execs, and the very next scan takes it. */
static void take_after_exec(struct scene *scene)
{
    uint64_t mark;

    learn(scene);
    mark = proc_exe_mark(scene->child);
    scene->looks = 0;
    open_gate(scene);
    wait_for_exec(scene, mark);
    scan_after(scene, SCAN_NS); /* looked at again, without an exec, after 1 s */
    assert_int_equal(scene->looks, 1);
    assert_int_equal(scene->takes, 1);
}

static void sees_an_exec_in_the_very_next_scan_when_it_polls(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "sh", true);
    take_after_exec(&scene);
    end(&scene);
}

static void looks_more_rarely_only_where_looking_takes_too_much(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "sh", true);
    learn(&scene);
    finder_limit(scene.finder, 1); /* no scan takes a fifth of a second */
    scan(&scene);
    assert_int_equal(finder_next_ns(scene.finder), scene.now_ns + SCAN_NS);
    finder_limit(scene.finder, 1e-9);
    scan(&scene);
    assert_int_equal(finder_next_ns(scene.finder), scene.now_ns + 5 * NS_PER_S);
    end(&scene);
}

static void loses_nothing_while_it_can_open_no_file(void **state)
{
    struct finder_stats before, after;
    struct rlimit limit;
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    finder_stats(scene.finder, &before);
    scene.step_ns = NS_PER_S; /* whether it runs another program is looked up again and again */
    limit = descriptors_forbid();
    scan_times(&scene, 30);
    finder_reconsider(scene.finder, SCAN_NS, holds_nothing);
    scan(&scene);
    descriptors_allow(limit);
    scan_times(&scene, 3);
    finder_stats(scene.finder, &after);
    assert_int_equal(scene.takes, 1);
    assert_int_equal(scene.losses, 0);
    assert_true(after.known > before.known / 2);
    end(&scene);
}

/* Ends the child and starts another one; true if the scan that found it did not read /proc. One in
 * which others on this machine start processes may have to. */
static bool finds_another_without_reading_proc(struct scene *scene)
{
    const int takes = scene->takes, losses = scene->losses;
    struct finder_stats before, after;

    kill_child(scene);
    scan_after(scene, SCAN_NS); /* it asks those that it took now and then */
    assert_int_equal(scene->losses, losses + 1);
    scene->step_ns = 1; /* /proc is read each 5 s */
    scene->child = fork();
    if (scene->child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(pause());
    }
    AWAIT((finder_stats(scene->finder, &before), scan(scene), scene->takes > takes));
    finder_stats(scene->finder, &after);
    assert_int_equal(scene->losses, losses + 1);
    assert_int_equal(scene->takes, takes + 1);
    return after.whole == before.whole;
}

static void finds_who_is_new_by_its_number_and_reads_the_directory_now_and_then(void **state)
{
    struct finder_stats before, after;
    int fd = proc_open_loadavg();
    struct scene scene;

    (void)state;
    if (fd < 0 || !proc_is_process(getpid()))
        skip(); /* a container with a /proc/loadavg of its own; valgrind has no pidfd_open */
    (void)close(fd);
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    scan_times(&scene, 3);
    AWAIT(finds_another_without_reading_proc(&scene));
    finder_stats(scene.finder, &before);
    scan_after(&scene, 6 * NS_PER_S); /* somebody might be missed */
    finder_stats(scene.finder, &after);
    assert_int_equal(after.whole, before.whole + 1);
    end(&scene);
}

static void tells_that_a_taken_process_is_gone(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    assert_int_equal(scene.takes, 1);
    kill_child(&scene);
    SCAN_UNTIL(&scene, scene.losses > 0);
    assert_int_equal(scene.losses, 1);
    finder_free(scene.finder);
    open_gate(&scene);
}

static void takes_again_what_was_put_off(void **state)
{
    struct scene scene;
    struct err err = {"starting"};
    struct finder_stats stats;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    finder_put_off(scene.finder, scene.id, CPY_STARTING, &err, scene.now_ns);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.taken, 0);
    assert_int_equal(stats.waiting, 1);
    SCAN_UNTIL(&scene, scene.takes == 2);
    assert_int_equal(scene.takes, 2);
    assert_int_equal(scene.losses, 0);
    end(&scene);
}

/* As vfork gives: all that it says of itself is its parent's. */
static void waits_for_one_that_has_its_parents_memory_to_execute_a_program(void **state)
{
    static struct sharing_child sharing;
    struct finder_stats stats;
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    kill_child(&scene);
    open_gate(&scene);
    sharing_child_start(&sharing);
    scene.child = sharing.pid;
    if (sharing.pid >= 0 && proc_shares_memory(getpid(), getpid())) {
        SCAN_UNTIL(&scene, scene.looks > 2);
        finder_stats(scene.finder, &stats);
        assert_int_equal(scene.takes, 0);
        assert_int_equal(stats.waiting, 1);
        sharing_child_execute(&sharing);
        SCAN_UNTIL(&scene, scene.takes > 0);
    }
    sharing_child_end(&sharing);
    finder_free(scene.finder);
}

static void takes_again_for_lack_of_descriptors_and_counts_that(void **state)
{
    struct scene scene;
    struct err err = {"no file descriptors left"};
    struct finder_stats stats;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    finder_put_off(scene.finder, scene.id, CPY_NOMEM, &err, scene.now_ns);
    SCAN_UNTIL(&scene, scene.takes == 2);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.left_out[CPY_NOMEM], 1); /* until it is known to be sampled */
    finder_began(scene.finder, scene.id);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.left_out[CPY_NOMEM], 0);
    finder_refuse(scene.finder, scene.id, &err, scene.now_ns);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.left_out[FINDER_BUDGET], 1);
    assert_string_equal(finder_reason_label(FINDER_BUDGET), "budget");
    assert_string_equal(finder_reason_label(CPY_NOMEM), "nomem");
    SCAN_UNTIL(&scene, scene.takes == 3);
    finder_refuse_owner(scene.finder, scene.id, scene.now_ns);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.left_out[FINDER_BUDGET], 0);
    assert_int_equal(stats.left_out[FINDER_OWNER], 1);
    assert_string_equal(finder_reason_label(FINDER_OWNER), "owner");
    kill_child(&scene);
    scan_after(&scene, 6 * NS_PER_S); /* it is not in /proc any more */
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.left_out[FINDER_OWNER], 0);
    end(&scene);
}

static void asks_again_soon_where_the_answer_could_not_be_read(void **state)
{
    struct scene scene;
    int looks;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    scene.unknown = true;
    open_gate(&scene);
    SCAN_UNTIL(&scene, scene.looks > 0);
    for (int i = 0; i < 8; i++) {
        looks = scene.looks;
        scan_after(&scene, 11 * NS_PER_S);
        assert_true(scene.looks > looks);
    }

    scene.unknown = false;
    scan_after(&scene, 11 * NS_PER_S);
    assert_int_equal(scene.takes, 1);
    end(&scene);
}

static void leaves_in_peace_what_is_no_python(void **state)
{
    struct scene scene;
    struct err err = {"foreign"};
    struct finder_stats stats;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    scene.step_ns = 0;
    SCAN_UNTIL(&scene, scene.takes > 0);
    finder_put_off(scene.finder, scene.id, CPY_FOREIGN, &err, scene.now_ns);
    scene.now_ns += 3 * NS_PER_S; /* it had time to load a Python */
    SCAN_UNTIL(&scene, scene.takes > 1);
    assert_int_equal(scene.takes, 2);
    finder_put_off(scene.finder, scene.id, CPY_FOREIGN, &err, scene.now_ns);
    scan_times(&scene, 5);
    finder_stats(scene.finder, &stats);
    assert_int_equal(stats.foreign, 1);
    assert_int_equal(scene.takes, 2);
    open_gate(&scene); /* it runs something else: it may be Python now */
    scene.step_ns = STEP_NS;
    SCAN_UNTIL(&scene, scene.takes == 3);
    assert_int_equal(scene.takes, 3);
    end(&scene);
}

static void lets_go_of_a_taken_process_that_execs(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "", true);
    SCAN_UNTIL(&scene, scene.takes > 0);
    assert_true(finder_began(scene.finder, scene.id));
    open_gate(&scene);
    /* Each scan is late enough to look at what is taken: the exec itself may take a while. */
    scene.now_ns = clock_mono_ns();
    scene.step_ns = 10 * NS_PER_S;
    SCAN_UNTIL(&scene, scene.takes > 1);
    assert_int_equal(scene.takes, 2);
    assert_int_equal(scene.losses, 1);
    assert_false(finder_began(scene.finder, scene.id)); /* it is the same process */
    end(&scene);
}

/* A shell that becomes the same shell with each line that it reads, at the same addresses. */
static void become_shells(int from)
{
    static const char script[] = "read line; exec /bin/sh -c \"$0\" \"$0\"";

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also after a test that failed */
    (void)dup2(from, STDIN_FILENO);
    if (personality(ADDR_NO_RANDOMIZE) >= 0)
        (void)execl("/bin/sh", "/bin/sh", "-c", script, script, (char *)NULL);
    _exit(1);
}

static void lets_go_of_what_execs_the_same_program_at_the_same_addresses(void **state)
{
    int fd = execs_open(), lines[2];
    struct scene scene;
    uint64_t before = 0, after = 0;

    (void)state;
    if (fd < 0)
        skip();
    (void)close(fd);
    begin(&scene, "/bin/sh", "sh", false);
    kill_child(&scene);
    assert_int_equal(pipe(lines), 0);
    scene.child = fork();
    assert_true(scene.child >= 0);
    if (scene.child == 0)
        become_shells(lines[0]);
    wait_for_exec(&scene, proc_exe_mark(getpid()));
    SCAN_UNTIL(&scene, scene.takes > 0);
    scan_times(&scene, 5);
    assert_int_equal(scene.takes, 1);
    assert_int_equal(proc_exec_mark(scene.child, &before), PROC_OK);
    assert_int_equal(write(lines[1], "\n", 1), 1);
    SCAN_UNTIL(&scene, scene.takes > 1);
    assert_int_equal(scene.losses, 1);
    assert_int_equal(proc_exec_mark(scene.child, &after), PROC_OK);
    assert_int_equal(before, after);
    end(&scene);
    (void)close(lines[0]);
    (void)close(lines[1]);
}

static void scans_soon_for_a_while_after_it_found_a_process(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, "/bin/sh", "sh", true);
    take_after_exec(&scene);
    assert_int_equal(finder_next_ns(scene.finder), scene.now_ns + 20 * NS_PER_MS);
    scan_after(&scene, NS_PER_S);
    assert_int_equal(finder_next_ns(scene.finder), scene.now_ns + 20 * NS_PER_MS);
    scan_after(&scene, NS_PER_S);
    assert_int_equal(finder_next_ns(scene.finder), scene.now_ns + SCAN_NS);
    end(&scene);
}

/* A process that is wanted, and its children are. */
struct family {
    pid_t parent, taken[4];
    size_t takes;
};

static bool choose_family(void *ctx, pid_t pid, const struct proc_stat *stat,
                          struct target_profile *out)
{
    const struct family *family = ctx;

    (void)out;
    return pid == family->parent || stat->parent == family->parent;
}

static void take_family(void *ctx, struct proc_id id, const struct target_profile *profile)
{
    struct family *family = ctx;

    (void)profile;
    assert_true(family->takes < 4);
    family->taken[family->takes++] = id.pid;
}

static void lose_family(void *ctx, struct proc_id id)
{
    (void)ctx;
    (void)id;
}

/* Forks a child for each byte that comes, which stays. */
static void fork_when_told(int pipe_fd)
{
    char byte;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(pipe_fd, &byte, 1) == 1)
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)pause();
        }
    _exit(0);
}

static bool has_births(const struct finder *finder)
{
    struct pollfd set = {.fd = finder_births_fd(finder, 0), .events = POLLIN};

    return poll(&set, 1, 0) == 1;
}

static void looks_at_once_at_a_child_of_one_that_was_taken(void **state)
{
    struct family family = {.takes = 0};
    const struct finder_settings settings = {.choose = choose_family,
                                             .choose_ctx = &family,
                                             .take = take_family,
                                             .lost = lose_family,
                                             .ctx = &family,
                                             .scan_ns = 3600 * NS_PER_S};
    struct finder *finder = finder_new(&settings);
    const uint64_t now_ns = clock_mono_ns();
    pid_t other;
    int tell[2];

    (void)state;
    assert_non_null(finder);
    if (finder_births_fd(finder, 0) < 0) {
        finder_free(finder);
        skip(); /* the kernel does not tell */
    }
    assert_int_equal(pipe(tell), 0);
    family.parent = fork();
    if (family.parent == 0) {
        (void)close(tell[1]);
        fork_when_told(tell[0]);
    }
    finder_scan(finder, now_ns);
    finder_scan(finder, now_ns + 3 * NS_PER_S); /* soon is over */
    assert_int_equal(family.takes, 1);
    other = fork(); /* nobody is wanted there */
    if (other == 0)
        _exit(0);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_false(has_births(finder));
    assert_int_equal(write(tell[1], "x", 1), 1);
    AWAIT(has_births(finder));
    finder_hear_births(finder, now_ns);
    assert_int_equal(family.takes, 1); /* it may be made to execute another program */
    assert_true(finder_next_ns(finder) > now_ns && finder_next_ns(finder) < now_ns + NS_PER_S);
    assert_false(finder_run(finder, finder_next_ns(finder)));
    assert_int_equal(family.takes, 2);
    assert_int_equal(family.taken[0], family.parent);
    assert_false(has_births(finder));
    (void)kill(family.taken[1], SIGKILL);
    (void)kill(family.parent, SIGKILL);
    assert_int_equal(waitpid(family.parent, NULL, 0), family.parent);
    (void)close(tell[0]);
    (void)close(tell[1]);
    finder_free(finder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_becomes_wanted_by_exec_when_it_polls),
        cmocka_unit_test(finds_what_becomes_wanted_by_exec_when_it_is_told),
        cmocka_unit_test(reads_nothing_of_known_processes_when_it_is_told_of_execs),
        cmocka_unit_test(reads_nothing_of_processes_that_sleep_when_it_polls),
        cmocka_unit_test(leaves_an_old_process_in_peace_for_as_long_as_it_has_run),
        cmocka_unit_test(sees_an_exec_in_the_very_next_scan_when_it_polls),
        cmocka_unit_test(looks_more_rarely_only_where_looking_takes_too_much),
        cmocka_unit_test(scans_soon_for_a_while_after_it_found_a_process),
        cmocka_unit_test(looks_at_once_at_a_child_of_one_that_was_taken),
        cmocka_unit_test(loses_nothing_while_it_can_open_no_file),
        cmocka_unit_test(tells_that_a_taken_process_is_gone),
        cmocka_unit_test(finds_who_is_new_by_its_number_and_reads_the_directory_now_and_then),
        cmocka_unit_test(takes_again_what_was_put_off),
        cmocka_unit_test(waits_for_one_that_has_its_parents_memory_to_execute_a_program),
        cmocka_unit_test(takes_again_for_lack_of_descriptors_and_counts_that),
        cmocka_unit_test(asks_again_soon_where_the_answer_could_not_be_read),
        cmocka_unit_test(leaves_in_peace_what_is_no_python),
        cmocka_unit_test(lets_go_of_a_taken_process_that_execs),
        cmocka_unit_test(lets_go_of_what_execs_the_same_program_at_the_same_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child_process.c - helpers are started clean, told from one that gets no CPU when they
 * hang, and gone when they are ended; the output of others is captured, within its limits. The
 * helper is this program again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "base/proc_stat.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { READ_PID = 4242 };

/* The time of tests that step the clock. */
static const uint64_t start_ns = 5 * NS_PER_S;

static char *own_path; /* CHILD_PROCESS_SELF is valgrind itself below it */

/* What the helper does, by its argument. */
static int be_helper(const char *what)
{
    struct heartbeat *heartbeat = mmap(NULL, sizeof(*heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED,
                                       CHILD_PROCESS_HEARTBEAT_FD, 0);
    volatile uint64_t spin = 1;

    if (heartbeat == MAP_FAILED)
        return 9;
    if (strcmp(what, "exit") == 0)
        return 7;
    if (strcmp(what, "env") == 0) {
        dprintf(CHILD_PROCESS_CHANNEL_FD, "%s", getenv("PYSTROBE_SECRET") ? "leaks" : "clean");
        return 0;
    }
    if (strcmp(what, "rest") != 0)
        heartbeat_begin_read(heartbeat, READ_PID, clock_mono_ns());
    if (strcmp(what, "rest") == 0)
        heartbeat_end_read(heartbeat);
    (void)!write(CHILD_PROCESS_CHANNEL_FD, "go", 2);
    while (strcmp(what, "spin") == 0 && spin)
        spin++;
    if (strcmp(what, "stop") == 0)
        (void)raise(SIGSTOP);
    while (strcmp(what, "nap") == 0)
        (void)usleep(1000);
    for (;;)
        (void)pause();
}

/* Writes to a pipe whose other end a child of it holds open, too. */
static int speak_with_child(void)
{
    if (fork() == 0)
        for (;;)
            (void)pause();
    return write(STDOUT_FILENO, "words", 5) == 5 ? 0 : 1;
}

/* What a helper does whose output is captured. -1: it is not one. */
static int print_as_helper(const char *what)
{
    if (strcmp(what, "speak") == 0)
        return write(STDOUT_FILENO, "words", 5) == 5 && write(STDERR_FILENO, "!", 1) == 1 ? 0 : 1;
    if (strcmp(what, "speak with child") == 0)
        return speak_with_child();
    if (strcmp(what, "fail") == 0)
        return 3;
    while (strcmp(what, "work") == 0)
        if (clock() > CLOCKS_PER_SEC / 20)
            return 0;
    while (strcmp(what, "flood") == 0)
        if (write(STDOUT_FILENO, "words", 5) < 0)
            return 1;
    if (strcmp(what, "close") == 0 || strcmp(what, "deaf") == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)!write(STDOUT_FILENO, "x", 1);
        (void)close(strcmp(what, "close") == 0 ? STDOUT_FILENO : -1);
        for (;;)
            (void)pause();
    }
    return -1;
}

static void start(struct child_process *child, const char *what)
{
    char *argv[] = {own_path, (char *)(uintptr_t)what, NULL};
    struct err err = {""};

    if (!child_process_start(child, own_path, argv, clock_mono_ns(), &err))
        fail_msg("%s", err.text);
}

/* Waits for what the helper says; gives its size. */
static size_t hear(struct child_process *child, char *out, size_t size)
{
    ssize_t got;

    (void)fcntl(child->channel.fd, F_SETFL, 0);
    got = read(child->channel.fd, out, size - 1);
    assert_true(got >= 0);
    out[got] = '\0';
    return (size_t)got;
}

/* Waits until the kernel has the helper in that state. */
static void wait_state(const struct child_process *child, char wanted)
{
    struct proc_stat stat;

    AWAIT(proc_stat_read(child->pid, &stat) == PROC_OK && stat.state == wanted);
}

/* How it is seen so long after it began a read; where it reads nothing, after its start. */
static enum child_process_look look_after(struct child_process *child, unsigned ms)
{
    const uint64_t since_ns = heartbeat_since(child->heartbeat);

    return child_process_look(child, (since_ns ? since_ns : child->started_ns) + ms * NS_PER_MS);
}

static void one_that_sleeps_in_a_read_is_blocked(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "sleep");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'S');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 500), CHILD_PROCESS_WELL);
    assert_false(child_process_rests(&child));
    assert_int_equal(look_after(&child, 560), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 740), CHILD_PROCESS_BLOCKED);
    assert_int_equal(child_process_reads(&child), READ_PID);
    assert_int_equal(child_process_status(&child), CHILD_PROCESS_STATUS_RUNS);
    child_process_end(&child, start_ns);
}

/* Waits until the kernel has given the helper a CPU once more. */
static void wait_turn(const struct child_process *child)
{
    struct proc_sched before, now;

    assert_int_equal(proc_sched_read(child->pid, child->pid, &before), PROC_OK);
    AWAIT(proc_sched_read(child->pid, child->pid, &now) == PROC_OK && now.turns != before.turns);
}

/* It sleeps nearly always, and is the last one that gets a CPU. */
static void one_that_gets_little_cpu_is_not_blocked(void **state)
{
    const struct sched_param lowest = {0};
    struct child_process child, rival;
    char text[16];

    (void)state;
    start(&rival, "spin");
    (void)hear(&rival, text, sizeof(text));
    start(&child, "nap");
    (void)hear(&child, text, sizeof(text));
    assert_int_equal(sched_setscheduler(child.pid, SCHED_IDLE, &lowest), 0);
    wait_state(&child, 'S');

    assert_int_equal(look_after(&child, 500), CHILD_PROCESS_WELL);
    for (unsigned ms = 1000; ms < 2500; ms += 500) {
        wait_turn(&child);
        assert_int_equal(look_after(&child, ms), CHILD_PROCESS_WELL);
    }
    child_process_end(&rival, start_ns);
    child_process_end(&child, start_ns);
    AWAIT(child_process_reap(start_ns) == 0); /* to end, it needs a CPU, too */
}

static void one_that_runs_is_not_blocked_for_long(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "spin");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'R');

    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 2000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 60000), CHILD_PROCESS_BLOCKED);
    child_process_end(&child, start_ns);
}

static void one_that_was_stopped_is_silent(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "stop");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'T');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 10000), CHILD_PROCESS_SILENT);
    child_process_end(&child, start_ns);
}

static void one_that_begins_nothing_is_silent(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "rest");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'S');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_true(child_process_rests(&child));
    assert_int_equal(look_after(&child, 10000), CHILD_PROCESS_SILENT);
    assert_int_equal(child_process_reads(&child), 0);
    child_process_end(&child, start_ns);
}

static void the_end_is_told(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "exit");
    assert_int_equal(hear(&child, text, sizeof(text)), 0);
    wait_state(&child, 'Z');
    assert_int_equal(look_after(&child, 60000), CHILD_PROCESS_WELL);
    assert_int_equal(child_process_status(&child), 7);
    child_process_end(&child, start_ns);

    start(&child, "sleep");
    assert_int_equal(kill(child.pid, SIGSEGV), 0);
    wait_state(&child, 'Z');
    assert_int_equal(child_process_status(&child), 128 + SIGSEGV);
    child_process_end(&child, start_ns);
}

static void one_that_is_hung_up_on_ends_and_its_status_is_kept(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    AWAIT(child_process_reap(UINT64_MAX) == 0); /* those of the tests before */
    start(&child, "sleep");
    (void)hear(&child, text, sizeof(text));
    child_process_hang_up(&child);
    child_process_hang_up(&child); /* twice is fine */
    assert_int_equal(child.channel.fd, -1);
    assert_int_equal(child_process_reap(UINT64_MAX), 0); /* that would lose it */
    assert_int_equal(child_process_wait(&child, UINT64_MAX), 128 + SIGKILL);
    child_process_end(&child, start_ns);

    start(&child, "exit");
    wait_state(&child, 'Z');
    child_process_hang_up(&child);
    assert_int_equal(child_process_status(&child), 7);
    child_process_end(&child, start_ns);
}

static void the_environment_stays_here(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    assert_int_equal(setenv("PYSTROBE_SECRET", "x", 1), 0);
    start(&child, "env");
    (void)hear(&child, text, sizeof(text));
    assert_string_equal(text, "clean");
    child_process_end(&child, start_ns);
    child_process_end(&child, start_ns); /* twice is fine */
}

static void a_program_that_is_not_there_is_told(void **state)
{
    char *argv[] = {own_path, NULL};
    struct err err = {""};
    struct child_process child;

    (void)state;
    if (child_process_start(&child, "/no/such/program", argv, 1, &err)) {
        assert_int_equal(child_process_wait(&child, UINT64_MAX),
                         127); /* POSIX allows that, too: valgrind does it */
    } else {
        assert_non_null(strstr(err.text, "No such file"));
        assert_int_equal(child.pid, 0);
    }
    child_process_end(&child, start_ns);
}

/* Waits until the kernel has let go of all that were ended. */
static void await_reaped(pid_t pid)
{
    AWAIT(child_process_reap(start_ns + 60 * NS_PER_S) == 0);
    assert_int_equal(kill(pid, 0), -1);
}

static void an_ended_helper_is_gone(void **state)
{
    struct child_process child;
    char text[16];
    pid_t pid;

    (void)state;
    start(&child, "stop");
    (void)hear(&child, text, sizeof(text));
    pid = child.pid;
    child_process_end(&child, start_ns);
    await_reaped(pid);
}

/* One that the kernel cannot end: it is traced, and stops on its way out until we let it go. A
 * shell, because many copies of this program take gigabytes with a sanitizer. */
static void start_unkillable(struct child_process *child)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo go >&3; exec sleep 3600"}, NULL};
    struct err err = {""};
    char text[16];

    assert_int_equal(CHILD_PROCESS_CHANNEL_FD, 3);
    if (!child_process_start(child, argv[0], argv, clock_mono_ns(), &err))
        fail_msg("%s", err.text);
    (void)hear(child, text, sizeof(text));
    assert_int_equal(ptrace(PTRACE_SEIZE, child->pid, NULL, (void *)PTRACE_O_TRACEEXIT), 0);
}

static void one_that_cannot_be_killed_is_counted_until_it_ends(void **state)
{
    struct child_process child;
    pid_t pid;

    (void)state;
    start_unkillable(&child);
    pid = child.pid;
    child_process_end(&child, start_ns); /* does not wait for it */
    assert_int_equal(child.pid, 0);
    assert_int_equal(child_process_reap(start_ns + NS_PER_S - 1), 0);
    assert_int_equal(child_process_reap(start_ns + NS_PER_S), 1);
    assert_int_equal(child_process_reap(start_ns + 60 * NS_PER_S), 1);

    AWAIT(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
    await_reaped(pid);
}

static void one_that_does_not_end_counts_against_its_owner(void **state)
{
    struct child_process child;
    pid_t pid;

    (void)state;
    start_unkillable(&child);
    pid = child.pid;
    child.blamed = 7;
    assert_int_equal(child_process_left_by(7), 0);
    child_process_end(&child, start_ns);
    assert_int_equal(child_process_left(), 1);
    assert_int_equal(child_process_left_by(7), 1);
    assert_int_equal(child_process_left_by(8), 0);

    AWAIT(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
    AWAIT(child_process_left_by(7) == 0);
    await_reaped(pid);
}

static void too_many_that_do_not_end_stop_further_ones(void **state)
{
    char *argv[] = {own_path, (char[]){"rest"}, NULL};
    struct child_process child;
    pid_t pids[CHILD_PROCESS_MAX];
    struct err err = {""};
    size_t i;

    (void)state;
    for (i = 0; i < CHILD_PROCESS_MAX; i++) {
        start_unkillable(&child);
        pids[i] = child.pid;
        child_process_end(&child, start_ns);
    }
    assert_int_equal(child_process_reap(start_ns + NS_PER_S), CHILD_PROCESS_MAX);
    assert_false(child_process_start(&child, own_path, argv, start_ns, &err));
    assert_non_null(strstr(err.text, "have not ended"));

    for (i = 0; i < CHILD_PROCESS_MAX; i++)
        AWAIT(ptrace(PTRACE_DETACH, pids[i], NULL, NULL) == 0);
    await_reaped(pids[0]);
    assert_true(child_process_start(&child, own_path, argv, start_ns, &err));
    child_process_end(&child, start_ns);
}

/* Runs a helper until it ends by itself, is stopped, or prints too much. */
static bool run(const char *what, bool errors, bool stopped, struct buf *out)
{
    char *argv[] = {own_path, (char *)(uintptr_t)what, NULL};
    const struct child_process_command command = {
        .program = own_path, .argv = argv, .errors = errors};
    atomic_bool stop = stopped;
    const struct child_process_limits limits = {UINT64_MAX, &stop};

    return child_process_run(&command, &limits, out);
}

static void start_captured(struct child_process *child, const char *what)
{
    char *argv[] = {own_path, (char *)(uintptr_t)what, NULL};
    const struct child_process_command command = {.program = own_path, .argv = argv};

    assert_int_equal(child_process_start_captured(child, &command, start_ns + NS_PER_S), 0);
}

static void keeps_what_is_printed(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_true(run("speak", false, false, &out));
    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, "words", 5);
    buf_reset(&out);
    assert_true(run("speak", true, false, &out));
    assert_int_equal(out.size, 6);
    buf_finish(&out);
}

static void tells_a_failure(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_false(run("fail", false, false, &out));
    assert_int_equal(errno, 0); /* nobody killed it */
    assert_int_equal(out.size, 0);
    buf_finish(&out);
}

static void kills_when_told_to_stop_or_when_there_is_too_much(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 100000);
    assert_false(run("deaf", false, true, &out));
    assert_int_equal(errno, ETIMEDOUT);
    assert_false(run("flood", false, false, &out));
    assert_int_equal(errno, EFBIG);
    assert_true(buf_failed(&out));
    buf_finish(&out);
}

/* Reads the output until there is some; the time is `now_ns` all the while. */
static void await_output(struct child_process *child, uint64_t now_ns, struct buf *out)
{
    AWAIT(child_process_capture(child, now_ns, out) == CHILD_PROCESS_RUNS && out->size > 0);
}

static void kills_at_the_deadline_one_that_ignores_sigterm(void **state)
{
    static const char *const deaf[] = {"deaf", "close"};
    struct child_process child;
    struct buf out;
    pid_t pid;
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        buf_init(&out, 4096);
        start_captured(&child, deaf[i]);
        pid = child.pid;
        await_output(&child, start_ns + NS_PER_S - 1, &out);
        assert_int_equal(kill(pid, SIGTERM), 0);
        assert_int_equal(child_process_capture(&child, start_ns + NS_PER_S - 1, &out),
                         CHILD_PROCESS_RUNS);
        assert_int_equal(child_process_capture(&child, start_ns + NS_PER_S, &out),
                         CHILD_PROCESS_FAILED);
        assert_int_equal(child.pid, 0);
        await_reaped(pid);
        buf_finish(&out);
    }
}

static void does_not_wait_for_a_grandchild_that_keeps_the_pipe_open(void **state)
{
    enum child_process_capture capture;
    struct child_process child;
    struct buf out;
    pid_t group;

    (void)state;
    buf_init(&out, 4096);
    start_captured(&child, "speak with child");
    group = child.pid;
    AWAIT((capture = child_process_capture(&child, start_ns, &out)) != CHILD_PROCESS_RUNS);
    assert_int_equal(capture, CHILD_PROCESS_DONE);
    assert_int_equal(out.size, 5);
    assert_int_equal(kill(-group, SIGKILL), 0); /* it was still there */
    buf_finish(&out);
}

static void captures_nothing_from_a_program_that_is_not_there(void **state)
{
    char *argv[] = {own_path, NULL};
    const struct child_process_command command = {.program = "/no/such/program", .argv = argv};
    atomic_bool stop = false;
    const struct child_process_limits limits = {UINT64_MAX, &stop};
    pid_t pids[CHILD_PROCESS_MAX];
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_false(child_process_run(&command, &limits, &out));
    assert_true(errno == ENOENT || errno == 0); /* 0: it exits with 127: valgrind does it */
    assert_int_equal(child_process_running(pids, true), 0);
    buf_finish(&out);
}

static void kills_what_still_runs_at_the_deadline(void **state)
{
    char *argv[] = {own_path, (char[]){"deaf"}, NULL};
    const struct child_process_command command = {.program = own_path, .argv = argv};
    const struct child_process_limits limits = {clock_mono_ns() + 200 * NS_PER_MS, NULL};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_false(child_process_run(&command, &limits, &out));
    assert_int_equal(errno, ETIMEDOUT);
    AWAIT(child_process_reap(UINT64_MAX) == 0);
    buf_finish(&out);
}

static void hands_over_the_environment_that_it_is_told_to(void **state)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"printf \"$WORD\""}, NULL};
    char *environment[] = {(char[]){"WORD=given"}, NULL};
    const struct child_process_command command = {
        .program = "sh", .argv = argv, .environment = environment};
    const struct child_process_limits limits = {UINT64_MAX, NULL};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_true(child_process_run(&command, &limits, &out));
    assert_string_equal(buf_text(&out), "given");
    buf_finish(&out);
}

static void exit_with_it(void *ctx)
{
    const int *status = ctx;

    _exit(*status);
}

static void sleep_for_ever(void *ctx)
{
    for (;;)
        (void)poll(ctx, 0, -1);
}

static void gives_the_status_of_one_that_it_forked(void **state)
{
    struct child_process child;
    int status = 5;

    (void)state;
    assert_int_equal(child_process_fork(&child, exit_with_it, &status), 0);
    assert_int_equal(child_process_wait(&child, UINT64_MAX), 5);
    child_process_end(&child, start_ns);
}

static void waits_for_none_beyond_the_deadline(void **state)
{
    struct child_process child;
    pid_t pid;

    (void)state;
    assert_int_equal(child_process_fork(&child, sleep_for_ever, NULL), 0);
    pid = child.pid;
    assert_int_equal(child_process_status(&child), CHILD_PROCESS_STATUS_RUNS);
    assert_int_equal(child_process_wait(&child, clock_mono_ns()), CHILD_PROCESS_STATUS_RUNS);
    child_process_end(&child, start_ns);
    await_reaped(pid);
}

static void adds_up_what_its_commands_took(void **state)
{
    const uint64_t before_ns = child_process_cpu_ns(true), others_ns = child_process_cpu_ns(false);
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_true(run("work", false, false, &out));
    assert_true(child_process_cpu_ns(true) >= before_ns + 45 * NS_PER_MS);
    assert_int_equal(child_process_cpu_ns(false), others_ns);
    buf_finish(&out);
}

static void counts_what_a_child_uses_while_it_runs_and_after(void **state)
{
    const uint64_t before_ns = child_process_cpu_ns(false), captured = child_process_cpu_ns(true);
    pid_t pids[CHILD_PROCESS_MAX], pid;
    const size_t count = child_process_running(pids, false);
    struct child_process child;
    uint64_t used_ns;

    (void)state;
    start(&child, "spin");
    pid = child.pid;
    assert_int_equal(child_process_running(pids, false), count + 1);
    AWAIT(child_process_cpu_ns(false) >= before_ns + 20 * NS_PER_MS);
    used_ns = child_process_cpu_ns(false);
    child_process_end(&child, start_ns);
    assert_int_equal(child_process_running(pids, false), count);
    await_reaped(pid);
    assert_true(child_process_cpu_ns(false) >=
                used_ns - NS_PER_MS); /* another clock tells it now */
    assert_int_equal(child_process_cpu_ns(true), captured);
}

static void *run_beside(void *out)
{
    (void)run("deaf", false, false, out);
    return NULL;
}

static void knows_its_commands_while_they_run(void **state)
{
    pid_t pids[CHILD_PROCESS_MAX];
    pthread_t beside;
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(child_process_running(pids, true), 0);
    assert_int_equal(pthread_create(&beside, NULL, run_beside, &out), 0);
    AWAIT(child_process_running(pids, true) != 0);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    assert_int_equal(pthread_join(beside, NULL), 0);
    assert_int_equal(child_process_running(pids, true), 0);
    buf_finish(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_sleeps_in_a_read_is_blocked),
        cmocka_unit_test(one_that_gets_little_cpu_is_not_blocked),
        cmocka_unit_test(one_that_runs_is_not_blocked_for_long),
        cmocka_unit_test(one_that_was_stopped_is_silent),
        cmocka_unit_test(one_that_begins_nothing_is_silent),
        cmocka_unit_test(the_end_is_told),
        cmocka_unit_test(one_that_is_hung_up_on_ends_and_its_status_is_kept),
        cmocka_unit_test(the_environment_stays_here),
        cmocka_unit_test(a_program_that_is_not_there_is_told),
        cmocka_unit_test(an_ended_helper_is_gone),
        cmocka_unit_test(one_that_cannot_be_killed_is_counted_until_it_ends),
        cmocka_unit_test(one_that_does_not_end_counts_against_its_owner),
        cmocka_unit_test(too_many_that_do_not_end_stop_further_ones),
        cmocka_unit_test(keeps_what_is_printed),
        cmocka_unit_test(tells_a_failure),
        cmocka_unit_test(kills_when_told_to_stop_or_when_there_is_too_much),
        cmocka_unit_test(kills_at_the_deadline_one_that_ignores_sigterm),
        cmocka_unit_test(does_not_wait_for_a_grandchild_that_keeps_the_pipe_open),
        cmocka_unit_test(captures_nothing_from_a_program_that_is_not_there),
        cmocka_unit_test(kills_what_still_runs_at_the_deadline),
        cmocka_unit_test(hands_over_the_environment_that_it_is_told_to),
        cmocka_unit_test(gives_the_status_of_one_that_it_forked),
        cmocka_unit_test(waits_for_none_beyond_the_deadline),
        cmocka_unit_test(adds_up_what_its_commands_took),
        cmocka_unit_test(counts_what_a_child_uses_while_it_runs_and_after),
        cmocka_unit_test(knows_its_commands_while_they_run),
    };
    int status = argc > 1 ? print_as_helper(argv[1]) : 0;

    if (argc > 1)
        return status >= 0 ? status : be_helper(argv[1]);
    own_path = realpath(CHILD_PROCESS_SELF, NULL);
    status = cmocka_run_group_tests(tests, NULL, NULL);
    free(own_path);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_pause.c - a process is stopped whole and for a moment, and goes on whatever happens. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/dump/pause.h"
#include "agent/proc/proc.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

/* A pause is over when its time is up: where a thread had to wait for a CPU so long, the test tries
 * again. */
enum { THREADS = 4, PAUSES = 100, TRIES = 1000 };

/* What a target tells us, in memory that it shares with us. */
static struct {
    _Atomic int ready;
    _Atomic int rounds;  /* of a loop that never ends */
    _Atomic int signals; /* that were handled */
} * told;

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

static void *spin(void *unused)
{
    for (;;)
        atomic_fetch_add(&told->rounds, 1);
    return unused;
}

static void *doze(void *unused)
{
    for (;;)
        sleep_ms(1000);
    return unused;
}

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&told->signals, 1);
}

/* The targets: what a child process does until it is killed. */

static void be_many(void)
{
    pthread_t thread;
    int i;

    for (i = 1; i < THREADS; i++)
        if (pthread_create(&thread, NULL, doze, NULL) != 0)
            _exit(1);
    told->ready = 1;
    (void)spin(NULL);
}

static void *doze_briefly(void *unused)
{
    sleep_ms(2);
    return unused;
}

static void *start_others(void *unused)
{
    pthread_attr_t detached;
    pthread_t thread;

    (void)pthread_attr_init(&detached);
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (told->ready = 1;;)
        (void)pthread_create(&thread, &detached, doze_briefly, NULL);
    return unused;
}

/* The thread that starts others comes last in the kernel's list, when it has grown already. */
static void be_restless(void)
{
    pthread_t thread;
    int i;

    for (i = 0; i < 10 * THREADS; i++)
        if (pthread_create(&thread, NULL, doze, NULL) != 0)
            _exit(1);
    if (pthread_create(&thread, NULL, start_others, NULL) != 0)
        _exit(1);
    (void)doze(NULL);
}

/* Signals itself without end; each signal is handled before raise returns. */
static void be_signalled(void)
{
    (void)signal(SIGRTMIN, count_signal);
    for (told->ready = 1;;) {
        (void)raise(SIGRTMIN);
        atomic_fetch_add(&told->rounds, 1);
    }
}

static void be_without_a_leader(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, spin, NULL) != 0)
        _exit(1);
    told->ready = 1;
    pthread_exit(NULL);
}

static int doze_until_its_end(void *unused)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)doze(unused);
    return 0;
}

/* Waits in the kernel without interruption for a child of its own, as vfork does, until killed. */
static void be_stuck(void)
{
    static char stack[65536] __attribute__((aligned(16)));

    told->ready = 1;
    (void)clone(doze_until_its_end, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    (void)doze(NULL);
}

static pid_t running; /* 0: none; a test that fails leaves its own behind */

static void stop(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    running = pid == running ? 0 : running;
}

static pid_t start(void (*target)(void))
{
    const char *preloaded = getenv("LD_PRELOAD");
    pid_t pid;

    if (preloaded && strstr(preloaded, "vgpreload"))
        skip(); /* valgrind's processes are not stopped, run and forked as others are */
    if (running)
        stop(running);
    memset(told, 0, sizeof(*told));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        target();
        _exit(0);
    }
    running = pid;
    AWAIT(told->ready);
    return pid;
}

/* How many threads a process has, and how many of them are in that state. */
static int count_threads(pid_t pid, char state, int *all)
{
    const struct dirent *entry;
    struct proc_stat stat;
    char path[64];
    int count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    assert_non_null(dir);
    for (*all = 0; (entry = readdir(dir)) != NULL;)
        if (proc_stat_read_thread(pid, (pid_t)strtol(entry->d_name, NULL, 10), &stat) == PROC_OK) {
            ++*all;
            count += stat.state == state;
        }
    (void)closedir(dir);
    return count;
}

/* True if each thread is stopped, or has ended and is only not forgotten yet. */
static bool stands_still(pid_t pid)
{
    int all, traced = count_threads(pid, 't', &all), ended = count_threads(pid, 'Z', &all);

    return traced > 0 && traced + ended == all;
}

/* Waits until nothing of the process is stopped by a tracer. */
static void await_running(pid_t pid)
{
    int all;

    AWAIT(count_threads(pid, 't', &all) == 0);
}

static pid_t tracer_of(pid_t pid)
{
    char path[64], line[256];
    long tracer = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "TracerPid:", 10) == 0)
            tracer = strtol(line + 10, NULL, 10);
    (void)fclose(file);
    return (pid_t)tracer;
}

/* Begins a pause, again if there was no CPU to do so in the time that a pause may take. */
static enum pause_rc try_to_begin(pid_t pid, struct pause **pause, struct err *err)
{
    enum pause_rc rc = PAUSE_FAILED;
    int tries;

    for (tries = 0; tries < TRIES; tries++) {
        *err = (struct err){""};
        rc = pause_begin(pid, pause, err);
        if (rc != PAUSE_FAILED || !strstr(err->text, "could not be stopped within"))
            break;
    }
    return rc;
}

static struct pause *begin(pid_t pid)
{
    struct pause *pause = NULL;
    struct err err;

    if (try_to_begin(pid, &pause, &err) != PAUSE_OK)
        fail_msg("not stopped: %s", err.text);
    return pause;
}

/* What is seen of a process while it is paused. */
struct seen {
    int stopped, all;    /* threads */
    int rounds, signals; /* as told */
    bool still;          /* each thread is stopped, or has ended and is only not forgotten yet */
    bool moved;          /* `rounds` went on */
    bool ran, ran_other; /* pause_ran of the first thread, and of some that cannot have run */
};

static struct seen look(pid_t pid, const struct pause *pause)
{
    struct seen seen = {.rounds = told->rounds, .signals = told->signals};

    seen.stopped = count_threads(pid, 't', &seen.all);
    seen.still = stands_still(pid);
    seen.ran = pause_ran(pause, pid);
    seen.ran_other =
        pause_ran(pause, pid + 1) /* it dozes, if it is not somebody else */ || pause_ran(pause, 0);
    sleep_ms(20);
    seen.moved = told->rounds != seen.rounds;
    return seen;
}

/* What is seen in a pause that leaves `late` threads running and is not over before it is ended. */
static struct seen pause_and_look(pid_t pid, size_t late)
{
    struct pause *pause;
    struct seen seen;
    bool as_wanted;
    int tries;

    for (tries = 0; tries < TRIES; tries++) {
        pause = begin(pid);
        seen = look(pid, pause);
        as_wanted = pause_late(pause) == late;
        if (pause_end(pause, NULL) && as_wanted)
            return seen;
    }
    fail_msg("never %zu threads late, or always over too soon", late);
    return (struct seen){0};
}

static void stops_every_thread_and_lets_them_run_on(void **state)
{
    pid_t pid = start(be_many);
    struct seen seen = pause_and_look(pid, 0);

    (void)state;
    assert_int_equal(seen.stopped, seen.all);
    assert_true(seen.all >= THREADS); /* a sanitizer has threads of its own */
    await_running(pid);
    stop(pid);
}

static void nothing_moves_while_it_stands_still(void **state)
{
    pid_t pid = start(be_many);
    struct seen seen = pause_and_look(pid, 0);

    (void)state;
    assert_false(seen.moved);
    AWAIT(told->rounds != seen.rounds);
    stop(pid);
}

static void knows_which_thread_ran(void **state)
{
    pid_t pid = start(be_many);
    struct seen seen;
    int all;

    (void)state;
    AWAIT(count_threads(pid, 'S', &all) >= THREADS - 1);
    seen = pause_and_look(pid, 0);
    assert_true(seen.ran);
    assert_false(seen.ran_other);
    stop(pid);
}

static void catches_threads_that_appear_meanwhile(void **state)
{
    pid_t pid = start(be_restless);
    int i;

    (void)state;
    for (i = 0; i < PAUSES / 2; i++)
        assert_true(pause_and_look(pid, 0).still);
    await_running(pid);
    stop(pid);
}

static void the_parent_sees_no_stop(void **state)
{
    pid_t pid = start(be_many);
    struct pause *pause = begin(pid);
    siginfo_t seen = {0};

    (void)state;
    assert_int_equal(waitid(P_PID, (id_t)pid, &seen, WSTOPPED | WCONTINUED | WEXITED | WNOHANG), 0);
    assert_int_equal(seen.si_pid, 0);
    (void)pause_end(pause, NULL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &seen, WSTOPPED | WCONTINUED | WEXITED | WNOHANG), 0);
    assert_int_equal(seen.si_pid, 0);
    stop(pid);
}

static void lets_go_when_the_time_is_up(void **state)
{
    pid_t pid = start(be_many);
    struct pause *pause = begin(pid);
    struct err err = {""};

    (void)state;
    await_running(pid);
    assert_false(pause_end(pause, &err));
    assert_non_null(strstr(err.text, "ran on after 95 ms"));
    stop(pid);
}

/* Sends a signal to who traces the process. False: it does not any more, as the time was up. */
static bool signal_holder(pid_t pid, int number)
{
    pid_t tracer = tracer_of(pid);

    return tracer != 0 && kill(tracer, number) == 0;
}

static void lets_go_when_its_holder_is_killed(void **state)
{
    pid_t pid = start(be_many);
    struct pause *pause = begin(pid);

    (void)state;
    while (!signal_holder(pid, SIGKILL)) {
        (void)pause_end(pause, NULL);
        pause = begin(pid);
    }
    await_running(pid);
    assert_false(pause_end(pause, NULL));
    stop(pid);
}

/* One that is stopped gets no timer, and does not see that it is to end. */
static void kills_a_holder_that_does_not_end(void **state)
{
    pid_t pid = start(be_many);
    struct pause *pause = begin(pid);
    struct err err = {""};

    (void)state;
    while (!signal_holder(pid, SIGSTOP) || tracer_of(pid) == 0) {
        (void)pause_end(pause, NULL);
        pause = begin(pid);
    }
    assert_false(pause_end(pause, &err));
    assert_non_null(strstr(err.text, "hangs"));
    await_running(pid);
    stop(pid);
}

/* Begins a pause in another process, which then gets that signal. */
static void pause_elsewhere(pid_t pid, int number)
{
    pid_t other = fork();

    assert_true(other >= 0);
    if (other == 0) {
        (void)begin(pid);
        (void)raise(number);
        for (;;)
            sleep_ms(1000);
    }
    assert_int_equal(waitpid(other, NULL, WUNTRACED), other);
    await_running(pid);
    if (number == SIGSTOP)
        stop(other);
}

static void lets_go_when_we_are_killed(void **state)
{
    pid_t pid = start(be_many);

    (void)state;
    pause_elsewhere(pid, SIGKILL);
    assert_int_equal(tracer_of(pid), 0);
    stop(pid);
}

static void lets_go_when_we_are_stopped_ourselves(void **state)
{
    pid_t pid = start(be_many);

    (void)state;
    pause_elsewhere(pid, SIGSTOP);
    assert_int_equal(tracer_of(pid), 0);
    stop(pid);
}

/* The target and every pause meet at another moment of its signals' way. */
static void pause_while_signalled(bool kills)
{
    pid_t pid = start(be_signalled);
    struct pause *pause;
    struct seen seen;
    int i;

    for (i = 0; i < PAUSES; i++) {
        pause = begin(pid);
        if (kills)
            (void)signal_holder(pid, SIGKILL);
        (void)pause_end(pause, NULL);
    }
    AWAIT(told->rounds >= PAUSES);
    seen = pause_and_look(pid, 0); /* so that both numbers are of one moment */
    assert_in_range(seen.signals - seen.rounds, 0, 1);
    stop(pid);
}

static void no_signal_is_lost(void **state)
{
    (void)state;
    pause_while_signalled(false);
}

static void no_signal_is_lost_when_its_holder_is_killed(void **state)
{
    (void)state;
    pause_while_signalled(true);
}

static void what_was_stopped_before_stays_stopped(void **state)
{
    pid_t pid = start(be_many);
    int all, before;

    (void)state;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    before = count_threads(pid, 'T', &all);
    assert_true(before >= THREADS);
    (void)pause_and_look(pid, 0);

    AWAIT(count_threads(pid, 'T', &all) == before);
    assert_int_equal(kill(pid, SIGCONT), 0);
    stop(pid);
}

static void stops_a_process_whose_first_thread_has_ended(void **state)
{
    pid_t pid = start(be_without_a_leader);
    int all;

    (void)state;
    AWAIT(count_threads(pid, 'Z', &all) > 0);
    assert_true(pause_and_look(pid, 0).still);
    stop(pid);
}

static void goes_on_without_a_thread_that_does_not_stop(void **state)
{
    pid_t pid = start(be_stuck);
    int all, looks = 0;

    (void)state;
    AWAIT((looks = count_threads(pid, 'D', &all) > 0 ? looks + 1 : 0) == 20); /* in a row */
    (void)pause_and_look(pid, 1);
    assert_int_equal(tracer_of(pid), 0);
    stop(pid);
}

static void refuses(pid_t pid, enum pause_rc wanted, const char *why)
{
    struct pause *pause = NULL;
    struct err err;

    assert_int_equal(try_to_begin(pid, &pause, &err), wanted);
    assert_null(pause);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void refuses_what_somebody_else_traces(void **state)
{
    pid_t pid = start(be_many);
    char why[64];

    (void)state;
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    (void)snprintf(why, sizeof(why), "process %d traces it already", (int)getpid());
    refuses(pid, PAUSE_FAILED, why);
    stop(pid);
}

static void refuses_what_is_gone_or_a_zombie(void **state)
{
    pid_t pid = start(be_many);
    siginfo_t seen;

    (void)state;
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &seen, WEXITED | WNOWAIT), 0);
    refuses(pid, PAUSE_GONE, "exited");
    stop(pid);
    refuses(pid, PAUSE_GONE, "no such process");
}

/* As a user who may not: in a process of its own, as there is no way back. */
static void refuses_without_permission(void **state)
{
    pid_t pid, other;
    int status;

    (void)state;
    if (geteuid() != 0)
        skip();
    pid = start(be_many);
    other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        struct pause *pause = NULL;
        struct err err;

        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(99);
        _exit((int)try_to_begin(pid, &pause, &err));
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), PAUSE_DENIED);
    await_running(pid);
    stop(pid);
}

static int share(void **state)
{
    void *shared =
        mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    told = shared;
    return shared == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_every_thread_and_lets_them_run_on),
        cmocka_unit_test(nothing_moves_while_it_stands_still),
        cmocka_unit_test(knows_which_thread_ran),
        cmocka_unit_test(catches_threads_that_appear_meanwhile),
        cmocka_unit_test(the_parent_sees_no_stop),
        cmocka_unit_test(lets_go_when_the_time_is_up),
        cmocka_unit_test(lets_go_when_its_holder_is_killed),
        cmocka_unit_test(kills_a_holder_that_does_not_end),
        cmocka_unit_test(lets_go_when_we_are_killed),
        cmocka_unit_test(lets_go_when_we_are_stopped_ourselves),
        cmocka_unit_test(no_signal_is_lost),
        cmocka_unit_test(no_signal_is_lost_when_its_holder_is_killed),
        cmocka_unit_test(what_was_stopped_before_stays_stopped),
        cmocka_unit_test(stops_a_process_whose_first_thread_has_ended),
        cmocka_unit_test(goes_on_without_a_thread_that_does_not_stop),
        cmocka_unit_test(refuses_what_somebody_else_traces),
        cmocka_unit_test(refuses_what_is_gone_or_a_zombie),
        cmocka_unit_test(refuses_without_permission),
    };

    return cmocka_run_group_tests_name("pause", tests, share, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc.c - what /proc says of a process is read right, whatever it calls itself. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/proc/namespaces.h"
#include "agent/proc/proc.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/leader.h"
#include "tests/unit/sharing_child.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/waiting_child.h"

static void do_nothing(void)
{
}

/* kthreadd's number is anybody's in a pid namespace; its flag is not. */
static void tells_the_kernels_own_from_programs(void **state)
{
    struct proc_stat stat;

    (void)state;
    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    assert_false(stat.is_kernels);
    if (proc_stat_read(2, &stat) == PROC_OK)
        assert_int_equal(stat.is_kernels, strcmp(stat.name, "kthreadd") == 0);
}

static void take_a_name_like_a_stat_line(void)
{
    (void)prctl(PR_SET_NAME, "a) R 1 (b) Z 2");
}

static void take_a_name_of_two_lines(void)
{
    (void)prctl(PR_SET_NAME, "x\nUid:\t0 \xff)");
}

/* The start of a process in ticks after boot, from the clock: within some seconds. */
static void assert_started_now(uint64_t start)
{
    struct timespec now;
    double seconds;

    assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
    seconds = (double)now.tv_sec - (double)start / (double)sysconf(_SC_CLK_TCK);
    assert_true(seconds > -2 && seconds < 60);
}

/* Waits until the child sleeps. */
static void read_asleep(pid_t pid, struct proc_stat *stat)
{
    AWAIT(proc_stat_read(pid, stat) == PROC_OK && stat->state == 'S');
}

static void reads_the_stat_of_a_process(void **state)
{
    pid_t pid = waiting_child_start(do_nothing);
    struct proc_stat stat;

    (void)state;
    read_asleep(pid, &stat);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent, getpid());
    assert_started_now(stat.start);
    waiting_child_end(pid);
}

static void is_not_misled_by_the_name_of_a_process(void **state)
{
    static void (*const names[])(void) = {take_a_name_like_a_stat_line, take_a_name_of_two_lines};
    static const char *const wanted[] = {"a) R 1 (b) Z 2", "x\nUid:\t0 \xff)"};
    struct proc_stat stat;
    uid_t user = 1234567;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        pid_t pid = waiting_child_start(names[i]);

        read_asleep(pid, &stat);
        assert_string_equal(stat.name, wanted[i]);
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.parent, getpid());
        assert_started_now(stat.start);
        assert_int_equal(proc_user(pid, &user), PROC_OK);
        assert_int_equal(user, getuid());
        waiting_child_end(pid);
    }
}

static void tells_its_parents_memory_from_a_copy(void **state)
{
    static struct sharing_child sharing;
    pid_t pid = waiting_child_start(do_nothing);

    (void)state;
    assert_false(proc_shares_memory(pid, getpid()));
    waiting_child_end(pid);

    sharing_child_start(&sharing);
    if (sharing.pid < 0 || !proc_shares_memory(getpid(), getpid())) {
        sharing_child_end(&sharing);
        skip(); /* qemu-user has none; or the kernel has no kcmp */
    }
    assert_true(proc_shares_memory(sharing.pid, getpid()));
    sharing_child_execute(&sharing);
    AWAIT(!proc_shares_memory(sharing.pid, getpid()));
    sharing_child_end(&sharing);
}

static void tells_a_zombie(void **state)
{
    struct proc_stat stat;
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_stat_read(pid, &stat), PROC_OK);
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void says_that_a_process_is_gone(void **state)
{
    pid_t pid = waiting_child_start(do_nothing);
    char text[PROC_COMMAND_MAX] = "x";
    struct proc_sched times;
    struct proc_stat stat;
    clockid_t clock;
    uint64_t cpu;
    uid_t user;

    (void)state;
    assert_true(proc_clock(pid, &clock));
    waiting_child_end(pid);
    assert_false(proc_clock(pid, &clock));
    assert_false(proc_clock_ns(clock, &cpu));
    assert_int_equal(proc_sched_read(pid, pid, &times), PROC_GONE);
    assert_int_equal(proc_stat_read(pid, &stat), PROC_GONE);
    assert_int_equal(proc_user(pid, &user), PROC_GONE);
    proc_command_line(pid, text);
    assert_string_equal(text, "");
    proc_executable(pid, text);
    assert_string_equal(text, "");
}

/* Replaces the child by /bin/sleep with this command line. */
static pid_t start_command(char **argv)
{
    int started[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execv("/bin/sleep", argv);
        _exit(1);
    }
    (void)close(started[1]);
    assert_int_equal(read(started[0], &byte, 1), 0); /* closed by the exec */
    (void)close(started[0]);
    return pid;
}

static void reads_a_command_line_with_blanks_between(void **state)
{
    char *argv[] = {(char[]){"python3"}, (char[]){"1000"}, (char[]){"0.5"}, NULL};
    char text[PROC_COMMAND_MAX];
    pid_t pid = start_command(argv);

    (void)state;
    proc_command_line(pid, text);
    assert_string_equal(text, "python3 1000 0.5");
    proc_executable(pid, text);
    assert_int_equal(text[0], '/');
    waiting_child_end(pid);
}

static void reads_what_a_process_runs_once_its_first_thread_has_ended(void **state)
{
    struct leader leader = leader_start();
    char command[2][PROC_COMMAND_MAX], exe[2][PROC_COMMAND_MAX];
    const uint64_t mark = proc_exe_mark(leader.pid);

    (void)state;
    proc_command_line(leader.pid, command[0]);
    proc_executable(leader.pid, exe[0]);
    leader_end_thread(&leader, 0);
    proc_command_line(leader.pid, command[1]);
    proc_executable(leader.pid, exe[1]);
    assert_string_equal(command[1], command[0]);
    assert_string_equal(exe[1], exe[0]);
    assert_true(exe[1][0] == '/' && command[1][0] != '\0');
    assert_true(mark == proc_exe_mark(leader.pid));
    leader_finish(&leader);
}

static void cuts_a_long_command_line(void **state)
{
    static char longest[3 * PROC_COMMAND_MAX];
    char *argv[] = {longest, (char[]){"1000"}, NULL}, text[PROC_COMMAND_MAX];
    pid_t pid;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    pid = start_command(argv);
    proc_command_line(pid, text);
    assert_int_equal(strlen(text), PROC_COMMAND_MAX - 1);
    waiting_child_end(pid);
}

static void burn(uint64_t ns)
{
    struct timespec now;
    uint64_t begin = 0, at;
    volatile unsigned sink = 0;

    do {
        for (int i = 0; i < 10000; i++)
            sink = sink + 1;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        at = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
        begin = begin ? begin : at;
    } while (at - begin < ns);
}

static void burn_some_time(void)
{
    burn(200 * NS_PER_MS);
}

static void reads_the_cpu_time_of_process_and_thread(void **state)
{
    pid_t pid = waiting_child_start(burn_some_time);
    struct proc_sched own = {0}, again = {0};
    struct proc_stat stat;
    uint64_t process = 0;
    clockid_t clock = 0;

    (void)state;
    read_asleep(pid, &stat);
    assert_true(proc_clock(pid, &clock));
    assert_true(proc_clock_ns(clock, &process));
    assert_int_equal(proc_sched_read(pid, pid, &own), PROC_OK);
    assert_int_equal(proc_sched_read(pid, pid, &again), PROC_OK);

    assert_true(process >= 200 * NS_PER_MS && process < 20 * NS_PER_S);
    assert_true(own.cpu_ns >= 190 * NS_PER_MS && own.cpu_ns < 20 * NS_PER_S);
    assert_int_equal(own.cpu_ns, again.cpu_ns); /* it sleeps */
    assert_int_equal(own.wait_ns, again.wait_ns);
    waiting_child_end(pid);
    assert_int_equal(proc_sched_read(pid, pid, &own), PROC_GONE);
}

static void reads_no_times_of_another_process(void **state)
{
    struct proc_sched times;

    (void)state;
    assert_int_equal(proc_sched_read(getpid(), 1, &times), PROC_GONE); /* no thread of ours */
}

static void counts_who_runs_on_the_host(void **state)
{
    unsigned long running = 0;
    int fd = proc_open_loadavg();

    (void)state;
    assert_false(proc_running(-1, &running));
    if (fd < 0)
        skip(); /* a container with a /proc/loadavg of its own */
    assert_true(proc_running(fd, &running));
    assert_true(running >= 1); /* this very thread */
    (void)close(fd);
}

static void tells_that_memory_was_mapped(void **state)
{
    const uint64_t before = proc_memory_mark(getpid());
    const size_t size = 64 << 10;
    void *memory;

    (void)state;
    assert_true(before != 0);
    assert_true(proc_memory_mark(getpid()) == before);
    memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_true(proc_memory_mark(getpid()) != before);
    assert_int_equal(munmap(memory, size), 0);
    assert_true(proc_memory_mark(0) == 0); /* nobody's */
}

static void tells_that_somebody_has_come_or_gone(void **state)
{
    int fd = proc_open_loadavg(), status;
    struct proc_census before, during;
    pid_t child;

    (void)state;
    assert_int_equal(proc_census(-1).newest, 0);
    assert_true(namespaces_have_own_proc());
    if (fd < 0 || !proc_is_process(getpid()))
        skip(); /* a container with a /proc/loadavg of its own; valgrind has no pidfd_open */
    before = proc_census(fd);
    child = fork();
    if (child == 0)
        _exit(pause());
    during = proc_census(fd);
    assert_true(before.newest != 0 && during.newest >= child && during.newest != before.newest);
    assert_true(proc_is_process(child));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(proc_is_process(child));
    assert_true(proc_census(fd).newest != before.newest);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_kernels_own_from_programs),
        cmocka_unit_test(reads_the_stat_of_a_process),
        cmocka_unit_test(is_not_misled_by_the_name_of_a_process),
        cmocka_unit_test(tells_its_parents_memory_from_a_copy),
        cmocka_unit_test(tells_a_zombie),
        cmocka_unit_test(says_that_a_process_is_gone),
        cmocka_unit_test(reads_a_command_line_with_blanks_between),
        cmocka_unit_test(reads_what_a_process_runs_once_its_first_thread_has_ended),
        cmocka_unit_test(cuts_a_long_command_line),
        cmocka_unit_test(reads_the_cpu_time_of_process_and_thread),
        cmocka_unit_test(reads_no_times_of_another_process),
        cmocka_unit_test(counts_who_runs_on_the_host),
        cmocka_unit_test(tells_that_memory_was_mapped),
        cmocka_unit_test(tells_that_somebody_has_come_or_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

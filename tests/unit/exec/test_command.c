/* SPDX-License-Identifier: Apache-2.0 */
/* test_command.c - a command runs as if nobody stood in front of it, and its end is passed on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exec/command.h"
#include "agent/host/exits.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"

static sigset_t reported, before;

/* The lines SigBlk and SigIgn of our status as they were before the tests. */
static char signals_before[256];

static void note_signals(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];

    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
            (void)snprintf(signals_before + strlen(signals_before),
                           sizeof(signals_before) - strlen(signals_before), "%s", line);
    if (status)
        (void)fclose(status);
    if (signals_before[0]) /* $(...) takes the last newline off, too */
        signals_before[strlen(signals_before) - 1] = '\0';
}

static int block_signals(void **state)
{
    (void)state;
    command_block_signals(&reported, &before);
    return 0;
}

/* Starts `sh -c script`. */
static struct command start(const char *script)
{
    char text[512];
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    struct command child;
    struct err err = {""};

    (void)snprintf(text, sizeof(text), "%s", script);
    if (command_start(&child, argv, &before, &err) != EXIT_OK)
        fail_msg("%s", err.text);
    return child;
}

/* The exit status of a script. */
static int status_of(const char *script)
{
    struct command child = start(script);
    int status = command_wait(&child);

    assert_true(child.ended);
    assert_int_equal(command_wait(&child), status); /* asked again: the same */
    return status;
}

static void passes_the_exit_status_on(void **state)
{
    static const int statuses[] = {0, 1, 7, 77, 126, 127, 128, 255};
    char script[64];

    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        (void)snprintf(script, sizeof(script), "exit %d", statuses[i]);
        assert_int_equal(status_of(script), statuses[i]);
    }
}

static void gives_128_and_the_signal_for_a_killed_command(void **state)
{
    (void)state;
    assert_int_equal(status_of("kill -KILL $$"), 128 + SIGKILL);
    assert_int_equal(status_of("kill -TERM $$"), 128 + SIGTERM);
    assert_int_equal(status_of("kill -ALRM $$"), 128 + SIGALRM);
    assert_int_equal(status_of("ulimit -c 0; kill -SEGV $$"), 128 + SIGSEGV);
}

static int start_fails(const char *command, const char *message)
{
    char name[256];
    char *argv[] = {name, NULL};
    struct command child;
    struct err err = {""};
    int status;

    (void)snprintf(name, sizeof(name), "%s", command);
    status = command_start(&child, argv, &before, &err);
    assert_string_equal(err.text, message);
    assert_int_equal(child.pid, 0); /* whoever has the number later is not signalled */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
    return status;
}

static void gives_127_for_a_command_that_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(start_fails("no-such-command", "no-such-command: No such file or directory"),
                     EXIT_NOT_FOUND);
    assert_int_equal(start_fails("/nowhere/x", "/nowhere/x: No such file or directory"),
                     EXIT_NOT_FOUND);
}

static void gives_126_for_a_command_that_cannot_be_run(void **state)
{
    char path[] = "/tmp/test_agent_child_XXXXXX", message[128];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(message, sizeof(message), "%s: Permission denied", path);
    assert_int_equal(start_fails(path, message), EXIT_CANNOT_RUN);
    assert_int_equal(start_fails("/tmp", "/tmp: Permission denied"), EXIT_CANNOT_RUN);
    assert_int_equal(unlink(path), 0);
}

static void gives_125_where_no_descriptor_is_left(void **state)
{
    const struct rlimit limit = descriptors_forbid();
    const int status = start_fails("true", "true: Too many open files");

    (void)state;
    descriptors_allow(limit);
    assert_int_equal(status, EXIT_NOT_STARTED);
}

/* The number of the next descriptor that is opened. */
static int next_descriptor(void)
{
    const int fd = dup(STDERR_FILENO);

    (void)close(fd);
    return fd;
}

/* In a child, whose user may have no further process. Gives its exit status, EXIT_OK: cannot tell.
 */
static int start_without_processes(void)
{
    char *argv[] = {(char[]){"true"}, NULL};
    const struct rlimit none = {0, 0};
    const int first = next_descriptor();
    struct err err = {""};
    struct command child;
    int status;

    if (setresuid(65534, 65534, 65534) != 0 || setrlimit(RLIMIT_NPROC, &none) != 0)
        return EXIT_OK;
    status = command_start(&child, argv, &before, &err);
    if (status == EXIT_OK)
        return EXIT_OK;
    return next_descriptor() == first && child.pid == 0 &&
                   strcmp(err.text, "true: Resource temporarily unavailable") == 0
               ? status
               : EXIT_FAILED;
}

static void gives_125_and_closes_its_pipe_where_no_process_may_be_made(void **state)
{
    const pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0)
        _exit(start_without_processes());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == EXIT_OK)
        skip(); /* only root may become another user; or the kernel has no such limit */
    assert_int_equal(WEXITSTATUS(status), EXIT_NOT_STARTED);
}

static void gives_the_command_the_signal_mask_that_was_there(void **state)
{
    char script[1024];

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* its own handling of signals shows now and then */
#endif
    (void)snprintf(script, sizeof(script),
                   "test \"$(grep -E '^Sig(Blk|Ign):' /proc/self/status)\" = '%s'", signals_before);
    assert_int_equal(status_of(script), 0);
}

static void passes_signals_on_while_it_waits(void **state)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        (void)signal(signals[i], SIG_DFL); /* whoever runs us may ignore some (nohup) */
        struct command child = start("trap 'kill $!; exit 40' TERM HUP USR1 USR2; sleep 30 & wait");

        (void)usleep(100000); /* a signal that comes before the trap ends it all the same */
        assert_int_equal(kill(getpid(), signals[i]), 0);
        int status = command_wait(&child);
        assert_true(status == 40 || status == 128 + signals[i]);
    }
}

static struct signalfd_siginfo reported_signal(int number, int code)
{
    return (struct signalfd_siginfo){.ssi_signo = (uint32_t)number, .ssi_code = code};
}

static void passes_a_reported_signal_on_but_not_the_terminals(void **state)
{
    struct command child = start("exec sleep 30");
    struct signalfd_siginfo terminal = reported_signal(SIGINT, SI_KERNEL);
    struct signalfd_siginfo user = reported_signal(SIGTERM, SI_USER);

    (void)state;
    command_handle(&child, &terminal); /* the command got it itself, if it is in the foreground */
    (void)usleep(50000);
    command_reap(&child);
    assert_false(child.ended);
    command_handle(&child, &user);
    assert_int_equal(command_wait(&child), 128 + SIGTERM);
}

static void notices_the_end_when_told_of_it(void **state)
{
    struct command child = start("exit 9");
    struct signalfd_siginfo ended = reported_signal(SIGCHLD, CLD_EXITED);
    siginfo_t info;

    (void)state;
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    command_handle(&child, &ended);
    assert_true(child.ended);
    assert_int_equal(child.exit_status, 9);
    command_handle(&child, &(struct signalfd_siginfo){.ssi_signo = SIGTERM}); /* to nobody */
}

static void collects_orphans_and_keeps_the_commands_own_status(void **state)
{
    siginfo_t info;

    (void)state;
    assert_int_equal(status_of("(sleep 0.05; exit 3) & exit 5"), 5);
    (void)waitid(P_ALL, 0, &info, WEXITED | WNOWAIT); /* until it has ended, or was reaped */
    struct command child = start("exit 6");
    assert_int_equal(command_wait(&child), 6);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* the orphan came to us and was reaped */
}

static void knows_its_descendants(void **state)
{
    char script[128], text[32] = "";
    pid_t grandchild;
    struct command child;
    int told[2];

    (void)state;
    assert_int_equal(pipe(told), 0); /* inherited */
    (void)snprintf(script, sizeof(script), "sleep 30 & echo $! >/dev/fd/%d; wait", told[1]);
    child = start(script);
    assert_true(read(told[0], text, sizeof(text) - 1) > 0);
    grandchild = (pid_t)strtol(text, NULL, 10);

    assert_true(command_is_ours(child.pid));
    assert_true(command_is_ours(grandchild));
    assert_false(command_is_ours(getpid()));
    assert_false(command_is_ours(getppid()));
    assert_false(command_is_ours(1));
    assert_false(command_is_ours(0));
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(command_wait(&child), 128 + SIGKILL);
    assert_false(command_is_ours(child.pid));
    assert_true(command_is_ours(grandchild)); /* it came to us */
    assert_int_equal(kill(grandchild, SIGKILL), 0);
    assert_int_equal(waitpid(grandchild, NULL, 0), grandchild);
    (void)close(told[0]);
    (void)close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_the_exit_status_on),
        cmocka_unit_test(gives_128_and_the_signal_for_a_killed_command),
        cmocka_unit_test(gives_127_for_a_command_that_is_not_there),
        cmocka_unit_test(gives_126_for_a_command_that_cannot_be_run),
        cmocka_unit_test(gives_125_where_no_descriptor_is_left),
        cmocka_unit_test(gives_125_and_closes_its_pipe_where_no_process_may_be_made),
        cmocka_unit_test(gives_the_command_the_signal_mask_that_was_there),
        cmocka_unit_test(collects_orphans_and_keeps_the_commands_own_status),
        cmocka_unit_test(passes_signals_on_while_it_waits),
        cmocka_unit_test(passes_a_reported_signal_on_but_not_the_terminals),
        cmocka_unit_test(notices_the_end_when_told_of_it),
        cmocka_unit_test(knows_its_descendants),
    };

    note_signals();
    return cmocka_run_group_tests(tests, block_signals, NULL);
}

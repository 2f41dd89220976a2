/* SPDX-License-Identifier: Apache-2.0 */
/* test_control.c - the control socket: who gets it, who is answered, who is not waited for. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/serve/control.h"
#include "agent/serve/control_socket.h"
#include "tests/unit/unit_test.h"

static char folder[] = "/tmp/test-control-XXXXXX";
static char path[64], lock_path[80];
static struct state_share share;
static sigset_t signals;

static int set_up(void **state)
{
    (void)state;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/c.sock", folder);
    (void)snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
    state_share_init(&share);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    state_share_finish(&share);
    (void)unlink(lock_path);
    return rmdir(folder);
}

static struct control *must_open(void)
{
    struct err err = {""};
    struct control *control = control_open(path, &share, SIGUSR2, &err);

    if (!control)
        fail_msg("%s", err.text);
    return control;
}

static int must_connect(void)
{
    struct err err = {""};
    int fd = control_socket_connect(path, &err);

    if (fd < 0)
        fail_msg("%s", err.text);
    return fd;
}

/* Everything up to the end. Lends until the next call. */
static const char *answer_of(int fd)
{
    static char text[1 << 16];
    size_t size = 0;
    ssize_t got;

    while ((got = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    (void)close(fd);
    return text;
}

static const char *ask(const char *request)
{
    int fd = must_connect();

    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    return answer_of(fd);
}

static void makes_a_socket_for_its_user_only_and_removes_it(void **state)
{
    struct control *control = must_open();
    struct stat st;

    (void)state;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    control_close(control);
    assert_int_equal(lstat(path, &st), -1);
}

static void leaves_the_socket_of_a_living_agent_alone(void **state)
{
    struct control *control = must_open();
    struct err err = {""};

    (void)state;
    assert_null(control_open(path, &share, SIGUSR2, &err));
    assert_non_null(strstr(err.text, "belongs to another agent"));
    assert_memory_equal(ask("status\n"), CONTROL_ERROR, strlen(CONTROL_ERROR)); /* it answers */
    control_close(control);
}

static void replaces_what_a_dead_agent_left_but_no_file(void **state)
{
    struct control_socket dead;
    struct err err = {""};
    FILE *file;

    (void)state;
    assert_true(control_socket_open(&dead, path, CONTROL_SOCKET_GROUP, &err));
    (void)close(dead.fd);
    (void)close(dead.lock_fd); /* its socket is still there */
    control_close(must_open());

    file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_null(control_open(path, &share, SIGUSR2, &err));
    assert_non_null(strstr(err.text, "is not a socket"));
    assert_int_equal(unlink(path), 0);
}

static void says_that_no_agent_listens(void **state)
{
    struct err err = {""};

    (void)state;
    assert_int_equal(control_socket_connect(path, &err), -1);
    assert_non_null(strstr(err.text, "no agent listens"));
    assert_int_equal(control_socket_connect("relative", &err), -1);
    assert_non_null(strstr(err.text, "no agent listens at relative"));
}

static void tells_the_newest_state(void **state)
{
    struct control *control = must_open();
    struct state *one = state_new(), *two = state_new();

    (void)state;
    assert_non_null(one);
    assert_non_null(two);
    assert_string_equal(ask("status\n"), "error\nthe agent is only just starting; try again\n");
    one->pid = 41;
    state_share_put(&share, one);
    two->pid = 42;
    state_share_put(&share, two);
    assert_non_null(strstr(ask("status\n"), "pid 42"));
    assert_non_null(strstr(ask("status json\n"), "\"pid\": 42"));
    assert_string_equal(ask("exporters\n"), "ok\n"); /* it has none */
    control_close(control);
}

static void hands_orders_to_the_main_loop_and_its_answer_back(void **state)
{
    struct control *control = must_open();
    struct control_request request;
    int fd = must_connect(), number;

    (void)state;
    assert_int_equal(send(fd, "burst 100 5 web\n", 16, 0), 16);
    assert_int_equal(sigwait(&signals, &number), 0);
    assert_true(control_next(control, &request));
    assert_int_equal(request.kind, CONTROL_BURST);
    assert_string_equal(request.target, "web");
    assert_false(control_next(control, &request));
    assert_string_equal(ask("reload\n"),
                        "error\nthe agent is busy with another order; try again\n");
    control_done(control, true, "done");
    assert_string_equal(answer_of(fd), "ok\ndone\n");
    control_close(control);
}

static void is_held_up_by_nobody_who_hangs(void **state)
{
    struct control *control = must_open();
    int fds[CONTROL_CLIENTS - 1];
    size_t i;

    (void)state;
    for (i = 0; i < CONTROL_CLIENTS - 1; i++) {
        fds[i] = must_connect();
        assert_int_equal(send(fds[i], "stat", 4, 0), 4); /* and no more */
    }
    assert_memory_equal(ask("nonsense\n"), CONTROL_ERROR, strlen(CONTROL_ERROR));
    for (i = 0; i < CONTROL_CLIENTS - 1; i++)
        (void)close(fds[i]);
    control_close(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_no_agent_listens),
        cmocka_unit_test(makes_a_socket_for_its_user_only_and_removes_it),
        cmocka_unit_test(leaves_the_socket_of_a_living_agent_alone),
        cmocka_unit_test(replaces_what_a_dead_agent_left_but_no_file),
        cmocka_unit_test(tells_the_newest_state),
        cmocka_unit_test(hands_orders_to_the_main_loop_and_its_answer_back),
        cmocka_unit_test(is_held_up_by_nobody_who_hangs),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

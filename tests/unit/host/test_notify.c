/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify.c - what a service manager is told, and that nobody else is told anything. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/notify.h"
#include "tests/unit/unit_test.h"

/* A manager's socket at `name`; an "@" stands for the zero byte of an abstract name. */
static int manager_at(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    memcpy(to.sun_path, name, strlen(name));
    if (name[0] == '@')
        to.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&to,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

/* An abstract name that no other run of this test has. */
static const char *own_name(void)
{
    static char name[64];

    (void)snprintf(name, sizeof(name), "@pystrobe-test-%d", (int)getpid());
    return name;
}

static const char *heard(int fd)
{
    static char text[256];
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);

    text[got > 0 ? got : 0] = '\0';
    return text;
}

static int forget(void **state)
{
    (void)state;
    return unsetenv("NOTIFY_SOCKET") + unsetenv("WATCHDOG_USEC") + unsetenv("WATCHDOG_PID");
}

static void says_nothing_where_nobody_asked(void **state)
{
    struct notify notify;

    (void)state;
    notify_open(&notify);
    assert_int_equal(notify.fd, -1);
    notify_say(&notify, "READY=1\n");
    notify_close(&notify);
}

static void sends_to_a_path(void **state)
{
    char folder[] = "/tmp/notify-XXXXXX", path[sizeof(folder) + 8];
    struct notify notify;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    fd = manager_at(path);
    notify_open(&notify);
    notify_say(&notify, "READY=1\n");
    assert_string_equal(heard(fd), "READY=1\n");
    notify_close(&notify);
    (void)close(fd);
    assert_int_equal(unlink(path) + rmdir(folder), 0);
}

static void sends_to_an_abstract_name(void **state)
{
    struct notify notify;
    struct buf lines;
    int fd;

    (void)state;
    fd = manager_at(own_name());
    notify_open(&notify);
    buf_init(&lines, 64);
    buf_add_str(&lines, "STATUS=well");
    notify_send(&notify, &lines);
    assert_string_equal(heard(fd), "STATUS=well");
    buf_finish(&lines);
    notify_close(&notify);
    (void)close(fd);
}

static void passes_over_an_address_that_is_none(void **state)
{
    static const char *const bad[] = {"", "/", "@", "relative", "vsock:2:1234"};
    struct notify notify;
    char longer[256];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(setenv("NOTIFY_SOCKET", bad[i], 1), 0);
        notify_open(&notify);
        assert_int_equal(notify.fd, -1);
    }
    memset(longer, 'x', sizeof(longer));
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
    notify_open(&notify);
    assert_int_equal(notify.fd, -1);
}

/* What stands in the two variables gives that watchdog. */
static void expect_watchdog(const char *us, const char *pid, uint64_t expected_ns)
{
    struct notify notify;

    assert_int_equal(setenv("WATCHDOG_USEC", us, 1), 0);
    assert_int_equal(pid ? setenv("WATCHDOG_PID", pid, 1) : unsetenv("WATCHDOG_PID"), 0);
    notify_open(&notify);
    assert_true(notify.fd >= 0);
    assert_int_equal(notify.watchdog_ns, expected_ns);
    notify_close(&notify);
}

static void heeds_a_watchdog_that_is_meant_for_it(void **state)
{
    char own[32];
    int fd;

    (void)state;
    fd = manager_at(own_name());
    (void)snprintf(own, sizeof(own), "%d", (int)getpid());
    expect_watchdog("60000000", own, UINT64_C(60000000000));
    expect_watchdog("60000000", NULL, UINT64_C(60000000000));
    expect_watchdog("60000000", "1", 0);
    expect_watchdog("6x", own, 0);
    expect_watchdog("-1", own, 0);
    expect_watchdog("99999999999999999999", own, 0);
    (void)close(fd);
}

static void does_not_wait_for_a_manager_that_does_not_read(void **state)
{
    struct notify notify;
    int fd, i;

    (void)state;
    fd = manager_at(own_name());
    notify_open(&notify);
    for (i = 0; i < 100000; i++)
        notify_say(&notify, "WATCHDOG=1\n");
    assert_string_equal(heard(fd), "WATCHDOG=1\n");
    notify_close(&notify);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(says_nothing_where_nobody_asked, forget),
        cmocka_unit_test_teardown(sends_to_a_path, forget),
        cmocka_unit_test_teardown(sends_to_an_abstract_name, forget),
        cmocka_unit_test_teardown(passes_over_an_address_that_is_none, forget),
        cmocka_unit_test_teardown(heeds_a_watchdog_that_is_meant_for_it, forget),
        cmocka_unit_test_teardown(does_not_wait_for_a_manager_that_does_not_read, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

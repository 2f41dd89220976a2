/* SPDX-License-Identifier: Apache-2.0 */
/* test_connections.c - for how long a connection is kept, and after what it is not used again. */
#include "tests/unit/batch_of_one.h"
#include "tests/unit/exporters/http_fixture.h"
#include "tests/unit/exporters/send_profile.h"

#define SECOND INT64_C(1000000000)

enum { WAIT_MS = 20 };

static const struct exporter_profile profile = {
    .service = "demo", .type = "cpu", .bytes = "\x1f\x8b\x00", .size = 3};

static int setup(void **state)
{
    return http_fixture_begin(state, EXPORTER_PYROSCOPE);
}

static enum exporter_rc send_at(struct fixture *fix, int64_t now_ns)
{
    return send_profile(fix->exporter, &profile, now_ns, &fix->answer);
}

static int connections(struct fixture *fix)
{
    return atomic_load(&fix->server.connections);
}

static void keeps_a_connection_for_some_minutes_only(void **state)
{
    struct fixture *fix = *state;
    int64_t now_ns = 1000000 * SECOND;

    start(fix);
    assert_int_equal(send_at(fix, now_ns), EXPORTER_OK);
    assert_int_equal(send_at(fix, now_ns + 170 * SECOND), EXPORTER_OK);
    assert_int_equal(connections(fix), 1);

    assert_int_equal(send_at(fix, now_ns + 190 * SECOND), EXPORTER_OK);
    assert_int_equal(send_at(fix, now_ns + 360 * SECOND), EXPORTER_OK);
    assert_int_equal(connections(fix), 2);
    assert_int_equal(send_at(fix, now_ns), EXPORTER_OK); /* the clock was set */
    assert_int_equal(connections(fix), 3);
}

static void makes_a_new_connection_after_an_answer_that_a_server_may_mend(void **state)
{
    static const int statuses[] = {429, 500, 502, 503, 504};
    struct fixture *fix = *state;

    start(fix);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        int before = connections(fix);

        answer_with(fix, statuses[i], "", "");
        assert_int_equal(send_at(fix, 0), EXPORTER_RETRY);
        answer_with(fix, 200, "", "");
        assert_int_equal(send_at(fix, 0), EXPORTER_OK);
        assert_int_equal(send_at(fix, 0), EXPORTER_OK);
        assert_int_equal(connections(fix), i == 0 ? 2 : before + 1);
    }
}

static void keeps_the_connection_after_a_refusal(void **state)
{
    struct fixture *fix = *state;

    start(fix);
    answer_with(fix, 400, "", "");
    assert_int_equal(send_at(fix, 0), EXPORTER_REFUSED);
    assert_int_equal(send_at(fix, 0), EXPORTER_REFUSED);

    assert_int_equal(connections(fix), 1);
}

static void makes_a_new_connection_when_told_to(void **state)
{
    struct fixture *fix = *state;

    start(fix);
    assert_int_equal(send_at(fix, 0), EXPORTER_OK);
    exporter_reconnect(fix->exporter);
    assert_int_equal(send_at(fix, 0), EXPORTER_OK);
    assert_int_equal(send_at(fix, 0), EXPORTER_OK);

    assert_int_equal(connections(fix), 2);
}

/* A server by hand: it accepts and answers when a test says so. */
static int listen_by_hand(struct fixture *fix, char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(url, 64, "http://127.0.0.1:%d", ntohs(address.sin_port));
    fix->settings.url = url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_OK);
    return listener;
}

/* Starts a batch and gives the connection that it makes. */
static int start_and_accept(struct fixture *fix, const struct batch *batch, int listener)
{
    struct exporter_result result;
    int fd;

    exporter_start(fix->exporter, batch, 0, NULL);
    do
        assert_false(exporter_wait(fix->exporter, WAIT_MS, &result));
    while ((fd = accept(listener, NULL, NULL)) < 0);
    return fd;
}

static void answer_by_hand(struct fixture *fix, int fd, const char *text, enum exporter_rc rc)
{
    struct exporter_result result;

    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    while (!exporter_wait(fix->exporter, WAIT_MS, &result))
        ;
    assert_int_equal(result.rc, rc);
}

static void makes_a_new_connection_while_another_is_in_use(void **state)
{
    static const char fails[] = "HTTP/1.1 503 Why\r\nContent-Length: 0\r\n\r\n";
    struct fixture *fix = *state;
    struct batch *batch = batch_of_one(EXPORTER_PER_TYPE, &profile);
    char url[64];
    int listener = listen_by_hand(fix, url);
    int one = start_and_accept(fix, batch, listener);
    int two = start_and_accept(fix, batch, listener), three;

    answer_by_hand(fix, one, fails, EXPORTER_RETRY);
    three = start_and_accept(fix, batch, listener);

    answer_by_hand(fix, two, OK, EXPORTER_OK);
    answer_by_hand(fix, three, OK, EXPORTER_OK);
    (void)close(one);
    (void)close(two);
    (void)close(three);
    (void)close(listener);
    batch_unref(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_a_connection_for_some_minutes_only, setup, teardown),
        cmocka_unit_test_setup_teardown(
            makes_a_new_connection_after_an_answer_that_a_server_may_mend, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_the_connection_after_a_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(makes_a_new_connection_when_told_to, setup, teardown),
        cmocka_unit_test_setup_teardown(makes_a_new_connection_while_another_is_in_use, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, start_exporters, finish_exporters);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_push_meter.c - what sends came to, and what servers said, is counted and bounded. */
#include "agent/delivery/push_meter.h"
#include "tests/unit/unit_test.h"

/* A server that says what the test puts here. */
struct server {
    enum exporter_rc rc;
    struct exporter_answer answer;
    bool closed;
};

static enum exporter_rc answer(void *ctx, const struct exporter_profile *profile, int64_t now_ns,
                               struct exporter_answer *out)
{
    const struct server *server = ctx;

    (void)profile;
    (void)now_ns;
    *out = server->answer;
    return server->rc;
}

static void close_server(void *ctx)
{
    struct server *server = ctx;

    server->closed = true;
}

struct fixture {
    struct server server;
    struct delivery_sink sink;
    struct push_meter *meter;
    struct push_counts counts;
};

static void begin(struct fixture *fix)
{
    const struct delivery_sink inner = {.send = answer, .close = close_server, .ctx = &fix->server};

    *fix = (struct fixture){0};
    assert_true(push_meter_new(&inner, &fix->sink, &fix->meter));
}

static void send_one(struct fixture *fix, enum exporter_rc rc, long status)
{
    static const struct exporter_profile profile;
    struct exporter_answer got;

    fix->server.rc = rc;
    fix->server.answer.status = status;
    assert_int_equal(fix->sink.send(fix->sink.ctx, &profile, 0, &got), rc);
    assert_int_equal(got.status, status);
    push_meter_counts(fix->meter, &fix->counts);
}

static void end(struct fixture *fix)
{
    fix->sink.close(fix->sink.ctx);
    assert_true(fix->server.closed);
    push_meter_unref(fix->meter);
}

static void assert_code(const struct fixture *fix, size_t at, long code, uint64_t count)
{
    assert_true(at < fix->counts.code_count);
    assert_int_equal(fix->counts.codes[at].code, code);
    assert_int_equal(fix->counts.codes[at].count, count);
}

static void counts_outcomes_and_codes_apart(void **state)
{
    struct fixture fix;

    (void)state;
    begin(&fix);
    send_one(&fix, EXPORTER_OK, 200);
    send_one(&fix, EXPORTER_RETRY, 503);
    send_one(&fix, EXPORTER_RETRY, PUSH_CODE_NONE);
    send_one(&fix, EXPORTER_REFUSED, 400);
    send_one(&fix, EXPORTER_OK, 200);
    fix.server.answer.denied = true;
    send_one(&fix, EXPORTER_RETRY, 401);

    assert_int_equal(fix.counts.pushes[PUSH_OK], 2);
    assert_int_equal(fix.counts.pushes[PUSH_RETRY], 2);
    assert_int_equal(fix.counts.pushes[PUSH_REFUSED], 1);
    assert_int_equal(fix.counts.pushes[PUSH_DENIED], 1);
    assert_int_equal(fix.counts.code_count, 5);
    assert_code(&fix, 0, 200, 2);
    assert_code(&fix, 1, 503, 1);
    assert_code(&fix, 2, PUSH_CODE_NONE, 1);
    assert_code(&fix, 3, 400, 1);
    assert_code(&fix, 4, 401, 1);
    assert_true(fix.counts.last_ok_ns > 0);
    end(&fix);
}

static void a_server_that_makes_up_codes_is_bounded(void **state)
{
    struct fixture fix;
    long code;

    (void)state;
    begin(&fix);
    for (code = 100; code < 600; code++)
        send_one(&fix, EXPORTER_REFUSED, code);
    send_one(&fix, EXPORTER_REFUSED, 101);

    assert_int_equal(fix.counts.code_count, PUSH_CODES);
    assert_code(&fix, 0, 100, 1);
    assert_code(&fix, 1, 101, 2);
    assert_code(&fix, PUSH_CODES - 1, PUSH_CODE_OTHER, 500 - (PUSH_CODES - 1));
    end(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_outcomes_and_codes_apart),
        cmocka_unit_test(a_server_that_makes_up_codes_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

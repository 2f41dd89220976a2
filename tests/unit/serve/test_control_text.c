/* SPDX-License-Identifier: Apache-2.0 */
/* test_control_text.c - what may be asked on the control socket, and what is refused. */
#include <string.h>

#include "agent/serve/control_text.h"
#include "tests/unit/unit_test.h"

static bool reads(const char *line, struct control_request *out, struct err *err)
{
    return control_text_read(line, strlen(line), out, err);
}

static void reads_what_it_writes(void **state)
{
    static const struct control_request all[] = {
        {.kind = CONTROL_STATUS},
        {.kind = CONTROL_STATUS_JSON},
        {.kind = CONTROL_EXPORTERS},
        {.kind = CONTROL_RELOAD},
        {.kind = CONTROL_BURST, .rate_hz = 200.5, .duration_ns = 60000000000, .target = "web 1"},
    };
    char line[CONTROL_REQUEST_MAX];
    struct control_request got;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_true(control_text_write(&all[i], line));
        assert_int_equal(line[strlen(line) - 1], '\n');
        assert_true(control_text_read(line, strlen(line) - 1, &got, &err));
        assert_int_equal(got.kind, all[i].kind);
        assert_true(got.rate_hz == all[i].rate_hz);
        assert_int_equal(got.duration_ns, all[i].duration_ns);
        assert_string_equal(got.target, all[i].target);
    }
}

static void refuses_what_it_does_not_know(void **state)
{
    static const char *const bad[] = {
        "",
        "statu",
        "status xml",
        "status json ",
        "STATUS",
        "exporter",
        "exporters json",
        "burst",
        "burst ",
        "burst web",
        "burst 0.01 60000000000 web",
        "burst 1001 60000000000 web",
        "burst nan 60000000000 web",
        "burst inf 60000000000 web",
        "burst -5 60000000000 web",
        "burst 100 0 web",
        "burst 100 -1 web",
        "burst 100 86400000000001 web",
        "burst 100 99999999999999999999 web",
        "burst 100 60000000000",
        "burst 100 60000000000 ",
    };
    struct control_request got;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err.text[0] = '\0';
        if (reads(bad[i], &got, &err))
            fail_msg("taken: %s", bad[i]);
        assert_true(err.text[0] != '\0');
    }
    assert_false(control_text_read("status\0json", 11, &got, &err));
}

static void refuses_what_is_too_long(void **state)
{
    struct control_request request = {
        .kind = CONTROL_BURST, .rate_hz = 1, .duration_ns = 1, .target = "a\nreload"};
    char line[CONTROL_REQUEST_MAX * 2], out[CONTROL_REQUEST_MAX];
    struct control_request got;
    struct err err;

    (void)state;
    memset(line, 'x', sizeof(line));
    assert_false(control_text_read(line, sizeof(line), &got, &err));
    memcpy(line, "burst 1 1 ", 10);
    assert_false(control_text_read(line, 10 + CONTROL_TARGET_MAX, &got, &err));
    assert_true(control_text_read(line, 10 + CONTROL_TARGET_MAX - 1, &got, &err));
    assert_false(control_text_write(&request, out)); /* a name may not bring a second request */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(refuses_what_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

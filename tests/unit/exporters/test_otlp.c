/* SPDX-License-Identifier: Apache-2.0 */
/* test_otlp.c - how a request goes to an OTLP receiver, and what its answers mean. */
#include <stdlib.h>

#include "exporters/otlp_reply.h"
#include "exporters/unpack.h"
#include "tests/unit/exporters/http_fixture.h"
#include "tests/unit/exporters/send_profile.h"
#include "tests/unit/unit_test.h"

#define TYPE   "Content-Type: application/x-protobuf\r\n"
#define STATUS "\x08\x03\x12\x07invalid" /* google.rpc.Status */

/* "\x0a\x01x" as gzip packs it. */
static const char packed[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xe3\x62\xac\x00\x00\x8b\x94\x13\xb5\x03\x00\x00\x00";
enum { PACKED_SIZE = sizeof(packed) - 1 };

static int setup(void **state)
{
    return http_fixture_begin(state, EXPORTER_OTLP);
}

static enum exporter_rc send_one(struct fixture *fix)
{
    const struct exporter_profile profile = {.bytes = packed, .size = PACKED_SIZE};

    return send_profile(fix->exporter, &profile, 0, &fix->answer);
}

/* What comes of the answer of a server. */
static enum exporter_rc outcome_of(struct fixture *fix, int status, const char *headers,
                                   const char *body)
{
    answer_with(fix, status, headers, body);
    start(fix);
    return send_one(fix);
}

static void posts_a_request_as_it_is_to_the_path_of_profiles(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 200, "", ""), EXPORTER_OK);
    assert_true(seen(fix, "POST /v1development/profiles HTTP/1.1\r\n"));
    assert_true(seen(fix, "\r\nContent-Type: application/x-protobuf\r\n"));
    assert_true(seen(fix, "\r\nContent-Encoding: gzip\r\n"));
    assert_true(seen(fix, "\r\nUser-Agent: pystrobe/1.2.3\r\n"));
    assert_int_equal(server_body_size(fix->server.seen), PACKED_SIZE);
    assert_memory_equal(strstr(fix->server.seen, "\r\n\r\n") + 4, packed, PACKED_SIZE);
    assert_int_equal(exporter_form(fix->exporter), EXPORTER_REQUEST);
}

static void posts_plainly_to_a_whole_url_where_asked(void **state)
{
    struct fixture *fix = *state;
    char url[128];

    fix->settings.url_is_whole = true;
    fix->settings.compression = "none";
    fix->settings.gil = true;
    assert_true(server_start(&fix->server));
    (void)snprintf(url, sizeof(url), "%s/custom", fix->server.url);
    fix->settings.url = url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, NULL), EXPORTER_OK);

    assert_int_equal(send_one(fix), EXPORTER_OK);
    assert_true(seen(fix, "POST /custom HTTP/1.1\r\n"));
    assert_false(seen(fix, "Content-Encoding"));
    assert_true(seen(fix, "\r\n\r\n\x0a\x01x"));
    assert_int_equal(exporter_form(fix->exporter), EXPORTER_REQUEST_GIL);
}

/* What the protocol names, and 500, which is what a Pyroscope says while it starts. */
static void tries_again_only_what_may_pass(void **state)
{
    struct fixture *fix = *state;
    static const int again[] = {429, 500, 502, 503, 504}, final[] = {400, 404, 408, 413, 501, 505};
    size_t i;

    start(fix);
    for (i = 0; i < 11; i++) {
        answer_with(fix, i < 5 ? again[i] : final[i - 5], "", "");
        assert_int_equal(send_one(fix), i < 5 ? EXPORTER_RETRY : EXPORTER_REFUSED);
        assert_false(fix->answer.denied);
    }
}

static void a_pause_that_is_asked_for_is_handed_on(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 503, "Retry-After: 7\r\n", ""), EXPORTER_RETRY);
    assert_int_equal(fix->answer.retry_after_ns, 7000 * NS_PER_MS);
}

static void a_login_that_is_refused_waits(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 401, "", "no"), EXPORTER_RETRY);
    assert_true(fix->answer.denied);
    assert_non_null(strstr(fix->answer.err.text, "the server answered 401 (look at user"));
}

static void the_words_of_a_status_message_are_told(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 400, "", STATUS), EXPORTER_REFUSED);
    assert_string_equal(fix->answer.err.text, "the server answered 400: invalid");
}

static void the_words_of_a_text_are_told(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 400, "", "no profiles\n"), EXPORTER_REFUSED);
    assert_string_equal(fix->answer.err.text, "the server answered 400: no profiles\\x0a");
}

static void a_404_names_the_url_that_was_asked_for(void **state)
{
    struct fixture *fix = *state;
    char told[256];

    assert_int_equal(outcome_of(fix, 404, "", "404 page not found"), EXPORTER_REFUSED);
    (void)snprintf(told, sizeof(told),
                   "the server answered 404 (is there an OTLP receiver of profiles at "
                   "%s/v1development/profiles?): 404 page not found",
                   fix->server.url);
    assert_string_equal(fix->answer.err.text, told);
}

static void a_success_is_one_of_a_receiver_only(void **state)
{
    static const struct {
        const char *headers, *body;
        bool taken;
    } cases[] = {
        {TYPE, "", true},
        {"content-type: Application/Protobuf; a=b\r\n", "\x0a", true},
        {"", "", true},
        {"", "\x0a", false},
        {"Content-Type: text/html\r\n", "", false},
        {"Content-Type: text/html; charset=utf-8\r\n", "<html>Log in</html>", false},
        {"Content-Type: application/json\r\n", "{}", false},
        {"Content-Type: application/x-protobuffer\r\n", "", false},
    };
    struct fixture *fix = *state;

    start(fix);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        answer_with(fix, 200, cases[i].headers, cases[i].body);
        if (send_one(fix) != (cases[i].taken ? EXPORTER_OK : EXPORTER_RETRY) ||
            fix->answer.denied != !cases[i].taken)
            fail_msg("%zu: %s", i, fix->answer.err.text);
    }
}

static void what_came_instead_of_a_receivers_answer_is_told(void **state)
{
    struct fixture *fix = *state;
    char told[256];

    fix->settings.token.text = "our-token";
    assert_int_equal(outcome_of(fix, 200, "Content-Type: text/html; a=our-token\r\n",
                                "<html>Log in, our-token</html>"),
                     EXPORTER_RETRY);
    (void)snprintf(told, sizeof(told),
                   "the server answered 200 with text/html; a=********* (is there an OTLP receiver "
                   "of profiles at %s/v1development/profiles?): <html>Log in, *********</html>",
                   fix->server.url);
    assert_string_equal(fix->answer.err.text, told);
}

static void a_version_that_the_server_does_not_take_is_explained(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 400, "", "unsupported otlp-profiles-development-version 1"),
                     EXPORTER_REFUSED);
    assert_non_null(strstr(fix->answer.err.text, "header.OTLP-Profiles-Development-Version = "));
    assert_non_null(strstr(fix->answer.err.text, "answered 400: unsupported otlp-profiles"));
    answer_with(fix, 400, "", "unsupported version");
    assert_int_equal(send_one(fix), EXPORTER_REFUSED);
    assert_null(strstr(fix->answer.err.text, "header."));
}

static void the_end_of_a_long_text_is_told(void **state)
{
    struct fixture *fix = *state;
    char body[4096] = "first";

    memset(body + 5, '\t', sizeof(body) - 6);
    memcpy(body + sizeof(body) - 14, ": the cause\xc3\xa9", 14);

    assert_int_equal(outcome_of(fix, 400, "", body), EXPORTER_REFUSED);
    assert_memory_equal(fix->answer.err.text, "the server answered 400: first\\x09", 34);
    assert_non_null(strstr(fix->answer.err.text, "\\x09: the cause\xc3\xa9"));
}

static void what_a_server_repeats_of_secrets_is_not_told(void **state)
{
    struct fixture *fix = *state;
    const struct exporter_secret_header header = {.name = "X-Key", .value.text = "a-key-of-ours"};

    fix->settings.token.text = "our-token";
    fix->settings.proxy = "none";
    fix->settings.proxy_login.text = "user:proxy-word";
    fix->settings.secret_headers = &header;
    fix->settings.secret_header_count = 1;

    assert_int_equal(outcome_of(fix, 400, "",
                                "you sent <our-token>, 'authorization: bEARER our-token-2' and "
                                "Basic dXNlcjpwYXNz; a-key-of-ours, proxy-word; our-to"),
                     EXPORTER_REFUSED);
    assert_string_equal(fix->answer.err.text,
                        "the server answered 400: you sent <*********>, 'authorization: bEARER "
                        "***********' and Basic ************; *************, **********; ******");
}

static void what_a_success_rejects_is_counted_and_told(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 200, TYPE, "\x0a\x0c\x08\x03\x12\x08too many"), EXPORTER_OK);
    assert_int_equal(fix->answer.dropped, 3);
    assert_string_equal(fix->answer.note.text,
                        "the server rejected 3 profiles of a request: too many");
}

static void a_success_may_warn(void **state)
{
    struct fixture *fix = *state;

    assert_int_equal(outcome_of(fix, 200, TYPE, "\x0a\x06\x12\x04 old"), EXPORTER_OK);
    assert_int_equal(fix->answer.dropped, 0);
    assert_string_equal(fix->answer.note.text, "the server warns:  old");
}

static void success(const char *body, size_t size, struct otlp_reply *out)
{
    otlp_reply_success(body, size, out);
}

static void replies_that_say_nothing_are_full_successes(void **state)
{
    static const struct {
        const char *body;
        size_t size;
    } bodies[] = {{"", 0},
                  {"\x0a\x00", 2},
                  {"\x0a", 1},
                  {"{}", 2},
                  {"\xff\xff\xff", 3},
                  {"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13}}; /* -1 */
    struct otlp_reply reply;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        success(bodies[i].body, bodies[i].size, &reply);
        assert_int_equal(reply.rejected, 0);
        assert_int_equal(reply.words_size, 0);
    }
}

static void a_reply_that_is_cut_off_tells_what_is_there(void **state)
{
    struct otlp_reply reply;

    (void)state;
    success("\x0a\x7f\x08\x05\x12\x70the first", 15, &reply);
    assert_int_equal(reply.rejected, 5);
    assert_int_equal(reply.words_size, 9);
    assert_true(otlp_reply_status("\x08\x03\x12\x70words", 9, &reply));
    assert_memory_equal(reply.words, "words", 5);
}

static void texts_are_no_status(void **state)
{
    struct otlp_reply reply;

    (void)state;
    assert_false(otlp_reply_status("<html>", 6, &reply));
    assert_false(otlp_reply_status("{\"code\":3}", 10, &reply));
    assert_false(otlp_reply_status("upstream connect error", 22, &reply));
    assert_false(otlp_reply_status("", 0, &reply));
}

static void each_damaged_request_is_told_from_a_lack_of_room(void **state)
{
    char bytes[PACKED_SIZE + 1];
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, 3);
    for (i = 0; i < PACKED_SIZE; i++) {
        buf_reset(&out);
        assert_int_equal(unpack_gzip(packed, i, &out), EXPORTER_REFUSED);
    }
    memcpy(bytes, packed, PACKED_SIZE);
    bytes[PACKED_SIZE] = 'x';
    buf_reset(&out);
    assert_int_equal(unpack_gzip(bytes, PACKED_SIZE + 1, &out), EXPORTER_REFUSED);
    buf_reset(&out);
    assert_int_equal(unpack_gzip(packed, PACKED_SIZE, &out), EXPORTER_OK);
    assert_memory_equal(out.data, "\x0a\x01x", 3);
    assert_int_equal(unpack_gzip(packed, PACKED_SIZE, &out), EXPORTER_NOMEM); /* no room twice */
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(posts_a_request_as_it_is_to_the_path_of_profiles, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(posts_plainly_to_a_whole_url_where_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(tries_again_only_what_may_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pause_that_is_asked_for_is_handed_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_login_that_is_refused_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(the_words_of_a_status_message_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(the_words_of_a_text_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_404_names_the_url_that_was_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_success_is_one_of_a_receiver_only, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_instead_of_a_receivers_answer_is_told, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_version_that_the_server_does_not_take_is_explained, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_long_text_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_server_repeats_of_secrets_is_not_told, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_a_success_rejects_is_counted_and_told, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_success_may_warn, setup, teardown),
        cmocka_unit_test(replies_that_say_nothing_are_full_successes),
        cmocka_unit_test(a_reply_that_is_cut_off_tells_what_is_there),
        cmocka_unit_test(texts_are_no_status),
        cmocka_unit_test(each_damaged_request_is_told_from_a_lack_of_room),
    };

    return cmocka_run_group_tests(tests, start_exporters, finish_exporters);
}

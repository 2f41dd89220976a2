/* SPDX-License-Identifier: Apache-2.0 */
/* test_pyroscope.c - what the exporter sends to a server, and that no server can harm it. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "exporters/http/curl_api.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/exporters/http_fixture.h"
#include "tests/unit/exporters/send_profile.h"
#include "tests/unit/unit_test.h"

static int setup(void **state)
{
    return http_fixture_begin(state, EXPORTER_PYROSCOPE);
}

static enum exporter_rc send_bytes(struct fixture *fix, const void *bytes, size_t size)
{
    struct label label = {"env", "prod"};
    struct exporter_profile profile = {
        .service = "demo",
        .type = "cpu",
        .labels = &label,
        .label_count = 1,
        .bytes = bytes,
        .size = size,
    };
    enum exporter_rc rc;

    rc = send_profile(fix->exporter, &profile, 0, &fix->answer);
    fix->err = fix->answer.err;
    return rc;
}

static enum exporter_rc send_one(struct fixture *fix)
{
    return send_bytes(fix, "\x1f\x8b\x00", 3);
}

static void expect_error(const struct fixture *fix, const char *part)
{
    if (!strstr(fix->err.text, part))
        assert_string_equal(fix->err.text, part); /* shows both */
}

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_secret(struct fixture *fix, const char *text, mode_t mode)
{
    FILE *file;
    int fd;

    if (!fix->secret[0]) {
        (void)snprintf(fix->secret, sizeof(fix->secret), "/tmp/test_secret.XXXXXX");
        fd = mkstemp(fix->secret);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    file = fopen(fix->secret, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(fix->secret, mode), 0);
}

static CURLcode (*set_option_of_today)(CURL *easy, CURLoption option, ...);

/* libcurl 7.76, which Enterprise Linux 9 has: options that came later are unknown to it. */
static CURLcode set_option_of_7_76(CURL *easy, CURLoption option, ...)
{
    enum { NEWEST = 308, STEP = 10000 };
    va_list list;
    void *value;

    if (option % STEP > NEWEST)
        return CURLE_UNKNOWN_OPTION;
    va_start(list, option);
    value = va_arg(list, void *); /* all that an option takes is as large */
    va_end(list);
    return set_option_of_today(easy, option, value);
}

static void works_with_an_older_libcurl(void **state)
{
    struct fixture *fix = *state;

    assert_true(curl_api_load(NULL));
    set_option_of_today = libcurl.easy_setopt;
    libcurl.easy_setopt = set_option_of_7_76;
    start(fix);
    libcurl.easy_setopt = set_option_of_today;

    assert_int_equal(send_one(fix), EXPORTER_OK);
}

static void posts_the_message_with_its_headers(void **state)
{
    struct fixture *fix = *state;
    const struct label headers[] = {{"X-One", "1"}, {"X-None", ""}};
    const char *body;

    fix->settings.tenant = "team-a";
    fix->settings.headers = headers;
    fix->settings.header_count = 2;
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_int_equal(strncmp(request(fix), "POST /push.v1.PusherService/Push HTTP/1.1\r\n", 43), 0);
    assert_true(seen(fix, "\r\nContent-Type: application/proto\r\n"));
    assert_true(seen(fix, "\r\nUser-Agent: pystrobe/1.2.3\r\n"));
    assert_true(seen(fix, "\r\nX-Scope-OrgID: team-a\r\n"));
    assert_true(seen(fix, "\r\nX-One: 1\r\n"));
    assert_true(seen(fix, "\r\nX-None:\r\n"));
    assert_false(seen(fix, "Authorization"));
    assert_false(seen(fix, "Expect:"));
    body = strstr(request(fix), "\r\n\r\n") + 4;
    assert_int_equal((unsigned char)body[0], 0x0a); /* a series, as test_push.c has it in full */
    assert_non_null(memmem(body, server_body_size(request(fix)), "process_cpu", 11));
    assert_non_null(memmem(body, server_body_size(request(fix)), "\x1f\x8b\x00", 3));
}

static void keeps_the_path_of_the_url(void **state)
{
    struct fixture *fix = *state;
    char url[128];

    assert_true(server_start(&fix->server));
    (void)snprintf(url, sizeof(url), "%s/pyroscope//", fix->server.url);
    fix->settings.url = url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, NULL), EXPORTER_OK);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_int_equal(
        strncmp(request(fix), "POST /pyroscope/push.v1.PusherService/Push HTTP/1.1\r\n", 53), 0);
}

static void keeps_the_connection(void **state)
{
    struct fixture *fix = *state;

    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_OK);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_int_equal(atomic_load(&fix->server.requests), 2);
    assert_int_equal(atomic_load(&fix->server.connections), 1);
}

static void takes_each_status_for_what_it_means(void **state)
{
    static const struct {
        int status;
        enum exporter_rc wanted;
    } cases[] = {
        {200, EXPORTER_OK},      {204, EXPORTER_OK},      {301, EXPORTER_REFUSED},
        {304, EXPORTER_REFUSED}, {400, EXPORTER_REFUSED}, {401, EXPORTER_RETRY},
        {403, EXPORTER_RETRY},   {404, EXPORTER_REFUSED}, {405, EXPORTER_REFUSED},
        {408, EXPORTER_RETRY},   {409, EXPORTER_REFUSED}, {413, EXPORTER_REFUSED},
        {415, EXPORTER_REFUSED}, {422, EXPORTER_REFUSED}, {429, EXPORTER_RETRY},
        {499, EXPORTER_REFUSED}, {500, EXPORTER_RETRY},   {501, EXPORTER_REFUSED},
        {502, EXPORTER_RETRY},   {503, EXPORTER_RETRY},   {504, EXPORTER_RETRY},
        {505, EXPORTER_REFUSED}, {599, EXPORTER_REFUSED}, {999, EXPORTER_REFUSED},
    };
    struct fixture *fix = *state;
    char said[32];

    start(fix);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        answer_with(fix, cases[i].status, "Connection: close\r\n", "");
        (void)snprintf(said, sizeof(said), "answered %d", cases[i].status);
        if (send_one(fix) != cases[i].wanted)
            fail_msg("status %d: %s", cases[i].status, fix->err.text);
        if (cases[i].wanted != EXPORTER_OK)
            expect_error(fix, said);
    }
}

static void takes_200_for_success_if_it_is_a_pyroscopes(void **state)
{
    static const struct {
        const char *headers, *body;
        bool pushed, ingested; /* whether it stands for success */
    } cases[] = {
        {"", "", true, true},
        {"Content-Type: application/proto\r\n", "", true, true},
        {"Content-Type: application/proto\r\nContent-Encoding: gzip\r\n", "\x1f\x8b", true, false},
        {"Content-Type: text/html\r\n", "", false, false},
        {"Content-Type: text/html\r\n", "<html>Log in</html>", false, false},
        {"", "<html>Log in</html>", false, false},
        {"Content-Type: application/json\r\n", "{}", false, false},
    };
    struct fixture *fix = *state;
    struct exporter *old = NULL;

    start(fix);
    fix->settings.legacy = "ingest";
    assert_int_equal(exporter_open(&fix->settings, &old, &fix->err), EXPORTER_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct exporter *push = fix->exporter;
        enum exporter_rc pushed, ingested;
        char headers[128];

        (void)snprintf(headers, sizeof(headers), "Connection: close\r\n%s", cases[i].headers);
        answer_with(fix, 200, headers, cases[i].body);
        pushed = send_one(fix);
        fix->exporter = old;
        ingested = send_one(fix);
        fix->exporter = push;
        if (pushed != (cases[i].pushed ? EXPORTER_OK : EXPORTER_RETRY) ||
            ingested != (cases[i].ingested ? EXPORTER_OK : EXPORTER_RETRY) ||
            fix->answer.denied != !cases[i].ingested)
            fail_msg("%zu: push %d, ingest %d: %s", i, pushed, ingested, fix->err.text);
    }
    exporter_close(old);
}

static void tells_what_the_server_said(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 45\r\n\r\n"
                             "{\"code\":\"invalid_argument\",\"message\":\"\x1b[2J\r\"}";
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_REFUSED);

    assert_string_equal(fix->err.text, "the server answered 400: {\"code\":\"invalid_argument\","
                                       "\"message\":\"\\x1b[2J\\x0d\"}");
}

static void passes_over_an_interim_answer(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                             "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "answered 503");
}

static void follows_no_redirect_and_shows_no_other_server_its_secret(void **state)
{
    struct fixture *fix = *state;
    struct server other = {.answers = {OK}};
    char location[128];

    assert_true(server_start(&other));
    (void)snprintf(location, sizeof(location), "Location: %s/x\r\n", other.url);
    answer_with(fix, 307, location, "");
    write_secret(fix, "the-token\n", 0600);
    fix->settings.token.file = fix->secret;
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_REFUSED);
    server_stop(&other);

    expect_error(fix, "redirects are not followed");
    assert_true(seen(fix, "\r\nAuthorization: Bearer the-token\r\n"));
    assert_int_equal(atomic_load(&other.connections), 0);
}

static void logs_in_with_user_and_password(void **state)
{
    struct fixture *fix = *state;

    write_secret(fix, "open sesame \t\r\nsecond line\n", 0640);
    fix->settings.user = "Aladdin";
    fix->settings.password.file = fix->secret;
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_true(seen(fix, "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
}

static void reads_a_renewed_secret_when_refused(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";
    fix->server.answers[1] = OK;
    write_secret(fix, "old\n", 0600);
    fix->settings.token.file = fix->secret;
    start(fix);
    write_secret(fix, "new\n", 0600);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_int_equal(atomic_load(&fix->server.requests), 2);
    assert_true(seen(fix, "\r\nAuthorization: Bearer new\r\n"));
}

static void waits_when_the_secret_is_the_same(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    write_secret(fix, "old\n", 0600);
    fix->settings.token.file = fix->secret;
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_true(fix->answer.denied);

    assert_int_equal(atomic_load(&fix->server.requests), 1);
    expect_error(fix, "token_file");
}

static void waits_when_the_renewed_secret_is_refused_too(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";
    write_secret(fix, "old\n", 0600);
    fix->settings.token.file = fix->secret;
    start(fix);
    write_secret(fix, "new\n", 0600);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_true(fix->answer.denied);
    assert_int_equal(atomic_load(&fix->server.requests), 2);
}

static void passes_on_how_long_the_server_wants_to_be_left_alone(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 429 No\r\nretry-after: 9\r\nContent-Length: 0\r\n\r\n";
    fix->server.answers[1] = "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_int_equal(fix->answer.retry_after_ns, UINT64_C(9000000000));
    assert_false(fix->answer.denied);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_int_equal(fix->answer.retry_after_ns, 0);
}

static void sends_headers_and_tokens_that_are_secrets(void **state)
{
    struct fixture *fix = *state;
    struct exporter_secret_header headers[] = {{.name = "X-One", .value.text = "first-secret"},
                                               {.name = "X-Two"}};

    write_secret(fix, "second-secret\n", 0600);
    headers[1].value.file = fix->secret;
    fix->settings.secret_headers = headers;
    fix->settings.secret_header_count = 2;
    fix->settings.token.text = "from-the-environment";
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_true(seen(fix, "\r\nX-One: first-secret\r\n"));
    assert_true(seen(fix, "\r\nX-Two: second-secret\r\n"));
    assert_true(seen(fix, "\r\nAuthorization: Bearer from-the-environment\r\n"));
}

static void reads_a_renewed_header_when_refused(void **state)
{
    struct fixture *fix = *state;
    struct exporter_secret_header header = {.name = "X-Key", .value.file = fix->secret};

    fix->server.answers[0] = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    fix->server.answers[1] = OK;
    write_secret(fix, "old\n", 0600);
    fix->settings.secret_headers = &header;
    fix->settings.secret_header_count = 1;
    start(fix);
    write_secret(fix, "new\n", 0600);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_true(seen(fix, "\r\nX-Key: new\r\n"));
}

static void goes_through_a_proxy_with_its_own_login(void **state)
{
    struct fixture *fix = *state;

    assert_true(server_start(&fix->server));
    fix->settings.url = "http://pyroscope.invalid:4040";
    fix->settings.proxy = fix->server.url;
    fix->settings.proxy_login.text = "ala:ddin:open";
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_OK);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_true(
        seen(fix, "POST http://pyroscope.invalid:4040/push.v1.PusherService/Push HTTP/1.1"));
    assert_true(seen(fix, "\r\nProxy-Authorization: Basic YWxhOmRkaW46b3Blbg==\r\n"));
}

static void waits_for_a_login_that_the_proxy_wants(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_true(fix->answer.denied);
    expect_error(fix, "proxy_login_file");
}

static void posts_to_ingest_where_there_is_no_push(void **state)
{
    struct fixture *fix = *state;

    fix->settings.legacy = "ingest";
    start(fix);
    assert_int_equal(send_one(fix), EXPORTER_OK);

    assert_true(
        seen(fix, "POST /ingest?name=demo%7Benv%3Dprod%7D&from=0&until=0&spyName=pystrobe"));
    assert_true(seen(fix, "\r\nContent-Type: multipart/form-data; boundary=pystrobe-"));
    assert_true(seen(fix, "name=\"profile\""));
}

/* 422 is all that such a server says, also when its storage is down. */
static void tries_again_what_an_old_server_calls_unprocessable(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n";
    fix->settings.legacy = "ingest";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_false(fix->answer.denied);
}

/* Sends once; true if the connection was there before the time was up. */
static bool times_out_when_connected(struct fixture *fix, const void *bytes, size_t size)
{
    const double before = seconds();

    assert_int_equal(send_bytes(fix, bytes, size), EXPORTER_RETRY);
    assert_true(seconds() - before > 0.15);
    return !fix->answer.unsent;
}

/* Gives up after a timeout of 0.2 s, whatever the server does. */
static void expect_timeout(struct fixture *fix, const void *bytes, size_t size)
{
    fix->settings.timeout_ns = 200 * NS_PER_MS;
    start(fix);
    AWAIT(times_out_when_connected(fix, bytes, size));

    expect_error(fix, "timed out");
}

static void waits_no_longer_than_told_for_a_silent_server(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_IS_SILENT;
    expect_timeout(fix, "x", 1);
}

static void waits_no_longer_than_told_for_a_server_that_reads_nothing(void **state)
{
    struct fixture *fix = *state;
    size_t size = 24 * 1024 * 1024; /* more than the sockets hold */
    char *bytes = calloc(1, size);

    assert_non_null(bytes);
    fix->server.mode = SERVER_READS_NONE;
    expect_timeout(fix, bytes, size);
    free(bytes);
}

static void waits_no_longer_than_told_for_endless_interim_answers(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_NEVER_ENDS;
    fix->server.answers[0] = fix->server.filler = "HTTP/1.1 102 Processing\r\n\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY); /* their bytes count as headers */
    expect_error(fix, "64 KiB");
}

static void tries_again_after_a_reset(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_RESETS;
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_true(fix->err.text[0] != '\0');
    assert_false(fix->answer.unsent);
}

static void tries_again_when_nobody_listens(void **state)
{
    struct fixture *fix = *state;

    start(fix);
    server_stop(&fix->server);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);

    expect_error(fix, "is a server running there"); /* libcurl's own words differ by version */
    assert_true(fix->answer.unsent);
    fix->server.url[0] = '\0'; /* stopped already */
}

static void lets_the_status_decide_over_an_endless_body(void **state)
{
    struct fixture *fix = *state;
    static char filler[4097];

    memset(filler, 'y', sizeof(filler) - 1);
    fix->server.mode = SERVER_NEVER_ENDS;
    fix->server.filler = filler;
    fix->server.answers[0] = "HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\nno, ";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_REFUSED);
    expect_error(fix, "answered 400: no, yyy");
}

static void takes_200_with_an_endless_body_as_taken(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_NEVER_ENDS;
    fix->server.filler = "0123456789abcdef0123456789abcdef";
    fix->server.answers[0] = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"
                             "Connection: close\r\n\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_OK);
}

static void ends_endless_headers(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_NEVER_ENDS;
    fix->server.answers[0] = "HTTP/1.1 200 OK\r\n";
    fix->server.filler = "X-Filler: 0123456789abcdef0123456789abcdef\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "64 KiB");
}

static void ends_a_header_line_without_an_end(void **state)
{
    struct fixture *fix = *state;

    fix->server.mode = SERVER_NEVER_ENDS;
    fix->server.answers[0] = "HTTP/1.1 200 OK\r\nX: ";
    fix->server.filler = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "header line without an end");
}

static void unpacks_no_compressed_answer(void **state)
{
    struct fixture *fix = *state;

    /* The start of a gzip stream; unpacked or not, it must not be looked into. */
    fix->server.answers[0] = "HTTP/1.1 503 No\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n"
                             "Connection: close\r\n\r\n\x1f\x8b\x08\x01";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "answered 503: \\x1f\\x8b\\x08\\x01");
    assert_false(seen(fix, "Accept-Encoding"));
}

static void takes_200_with_a_body_cut_short_as_taken(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"
                             "Content-Length: 100\r\nConnection: close\r\n\r\nshort";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_OK);
}

static void tries_again_after_headers_cut_short(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
}

static void tries_again_after_what_is_not_http(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "SSH-2.0-OpenSSH_9.2p1\r\nConnection: close\r\n";
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
}

static void works_again_when_the_server_does(void **state)
{
    struct fixture *fix = *state;

    fix->server.answers[0] = "HTTP/1.1 503 No\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
    fix->server.answers[1] = OK;
    start(fix);

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    assert_int_equal(send_one(fix), EXPORTER_OK);
}

static void *cancel_soon(void *ctx)
{
    (void)usleep(100 * 1000);
    exporter_cancel(ctx);
    return NULL;
}

static void ends_at_once_when_canceled(void **state)
{
    struct fixture *fix = *state;
    pthread_t thread;

    fix->server.mode = SERVER_IS_SILENT;
    fix->settings.timeout_ns = 10 * HANG_LIMIT_NS; /* whoever waits for it hangs */
    start(fix);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, fix->exporter), 0);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    (void)pthread_join(thread, NULL);

    assert_int_equal(send_one(fix), EXPORTER_RETRY); /* and so do all later ones */
    expect_error(fix, "given up");
}

static void refuses_to_open_without_a_url(void **state)
{
    struct fixture *fix = *state;

    fix->settings.url = "";
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_BAD_CONFIG);
    expect_error(fix, "url: is not set");
}

static void refuses_headers_that_cannot_work(void **state)
{
    static const struct label headers[] = {
        {"", "x"},
        {"a b", "x"},
        {"a:", "x"},
        {"X-A", "x\r\nY: z"},
        {"Content-Type", "x"},
        {"transfer-encoding", "x"},
        {"Expect", ""},
        {"X\n", "x"},
    };
    struct fixture *fix = *state;

    fix->settings.url = "http://127.0.0.1:1";
    fix->settings.header_count = 1;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        fix->settings.headers = &headers[i];
        if (exporter_open(&fix->settings, &fix->exporter, &fix->err) != EXPORTER_BAD_CONFIG)
            fail_msg("%s", headers[i].name);
        expect_error(fix, "header.");
    }
}

static void expect_not_opened(struct fixture *fix, enum exporter_rc rc, const char *part)
{
    fix->settings.url = "http://127.0.0.1:1";
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), rc);
    expect_error(fix, part);
}

static void expect_bad_config(struct fixture *fix, const char *part)
{
    expect_not_opened(fix, EXPORTER_BAD_CONFIG, part);
}

/* What is wrong is a file that the settings name, and may be mended without them. */
static void expect_unfit(struct fixture *fix, const char *part)
{
    expect_not_opened(fix, EXPORTER_RETRY, part);
}

static void refuses_two_ways_to_log_in(void **state)
{
    struct fixture *fix = *state;

    fix->settings.user = "a";
    expect_bad_config(fix, "user: needs password_file");
    fix->settings.token.file = "b";
    expect_bad_config(fix, "only one way");
    fix->settings.token.file = NULL;
    fix->settings.password.file = "b";
    fix->settings.user = "a:b";
    expect_bad_config(fix, "no colon");
    fix->settings.user = NULL;
    expect_bad_config(fix, "password_file: needs user");
}

static void refuses_secrets_that_everybody_may_read(void **state)
{
    struct fixture *fix = *state;

    write_secret(fix, "the-secret\n", 0644);
    fix->settings.token.file = fix->secret;
    expect_unfit(fix, "chmod o-r");
    assert_null(strstr(fix->err.text, "the-secret"));
}

static void refuses_secrets_that_are_none(void **state)
{
    struct fixture *fix = *state;

    fix->settings.token.file = "/tmp/there-is-no-such-file";
    expect_unfit(fix, "No such file");
    fix->settings.token.file = "/dev/null";
    expect_unfit(fix, "not a regular file");
    write_secret(fix, " \t\nsecond\n", 0600);
    fix->settings.token.file = fix->secret;
    expect_unfit(fix, "nothing in its first line");
    write_secret(fix,
                 "a\x01"
                 "b",
                 0600);
    expect_unfit(fix, "control character");
    assert_int_equal(truncate(fix->secret, 64 * 1024 + 1), 0);
    expect_unfit(fix, "larger than 64 KiB");
}

static void refuses_logins_and_client_keys_that_cannot_work(void **state)
{
    struct fixture *fix = *state;

    fix->settings.proxy = "none";
    fix->settings.proxy_login.text = "nocolon";
    expect_bad_config(fix, "must be USER:PASSWORD");
    assert_null(strstr(fix->err.text, "nocolon"));
    fix->settings.user = "u"; /* a file that is awaited does not hide it */
    fix->settings.password.file = "/tmp/there-is-no-such-file";
    fix->settings.may_wait = true;
    expect_bad_config(fix, "must be USER:PASSWORD");
    fix->settings.user = fix->settings.password.file = NULL;
    fix->settings.may_wait = false;
    fix->settings.proxy_login.text = NULL;
    fix->settings.token.text = "a\x01z";
    expect_bad_config(fix, "token");
    fix->settings.token.text = NULL;
    write_secret(fix, "key\n", 0644);
    fix->settings.key_file = fix->secret;
    expect_bad_config(fix, "key_file: needs cert_file");
    fix->settings.cert_file = fix->secret;
    expect_unfit(fix, "chmod o-r");
}

static void refuses_a_ca_file_that_is_not_there(void **state)
{
    struct fixture *fix = *state;

    fix->settings.ca_file = "/tmp/there-is-no-such-file";
    expect_unfit(fix, "ca_file: ");
}

static void refuses_a_ca_file_without_a_certificate(void **state)
{
    struct fixture *fix = *state;

    write_secret(fix, "-----BEGIN PRIVATE KEY-----\n", 0600);
    fix->settings.ca_file = fix->secret;
    expect_unfit(fix, "holds no certificate in PEM");
}

static void remove_secret(const struct fixture *fix)
{
    assert_int_equal(unlink(fix->secret), 0);
}

/* Nothing goes to the server without the secret. */
static void sends_once_the_secret_is_there_if_it_may_wait(void **state)
{
    const struct exporter_secret_header header = {"X-Key", {.file = NULL}};
    struct exporter_secret_header headers[] = {header};
    struct fixture *fix = *state;

    write_secret(fix, "", 0600);
    remove_secret(fix);
    headers[0].value.file = fix->settings.token.file = fix->secret;
    fix->settings.secret_headers = headers;
    fix->settings.secret_header_count = 1;
    fix->settings.may_wait = true;
    assert_true(server_start(&fix->server));
    fix->settings.url = fix->server.url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_OK);
    expect_error(fix, "No such file");

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "No such file");
    write_secret(fix, "late-one\n", 0644);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "chmod o-r");
    assert_int_equal(atomic_load(&fix->server.requests), 0);

    write_secret(fix, "late-one\n", 0600);
    assert_int_equal(send_one(fix), EXPORTER_OK);
    assert_true(seen(fix, "\r\nAuthorization: Bearer late-one\r\n"));
    assert_true(seen(fix, "\r\nX-Key: late-one\r\n"));
}

static void sends_once_certificates_are_there_if_it_may_wait(void **state)
{
    struct fixture *fix = *state;

    write_secret(fix, "", 0600);
    remove_secret(fix);
    fix->settings.ca_file = fix->secret;
    fix->settings.may_wait = true;
    assert_true(server_start(&fix->server));
    fix->settings.url = fix->server.url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_OK);
    expect_error(fix, "ca_file: ");

    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "ca_file: ");
    assert_int_equal(atomic_load(&fix->server.requests), 0);
    write_secret(fix, "text", 0600);
    assert_int_equal(send_one(fix), EXPORTER_RETRY);
    expect_error(fix, "holds no certificate");
    /* Nobody reads more of it: the server speaks no TLS. */
    write_secret(fix, "-----BEGIN CERTIFICATE-----\n", 0600);
    assert_int_equal(send_one(fix), EXPORTER_OK);
}

static void wants_each_type_on_its_own(void **state)
{
    struct fixture *fix = *state;

    fix->settings.url = "https://127.0.0.1:1/base";
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, NULL), EXPORTER_OK);

    assert_int_equal(exporter_form(fix->exporter), EXPORTER_PER_TYPE_LIMITED);
}

static void opens_or_says_why_when_an_allocation_fails(void **state)
{
    struct fixture *fix = *state;
    enum exporter_rc rc = EXPORTER_NOMEM;

    write_secret(fix, "token\n", 0600);
    fix->settings.token.file = fix->secret;
    fix->settings.tenant = "team-a";
    fix->settings.url = "http://127.0.0.1:1";
    for (unsigned long n = 1; rc != EXPORTER_OK; n++) {
        assert_null(fix->exporter);
        alloc_fail_at(n);
        rc = exporter_open(&fix->settings, &fix->exporter, NULL);
        if (alloc_fail_stop() < n)
            assert_int_equal(rc, EXPORTER_OK); /* none did */
        assert_true(n < 1000);
    }
}

int main(void)
{
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(posts_the_message_with_its_headers),
        WITH_SERVER(keeps_the_path_of_the_url),
        WITH_SERVER(works_with_an_older_libcurl),
        WITH_SERVER(keeps_the_connection),
        WITH_SERVER(takes_each_status_for_what_it_means),
        WITH_SERVER(takes_200_for_success_if_it_is_a_pyroscopes),
        WITH_SERVER(tells_what_the_server_said),
        WITH_SERVER(passes_over_an_interim_answer),
        WITH_SERVER(follows_no_redirect_and_shows_no_other_server_its_secret),
        WITH_SERVER(logs_in_with_user_and_password),
        WITH_SERVER(reads_a_renewed_secret_when_refused),
        WITH_SERVER(waits_when_the_secret_is_the_same),
        WITH_SERVER(waits_when_the_renewed_secret_is_refused_too),
        WITH_SERVER(sends_headers_and_tokens_that_are_secrets),
        WITH_SERVER(reads_a_renewed_header_when_refused),
        WITH_SERVER(goes_through_a_proxy_with_its_own_login),
        WITH_SERVER(waits_for_a_login_that_the_proxy_wants),
        WITH_SERVER(posts_to_ingest_where_there_is_no_push),
        WITH_SERVER(tries_again_what_an_old_server_calls_unprocessable),
        WITH_SERVER(passes_on_how_long_the_server_wants_to_be_left_alone),
        WITH_SERVER(waits_no_longer_than_told_for_a_silent_server),
        WITH_SERVER(waits_no_longer_than_told_for_a_server_that_reads_nothing),
        WITH_SERVER(waits_no_longer_than_told_for_endless_interim_answers),
        WITH_SERVER(tries_again_after_a_reset),
        WITH_SERVER(tries_again_when_nobody_listens),
        WITH_SERVER(lets_the_status_decide_over_an_endless_body),
        WITH_SERVER(takes_200_with_an_endless_body_as_taken),
        WITH_SERVER(ends_endless_headers),
        WITH_SERVER(ends_a_header_line_without_an_end),
        WITH_SERVER(unpacks_no_compressed_answer),
        WITH_SERVER(takes_200_with_a_body_cut_short_as_taken),
        WITH_SERVER(tries_again_after_headers_cut_short),
        WITH_SERVER(tries_again_after_what_is_not_http),
        WITH_SERVER(works_again_when_the_server_does),
        WITH_SERVER(ends_at_once_when_canceled),
        WITH_SERVER(refuses_to_open_without_a_url),
        WITH_SERVER(refuses_headers_that_cannot_work),
        WITH_SERVER(refuses_two_ways_to_log_in),
        WITH_SERVER(refuses_secrets_that_everybody_may_read),
        WITH_SERVER(refuses_secrets_that_are_none),
        WITH_SERVER(refuses_logins_and_client_keys_that_cannot_work),
        WITH_SERVER(refuses_a_ca_file_that_is_not_there),
        WITH_SERVER(refuses_a_ca_file_without_a_certificate),
        WITH_SERVER(sends_once_the_secret_is_there_if_it_may_wait),
        WITH_SERVER(sends_once_certificates_are_there_if_it_may_wait),
        WITH_SERVER(wants_each_type_on_its_own),
        WITH_SERVER(opens_or_says_why_when_an_allocation_fails),
    };

    return cmocka_run_group_tests(tests, start_exporters, finish_exporters);
}

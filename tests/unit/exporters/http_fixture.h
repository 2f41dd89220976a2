/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_fixture.h - an exporter and the server that it sends to.
 *
 * Shape: start_exporters and finish_exporters around the group; http_fixture_begin in a test's
 *        setup; settings as the test likes; start, exporter_send; teardown.
 */
#ifndef TESTS_UNIT_EXPORTERS_HTTP_FIXTURE_H
#define TESTS_UNIT_EXPORTERS_HTTP_FIXTURE_H

#include "exporters/exporter.h"
#include "tests/unit/exporters/http_server.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

struct fixture {
    struct server server;
    struct exporter_settings settings;
    struct exporter *exporter;
    struct err err;
    struct exporter_answer answer;
    char text[5120]; /* an answer that a test has composed: the server may look at it until it ends
                      */
    char secret[64]; /* the path of its file */
};

/* Gives *state; ended by teardown. */
static inline int http_fixture_begin(void **state, enum exporter_type_id type)
{
    struct fixture *fix = calloc(1, sizeof(*fix));

    assert_non_null(fix);
    fix->server.answers[0] = OK;
    fix->settings = (struct exporter_settings){
        .name = "remote",
        .type = &exporter_types[type],
        .timeout_ns = HANG_LIMIT_NS, /* of a server that answers, which is far sooner */
        .user_agent = "pystrobe/1.2.3",
    };
    *state = fix;
    hang_limit_begin();
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fix = *state;

    hang_limit_end();
    exporter_close(fix->exporter);
    if (fix->server.url[0])
        server_stop(&fix->server);
    if (fix->secret[0])
        (void)unlink(fix->secret);
    free(fix);
    return 0;
}

/* Starts the server and opens the exporter. */
static inline void start(struct fixture *fix)
{
    assert_true(server_start(&fix->server));
    if (!fix->settings.url)
        fix->settings.url = fix->server.url;
    assert_int_equal(exporter_open(&fix->settings, &fix->exporter, &fix->err), EXPORTER_OK);
}

/* Has the server answer this from now on. `body` has no zero byte. */
static inline void answer_with(struct fixture *fix, int status, const char *headers,
                               const char *body)
{
    server_lock(&fix->server);
    (void)snprintf(fix->text, sizeof(fix->text),
                   "HTTP/1.1 %d Why\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
                   strlen(body), body);
    fix->server.answers[0] = fix->text;
    server_unlock(&fix->server);
}

/* The last request, once it has been answered. */
static inline const char *request(struct fixture *fix)
{
    server_lock(&fix->server);
    server_unlock(&fix->server);
    return fix->server.seen;
}

static inline bool seen(struct fixture *fix, const char *part)
{
    return strcasestr(request(fix), part) != NULL;
}

/* Setup and teardown of a group of tests: what exporters need once a process. */
static inline int start_exporters(void **state)
{
    (void)state;
    return exporter_global_init(NULL) == EXPORTER_OK ? 0 : -1;
}

static inline int finish_exporters(void **state)
{
    (void)state;
    exporter_global_finish();
    return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* test_grpc.c - how a call is framed, and what its answers say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/grpc.h"
#include "tests/unit/unit_test.h"

/* "\x0a\x01x" as gzip packs it. */
static const char packed[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xe3\x62\xac\x00\x00\x8b\x94\x13\xb5\x03\x00\x00\x00";

/* A reply, and room for its trailers, which change in their places. */
struct answer {
    struct http_reply reply;
    struct buf body;
    char words[256];
};

static long complete(struct answer *out, const char *status, const char *words, const void *body,
                     size_t size)
{
    *out = (struct answer){.reply = {.status = 200, .type = "application/grpc"}};
    buf_init(&out->body, HTTP_REPLY_MAX);
    buf_add(&out->body, body, size);
    out->reply.trailers[0] = (char *)(uintptr_t)status;
    if (words) {
        (void)snprintf(out->words, sizeof(out->words), "%s", words);
        out->reply.trailers[1] = out->words;
    }
    return grpc_trailed.complete(&out->reply, &out->body);
}

static void a_message_stands_behind_its_size(void **state)
{
    unsigned char big[0x010203] = {0};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_MAX);
    grpc_begin(true, &out);
    buf_add(&out, big, sizeof(big));
    grpc_end(&out);
    assert_false(buf_failed(&out));
    assert_int_equal(out.size, 5 + sizeof(big));
    assert_memory_equal(out.data, "\x01\x00\x01\x02\x03", 5);

    buf_reset(&out);
    grpc_begin(false, &out);
    grpc_end(&out);
    assert_memory_equal(out.data, "\x00\x00\x00\x00\x00", 5);
    buf_finish(&out);

    buf_init(&out, 3); /* no room for the head */
    grpc_begin(false, &out);
    grpc_end(&out);
    assert_true(buf_failed(&out));
    buf_finish(&out);
}

static const char *header(const struct grpc_headers *headers, const char *name)
{
    for (size_t i = 0; i < headers->count; i++)
        if (strcmp(headers->items[i].name, name) == 0)
            return headers->items[i].value;
    return NULL;
}

static void a_call_says_how_long_it_may_take_and_how_it_is_packed(void **state)
{
    struct grpc_headers headers;

    (void)state;
    grpc_headers(2500 * NS_PER_MS, true, &headers);
    assert_string_equal(header(&headers, "TE"), "trailers");
    assert_string_equal(header(&headers, "grpc-timeout"), "2500m");
    assert_string_equal(header(&headers, "grpc-encoding"), "gzip");
    grpc_headers(1, false, &headers);
    assert_string_equal(header(&headers, "grpc-timeout"), "1m");
    assert_null(header(&headers, "grpc-encoding"));
}

static void each_status_has_its_name_and_what_means_the_same_in_http(void **state)
{
    struct answer answer;

    (void)state;
    assert_int_equal(complete(&answer, "0", NULL, "", 0), 200);
    assert_int_equal(grpc_code(&answer.reply), GRPC_OK);
    assert_int_equal(complete(&answer, "14", NULL, "", 0), 503);
    assert_string_equal(grpc_code_name(grpc_code(&answer.reply)), "UNAVAILABLE");
    assert_int_equal(complete(&answer, "16", NULL, "", 0), 401);
    assert_int_equal(complete(&answer, "12", NULL, "", 0), 404);
    assert_int_equal(complete(&answer, "8", NULL, "", 0), 429);
}

static void a_status_that_is_none_is_unknown(void **state)
{
    static const char *const bad[] = {"", "17", "-1", "0x", " 0", "99999999999999999999", "OK"};
    struct answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(complete(&answer, bad[i], NULL, "", 0), 500);
        assert_int_equal(grpc_code(&answer.reply), GRPC_UNKNOWN);
    }
}

static void an_answer_without_its_status_is_not_complete(void **state)
{
    struct answer answer;

    (void)state;
    assert_int_equal(complete(&answer, NULL, NULL, "\x00\x00\x00\x00\x00", 5), 0);
    assert_false(grpc_is_reply(&answer.reply));
    buf_finish(&answer.body);
}

static void what_another_server_answers_stays(void **state)
{
    struct http_reply reply = {.status = 200, .type = "text/html"};
    struct buf body;

    (void)state;
    buf_init(&body, 100);
    buf_add(&body, "<html>", 6);
    assert_int_equal(grpc_trailed.complete(&reply, &body), 200);
    assert_false(grpc_is_reply(&reply));
    (void)snprintf(reply.type, sizeof(reply.type), "application/grpc-web");
    assert_false(grpc_is_reply(&reply));
    reply = (struct http_reply){.status = 502, .type = "application/grpc"};
    assert_int_equal(grpc_trailed.complete(&reply, &body), 502);
    assert_int_equal(body.size, 6);
    buf_finish(&body);
}

static void a_body_becomes_its_message(void **state)
{
    char framed[5 + sizeof(packed) - 1] = {1, 0, 0, 0, sizeof(packed) - 1};
    struct answer answer;

    (void)state;
    (void)complete(&answer, "0", NULL, "\x00\x00\x00\x00\x03\x0a\x01x", 8);
    assert_int_equal(answer.body.size, 3);
    assert_memory_equal(answer.body.data, "\x0a\x01x", 3);
    buf_finish(&answer.body);

    memcpy(framed + 5, packed, sizeof(packed) - 1);
    (void)complete(&answer, "0", NULL, framed, sizeof(framed));
    assert_int_equal(answer.body.size, 3);
    assert_memory_equal(answer.body.data, "\x0a\x01x", 3);
    buf_finish(&answer.body);
}

static void a_message_that_is_damaged_says_nothing(void **state)
{
    struct answer answer;

    (void)state;
    (void)complete(&answer, "0", NULL, "\x00\x00", 2);
    assert_int_equal(answer.body.size, 0);
    buf_finish(&answer.body);
    (void)complete(&answer, "0", NULL, "\x01\x00\x00\x00\x03zip", 8);
    assert_int_equal(answer.body.size, 0);
    buf_finish(&answer.body);
    (void)complete(&answer, "0", NULL,
                   "\x00\xff\xff\xff\xff"
                   "ab",
                   7); /* its beginning was kept */
    assert_int_equal(answer.body.size, 2);
    buf_finish(&answer.body);
}

static void words_are_decoded(void **state)
{
    struct answer answer;

    (void)state;
    (void)complete(&answer, "3", "gr%C3%bc%C3%9f 100% %zz %00 %", "", 0);
    assert_string_equal(grpc_words(&answer.reply), "gr\xc3\xbc\xc3\x9f 100% %zz %00 %");
    (void)complete(&answer, "3", NULL, "", 0);
    assert_string_equal(grpc_words(&answer.reply), "");
}

/* google.rpc.Status {3: Any {1: type, 2: RetryInfo {1: Duration}}}, in base64. */
static void the_pause_that_is_asked_for_is_read(void **state)
{
    static const struct {
        const char *details;
        bool has_info;
        uint64_t pause_ns;
    } cases[] = {
        /* 3.5 s, without padding; behind another detail */
        {"CA4aFwoVdHlwZS5nb29nbGVhcGlzLmNvbS94GjYKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRy"
         "eUluZm8SCgoICAMQgMq17gE",
         true, 3500 * NS_PER_MS},
        /* no Duration, no value */
        {"GioKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8=", true, 0},
        {"", false, 0},
        {"!!!!", false, 0},
        {"CA4=", false, 0},
        {"GioKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZ", false, 0}, /* cut */
    };
    struct http_reply reply = {.status = 200};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t pause_ns = 0;

        reply.trailers[2] = (char *)(uintptr_t)cases[i].details;
        if (grpc_retry_info(&reply, &pause_ns) != cases[i].has_info ||
            pause_ns != cases[i].pause_ns)
            fail_msg("%zu: %llu", i, (unsigned long long)pause_ns);
    }
    reply.trailers[2] = NULL;
    assert_false(grpc_retry_info(&reply, &(uint64_t){0}));
}

static void a_pause_is_at_most_the_longest(void **state)
{
    static char details[] = /* 2^62 s */
        "CA4aOAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIMCgoIgICAgICAgIBA";
    static char negative[] = /* -1 s */
        "CA4aOQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxINCgsI////////////AQ==";
    struct http_reply reply = {.status = 200, .trailers = {NULL, NULL, details}};
    uint64_t pause_ns = 0;

    (void)state;
    assert_true(grpc_retry_info(&reply, &pause_ns));
    assert_int_equal(pause_ns, EXPORTER_RETRY_AFTER_MAX_NS);
    reply.trailers[2] = negative;
    assert_true(grpc_retry_info(&reply, &pause_ns));
    assert_int_equal(pause_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_stands_behind_its_size),
        cmocka_unit_test(a_call_says_how_long_it_may_take_and_how_it_is_packed),
        cmocka_unit_test(each_status_has_its_name_and_what_means_the_same_in_http),
        cmocka_unit_test(a_status_that_is_none_is_unknown),
        cmocka_unit_test(an_answer_without_its_status_is_not_complete),
        cmocka_unit_test(what_another_server_answers_stays),
        cmocka_unit_test(a_body_becomes_its_message),
        cmocka_unit_test(a_message_that_is_damaged_says_nothing),
        cmocka_unit_test(words_are_decoded),
        cmocka_unit_test(the_pause_that_is_asked_for_is_read),
        cmocka_unit_test(a_pause_is_at_most_the_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

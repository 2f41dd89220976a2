/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipc_channel.c - messages arrive whole and in order, nobody waits, and no lie is believed. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/child/ipc_channel.h"
#include "tests/unit/unit_test.h"

struct pair {
    struct ipc_channel a, b;
};

/* What has come. */
struct got {
    size_t count, bytes;
    uint32_t last_kind;
    unsigned char last_byte;
    size_t stop_after; /* 0: never */
};

static void pair_init(struct pair *pair)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ipc_channel_init(&pair->a, fds[0]);
    ipc_channel_init(&pair->b, fds[1]);
}

static void pair_finish(struct pair *pair)
{
    ipc_channel_finish(&pair->a);
    ipc_channel_finish(&pair->b);
}

static bool count(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct got *got = ctx;

    got->count++;
    got->bytes += size;
    got->last_kind = kind;
    got->last_byte = size ? ((const unsigned char *)bytes)[size - 1] : 0;
    return got->count != got->stop_after;
}

static void messages_come_whole_and_in_order(void **state)
{
    struct got got = {0};
    struct pair pair;

    (void)state;
    pair_init(&pair);

    assert_int_equal(ipc_channel_send(&pair.a, 7, "abc", 3, "de", 2), IPC_CHANNEL_OK);
    assert_int_equal(ipc_channel_send(&pair.a, 8, NULL, 0, NULL, 0), IPC_CHANNEL_OK);
    assert_int_equal(ipc_channel_send(&pair.a, 9, "x", 1, NULL, 0), IPC_CHANNEL_OK);
    assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_OK);

    assert_int_equal(got.count, 3);
    assert_int_equal(got.bytes, 6);
    assert_int_equal(got.last_kind, 9);
    assert_int_equal(got.last_byte, 'x');
    pair_finish(&pair);
}

static void what_follows_a_stop_is_kept(void **state)
{
    struct got got = {.stop_after = 1};
    struct pair pair;

    (void)state;
    pair_init(&pair);
    assert_int_equal(ipc_channel_send(&pair.a, 1, "a", 1, NULL, 0), IPC_CHANNEL_OK);
    assert_int_equal(ipc_channel_send(&pair.a, 2, "b", 1, NULL, 0), IPC_CHANNEL_OK);

    assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_OK);
    assert_int_equal(got.count, 1);
    got.stop_after = 0;
    assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_OK);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.last_kind, 2);
    pair_finish(&pair);
}

static void a_reader_that_sleeps_holds_nobody_up(void **state)
{
    static unsigned char big[1 << 20];
    struct got got = {0};
    struct pair pair;
    size_t turns = 0;

    (void)state;
    pair_init(&pair);
    memset(big, 'z', sizeof(big));

    assert_int_equal(ipc_channel_send(&pair.a, 1, big, sizeof(big), NULL, 0), IPC_CHANNEL_OK);
    assert_int_equal(ipc_channel_send(&pair.a, 2, big, sizeof(big), "y", 1), IPC_CHANNEL_OK);
    assert_true(ipc_channel_has_unsent(&pair.a));
    while (got.count < 2 && turns++ < 1000) {
        assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_OK);
        assert_int_equal(ipc_channel_flush(&pair.a), IPC_CHANNEL_OK);
    }

    assert_int_equal(got.count, 2);
    assert_int_equal(got.bytes, 2 * sizeof(big) + 1);
    assert_int_equal(got.last_byte, 'y');
    assert_false(ipc_channel_has_unsent(&pair.a));
    pair_finish(&pair);
}

static void a_reader_that_never_reads_is_given_up(void **state)
{
    static unsigned char big[1 << 20];
    enum ipc_channel_rc rc = IPC_CHANNEL_OK;
    struct pair pair;
    size_t i;

    (void)state;
    pair_init(&pair);
    for (i = 0; rc == IPC_CHANNEL_OK && i < 100; i++)
        rc = ipc_channel_send(&pair.a, 1, big, sizeof(big), NULL, 0);
    assert_int_equal(rc, IPC_CHANNEL_BROKEN);
    assert_true(i * sizeof(big) <= IPC_CHANNEL_OUT_MAX + 2 * sizeof(big));
    pair_finish(&pair);
}

static void too_long_a_message_is_not_sent(void **state)
{
    static unsigned char big[IPC_CHANNEL_MESSAGE_MAX];
    struct pair pair;

    (void)state;
    pair_init(&pair);
    assert_int_equal(ipc_channel_send(&pair.a, 1, big, sizeof(big), "x", 1), IPC_CHANNEL_BROKEN);
    pair_finish(&pair);
}

static void a_length_that_lies_breaks_the_link(void **state)
{
    const uint32_t head[2] = {1, IPC_CHANNEL_MESSAGE_MAX + 1};
    struct got got = {0};
    struct pair pair;

    (void)state;
    pair_init(&pair);
    assert_int_equal(send(pair.a.fd, head, sizeof(head), 0), sizeof(head));
    assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_BROKEN);
    assert_int_equal(got.count, 0);
    pair_finish(&pair);
}

static void parts_of_a_message_wait_for_the_rest(void **state)
{
    const unsigned char bytes[] = {5, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'};
    struct got got = {0};
    struct pair pair;
    size_t i;

    (void)state;
    pair_init(&pair);
    for (i = 0; i < sizeof(bytes); i++) {
        assert_int_equal(got.count, 0);
        assert_int_equal(send(pair.a.fd, &bytes[i], 1, 0), 1);
        assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_OK);
    }
    assert_int_equal(got.count, 1);
    assert_int_equal(got.last_byte, 'b');
    pair_finish(&pair);
}

static void an_end_is_told_behind_the_last_message(void **state)
{
    struct got got = {0};
    struct pair pair;

    (void)state;
    pair_init(&pair);
    assert_int_equal(ipc_channel_send(&pair.a, 3, "bye", 3, NULL, 0), IPC_CHANNEL_OK);
    ipc_channel_finish(&pair.a);

    assert_int_equal(ipc_channel_receive(&pair.b, count, &got), IPC_CHANNEL_CLOSED);
    assert_int_equal(got.count, 1);
    assert_int_equal(ipc_channel_send(&pair.b, 1, "x", 1, NULL, 0), IPC_CHANNEL_CLOSED);
    pair_finish(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_and_in_order),
        cmocka_unit_test(what_follows_a_stop_is_kept),
        cmocka_unit_test(a_reader_that_sleeps_holds_nobody_up),
        cmocka_unit_test(a_reader_that_never_reads_is_given_up),
        cmocka_unit_test(too_long_a_message_is_not_sent),
        cmocka_unit_test(a_length_that_lies_breaks_the_link),
        cmocka_unit_test(parts_of_a_message_wait_for_the_rest),
        cmocka_unit_test(an_end_is_told_behind_the_last_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

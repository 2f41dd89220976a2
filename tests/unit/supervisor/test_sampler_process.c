/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler_process.c - the first report of a sampler: which build it is. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/supervisor/sampler_process.h"
#include "tests/unit/unit_test.h"

/* A sampler whose end of the channel is ours, and what was heard of it. */
struct fixture {
    struct sampler_process sampler;
    struct ipc_channel other;
    struct err why;
    unsigned other_builds, ended;
};

static void hear_other_build(void *ctx, const struct err *why)
{
    struct fixture *f = ctx;

    f->other_builds++;
    f->why = *why;
}

static void hear_ended(void *ctx, struct proc_id id)
{
    struct fixture *f = ctx;

    (void)id;
    f->ended++;
}

static struct fixture fixture;

static int set_up(void **state)
{
    int sockets[2];

    fixture = (struct fixture){.other_builds = 0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    ipc_channel_init(&fixture.sampler.child.channel, sockets[0]);
    ipc_channel_init(&fixture.other, sockets[1]);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ipc_channel_finish(&f->other);
    ipc_channel_finish(&f->sampler.child.channel);
    return 0;
}

static void send_build(struct fixture *f, const char *id)
{
    struct report_build message = {""};

    memcpy(message.id, id, strlen(id) + 1);
    assert_int_equal(ipc_channel_send(&f->other, REPORT_BUILD, &message, sizeof(message), NULL, 0),
                     IPC_CHANNEL_OK);
}

static void send_ended(struct fixture *f)
{
    struct proc_id id;

    memset(&id, 0, sizeof(id)); /* padding, too */
    id.pid = 70;
    id.start = 5;
    assert_int_equal(ipc_channel_send(&f->other, REPORT_ENDED, &id, sizeof(id), NULL, 0),
                     IPC_CHANNEL_OK);
}

static bool receive(struct fixture *f)
{
    static const struct sampler_process_callbacks callbacks = {.other_build = hear_other_build,
                                                               .ended = hear_ended};

    return sampler_process_receive(&f->sampler, NULL, 1, &callbacks, f);
}

static void reads_the_reports_of_a_sampler_of_its_own_build(void **state)
{
    struct fixture *f = *state;
    char id[BUILD_ID_MAX];

    build_id(id);
    send_build(f, id);
    send_ended(f);

    assert_true(receive(f));
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->other_builds, 0);
}

static void reads_nothing_of_a_sampler_of_another_build_and_names_both(void **state)
{
    struct fixture *f = *state;
    char id[BUILD_ID_MAX];

    build_id(id);
    send_build(f, "0123456789abcdef");
    send_ended(f);

    assert_false(receive(f));
    assert_int_equal(f->ended, 0);
    assert_int_equal(f->other_builds, 1);
    assert_non_null(strstr(f->why.text, "build 0123456789abcdef"));
    assert_non_null(strstr(f->why.text, id));
    assert_non_null(strstr(f->why.text, "Restart the agent"));
}

static void reads_nothing_of_a_sampler_that_does_not_say_its_build(void **state)
{
    struct fixture *f = *state;

    send_ended(f);

    assert_false(receive(f));
    assert_int_equal(f->ended, 0);
    assert_int_equal(f->other_builds, 1);
}

static void refuses_a_second_first_report(void **state)
{
    struct fixture *f = *state;
    char id[BUILD_ID_MAX];

    build_id(id);
    send_build(f, id);
    send_build(f, id);

    assert_false(receive(f));
    assert_int_equal(f->other_builds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_the_reports_of_a_sampler_of_its_own_build, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_nothing_of_a_sampler_of_another_build_and_names_both,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_nothing_of_a_sampler_that_does_not_say_its_build,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_a_second_first_report, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_child_report.c - what one sampler has counted of a process is told to the one that samples
 * its parent. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/supervisor/connected_sampler.h"

enum { PARENT = 70, CHILD = 71 };

/* A supervisor with two samplers, of which the first samples PARENT; `others` are their ends. */
struct fixture {
    struct supervisor supervisor;
    struct ipc_channel others[2];
};

struct heard {
    size_t count;
    uint32_t kind;
    struct process_end child;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const struct target_profile profile = {.rate_hz = 19};
    struct assignment *parent;

    assert_non_null(f);
    for (size_t i = 0; i < 2; i++)
        connect_sampler(&f->supervisor.samplers[i], &f->others[i]);
    parent = assignments_add(&f->supervisor.assignments, (struct proc_id){PARENT, 5}, &profile,
                             &f->supervisor.samplers[0], &f->supervisor.samplers[1]);
    assert_non_null(parent);
    parent->sampling = true;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        ipc_channel_finish(&f->others[i]);
        ipc_channel_finish(&f->supervisor.samplers[i].child.channel);
    }
    assignments_finish(&f->supervisor.assignments);
    free(f);
    return 0;
}

static bool hear(void *ctx, uint32_t kind, const void *bytes, size_t size)
{
    struct heard *heard = ctx;

    heard->count++;
    heard->kind = kind;
    return ipc_read(&heard->child, sizeof(heard->child), bytes, size);
}

/* What the samplers get when one of them reports a child of `parent`. */
static struct heard report(struct fixture *f, size_t by, pid_t parent)
{
    struct process_end child;
    struct heard heard = {0};

    memset(&child, 0, sizeof(child));
    child.id = (struct proc_id){CHILD, 6};
    child.parent = parent;
    child.cpu_ns = 123;
    f->supervisor.reporting_sampler = &f->supervisor.samplers[by];
    supervisor_tell_parent(&f->supervisor, &child);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ipc_channel_receive(&f->others[i], hear, &heard), IPC_CHANNEL_OK);
    return heard;
}

static void tells_the_sampler_of_the_parent(void **state)
{
    const struct heard heard = report(*state, 1, PARENT);

    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.kind, IPC_CHILD);
    assert_int_equal(heard.child.id.pid, CHILD);
    assert_int_equal(heard.child.parent, PARENT);
    assert_int_equal(heard.child.cpu_ns, 123);
}

static void tells_nobody_what_he_knows(void **state)
{
    assert_int_equal(report(*state, 0, PARENT).count, 0);
}

static void tells_nobody_of_a_parent_that_is_not_sampled(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(report(f, 1, PARENT + 5).count, 0);
    f->supervisor.assignments.items[0].sampling = false;
    assert_int_equal(report(f, 1, PARENT).count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_the_sampler_of_the_parent),
        TEST(tells_nobody_what_he_knows),
        TEST(tells_nobody_of_a_parent_that_is_not_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

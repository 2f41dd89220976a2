/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine.c - what keeps an engine from sampling a process is told by its right name. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/file_limit.h"
#include "agent/sampling/engine_internal.h"
#include "base/proc_stat.h"
#include "tests/images/image.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"

static const char image[] = "tests/golden/unwind/3.15.2-debian.img";

static void ignore_began(void *ctx, struct proc_id id, const char *version)
{
    (void)ctx;
    (void)id;
    (void)version;
}

/* An engine that is told what to sample. */
static struct engine *start_engine(void)
{
    static const struct engine_callbacks callbacks = {.began = ignore_began};
    struct engine_settings settings = {.callbacks = &callbacks};
    struct engine *e;

    (void)sigemptyset(&settings.signals);
    e = engine_new(&settings);
    assert_non_null(e);
    return e;
}

/* Has it sample this very process, which an image stands in for. `start` is added to when it
 * started; `is_short`: there are no descriptors left. */
static enum cpy_rc start_sampling(struct engine *e, uint64_t start, bool is_short)
{
    const struct target_profile profile = {.service = "shop", .rate_hz = 10};
    struct cpy_target *opened = NULL;
    struct err err = {""};
    struct proc_stat stat;
    struct rlimit before;
    enum cpy_rc rc;

    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    if (image_open_target(image, &opened, &err) != CPY_OK)
        fail_msg("%s", err.text);
    if (is_short)
        before = descriptors_forbid();
    rc = engine_start(e, (struct proc_id){getpid(), stat.start + start}, &profile, opened);
    if (is_short)
        descriptors_allow(before);
    return rc;
}

static void a_process_that_is_there_is_sampled(void **state)
{
    struct engine *e = start_engine();

    (void)state;
    assert_int_equal(start_sampling(e, 0, false), CPY_OK);
    assert_int_equal(e->stats.sampling, 1);
    engine_free(e);
}

static void another_one_with_its_number_is_not_it(void **state)
{
    struct engine *e = start_engine();

    (void)state;
    assert_int_equal(start_sampling(e, 1, false), CPY_GONE);
    assert_int_equal(e->stats.sampling, 0);
    engine_free(e);
}

static void a_lack_of_descriptors_does_not_mean_that_it_is_gone(void **state)
{
    struct engine *e = start_engine();

    (void)state;
    assert_int_equal(start_sampling(e, 0, true), CPY_NOMEM);
    assert_int_equal(e->stats.sampling, 0);
    engine_free(e);
}

static pid_t put_off_pid;
static enum cpy_rc put_off_rc;
static struct err put_off_why;

static void slows_a_target_that_costs_more_than_its_share(void **state)
{
    struct engine *e = start_engine();
    struct target *t;

    (void)state;
    assert_int_equal(start_sampling(e, 0, false), CPY_OK);
    t = e->sampling[0];
    sampling_cost_add(&t->cost, 100 * NS_PER_MS, 0, 100, t->tick.period_ns);
    engine_share(e, t->profile.owner, 5e6); /* 5 ms a second: 5 samples, where 10 are asked for */
    assert_int_equal(ticks_period(&t->tick), NS_PER_S / 5);
    engine_share(e, t->profile.owner, 0);
    assert_int_equal(ticks_period(&t->tick), NS_PER_S);
    engine_share(e, t->profile.owner, 20e6);
    assert_int_equal(ticks_period(&t->tick), NS_PER_S / 10);
    engine_share(e, t->profile.owner + 1, 1e6); /* of another */
    assert_int_equal(ticks_period(&t->tick), NS_PER_S / 10);
    engine_share(e, t->profile.owner, INFINITY);
    assert_int_equal(ticks_period(&t->tick), NS_PER_S / 10);
    engine_free(e);
}

static void note_put_off(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    (void)ctx;
    put_off_pid = id.pid;
    put_off_rc = rc;
    put_off_why = *err;
}

static void leaves_descriptors_to_those_that_are_sampled(void **state)
{
    static const struct engine_callbacks callbacks = {.began = ignore_began,
                                                      .put_off = note_put_off};
    const struct target_profile profile = {.service = "shop", .rate_hz = 10};
    struct engine_settings settings = {.callbacks = &callbacks};
    struct rlimit before, few;
    struct engine *e;

    (void)state;
    (void)sigemptyset(&settings.signals);
    e = engine_new(&settings);
    assert_non_null(e);
    assert_int_equal(start_sampling(e, 0, false), CPY_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few =
        (struct rlimit){.rlim_cur = file_limit_used(e->epoll_fd) + 8, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    engine_take(e, (struct proc_id){getppid(), 0}, &profile);
    descriptors_allow(before);
    assert_int_equal(put_off_pid, getppid());
    assert_int_equal(put_off_rc, CPY_NOMEM);
    assert_non_null(strstr(put_off_why.text, ": no file descriptors left: "));
    assert_non_null(strstr(put_off_why.text, ", with 1 process sampled"));
    assert_int_equal(e->stats.sampling, 1);
    engine_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_there_is_sampled),
        cmocka_unit_test(another_one_with_its_number_is_not_it),
        cmocka_unit_test(a_lack_of_descriptors_does_not_mean_that_it_is_gone),
        cmocka_unit_test(slows_a_target_that_costs_more_than_its_share),
        cmocka_unit_test(leaves_descriptors_to_those_that_are_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_on_demand.c - the profile of one process is not of other services. */
#include "agent/serve/on_demand.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/supervisor/supervisor_internal.h"
#include "tests/unit/unit_test.h"

#define SHOP_PERIOD_NS (50 * NS_PER_MS)
#define MAIL_PERIOD_NS (1 * NS_PER_MS)

/* A supervisor without samplers, and a request. */
struct fixture {
    struct supervisor supervisor;
    struct on_demand *on_demand;
    struct on_demand_request request;
    struct on_demand_answer answer;
    enum on_demand_rc rc;
    atomic_bool stop, done;
};

static struct service *add_service(struct fixture *f, const char *name, uint64_t period_ns)
{
    struct service *service = services_get(&f->supervisor.services, name, 1, 2);

    assert_non_null(service);
    service->period_ns = period_ns;
    return service;
}

/* This process is one of shop; mail is sampled more often. */
static int set_up(void **state)
{
    const struct target_profile profile = {.service = "shop", .rate_hz = 20};
    struct fixture *f = calloc(1, sizeof(*f));
    struct proc_stat stat;

    assert_non_null(f);
    *state = f;
    f->on_demand = on_demand_new(SIGURG); /* which does nothing */
    assert_non_null(f->on_demand);
    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    assert_non_null(assignments_add(
        &f->supervisor.assignments, (struct proc_id){getpid(), stat.start}, &profile,
        &f->supervisor.samplers[0], &f->supervisor.samplers[QUARANTINE_SAMPLER]));
    (void)add_service(f, "mail", MAIL_PERIOD_NS);
    (void)add_service(f, "shop", SHOP_PERIOD_NS);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    pprof_free(f->answer.profile);
    on_demand_free(f->on_demand);
    assignments_finish(&f->supervisor.assignments);
    services_finish(&f->supervisor.services);
    free(f);
    return 0;
}

static void *ask(void *ctx)
{
    struct fixture *f = ctx;

    f->rc = on_demand_ask(f->on_demand, &f->request, &f->stop, &f->answer);
    atomic_store(&f->done, true);
    return NULL;
}

/* Each service gets a sample of this process, if it is its own, or of another one. */
static void add_samples(struct fixture *f)
{
    static const int64_t sample[VALUES] = {[VALUE_SAMPLES] = 1};
    struct service_tag tag = {.split = SPLIT_PROCESS};
    struct service *service;

    for (service = f->supervisor.services.first; service; service = service->next) {
        tag.pid = service->name[0] == 's' ? getpid() : 1;
        pprof_add(service->profile, service_class_row(service, CPU_NATIVE, NULL, &tag), sample);
    }
}

/* Asks for a target, and does what the main loop does. */
static void pull(struct fixture *f, const char *target)
{
    static const struct conf conf;
    pthread_t thread;

    (void)snprintf(f->request.target, sizeof(f->request.target), "%s", target);
    f->request.duration_ns = 1;
    assert_int_equal(pthread_create(&thread, NULL, ask, f), 0);
    while (!atomic_load(&f->done)) {
        add_samples(f);
        on_demand_step(f->on_demand, &f->supervisor, &conf);
        (void)usleep(1000);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(f->rc, ON_DEMAND_OK);
    assert_true(pprof_total(f->answer.profile, VALUE_SAMPLES) > 0);
}

static void has_the_period_of_the_service_of_a_process(void **state)
{
    struct fixture *f = *state;
    char number[16];

    (void)snprintf(number, sizeof(number), "%d", (int)getpid());
    pull(f, number);
    assert_int_equal(f->answer.period_ns, SHOP_PERIOD_NS);
}

static void has_the_period_of_a_service(void **state)
{
    struct fixture *f = *state;

    pull(f, "shop");
    assert_int_equal(f->answer.period_ns, SHOP_PERIOD_NS);
}

static void has_the_shortest_period_of_all_services(void **state)
{
    struct fixture *f = *state;

    pull(f, "");
    assert_int_equal(f->answer.period_ns, MAIL_PERIOD_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(has_the_period_of_the_service_of_a_process),
        TEST(has_the_period_of_a_service),
        TEST(has_the_shortest_period_of_all_services),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

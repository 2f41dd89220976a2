/* SPDX-License-Identifier: Apache-2.0 */
/* test_service.c - a thread's stack becomes one row, told apart as finely as was asked. */
#include <stdio.h>
#include <string.h>

#include "agent/sampling/service.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

static const struct cpy_code leaf = {1, "Shop.sell", "/srv/shop.py", 10};
static const struct cpy_code root = {2, "<module>", "/srv/shop.py", 1};
static const struct cpy_frame frames[] = {{.code = &leaf, .line = 12}, {.code = &root, .line = 30}};

enum { PID = 4711, TID = 4712 };

#define TAG(of, finely) (&(const struct service_tag){.pid = (of), .split = (finely)})

static struct cpy_thread thread_of(const char *name, pid_t tid)
{
    return (struct cpy_thread){.tid = tid, .name = name, .depth = 2, .frames = frames};
}

static int set_up(void **state)
{
    static struct services services;

    services = (struct services){0};
    *state = &services;
    return services_get(&services, "shop", 1000, 2000) == NULL;
}

static int tear_down(void **state)
{
    services_finish(*state);
    return 0;
}

static struct service *service_in(void **state)
{
    struct services *services = *state;

    return services_get(services, "shop", 5, 6);
}

/* The row that the profile itself gives for the same stack and labels. */
static uint32_t row_with(struct pprof *profile, const struct pprof_label *labels, size_t count)
{
    uint32_t function, locations[2], stack, row;

    assert_int_equal(pprof_function(profile, "Shop.sell", "/srv/shop.py", 10, &function), PPROF_OK);
    assert_int_equal(pprof_location(profile, function, 12, 0, &locations[0]), PPROF_OK);
    assert_int_equal(pprof_function(profile, "<module>", "/srv/shop.py", 1, &function), PPROF_OK);
    assert_int_equal(pprof_location(profile, function, 30, 0, &locations[1]), PPROF_OK);
    assert_int_equal(pprof_stack(profile, locations, 2, &stack), PPROF_OK);
    assert_int_equal(pprof_row(profile, stack, labels, count, &row), PPROF_OK);
    return row;
}

static void makes_a_service_once(void **state)
{
    struct services *services = *state;
    struct service *shop = services_get(services, "shop", 5, 6);
    const struct service *other = services_get(services, "other", 7, 8);

    assert_string_equal(shop->name, "shop");
    assert_int_equal(shop->start_utc_ns, 1000);
    assert_int_equal(shop->start_ns, 2000);
    assert_ptr_not_equal(shop, other);
    assert_ptr_equal(services_get(services, "other", 9, 9), other);
    assert_int_equal(services->count, 2);
}

static void puts_all_into_one_row_without_a_split(void **state)
{
    struct service *service = service_in(state);
    struct cpy_thread a = thread_of("a", TID), b = thread_of("b", TID + 1);
    uint32_t row = service_row(service, &a, TAG(PID, SPLIT_NONE));

    assert_int_equal(service_row(service, &b, TAG(PID + 1, SPLIT_NONE)), row);
    assert_int_equal(row_with(service->profile, NULL, 0), row);
}

static void tells_processes_apart(void **state)
{
    const struct pprof_label labels[] = {{.key = "pid", .num = PID}};
    struct service *service = service_in(state);
    struct cpy_thread a = thread_of("a", TID), b = thread_of("b", TID + 1);
    uint32_t row = service_row(service, &a, TAG(PID, SPLIT_PROCESS));

    assert_int_equal(service_row(service, &b, TAG(PID, SPLIT_PROCESS)), row);
    assert_int_not_equal(service_row(service, &a, TAG(PID + 1, SPLIT_PROCESS)), row);
    assert_int_equal(row_with(service->profile, labels, 1), row);
}

static void tells_threads_apart(void **state)
{
    const struct pprof_label labels[] = {{.key = "pid", .num = PID},
                                         {.key = "thread id", .num = TID},
                                         {.key = "thread name", .str = "a"}};
    struct service *service = service_in(state);
    struct cpy_thread a = thread_of("a", TID), b = thread_of("a", TID + 1);
    uint32_t row = service_row(service, &a, TAG(PID, SPLIT_THREAD));

    assert_int_equal(service_row(service, &a, TAG(PID, SPLIT_THREAD)), row);
    assert_int_not_equal(service_row(service, &b, TAG(PID, SPLIT_THREAD)), row);
    assert_int_equal(row_with(service->profile, labels, 3), row);
}

static void leaves_out_labels_that_are_not_known(void **state)
{
    const struct pprof_label labels[] = {{.key = "pid", .num = PID}};
    struct service *service = service_in(state);
    struct cpy_thread unknown = thread_of(NULL, 0);

    assert_int_equal(service_row(service, &unknown, TAG(PID, SPLIT_THREAD)),
                     row_with(service->profile, labels, 1));
}

static void tells_a_cut_stack_from_a_whole_one(void **state)
{
    struct service *service = service_in(state);
    struct cpy_thread whole = thread_of(NULL, TID), cut = whole;

    cut.cut = true;
    assert_int_not_equal(service_row(service, &whole, TAG(PID, SPLIT_NONE)),
                         service_row(service, &cut, TAG(PID, SPLIT_NONE)));
}

/* A Pyroscope loses samples without a frame. */
static void gives_a_thread_without_frames_one(void **state)
{
    struct service *service = service_in(state);
    const struct cpy_thread thread = {.tid = TID};
    uint32_t function, location, stack, row, got;

    got = service_row(service, &thread, TAG(PID, SPLIT_NONE));

    assert_int_equal(pprof_function(service->profile, "<native>", "~", 0, &function), PPROF_OK);
    assert_int_equal(pprof_location(service->profile, function, 0, 0, &location), PPROF_OK);
    assert_int_equal(pprof_stack(service->profile, &location, 1, &stack), PPROF_OK);
    assert_int_equal(pprof_row(service->profile, stack, NULL, 0, &row), PPROF_OK);
    assert_int_equal(got, row);
}

static void takes_the_deepest_stack_there_is(void **state)
{
    static struct cpy_frame deep[CPY_DEPTH_MAX];
    struct service *service = service_in(state);
    struct cpy_thread thread = {.depth = CPY_DEPTH_MAX, .frames = deep, .cut = true};

    for (size_t i = 0; i < CPY_DEPTH_MAX; i++)
        deep[i] = frames[i % 2];
    assert_int_not_equal(service_row(service, &thread, TAG(PID, SPLIT_NONE)),
                         service->overflow_row);
    assert_int_equal(service->overflow, 0);
}

static void has_a_row_for_unseen_time_of_each_process(void **state)
{
    struct service *service = service_in(state);
    uint32_t row = service_class_row(service, CPU_BETWEEN, NULL, TAG(PID, SPLIT_PROCESS));

    assert_int_equal(service_class_row(service, CPU_BETWEEN, NULL, TAG(PID, SPLIT_NONE)),
                     service->unseen_row);
    assert_int_not_equal(row, service->unseen_row);
    assert_int_equal(service_class_row(service, CPU_BETWEEN, NULL, TAG(PID, SPLIT_THREAD)), row);
    assert_int_not_equal(service_class_row(service, CPU_BETWEEN, NULL, TAG(PID + 1, SPLIT_PROCESS)),
                         row);
    assert_int_not_equal(service->unseen_row, service->overflow_row);
}

static void gives_the_overflow_row_where_there_is_no_room(void **state)
{
    struct service *service = service_in(state);
    struct cpy_thread thread = thread_of("a", TID);
    struct pprof *whole = service->profile;
    uint32_t row = 0;

    /* A profile that has room for what service_begin makes and little more. */
    assert_int_equal(pprof_new(service_types, VALUES, 64 << 10, &service->profile), PPROF_OK);
    pprof_free(whole);
    assert_true(service_begin(service, 1, 2));
    for (pid_t pid = 1; service->overflow == 0; pid++) {
        row = service_row(service, &thread, TAG(pid, SPLIT_PROCESS));
        assert_true(pid < 1000000);
    }
    assert_int_equal(row, service->overflow_row);
    assert_int_equal(service_row(service, &thread, TAG(2000000, SPLIT_PROCESS)),
                     service->overflow_row);
    assert_int_equal(service->overflow, 2);
    assert_int_not_equal(service_row(service, &thread, TAG(1, SPLIT_PROCESS)),
                         service->overflow_row);
}

static void begins_a_new_interval_empty(void **state)
{
    struct service *service = service_in(state);
    struct cpy_thread thread = thread_of("a", TID);
    const int64_t values[VALUES] = {1, 2, 3, 4, 5};

    pprof_add(service->profile, service_row(service, &thread, TAG(PID, SPLIT_NONE)), values);
    assert_int_equal(pprof_total(service->profile, VALUE_CPU), 3);
    service->overflow = 9;
    assert_true(service_begin(service, 11, 12));

    assert_int_equal(pprof_total(service->profile, VALUE_CPU), 0);
    assert_int_equal(service->start_utc_ns, 11);
    assert_int_equal(service->start_ns, 12);
    assert_int_equal(service->overflow, 0);
}

/* A process that calls itself by the name of another one's service spends its own share. */
static void is_of_the_owner_who_adds_most(void **state)
{
    struct service *service = service_in(state);

    service_set_owner(service, 7, 0);
    assert_int_equal(service->owner, 7);
    service_set_owner(service, 0, 900); /* not known */
    service_set_owner(service, 9, 500);
    service_set_owner(service, 7, 400);
    assert_int_equal(service->owner, 9);
    assert_true(service_begin(service, 1, 2));
    service_set_owner(service, 7, 300);
    assert_int_equal(service->owner, 7);
}

static void fails_cleanly_without_memory(void **state)
{
    struct services *services = *state;
    unsigned long n, seen;
    struct service *made = NULL;

    for (n = 1; !made; n++) {
        alloc_fail_at(n);
        made = services_get(services, "new", 1, 2);
        seen = alloc_fail_stop();
        assert_true(made || seen >= n);
    }
    assert_true(n > 3);
    assert_int_equal(services->count, 2);
}

static void tells_services_apart_by_their_labels(void **state)
{
    struct services *services = *state;
    struct labels a = {0}, b = {0};
    struct service *first;

    labels_put(&a, "container.id", "1");
    labels_put(&b, "container.id", "2");
    first = services_get_labelled(services, "shop", &a, 1, 2);
    assert_non_null(first);
    assert_ptr_equal(services_get_labelled(services, "shop", &a, 3, 4), first);
    assert_ptr_not_equal(services_get_labelled(services, "shop", &b, 3, 4), first);
    assert_ptr_not_equal(services_get(services, "shop", 3, 4), first);
}

static void puts_services_beyond_the_bound_into_one(void **state)
{
    struct services *services = *state;
    const struct service *others;

    services->max = services->count + 1;
    assert_string_equal(services_get(services, "one", 1, 2)->name, "one");
    others = services_get(services, "two", 1, 2);
    assert_string_equal(others->name, "pystrobe-other-services");
    assert_ptr_equal(services_get(services, "three", 1, 2), others);
    assert_string_equal(services_get(services, "one", 1, 2)->name, "one");
}

static void ends_services_that_nobody_uses(void **state)
{
    struct services *services = *state;
    struct service *used;

    used = services_get(services, "used", 1, 2);
    assert_non_null(used);
    used->users = 1;
    assert_non_null(services_get(services, "unused", 1, 2));
    services_trim(services);
    assert_ptr_equal(services->first, used);
    assert_null(used->next);
    assert_int_equal(services->count, 1);
}

static void holds_the_profile_of_a_hang_for_one_end_of_an_interval(void **state)
{
    static const int64_t values[VALUES] = {[VALUE_SAMPLES] = 1};
    struct services *services = *state;
    const struct service_tag tag = {.hang = "stuck"};
    const struct cpy_thread thread = thread_of("main", 7);
    struct labels labels = {0};
    struct service *shop = service_in(state), *own;

    labels_put(&labels, SERVICE_HANG, "stuck");
    own = services_get_labelled(services, "shop", &labels, 1, 2);
    assert_non_null(own);
    assert_false(service_defer(own)); /* it has nothing yet */
    pprof_add(own->profile, service_row(own, &thread, &tag), values);
    pprof_add(shop->profile, service_row(shop, &thread, &tag), values);

    assert_false(service_defer(shop));
    assert_true(service_defer(own));
    services_trim(services); /* both have no user */
    assert_ptr_equal(services->first, own);
    assert_int_equal(services->count, 1);
    assert_false(service_defer(own));
    services_trim(services);
    assert_null(services->first);
}

static void bounds_how_many_processes_it_tells_apart(void **state)
{
    struct service *shop = services_get(*state, "bounded", 5, 6);
    uint32_t others, first;

    assert_non_null(shop);
    shop->split.max = 3;
    first = service_class_row(shop, CPU_BETWEEN, NULL, TAG(1, SPLIT_PROCESS));
    assert_int_not_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(2, SPLIT_PROCESS)), first);
    assert_int_not_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(3, SPLIT_PROCESS)), first);
    others = service_class_row(shop, CPU_BETWEEN, NULL, TAG(4, SPLIT_PROCESS));
    assert_int_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(5, SPLIT_PROCESS)), others);
    assert_int_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(1, SPLIT_PROCESS)), first);
    assert_true(service_begin(shop, 7, 8)); /* anew in each interval */
    assert_int_not_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(5, SPLIT_PROCESS)),
                         service_class_row(shop, CPU_BETWEEN, NULL, TAG(4, SPLIT_PROCESS)));
}

static void tells_more_processes_apart_when_the_bound_is_raised(void **state)
{
    struct service *shop = services_get(*state, "raised", 5, 6);
    uint32_t others, row, last;
    pid_t pid;

    assert_non_null(shop);
    shop->split.max = 1;
    last = service_class_row(shop, CPU_BETWEEN, NULL, TAG(1, SPLIT_PROCESS));
    others = service_class_row(shop, CPU_BETWEEN, NULL, TAG(2, SPLIT_PROCESS));
    shop->split.max = 300;
    for (pid = 2; pid <= 300; pid++, last = row) {
        row = service_class_row(shop, CPU_BETWEEN, NULL, TAG(pid, SPLIT_PROCESS));
        assert_int_not_equal(row, last);
        assert_int_not_equal(row, others);
    }
    assert_int_equal(service_class_row(shop, CPU_BETWEEN, NULL, TAG(301, SPLIT_PROCESS)), others);
}

static const struct labels no_labels;

static struct service *hold(struct services *services, pid_t pid)
{
    return services_hold(services, (struct proc_id){pid, 7}, "shop", &no_labels, 50, 60);
}

static void holds_the_profile_of_a_process_by_itself(void **state)
{
    struct services *services = *state;
    struct service *held = hold(services, PID);

    assert_non_null(held);
    assert_ptr_not_equal(service_in(state), held);
    assert_ptr_equal(hold(services, PID), held);
    assert_ptr_equal(services_held(services, (struct proc_id){PID, 7}), held);
    assert_null(services_held(services, (struct proc_id){PID, 8}));
    assert_ptr_not_equal(hold(services, PID + 1), held);
    assert_true(service_defer(held)); /* as long as it is held */
    assert_true(service_defer(held));
    services_trim(services);
    assert_ptr_equal(hold(services, PID), held);
}

/* A stack of its own for each number. */
static uint32_t numbered_row(struct service *service, uint32_t number)
{
    uint32_t room[SERVICE_DEPTH_MAX];
    struct service_stack stack = {room, 0};
    char name[16];

    (void)snprintf(name, sizeof(name), "f%u", (unsigned)number);
    assert_int_equal(service_stack_name(service, &stack, name), PPROF_OK);
    return service_stack_row(service, &stack, NULL, TAG(PID, SPLIT_NONE));
}

static void releases_what_was_held_into_the_service_of_a_name(void **state)
{
    enum { ROWS = 20000 }; /* several pieces */
    const int64_t values[VALUES] = {[VALUE_SAMPLES] = 1, [VALUE_CPU] = 5};
    struct services *services = *state;
    struct service *held = hold(services, PID), *late = services_get(services, "late", 3, 4), *made;
    uint32_t i;

    assert_non_null(held);
    assert_non_null(late);
    for (i = 0; i < ROWS; i++)
        pprof_add(held->profile, numbered_row(held, i), values);
    pprof_add(late->profile, numbered_row(late, 0), values);
    assert_true(services_release(services, held, "late", &no_labels));
    assert_null(services_held(services, (struct proc_id){PID, 7}));
    assert_int_equal(pprof_total(late->profile, VALUE_SAMPLES), ROWS + 1);
    assert_int_equal(pprof_total(late->profile, VALUE_CPU), 5 * (ROWS + 1));
    assert_int_equal(late->start_utc_ns, 3);

    held = hold(services, PID);
    assert_true(services_release(services, held, "first", &no_labels));
    made = services_get(services, "first", 90, 91);
    assert_int_equal(made->start_utc_ns, 50); /* from when on it was held */
    assert_int_equal(services->count, 3);
}

static void holds_a_bounded_number_of_profiles(void **state)
{
    struct services *services = *state;
    struct service *shop = service_in(state);
    pid_t pid;

    for (pid = 1; pid <= SERVICES_HELD_MAX; pid++)
        assert_ptr_not_equal(hold(services, pid), shop);
    assert_ptr_equal(hold(services, pid), shop);
    services_discard(services, services_held(services, (struct proc_id){1, 7}));
    assert_ptr_not_equal(hold(services, pid), shop);
    services->max = 2; /* which those that are held do not count for */
    assert_string_equal(services_get(services, "other", 5, 6)->name, "other");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(makes_a_service_once),
        TEST(tells_services_apart_by_their_labels),
        TEST(puts_services_beyond_the_bound_into_one),
        TEST(ends_services_that_nobody_uses),
        TEST(holds_the_profile_of_a_hang_for_one_end_of_an_interval),
        TEST(holds_the_profile_of_a_process_by_itself),
        TEST(releases_what_was_held_into_the_service_of_a_name),
        TEST(holds_a_bounded_number_of_profiles),
        TEST(bounds_how_many_processes_it_tells_apart),
        TEST(tells_more_processes_apart_when_the_bound_is_raised),
        TEST(puts_all_into_one_row_without_a_split),
        TEST(tells_processes_apart),
        TEST(tells_threads_apart),
        TEST(leaves_out_labels_that_are_not_known),
        TEST(tells_a_cut_stack_from_a_whole_one),
        TEST(gives_a_thread_without_frames_one),
        TEST(takes_the_deepest_stack_there_is),
        TEST(has_a_row_for_unseen_time_of_each_process),
        TEST(gives_the_overflow_row_where_there_is_no_room),
        TEST(begins_a_new_interval_empty),
        TEST(is_of_the_owner_who_adds_most),
        TEST(fails_cleanly_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

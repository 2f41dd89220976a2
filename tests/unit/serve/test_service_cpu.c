/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_cpu.c - what services took in the last hour. */
#include "agent/serve/service_cpu.h"

#include <stdio.h>

#include "base/time_units.h"
#include "tests/unit/unit_test.h"

#define MINUTE (60 * NS_PER_S)

static void adds_up_an_hour_by_minutes(void **state)
{
    struct service_cpu_table table = {0};
    uint64_t now = 5 * MINUTE;

    (void)state;
    for (int i = 0; i < 240; i++, now += 15 * NS_PER_S) /* an hour of profiles of 15 seconds */
        service_cpu_add(&table, "web", 7, now);
    service_cpu_add(&table, "cron", 1000, now - 1);
    assert_int_equal(table.count, 2);
    assert_int_equal(service_cpu_hour(&table.items[0], now - 1), 240 * 7);
    assert_int_equal(service_cpu_hour(&table.items[1], now - 1), 1000);
    assert_int_equal(service_cpu_hour(&table.items[0], now), 236 * 7);
    assert_int_equal(service_cpu_hour(&table.items[0], now + 29 * MINUTE), 120 * 7);
    assert_int_equal(service_cpu_hour(&table.items[0], now + 500 * MINUTE), 0);

    service_cpu_add(&table, "web", 3, now + 29 * MINUTE);
    assert_int_equal(service_cpu_hour(&table.items[0], now + 29 * MINUTE), 120 * 7 + 3);
    service_cpu_add(&table, "web", 4, now + 500 * MINUTE);
    assert_int_equal(service_cpu_hour(&table.items[0], now + 500 * MINUTE), 4);
    service_cpu_finish(&table);
}

static void forgets_services_that_took_nothing(void **state)
{
    struct service_cpu_table table = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < SERVICE_CPU_MAX + 5; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        service_cpu_add(&table, name, 1, MINUTE);
    }
    assert_int_equal(table.count, SERVICE_CPU_MAX);
    service_cpu_add(&table, "s1", 1, 2 * MINUTE);
    service_cpu_add(&table, "late", 1, 61 * MINUTE);
    assert_int_equal(table.count, 2);
    assert_string_equal(table.items[0].name, "s1");
    assert_string_equal(table.items[1].name, "late");
    service_cpu_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_an_hour_by_minutes),
        cmocka_unit_test(forgets_services_that_took_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

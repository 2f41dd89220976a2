/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_labels.c - the order of a service's labels, and which go where there are too many.
 */
#include <stdio.h>
#include <string.h>

#include "agent/delivery/profile_labels.h"
#include "agent/host/log.h"
#include "exporters/settings.h"
#include "tests/unit/unit_test.h"

static int set_up(void **state)
{
    static struct services services;
    struct service *service = services_get(&services, "shop", 1000, 2000);

    labels_put(&service->labels, "zone", "a");
    labels_put(&service->labels, "k8s.pod.uid", "u");
    labels_put(&service->labels, "container.id", "c");
    labels_put(&service->labels, "team", "blue");
    *state = service;
    return 0;
}

static const char *names_of(const struct profile_labels *labels)
{
    static char text[1024];

    text[0] = '\0';
    for (size_t i = 0; i < labels->count; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ",
                       labels->items[i].name, labels->items[i].value);
    return text;
}

static void own_labels_go_before_settings_and_found_ones(void **state)
{
    static const struct label settings[] = {
        {"env", "prod"}, {"team", "red"}, {"container.id", "x"}, {"env", "test"}};
    struct profile_labels labels;

    profile_labels_list(&labels, *state, settings, 4);
    assert_string_equal(names_of(&labels),
                        "team=blue zone=a env=prod container.id=c k8s.pod.uid=u ");
}

static void what_is_over_the_limit_goes_from_the_end_on(void **state)
{
    static const struct label settings[] = {{"env", "prod"}};
    struct profile_labels labels;
    bool warned = false;

    log_init(LOG_LEVEL_ERROR);
    profile_labels_list(&labels, *state, settings, 1);
    profile_labels_limit(&labels, *state, PYROSCOPE_LABELS_MAX - 5, &warned);
    assert_int_equal(labels.count, 5);
    assert_false(warned);
    profile_labels_limit(&labels, *state, PYROSCOPE_LABELS_MAX - 3, &warned);
    assert_string_equal(names_of(&labels), "team=blue zone=a env=prod ");
    assert_true(warned);
}

static void labels_of_samples_take_their_part(void **state)
{
    const struct pprof_label on_sample[] = {{.key = "pid", .num = 1}, {.key = "hang", .str = "x"}};
    struct service *service = *state;
    struct profile_labels labels;
    uint32_t stack, row;
    bool warned = false;

    log_init(LOG_LEVEL_ERROR);
    assert_int_equal(pprof_stack(service->profile, NULL, 0, &stack), PPROF_OK);
    assert_int_equal(pprof_row(service->profile, stack, on_sample, 2, &row), PPROF_OK);
    profile_labels_list(&labels, service, NULL, 0);
    profile_labels_limit(&labels, service, PYROSCOPE_LABELS_MAX - 4, &warned);
    assert_string_equal(names_of(&labels), "team=blue zone=a ");
    profile_labels_limit(&labels, service, PYROSCOPE_LABELS_MAX - 1, &warned);
    assert_int_equal(labels.count, 0); /* nor less than that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_labels_go_before_settings_and_found_ones),
        cmocka_unit_test(what_is_over_the_limit_goes_from_the_end_on),
        cmocka_unit_test(labels_of_samples_take_their_part),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

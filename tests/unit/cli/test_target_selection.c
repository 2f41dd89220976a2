/* SPDX-License-Identifier: Apache-2.0 */
/* test_target_selection.c - when there is nothing more to be sampled, and why. */
#include <stdio.h>

#include "agent/cli/target_selection.h"
#include "agent/host/clock.h"
#include "base/time_units.h"
#include "tests/unit/leader.h"
#include "tests/unit/unit_test.h"

static const struct engine_stats sampling = {.sampling = 1, .attached = 1};
static const struct engine_stats failing = {
    .attached = 1, .last_rc = CPY_FOREIGN, .last_error = {"process 7: it runs no CPython"}};

static struct target_selection select_pid(pid_t pid)
{
    struct target_selection selection = {.pid = pid};

    assert_true(target_selection_begin(&selection));
    return selection;
}

/* What it says of the end. */
static const char *end_of(const struct target_selection *selection)
{
    static char text[256];
    struct buf out;

    buf_init(&out, sizeof(text));
    target_selection_explain_end(selection, &failing, &out);
    (void)snprintf(text, sizeof(text), "%.*s", (int)out.size, (const char *)out.data);
    buf_finish(&out);
    return text;
}

static void goes_on_until_the_last_thread_of_a_process_has_ended(void **state)
{
    struct leader leader = leader_start();
    struct target_selection selection = select_pid(leader.pid);
    const uint64_t now_ns = clock_mono_ns();
    char wanted[64];

    (void)state;
    leader_end_thread(&leader, 0);
    assert_false(target_selection_is_over(&selection, &sampling, now_ns));
    assert_false(target_selection_is_over(&selection, &failing, now_ns));
    leader_end_thread(&leader, 1);
    leader_end_thread(&leader, 2);
    assert_true(target_selection_is_over(&selection, &failing, now_ns));
    (void)snprintf(wanted, sizeof(wanted), "pystrobe: process %d has ended\n", (int)leader.pid);
    assert_string_equal(end_of(&selection), wanted);
    leader_finish(&leader);
    assert_string_equal(end_of(&selection), wanted);
    target_selection_finish(&selection);
}

static void waits_a_second_for_one_that_lives(void **state)
{
    struct target_selection selection = select_pid(getpid());
    const uint64_t now_ns = clock_mono_ns();
    char wanted[128];

    (void)state;
    assert_false(target_selection_is_over(&selection, &failing, now_ns));
    assert_false(target_selection_is_over(&selection, &sampling, now_ns));
    assert_false(target_selection_is_over(&selection, &failing, now_ns));
    selection.last_sample_ns -= 2 * NS_PER_S;
    assert_true(target_selection_is_over(&selection, &failing, now_ns));
    (void)snprintf(wanted, sizeof(wanted),
                   "pystrobe: process %d goes on, but cannot be sampled any more: process 7: it "
                   "runs no CPython\n",
                   (int)getpid());
    assert_string_equal(end_of(&selection), wanted);
    target_selection_finish(&selection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_until_the_last_thread_of_a_process_has_ended),
        cmocka_unit_test(waits_a_second_for_one_that_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_assignments.c - who stays in quarantine while it cannot be told whether it has ended. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/supervisor/assignments.h"
#include "base/proc_stat.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"

static void leaves_a_process_in_quarantine_until_it_has_ended(void **state)
{
    static struct sampler_process sampler, quarantine_sampler;
    const struct target_profile profile = {.rate_hz = 19};
    struct assignments assignments = {0};
    struct assignment *assignment;
    struct proc_stat stat;
    struct rlimit before;
    struct proc_id id;

    (void)state;
    id.pid = fork();
    if (id.pid == 0)
        for (;;)
            (void)pause();
    assert_int_equal(proc_stat_read(id.pid, &stat), PROC_OK);
    id.start = stat.start;
    assignment = assignments_add(&assignments, id, &profile, &sampler, &quarantine_sampler);
    assert_non_null(assignment);
    assert_non_null(assignments_quarantine(&assignments, assignment, &quarantine_sampler, 1));

    assignments_sweep(&assignments);
    assert_int_not_equal(assignments_retry_ns(&assignments, assignment), 0);
    before = descriptors_forbid();
    assignments_sweep(&assignments);
    descriptors_allow(before);
    assert_int_not_equal(assignments_retry_ns(&assignments, assignment), 0);

    (void)kill(id.pid, SIGKILL);
    assert_int_equal(waitpid(id.pid, NULL, 0), id.pid);
    assignments_sweep(&assignments);
    assert_int_equal(assignments_retry_ns(&assignments, assignment), 0);
    assignments_finish(&assignments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_a_process_in_quarantine_until_it_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

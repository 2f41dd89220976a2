/* SPDX-License-Identifier: Apache-2.0 */
/* clock_watch.c - see clock_watch.h. */
#include "exporters/clock_watch.h"

bool clock_watch_look(struct clock_watch *watch, int64_t real_ns, int64_t boot_ns)
{
    const int64_t expected_ns = watch->real_ns + (boot_ns - watch->boot_ns);
    const int64_t step_ns = real_ns > expected_ns ? real_ns - expected_ns : expected_ns - real_ns;
    const bool was_set = watch->boot_ns != 0 && step_ns > CLOCK_WATCH_STEP_NS;

    *watch = (struct clock_watch){real_ns, boot_ns, was_set ? boot_ns : watch->set_ns};
    return was_set;
}

bool clock_watch_is_steady(const struct clock_watch *watch)
{
    return watch->set_ns == 0 || watch->boot_ns - watch->set_ns >= CLOCK_WATCH_STEADY_NS;
}

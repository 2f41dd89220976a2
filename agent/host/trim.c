/* SPDX-License-Identifier: Apache-2.0 */
/* trim.c - see trim.h. */
#include "agent/host/trim.h"

#include <malloc.h>

#include "base/time_units.h"

#define QUIET_NS NS_PER_S
#define MOST_NS  (10 * NS_PER_S)

void trim_soon(struct trim *trim, uint64_t now_ns)
{
    if (trim->by_ns == 0)
        trim->by_ns = now_ns + MOST_NS;
    trim->due_ns = now_ns + QUIET_NS < trim->by_ns ? now_ns + QUIET_NS : trim->by_ns;
}

bool trim_is_due(const struct trim *trim, uint64_t now_ns)
{
    return trim->by_ns != 0 && now_ns >= trim->due_ns;
}

bool trim_now(struct trim *trim, uint64_t now_ns)
{
    if (!trim_is_due(trim, now_ns))
        return false;
    *trim = (struct trim){0};
    (void)malloc_trim(0);
    return true;
}

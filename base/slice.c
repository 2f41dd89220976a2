/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - see slice.h. */
#include "base/slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void slice_read(struct slice *out)
{
    *out = (struct slice){.size = 0};
    if (syscall(SYS_sched_getattr, 0, out, sizeof(*out), 0) != 0)
        out->size = 0;
}

bool slice_apply(const struct slice *slice)
{
    return slice->size != 0 && syscall(SYS_sched_setattr, 0, slice, 0) == 0;
}

void slice_shorten(uint64_t runtime_ns)
{
    struct slice slice;

    slice_read(&slice);
    if (slice.policy != SCHED_OTHER)
        return;
    slice.runtime_ns = runtime_ns;
    (void)slice_apply(&slice);
}

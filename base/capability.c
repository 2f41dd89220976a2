/* SPDX-License-Identifier: Apache-2.0 */
/* capability.c - see capability.h. */
#include "base/capability.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capability_sets(struct __user_cap_data_struct out[2])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

    memset(out, 0, 2 * sizeof(*out));
    return syscall(SYS_capget, &head, out) == 0;
}

bool capability_has(unsigned capability)
{
    struct __user_cap_data_struct sets[2];

    return capability_sets(sets) && sets[capability / 32].effective & UINT32_C(1)
                                                                          << capability % 32;
}

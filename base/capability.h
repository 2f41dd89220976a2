/* SPDX-License-Identifier: Apache-2.0 */
/* capability.h - which capabilities this process has. */
#ifndef BASE_CAPABILITY_H
#define BASE_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

#include "base/err.h"

/* Newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* All sets, the lower 32 capabilities first. False: the kernel does not say; they are empty. */
MUST_CHECK bool capability_sets(struct __user_cap_data_struct out[2]);

/* True if it is effective. */
MUST_CHECK bool capability_has(unsigned capability);

#endif

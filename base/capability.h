/* SPDX-License-Identifier: Apache-2.0 */
/* capability.h - reads the capabilities of the calling thread: see capabilities(7). */
#ifndef BASE_CAPABILITY_H
#define BASE_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

#include "base/err.h"

/* For kernel headers that are older than these capabilities. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Reads all sets: out[0] has capabilities 0 to 31. False: capget failed; all sets are empty. */
MUST_CHECK bool capability_sets(struct __user_cap_data_struct out[2]);

/* True if `capability`, a CAP_... number, is in the effective set. */
MUST_CHECK bool capability_has(unsigned capability);

#endif

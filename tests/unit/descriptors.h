/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - a process that can open no more files. */
#ifndef TESTS_UNIT_DESCRIPTORS_H
#define TESTS_UNIT_DESCRIPTORS_H

#include <sys/resource.h>

#include "tests/unit/unit_test.h"

/* From here on, whatever opens a file fails with EMFILE. */
static inline struct rlimit descriptors_forbid(void)
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

static inline void descriptors_allow(struct rlimit before)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#endif

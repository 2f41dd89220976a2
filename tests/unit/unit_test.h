/* SPDX-License-Identifier: Apache-2.0 */
/* unit_test.h - cmocka, and the headers that it needs before it. */
#ifndef TESTS_UNIT_UNIT_TEST_H
#define TESTS_UNIT_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

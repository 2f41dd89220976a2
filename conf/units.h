/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - numbers with units, both ways; the reading half is in conf.h.
 *
 * What is printed reads back as the same number.
 */
#ifndef CONF_UNITS_H
#define CONF_UNITS_H

#include "conf/conf.h"

/* Reads a whole number that has no unit. CONF_BAD: `err` says why. */
MUST_CHECK enum conf_rc conf_count(const char *text, uint64_t *out, struct err *err);

/* Append a number in the largest unit that holds it without decimals. */
void conf_print_duration(uint64_t ns, struct buf *out);
void conf_print_size(uint64_t bytes, struct buf *out);

/* Appends a rate; rates are kept to a thousandth of a Hz. */
void conf_print_rate(double hz, struct buf *out);

/* Appends a share as a percentage, to a thousandth of a per cent. */
void conf_print_share(double share, struct buf *out);

#endif

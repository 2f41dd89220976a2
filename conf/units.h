/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - prints numbers with units; conf.h declares the functions that parse them.
 *
 * A printed text parses to the same number.
 */
#ifndef CONF_UNITS_H
#define CONF_UNITS_H

#include "conf/conf.h"

/* Parses a whole number without a unit. Errors: CONF_BAD, `err` says why. */
MUST_CHECK enum conf_rc conf_count(const char *text, uint64_t *out, struct err *err);

/* Append a number in the largest unit that needs no decimals. */
void conf_print_duration(uint64_t ns, struct buf *out);
void conf_print_size(uint64_t bytes, struct buf *out);

/* Appends a rate in Hz, rounded to a thousandth. */
void conf_print_rate(double hz, struct buf *out);

/* Appends a share (1 is 100 %) as a percentage, rounded to a thousandth of a per cent. */
void conf_print_share(double share, struct buf *out);

#endif

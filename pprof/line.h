/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - writes the message Line (function, line, column), which profile.proto and otlp.proto
 * share. */
#ifndef PPROF_LINE_H
#define PPROF_LINE_H

#include "base/buf.h"

/* Appends a field that holds a Line. A failure sets out->failed. */
void line_put(struct buf *out, uint32_t field, uint32_t function, int32_t line, int32_t column);

#endif

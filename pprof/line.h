/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - writes a Line: where in a function a location is. The same in profile.proto and
 * otlp.proto. */
#ifndef PPROF_LINE_H
#define PPROF_LINE_H

#include "base/buf.h"

/* Appends a field that holds a Line; `out` remembers a failure. */
void line_put(struct buf *out, uint32_t field, uint32_t function, int32_t line, int32_t column);

#endif

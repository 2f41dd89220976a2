/* SPDX-License-Identifier: Apache-2.0 */
/* writers.h - the writers of the table in format.c, each in a file of its own. */
#ifndef FORMATS_WRITERS_H
#define FORMATS_WRITERS_H

#include "formats/format.h"

/* Errors of all: PPROF_NOMEM; PPROF_FULL: over out->max. */
MUST_CHECK enum pprof_rc write_pprof(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_flame(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_svg(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_heatmap(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_collapsed(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_speedscope(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_gecko(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_pstats(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_jsonl(const struct format_view *view, struct buf *out);
MUST_CHECK enum pprof_rc write_tree(const struct format_view *view, struct buf *out);

/* Calls view->drain if `out` is large; call it after each line. A failure sets out->failed. */
void format_drain(const struct format_view *view, struct buf *out);

#endif

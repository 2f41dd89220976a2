/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preview.h - tells which processes an agent with these settings would sample now, as what, and
 * why not the others.
 *
 * It opens each process that may run a Python, and nothing else: no exporter, no spool.
 */
#ifndef AGENT_CLI_PREVIEW_H
#define AGENT_CLI_PREVIEW_H

#include "base/buf.h"
#include "conf/conf.h"

/* Appends it as text for people. False: out of memory, or /proc cannot be read. */
MUST_CHECK bool preview(const struct conf *conf, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preview.h - lists the Python processes that an agent with these settings would sample now, with
 * service, labels and rate, and the reason for each that it would not sample.
 *
 * It opens processes only: no exporter, no spool.
 */
#ifndef AGENT_CLI_PREVIEW_H
#define AGENT_CLI_PREVIEW_H

#include "base/buf.h"
#include "conf/conf.h"

/* Appends the list as text. False: out of memory, or /proc cannot be read. */
MUST_CHECK bool preview(const struct conf *conf, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_tree.h - asyncio tasks as text for people.
 *
 * A task is written out once: where it is met again, a line says so.
 */
#ifndef AGENT_DUMP_ASYNC_TREE_H
#define AGENT_DUMP_ASYNC_TREE_H

#include "agent/dump/async_tasks.h"
#include "base/buf.h"

/* All tasks, awaiters above what they await. False: out of memory. */
MUST_CHECK bool async_tree_all(struct buf *out, const struct async_tasks *tasks);

/* The running tasks, each continued through those that await it. False: out of memory. */
MUST_CHECK bool async_tree_running(struct buf *out, const struct async_tasks *tasks);

#endif

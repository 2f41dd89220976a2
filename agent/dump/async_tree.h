/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_tree.h - writes asyncio tasks as a tree of text lines.
 *
 * A task with several parents is written in full once; later lines refer to it.
 */
#ifndef AGENT_DUMP_ASYNC_TREE_H
#define AGENT_DUMP_ASYNC_TREE_H

#include "agent/dump/async_tasks.h"
#include "base/buf.h"

/* Appends all tasks; each one's children are the tasks that it awaits. False: out of memory. */
MUST_CHECK bool async_tree_all(struct buf *out, const struct async_tasks *tasks);

/* Appends the running tasks; children are the tasks that await them. False: out of memory. */
MUST_CHECK bool async_tree_running(struct buf *out, const struct async_tasks *tasks);

#endif

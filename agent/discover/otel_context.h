/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_context.h - the resource that an OpenTelemetry SDK publishes in its process's memory.
 *
 * Needs:   ptrace access to the process. Reading may hang, as all reading of its memory.
 * Source:  OpenTelemetry's OTEP 4719, "Process Context", version 2.
 */
#ifndef AGENT_DISCOVER_OTEL_CONTEXT_H
#define AGENT_DISCOVER_OTEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { OTEL_CONTEXT_MAX = 64 << 10, OTEL_NAME_MAX = 128, OTEL_VALUE_MAX = 1024 };

/* Takes one attribute whose value is a string. Both are the process's own to choose. */
typedef void otel_attribute(void *ctx, const char *name, const char *value);

/* Calls `each` for the attributes that a process publishes. False: it publishes none, or it cannot
 * be read now. */
MUST_CHECK bool otel_context_read(pid_t pid, otel_attribute *each, void *ctx);

/* The same for the payload alone: a Resource, or a message that has one as its field 1. */
MUST_CHECK bool otel_context_decode(const void *payload, size_t size, otel_attribute *each,
                                    void *ctx);

#endif

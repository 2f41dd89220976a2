/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_context.h - the resource that an OpenTelemetry SDK publishes in its process's memory.
 *
 * Needs:   ptrace access to the process. As every read of a process's memory, it may block.
 * Source:  OpenTelemetry's OTEP 4719, "Process Context", version 2.
 */
#ifndef AGENT_DISCOVER_OTEL_CONTEXT_H
#define AGENT_DISCOVER_OTEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Bytes of a payload; of a name and a value with the final 0 byte. Longer ones are ignored. */
enum { OTEL_CONTEXT_MAX = 64 << 10, OTEL_NAME_MAX = 128, OTEL_VALUE_MAX = 1024 };

/* Takes one attribute with a string value. Both strings are untrusted, and lent for the call. */
typedef void otel_attribute(void *ctx, const char *name, const char *value);

/* Calls `each` for the string attributes that a process publishes. False: it publishes none, or
 * they could not be read completely. */
MUST_CHECK bool otel_context_read(pid_t pid, otel_attribute *each, void *ctx);

/* The same for a payload in memory: protobuf of a Resource, or of a message with one as field 1. */
MUST_CHECK bool otel_context_decode(const void *payload, size_t size, otel_attribute *each,
                                    void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_reply.h - reads what an OTLP receiver says in the body of its reply.
 *
 * Only the beginning of a body is kept, so the messages are read here field by field:
 * one that is cut off still tells what its beginning says. Nothing is allocated.
 *
 * Threads: functions of their arguments alone.
 * Source:  ExportProfilesServiceResponse {1: ExportProfilesPartialSuccess {1: int64
 *          rejected_profiles, 2: string error_message}} of opentelemetry-proto 1.11.0, and
 *          google.rpc.Status {1: int32 code, 2: string message, 3: details}.
 */
#ifndef EXPORTERS_OTLP_REPLY_H
#define EXPORTERS_OTLP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_reply {
    uint64_t rejected;          /* profiles that a success refuses nevertheless */
    const unsigned char *words; /* borrowed from the body; NULL: none */
    size_t words_size;
};

/* Reads the body of a success; what is none leaves *out empty: success it is. */
void otlp_reply_success(const void *body, size_t size, struct otlp_reply *out);

/* Reads the body of a failure. False: it is no Status, but perhaps a text. */
bool otlp_reply_status(const void *body, size_t size, struct otlp_reply *out);

#endif

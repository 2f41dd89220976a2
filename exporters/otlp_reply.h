/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_reply.h - reads the body of an OTLP receiver's reply.
 *
 * Only the beginning of a long body is kept. So the messages are read field by field, which also
 * reads the beginning of one that is cut off. Nothing is allocated.
 *
 * Threads: all functions may be called from any thread; they keep no state.
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
    uint64_t rejected;          /* profiles that were refused although the request succeeded */
    const unsigned char *words; /* error message, borrowed from the body; NULL: none */
    size_t words_size;          /* bytes */
};

/* Reads the body of a success. If it is no such message, *out is empty: all was taken. */
void otlp_reply_success(const void *body, size_t size, struct otlp_reply *out);

/* Reads the body of a failure. False: it is no Status with a message, but perhaps plain text. */
bool otlp_reply_status(const void *body, size_t size, struct otlp_reply *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percent.h - reads percent-encoded bytes, as in URLs, W3C baggage and gRPC's messages.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 * Source:  RFC 3986, 2.1.
 */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include <stddef.h>

enum { PERCENT_SIZE = 3 }; /* bytes of "%XX" */

/* Gives the byte, 0 to 255, if the text begins with "%" and two hexadecimal digits; else -1. */
int percent_byte(const char *text, size_t size);

#endif

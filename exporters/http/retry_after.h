/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_after.h - finds headers of a reply, and parses Retry-After and Date.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 * Source:  RFC 9110, 10.2.3: seconds, or a date in one of the three forms of 5.6.7.
 */
#ifndef EXPORTERS_HTTP_RETRY_AFTER_H
#define EXPORTERS_HTTP_RETRY_AFTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parses the value of a Retry-After header.
 *
 * Gives: the pause, at most EXPORTER_RETRY_AFTER_MAX_NS; 0: the value is invalid, or a date that is
 *        not after `now_ns` (UTC).
 */
uint64_t retry_after_ns(const char *value, size_t size, int64_t now_ns);

/*
 * Finds the value in a header line of this name, in any case, without the blanks around it.
 *
 * Lends: *value, a part of the line, without a NUL.
 * Gives: false: the line is another header.
 */
bool http_header_find(const char *line, size_t size, const char *name, const char **value,
                      size_t *value_size);

/* Parses a Date header line; *out_s: seconds since 1970. False: another header, or no date. */
bool retry_after_date(const char *line, size_t size, int64_t *out_s);

#endif

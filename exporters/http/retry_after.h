/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_after.h - finds a header of a reply, and reads how long a server wants to be left alone.
 *
 * Threads: functions of their arguments alone.
 * Source:  RFC 9110, 10.2.3: seconds, or a date in one of the three forms of 5.6.7.
 */
#ifndef EXPORTERS_HTTP_RETRY_AFTER_H
#define EXPORTERS_HTTP_RETRY_AFTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the value of a Retry-After header.
 *
 * Gives: the pause, at most EXPORTER_RETRY_AFTER_MAX_NS; 0 when the value is none,
 *        or a date that is over by `now_ns` (UTC).
 */
uint64_t retry_after_ns(const char *value, size_t size, int64_t now_ns);

/*
 * Finds the value in a header line, if it has this name, without the blanks around it.
 *
 * Lends: *value (not terminated), within the line.
 * Gives: false when the line is another header.
 */
bool http_header_find(const char *line, size_t size, const char *name, const char **value,
                      size_t *value_size);

/* Reads a header line, if it is a Date. Gives: false when it is another, or no date. */
bool retry_after_date(const char *line, size_t size, int64_t *out_s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - writes JSON values into a buffer. */
#ifndef AGENT_HOST_JSON_H
#define AGENT_HOST_JSON_H

#include "base/buf.h"

/* Appends a string in quotes, null for NULL. `str` is UTF-8. */
void json_string(struct buf *out, const char *str);

/* The same for text of others, which may be no UTF-8: written as escape.h has it. */
void json_foreign(struct buf *out, const char *str);

#endif

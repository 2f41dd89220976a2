/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - a report of checks, as text or JSON: one line for each, with the cure of a problem.
 * Shape: findings_init, findings_add for each check, findings_finish. */
#ifndef AGENT_CLI_FINDINGS_H
#define AGENT_CLI_FINDINGS_H

#include <stdbool.h>

#include "base/buf.h"

enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_BAD };

struct findings {
    struct buf text;     /* owned: the report so far */
    bool json, colour;   /* colour: ANSI colours, in text only */
    unsigned count, bad; /* findings; those that are FINDING_BAD */
};

void findings_init(struct findings *findings, bool json, bool colour);

/* Adds the result of a check with a short name. `cure`: what to do; "": nothing. */
void findings_add(struct findings *findings, enum finding finding, const char *check,
                  const char *cure, const char *format, ...) PRINTF_LIKE(5, 6);

/* Prints and frees the report. Gives EXIT_OK, or EXIT_FAILED for a bad finding or failed output. */
int findings_finish(struct findings *findings);

#endif

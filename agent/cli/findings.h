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

/* Adds the result of a check. `check`: its short name; `format`: printf text, cut at 1023 bytes;
 * `cure`: what to do about it; "": nothing. */
void findings_add(struct findings *findings, enum finding finding, const char *check,
                  const char *cure, const char *format, ...) PRINTF_LIKE(5, 6);

/* Prints the report to stdout and frees it. Gives the exit status: EXIT_FAILED if a finding was bad
 * or the report could not be written, else EXIT_OK. */
int findings_finish(struct findings *findings);

#endif

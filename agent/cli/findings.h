/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - what an examination found: one line each, with the cure of what is wrong. */
#ifndef AGENT_CLI_FINDINGS_H
#define AGENT_CLI_FINDINGS_H

#include <stdbool.h>

#include "base/buf.h"

enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_BAD };

struct findings {
    struct buf text;
    bool json, colour;
    unsigned count, bad;
};

void findings_init(struct findings *findings, bool json, bool colour);

/* Adds what a check came to. `cure`: what to do about it; "": nothing. */
void findings_add(struct findings *findings, enum finding finding, const char *check,
                  const char *cure, const char *format, ...) PRINTF_LIKE(5, 6);

/* Prints them, and frees all. Gives the exit status: EXIT_FAILED if one was bad. */
int findings_finish(struct findings *findings);

#endif

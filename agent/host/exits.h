/* SPDX-License-Identifier: Apache-2.0 */
/* exits.h - the exit statuses of pystrobe, as pystrobe(8) lists them. Source: sysexits.h; env(1)
 * for 125 to 127. */
#ifndef AGENT_HOST_EXITS_H
#define AGENT_HOST_EXITS_H

enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 64,
    EXIT_UNAVAILABLE = 69, /* no such process, or no Python in it */
    EXIT_NO_PERMISSION = 77,
    EXIT_CONFIG = 78,
    EXIT_NOT_STARTED = 125, /* of exec: no process for the command */
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* exits.h - the exit statuses of pystrobe, as pystrobe(8) lists them. Source: sysexits.h; env(1)
 * for 125 to 127. */
#ifndef AGENT_HOST_EXITS_H
#define AGENT_HOST_EXITS_H

enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,         /* any other failure, such as out of memory */
    EXIT_USAGE = 64,         /* the command line is wrong */
    EXIT_UNAVAILABLE = 69,   /* no such process, no Python in it, or it cannot be read; no agent */
    EXIT_NO_PERMISSION = 77, /* to read or stop the process */
    EXIT_CONFIG = 78,        /* the settings are wrong */
    EXIT_NOT_STARTED = 125,  /* no process could be made for the command */
    EXIT_CANNOT_RUN = 126,   /* the command was found, but cannot be executed */
    EXIT_NOT_FOUND = 127     /* the command was not found */
};

#endif

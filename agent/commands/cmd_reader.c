/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_reader.c - `pystrobe reader`: reads for the agent what may block. Not for people:
 * proc_reader.h is the other side.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/child/child_process.h"
#include "agent/child/confine.h"
#include "agent/commands/commands.h"
#include "agent/discover/proc_reader.h"
#include "agent/host/log.h"

int cmd_reader(int argc, char **argv)
{
    const long parent = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    struct err err = {""};

    if (parent <= 0) {
        (void)fprintf(stderr, "pystrobe: reader is what pystrobe agent starts, not people\n");
        return EXIT_USAGE;
    }
    log_init(LOG_LEVEL_ERROR);
    confine_close_from(CHILD_PROCESS_HEARTBEAT_FD);
    if (!confine((pid_t)parent, &err)) {
        log_line(LOG_LEVEL_ERROR, "reader: %s", err.text);
        return EXIT_FAILED;
    }
    proc_reader_serve();
    return EXIT_OK;
}

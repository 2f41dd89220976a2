/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the subcommands: each takes its own argv (argv[0] is its name) and gives the exit
 * status. */
#ifndef AGENT_COMMANDS_H
#define AGENT_COMMANDS_H

#include <stddef.h>

/* Exit statuses, as the manual page lists them. */
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

int cmd_agent(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_burst(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_spool(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_sampler(int argc, char **argv);
int cmd_browse(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/commands: knows main, and one file for each subcommand: it joins all other folders.
 * Does not know anything that two subcommands need: that is in agent/cli.
 *
 * commands.h - the subcommands. Each takes its own argv (argv[0] is its name) and returns the exit
 * status, see host/exits.h.
 */
#ifndef AGENT_COMMANDS_COMMANDS_H
#define AGENT_COMMANDS_COMMANDS_H

#include "agent/host/exits.h"

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
int cmd_reader(int argc, char **argv);
int cmd_browse(int argc, char **argv);

#endif

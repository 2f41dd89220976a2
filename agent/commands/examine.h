/* SPDX-License-Identifier: Apache-2.0 */
/* examine.h - tries what pystrobe needs; each function appends what it finds to `out`. */
#ifndef AGENT_COMMANDS_EXAMINE_H
#define AGENT_COMMANDS_EXAMINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cli/findings.h"
#include "conf/conf.h"

/* Checks namespaces, capabilities and the kernel's rules. False: reading cannot even be tried: a
 * seccomp filter kills or blocks whoever tries, or /proc is not that of our pid namespace. True
 * says nothing of a certain process. */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Opens and samples a process. */
void examine_process(struct findings *out, pid_t pid);

/* Checks owner, mode and free space of the spool and of exporters' directories, writes there, and
 * removes what it wrote; and whether there can be the sockets that are named. A folder that is
 * missing is not made: the nearest one above it is tried. */
void examine_places(struct findings *out, const struct conf *conf);

/* Sends each exporter's server an empty profile, as the agent would. */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that has these settings whether each exporter keeps up. No answer: a note. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

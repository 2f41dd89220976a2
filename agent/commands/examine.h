/* SPDX-License-Identifier: Apache-2.0 */
/* examine.h - tries what pystrobe needs of the host, of one process, and of where profiles go. */
#ifndef AGENT_COMMANDS_EXAMINE_H
#define AGENT_COMMANDS_EXAMINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cli/findings.h"
#include "conf/conf.h"

/* Checks namespaces, capabilities and what the kernel allows. False: no process can be looked at.
 */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Samples a process. */
void examine_process(struct findings *out, pid_t pid);

/* Checks owner, mode and free space of the spool and of exporters' directories, writes there, and
 * removes what it wrote. */
void examine_folders(struct findings *out, const struct conf *conf);

/* Sends each exporter's server an empty profile, as the agent would. */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that runs with these settings, if one does, whether each exporter keeps up. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* examine.h - tries what pystrobe needs of the host, of one process, and of where profiles go. */
#ifndef AGENT_COMMANDS_EXAMINE_H
#define AGENT_COMMANDS_EXAMINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cli/findings.h"
#include "conf/conf.h"

/* Where we are, our rights there, and what the kernel makes of them. False: it was found that no
 * process can be looked at at all. */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Samples a process. */
void examine_process(struct findings *out, pid_t pid);

/* Writes into the spool, and where exporters keep files; removes what it wrote. */
void examine_folders(struct findings *out, const struct conf *conf);

/* Sends each exporter's server an empty profile, as the agent would. */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that runs with these settings, if one does, whether each exporter keeps up. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine.h - the checks of `pystrobe doctor`: whether what pystrobe needs is there and works. Each
 * function appends its results to `out`, good ones too; see findings.h.
 */
#ifndef AGENT_COMMANDS_EXAMINE_H
#define AGENT_COMMANDS_EXAMINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/cli/findings.h"
#include "conf/conf.h"

/*
 * Checks pid and user namespaces, seccomp filters, capabilities, and the kernel's rules for reading
 * the memory of other processes.
 *
 * Gives: false: do not call examine_process, because a seccomp filter kills or blocks whoever reads
 *        memory, or /proc does not show our own pid namespace. True: examine_process is safe; it
 * may still find that the process cannot be read.
 */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Opens process `pid` as the sampler does, and samples it once. While the process changes faster
 * than it can be read, this function tries again for about 2 s. */
void examine_process(struct findings *out, pid_t pid);

/*
 * Checks the directories that the settings name, of the spool and of exporters: owner, mode, free
 * space. Writes a file there and removes it. A missing directory is not made; the nearest existing
 * one above it is checked instead.
 *
 * Checks also whether the Unix sockets that the settings name could be made, without making them.
 */
void examine_places(struct findings *out, const struct conf *conf);

/* Sends a profile without samples to the server of each exporter, as the agent would. The server
 * takes such a profile, but does not keep it. Waits for each answer up to the exporter's timeout.
 */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that runs with these settings, over its control socket, whether each exporter
 * sends as fast as profiles come. Adds only a FINDING_NOTE if the agent does not answer. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

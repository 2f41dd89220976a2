/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine.h - the checks of `pystrobe doctor`: whether what pystrobe needs is there and works. Each
 * function appends its results to `out`, both good and bad ones; see findings.h.
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
 * Gives: false: the caller must not call examine_process, because a seccomp filter kills or blocks
 *        a process that reads memory of others, or because /proc does not show our own pid
 *        namespace. True: the caller may call examine_process, which finds out whether one
 *        particular process can be read.
 */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Opens process `pid` as the sampler does, and samples it until one sample succeeds, for about 2 s
 * at most. (A sample fails if the process changes while it is read.) */
void examine_process(struct findings *out, pid_t pid);

/*
 * Checks the directories of the spool and of exporters that the settings name: owner, mode and free
 * space. Also writes a file into each of them, and removes it. If a directory is missing, checks
 * the free space of the nearest existing one above it, and writes the file there. Then checks
 * whether the Unix sockets that the settings name could be made. Makes no directory and no socket.
 */
void examine_places(struct findings *out, const struct conf *conf);

/* Sends a profile without samples to the server of each exporter, as the agent would; the server
 * does not keep such a profile. Waits for each answer up to the timeout of the exporter. */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that runs with these settings, over its control socket, whether each exporter
 * sends as fast as profiles come. Adds only a FINDING_NOTE if the agent does not answer. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

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

/* What to do about a setting that cannot be used. */
#define EXAMINE_SETTING_CURE "correct the ini file, see pystrobe.ini(5), or what it names"

/*
 * Checks pid and user namespaces, seccomp filters, capabilities, BPF, the scheduler's data in
 * /proc, and the kernel's rules for reading the memory of other processes.
 *
 * Gives: true: the caller may call examine_process, which finds out whether one particular process
 *        can be read. False: the caller must not call it: a seccomp filter would kill or block us,
 *        or /proc does not show our own pid namespace.
 */
MUST_CHECK bool examine_permissions(struct findings *out);

/* Checks whether we may read process `pid`, opens it as the sampler does, and takes a sample. If
 * the sample fails because the process changes or its Python starts, repeats it for about 2 s. */
void examine_process(struct findings *out, pid_t pid);

/*
 * Checks what the settings name. Makes no directory and no socket.
 * - Directories of the spool and of exporters: writes a file into each and removes it. Reports the
 *   free space; the spool needs at least spool_min_free. Reports the first file or directory below
 *   that has another owner than the directory, or that we cannot use. If the directory is missing,
 *   writes to the nearest existing one above it, and does not look below.
 * - `control` and `listen`: whether the Unix socket could be made, or this host has the address.
 */
void examine_places(struct findings *out, const struct conf *conf);

/* Sends a profile without samples to the server of each exporter; the server does not keep it.
 * Waits for each answer up to the exporter's timeout, and compares our clock with the server's. If
 * the server takes the profile, and the exporter neither has the type pyroscope nor keeps to the
 * limits of a Pyroscope (exporter_is_limited), a second request tests for a Pyroscope. */
void examine_servers(struct findings *out, const struct conf *conf);

/* Asks the agent that runs with these settings, over its control socket, whether each exporter
 * sends as fast as profiles are queued. Adds only a FINDING_NOTE if the agent does not answer. */
void examine_agent(struct findings *out, const struct conf *conf);

#endif

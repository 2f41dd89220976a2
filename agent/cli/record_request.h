/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.h - parses the command line of `pystrobe record`. */
#ifndef AGENT_CLI_RECORD_REQUEST_H
#define AGENT_CLI_RECORD_REQUEST_H

#include "agent/cli/target_selection.h"
#include "agent/discover/sample_options.h"
#include "agent/sampling/service.h"
#include "formats/format.h"

/*
 * --stats: whether, and in which form, to print counters of the sampler's own work (system calls,
 * bytes read, stacks) to stderr when the recording has ended.
 */
enum record_stats { RECORD_STATS_NONE, RECORD_STATS_TEXT, RECORD_STATS_JSON };

/* Placeholder in `output`: record replaces the first one with the pid of each process. */
#define RECORD_EACH "%p"

/* What the user asks for. Strings point into argv or are the caller's; the struct owns nothing. */
struct record_request {
    /* Which processes to sample. record_request_read sets selection.pid, .children, .target and
     * .command. The caller sets selection.profile and selection.reader later. */
    struct target_selection selection;
    /* Longest time to record. 0: no limit, the default with a COMMAND; else the default is 10 s.
     * --duration 0 is an error. The recording ends earlier if the processes have ended. */
    uint64_t duration_ns;
    double rate_hz;          /* samples of each process per second, 0.1 to 10000 */
    const char *output;      /* path of the file; "-": the standard output; never NULL */
    const char *format_name; /* argument of -f; NULL: not given */
    bool each;               /* `output` contains RECORD_EACH: one file is written per process */
    const struct format *format; /* static, not NULL after success: see output_format_choose */
    /* --mode: the values that the profile measures (wall time, CPU time ...), without duplicates.
     * Viewers show modes[0] first. */
    enum service_value modes[VALUES];
    /* Entries used in `modes`. 0: --mode was not given; the profile then measures the first
     * VALUES_USUAL values of enum service_value. */
    size_t mode_count;
    /* Set by --threads, --native, --gc, --opcodes, --async-aware; gil and exception by --mode. */
    struct sample_options options;
    /* --split: label samples by process, by thread or not at all. Always by thread if
     * format->shows_times. */
    enum service_split split;
    enum record_stats stats;
};

/*
 * Parses argv, whose first word is "record", into *out. Before the call, the caller sets
 * out->output and out->rate_hz to their defaults and all other fields to 0.
 *
 * Gives: true: the request is complete; *status is unchanged. False: `help` (on stdout, for --help)
 *        or an error (on stderr) was printed; *status is the exit status.
 */
MUST_CHECK bool record_request_read(int argc, char **argv, const char *help,
                                    struct record_request *out, int *status);

#endif

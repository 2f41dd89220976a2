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

/* Placeholder in `output`: record replaces it with the id of each process. */
#define RECORD_EACH "%p"

/* What the user asks for. All strings point into argv; the struct owns nothing. */
struct record_request {
    struct target_selection selection; /* which processes to sample */
    /* How long to record. With COMMAND, 0 (the default) means: until COMMAND has ended. Without
     * COMMAND it is never 0; the default is 10 s. */
    uint64_t duration_ns;
    double rate_hz;          /* samples of each process per second */
    const char *output;      /* path of the file; "-": the standard output; never NULL */
    const char *format_name; /* argument of -f; NULL: not given */
    bool each;               /* `output` contains RECORD_EACH: one file is written per process */
    const struct format *format; /* static, never NULL: see output_format_choose */
    /* --mode: what the profile measures (wall time, CPU time ...), each at most once; viewers show
     * modes[0] first. */
    enum service_value modes[VALUES];
    size_t mode_count; /* entries used in `modes`; 0: no --mode: the first VALUES_USUAL */
    struct sample_options options; /* --threads, --native, --gc, --opcodes, --async-aware */
    enum service_split split;      /* --split: label samples by process, by thread or not at all */
    enum record_stats stats;
};

/*
 * Parses the options behind argv[0], which is "record", into *out. The caller has set out->output
 * and out->rate_hz to their defaults and all other fields to 0.
 *
 * Gives: true: the request is complete; *status is unchanged. False: the text `help` was printed to
 *        stdout because of --help, or an error to stderr; *status is the exit status. Nothing has
 * to be freed in either case.
 */
MUST_CHECK bool record_request_read(int argc, char **argv, const char *help,
                                    struct record_request *out, int *status);

#endif

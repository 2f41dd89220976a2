/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.h - what the command line of `pystrobe record` asks for. */
#ifndef AGENT_CLI_RECORD_REQUEST_H
#define AGENT_CLI_RECORD_REQUEST_H

#include "agent/cli/target_selection.h"
#include "agent/discover/sample_options.h"
#include "agent/sampling/service.h"
#include "formats/format.h"

/* --stats: what sampling took, to stderr at the end. */
enum record_stats { RECORD_STATS_NONE, RECORD_STATS_TEXT, RECORD_STATS_JSON };

/* All strings are borrowed from the command line. */
struct record_request {
    struct target_selection selection; /* which processes */
    uint64_t duration_ns; /* 0: until -- COMMAND ends; never 0 without COMMAND: 10 s by default */
    double rate_hz;
    const char *output;               /* never NULL; "-": the standard output */
    const char *format_name;          /* -f; NULL: not given */
    bool each;                        /* `output` has RECORD_EACH in it: a file for each process */
    const struct format *format;      /* static; not NULL */
    enum service_value modes[VALUES]; /* --mode: values of the profile; [0] is shown first */
    size_t mode_count;                /* 0: no --mode, the usual values */
    struct sample_options options;
    enum service_split split; /* by what the samples of a service are split */
    enum record_stats stats;
};

/* Stands for the process's id in `output`. */
#define RECORD_EACH "%p"

/*
 * Reads the command line into *out, in which the caller has set the defaults of `output` and
 * `rate_hz`, and all else to 0.
 *
 * Gives: true: go on. False: `help`, or what is wrong, was printed; *status is the exit status.
 */
MUST_CHECK bool record_request_read(int argc, char **argv, const char *help,
                                    struct record_request *out, int *status);

#endif

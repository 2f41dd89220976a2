/* SPDX-License-Identifier: Apache-2.0 */
/* record_request.h - what the command line of `pystrobe record` asks for. */
#ifndef AGENT_CLI_RECORD_REQUEST_H
#define AGENT_CLI_RECORD_REQUEST_H

#include "agent/cli/target_selection.h"
#include "agent/discover/sample_options.h"
#include "agent/sampling/service.h"
#include "formats/format.h"

enum record_stats { RECORD_STATS_NONE, RECORD_STATS_TEXT, RECORD_STATS_JSON };

/* All strings are borrowed from the command line. */
struct record_request {
    struct target_selection selection; /* whom */
    uint64_t duration_ns;              /* 0: until the command ends */
    double rate_hz;
    const char *output;               /* never NULL */
    const char *format_name;          /* NULL: no format was given */
    bool each;                        /* `output` has RECORD_EACH in it: a file for each process */
    const struct format *format;      /* static */
    enum service_value modes[VALUES]; /* what the profile has, the one that is shown first; */
    size_t mode_count;                /* 0: all that is usual */
    struct sample_options options;
    enum service_split split;
    enum record_stats stats;
};

/* What stands for the process's id in the name of the file. */
#define RECORD_EACH "%p"

/*
 * Reads the command line, and says what is wrong with it. *out has the defaults of `output` and
 * `rate_hz`, and options that are given replace them.
 *
 * Gives: true: go on. False: `help` was printed, or what is wrong was said; *status is the exit
 *        status.
 */
MUST_CHECK bool record_request_read(int argc, char **argv, const char *help,
                                    struct record_request *out, int *status);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_browse.c - `pystrobe browse`: reads a store for the page. Not for people: the agent's HTTP
 * server starts it, so that neither the memory nor the time that it takes is the agent's, and so
 * that files of others are parsed by a process that has next to no rights.
 *
 *   browse services STORE
 *   browse timeline STORE FOLDER FROM TO PID LABEL
 *   browse graph STORE FOLDER FROM TO PID LABEL [TYPE]
 *   browse profile STORE FOLDER FROM TO PID LABEL [TYPE]
 *   browse difference STORE FOLDER FROM TO PID LABEL TYPE BEFORE_FROM BEFORE_TO
 *
 * PID is 0 for all processes, LABEL is KEY=TEXT or "" for all. Times are UTC in milliseconds. It
 * prints JSON, of `profile` a pprof file; or, and fails, why it cannot.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/confine.h"
#include "agent/commands/commands.h"
#include "agent/host/clock.h"
#include "agent/report/store_query.h"

enum { OUTPUT_MAX = 24 << 20, LESS_URGENT = 10, RANGE_WORDS = 7, BEFORE_WORDS = 10 };

/* Below what the server waits, so that there is an answer of what was read by then. */
#define READING_NS (6 * NS_PER_S)

static bool parse_bounded_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno &&
           *out <= INT64_MAX / (int64_t)NS_PER_MS;
}

/* Cuts KEY=TEXT apart in place. */
static bool parse_label(char *text, struct pprof_label *out)
{
    char *value = strchr(text, '=');

    if (!value)
        return !*text;
    *value++ = '\0';
    *out = (struct pprof_label){.key = text, .str = value};
    return true;
}

/* The words behind the command's name. */
static bool browse(int count, char **words, struct buf *out, struct err *err)
{
    const uint64_t deadline_ns = clock_mono_ns() + READING_NS;
    struct store_query range = {.deadline_ns = deadline_ns}, before;

    if (count == 2 && strcmp(words[0], "services") == 0)
        return store_query_services(words[1], out, err);
    err_set(err,
            "browse: the arguments after '%.40s' are not those of services, timeline, graph, "
            "profile or difference",
            count > 0 ? words[0] : "");
    if (count < RANGE_WORDS || !parse_bounded_number(words[3], &range.from_ms) ||
        !parse_bounded_number(words[4], &range.to_ms) ||
        !parse_bounded_number(words[5], &range.pid) || !parse_label(words[6], &range.label))
        return false;
    range.store = words[1];
    range.folder = words[2];
    if (strcmp(words[0], "timeline") == 0 && count == RANGE_WORDS)
        return store_query_timeline(&range, out, err);
    if (strcmp(words[0], "graph") == 0 && count <= RANGE_WORDS + 1)
        return store_query_graph(&range, count > RANGE_WORDS ? words[7] : NULL, out, err);
    if (strcmp(words[0], "profile") == 0 && count <= RANGE_WORDS + 1)
        return store_query_profile(&range, count > RANGE_WORDS ? words[7] : NULL, out, err);
    before = range;
    before.deadline_ns = deadline_ns - READING_NS / 2;
    if (strcmp(words[0], "difference") != 0 || count != BEFORE_WORDS ||
        !parse_bounded_number(words[8], &before.from_ms) ||
        !parse_bounded_number(words[9], &before.to_ms))
        return false;
    return store_query_difference(&before, &range, words[7], out, err);
}

/*
 * A service manager may deny us the call by which capabilities are given up. Those of a user who
 * is not root go with the program that has them, once they are not to be handed on: it starts
 * anew, once. False: they cannot be given up.
 */
static bool give_up_rights(char **argv)
{
    static char again[] = "pystrobe-again";

    if (confine_to_files())
        return true;
    if (getuid() != 0 && strcmp(argv[-1], again) != 0) {
        argv[-1] = again; /* the program's own name */
        (void)execv("/proc/self/exe", argv - 1);
    }
    return false;
}

int cmd_browse(int argc, char **argv)
{
    struct err err = {""};
    struct buf out;
    bool good;

    if (!give_up_rights(argv)) {
        (void)puts("capabilities cannot be given up");
        return EXIT_FAILED;
    }
    errno = nice(LESS_URGENT) == -1 ? errno : 0; /* a service manager may deny it */
    buf_init(&out, OUTPUT_MAX);
    good = browse(argc - 1, argv + 1, &out, &err);
    if (good && buf_failed(&out)) {
        err_set(&err, "the answer is too large");
        good = false;
    }
    if (!good) {
        buf_reset(&out);
        buf_add_str(&out, err.text);
    }
    if (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0)
        good = false;
    buf_finish(&out);
    return good ? EXIT_OK : EXIT_FAILED;
}

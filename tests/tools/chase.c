/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chase.c - samples processes that die while they are read, one after the other.
 *
 * Reads a pid a line from its input; opens the process and samples it without a pause until that
 * fails. At the end prints a line of JSON: how many there were, how many were sampled at least
 * once, how each ended by label, and how many files are open more than at the begin.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "unwind/cpy.h"

#define CHASE_ONE(name, label, text) +1
enum { OUTCOMES = 0 CPY_OUTCOMES(CHASE_ONE) };
#undef CHASE_ONE

enum { ODD_MAX = 10000 }; /* samples in a row that say "worth trying again": more is for ever */

struct chase {
    unsigned long count, sampled, samples, torn;
    unsigned long opened[OUTCOMES], ended[OUTCOMES]; /* by what cpy_open and cpy_sample said */
};

static void each(void *ctx, const struct cpy_thread *thread)
{
    struct chase *chase = ctx;

    chase->torn += thread->torn;
}

/* Samples until it is gone; gives what the last sample said. */
static enum cpy_rc sample(struct chase *chase, struct cpy_target *target)
{
    unsigned long samples = chase->samples;
    unsigned odd = 0;
    enum cpy_rc rc = CPY_OK;

    while (odd < ODD_MAX && (rc == CPY_OK || rc == CPY_RACED || rc == CPY_STARTING)) {
        rc = cpy_sample(target, each, chase);
        chase->samples += rc == CPY_OK;
        odd = rc == CPY_OK ? 0 : odd + 1;
    }
    chase->sampled += chase->samples > samples;
    return rc;
}

static void one(struct chase *chase, pid_t pid)
{
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc = cpy_open(pid, &target, &err);

    chase->count++;
    chase->opened[rc]++;
    if (rc != CPY_OK)
        return;
    chase->ended[sample(chase, target)]++;
    cpy_close(target);
}

static long open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        (void)closedir(folder);
    return count;
}

static void print_outcomes(const char *name, const unsigned long counts[OUTCOMES])
{
    unsigned rc;

    (void)printf(", \"%s\": {", name);
    for (rc = 0; rc < OUTCOMES; rc++)
        (void)printf("%s\"%s\": %lu", rc ? ", " : "", cpy_rc_label((enum cpy_rc)rc), counts[rc]);
    (void)printf("}");
}

int main(void)
{
    struct chase chase = {0};
    long before = open_files();
    char line[64];

    while (fgets(line, sizeof(line), stdin))
        one(&chase, (pid_t)strtol(line, NULL, 10));
    (void)printf(
        "{\"count\": %lu, \"sampled\": %lu, \"samples\": %lu, \"torn\": %lu, \"files\": %ld",
        chase.count, chase.sampled, chase.samples, chase.torn, open_files() - before);
    print_outcomes("opened", chase.opened);
    print_outcomes("ended", chase.ended);
    (void)printf("}\n");
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* record_sources.c - see record_sources.h. */
#include "agent/cli/record_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"

/* Whose files a process's names are. */
enum { OWNER_UNKNOWN = -1 };

struct recorded_process {
    pid_t pid;
    bool known; /* `owner` was found */
    bool sampled;
    int reader;                /* its place in `readers`, once it is sampled; or OWNER_UNKNOWN */
    struct source_owner owner; /* as it was before it was read */
};

static struct recorded_process *find_recorded(struct record_sources *sources, pid_t pid)
{
    for (size_t i = sources->count; i > 0; i--)
        if (sources->processes[i - 1].pid == pid)
            return &sources->processes[i - 1];
    return NULL;
}

static struct recorded_process *add_recorded(struct record_sources *sources, pid_t pid)
{
    struct recorded_process *process;

    if (!ARRAY_RESERVE(sources->processes, sources->capacity, sources->count + 1))
        return NULL;
    process = &sources->processes[sources->count++];
    *process = (struct recorded_process){.pid = pid, .reader = OWNER_UNKNOWN};
    return process;
}

void record_sources_consider(struct record_sources *sources, pid_t pid)
{
    struct recorded_process *process = find_recorded(sources, pid);
    struct source_owner owner;
    bool known = source_owner_find(pid, &owner);

    if (process && process->sampled && known && process->known &&
        source_owner_same(&process->owner, &owner))
        return;
    if (!process || process->sampled) /* what it named before counts, too */
        process = add_recorded(sources, pid);
    if (!process)
        return;
    process->known = known;
    if (known)
        process->owner = owner;
}

/* The reader of what that process can read, started if it is the first of these. */
static int find_reader(struct record_sources *sources, const struct source_owner *owner)
{
    struct recorded_reader *reader;
    size_t i;

    for (i = 0; i < sources->reader_count; i++)
        if (source_owner_same(&sources->readers[i].owner, owner))
            return (int)i;
    if (i == RECORD_READERS_MAX)
        return OWNER_UNKNOWN;
    reader = &sources->readers[sources->reader_count++];
    reader->owner = *owner;
    reader->reader = source_reader_of_owner(owner);
    return (int)i;
}

/* What was considered may have executed the program that is sampled, as another user. */
static bool has_executed_another(const struct recorded_process *process)
{
    struct source_owner now;

    return source_owner_find(process->pid, &now) &&
           !program_same(&now.program, &process->owner.program);
}

void record_sources_begin(struct record_sources *sources, pid_t pid)
{
    struct recorded_process *process = find_recorded(sources, pid);

    if (!process || process->sampled)
        return;
    process->sampled = true;
    process->known = process->known && !has_executed_another(process);
    if (!process->known || process->owner.credentials.user != geteuid())
        sources->foreign = true;
    if (process->known && sources->wanted)
        process->reader = find_reader(sources, &process->owner);
}

/* True if a process has other rights by now than before it was read, without a program executed in
 * between: with which of them it has named a file is not known. False of one that has ended. */
static bool has_other_rights(const struct recorded_process *process)
{
    struct source_owner now;

    return process->known && source_owner_find(process->pid, &now) &&
           program_same(&now.program, &process->owner.program) &&
           !source_owner_same(&now, &process->owner);
}

void record_sources_choose(struct record_sources *sources, pid_t pid)
{
    struct recorded_process *process;
    bool any = false, same = true;
    int reader = OWNER_UNKNOWN;

    for (size_t i = 0; i < sources->count; i++) {
        process = &sources->processes[i];
        if (!process->sampled || (pid && process->pid != pid))
            continue;
        if (has_other_rights(process)) {
            process->reader = OWNER_UNKNOWN;
            sources->changed = true;
        }
        same = same && (!any || process->reader == reader);
        reader = process->reader;
        any = true;
    }
    sources->chosen = same && reader != OWNER_UNKNOWN ? sources->readers[reader].reader : NULL;
    sources->differ = sources->differ || !same;
}

bool record_sources_read(void *sources, const char *file, struct buf *out)
{
    return source_reader_read(((struct record_sources *)sources)->chosen, file, out);
}

void record_sources_explain(const struct record_sources *sources)
{
    if (!sources->wanted)
        return;
    if (sources->differ)
        (void)fputs("pystrobe: no source lines: the processes have different users or roots, and "
                    "a profile does not say which of them named a file; with %p in the name of "
                    "the output each process has a file of its own\n",
                    stderr);
    if (sources->changed)
        (void)fputs(
            "pystrobe: no source lines of a process that has another user or root directory "
            "than when it was first read: which of them could read a file that it names is "
            "not known\n",
            stderr);
    for (size_t i = 0; i < sources->reader_count; i++)
        if (source_reader_gave_up(sources->readers[i].reader)) {
            source_reader_explain(sources->readers[i].reader);
            return;
        }
}

void record_sources_finish(struct record_sources *sources)
{
    for (size_t i = 0; i < sources->reader_count; i++)
        source_reader_end(sources->readers[i].reader);
    free(sources->processes);
    *sources = (struct record_sources){0};
}

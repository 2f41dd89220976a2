/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c - see refused.h. */
#include "agent/sampling/refused.h"

#include <stdio.h>

#include "agent/child/command_line.h"

/* The index of a process; the count if it is not on the list. */
static size_t find_refused(const struct refused *refused, struct proc_id id)
{
    size_t i = 0;

    while (i < refused->count &&
           (refused->list[i].id.pid != id.pid || refused->list[i].id.start != id.start))
        i++;
    return i;
}

void refused_note(struct refused *refused, struct proc_id id, enum ptrace_access access)
{
    const size_t at = find_refused(refused, id);
    char command[PROC_COMMAND_MAX] = "";

    /* It has ended meanwhile, or can be read now: it will be tried again. */
    if (access == PTRACE_ACCESS_GONE || access == PTRACE_ACCESS_NONE)
        return;
    if (at == REFUSED_MAX) {
        refused->more = true;
        return;
    }
    (void)command_line_read(id.pid, command);
    refused->list[at].id = id;
    refused->list[at].access = access;
    (void)snprintf(refused->list[at].command, REFUSED_COMMAND_MAX, "%s", command);
    refused->count += at == refused->count;
}

void refused_forget(struct refused *refused, struct proc_id id)
{
    const size_t at = find_refused(refused, id);

    if (at < refused->count)
        refused->list[at] = refused->list[--refused->count];
}

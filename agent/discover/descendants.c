/* SPDX-License-Identifier: Apache-2.0 */
/* descendants.c - see descendants.h. */
#include "agent/discover/descendants.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/proc/execs.h"
#include "base/array.h"
#include "base/proc_file.h"

struct descendants {
    struct proc_stat root;
    pid_t root_pid;       /* 0: it has ended, and its number is another's */
    struct proc_id *list; /* owned; start 0: not looked at yet */
    size_t count, capacity;
    uint64_t begun; /* clock ticks after boot: who started later is on the list, or none of ours */
    int forks_fd;   /* owned; -1: it reports nothing */
    bool lost;      /* some reports were, or there was no room for all */
};

void descendants_free(struct descendants *d)
{
    if (!d)
        return;
    if (d->forks_fd >= 0)
        (void)close(d->forks_fd);
    free(d->list);
    free(d);
}

bool descendants_are_reported(const struct descendants *d)
{
    return d->forks_fd >= 0 && !d->lost;
}

/* NULL: it is not known as one. */
static struct proc_id *find_descendant(const struct descendants *d, pid_t pid)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->list[i].pid == pid)
            return &d->list[i];
    return NULL;
}

/* True for the root, too. */
static bool is_known(const struct descendants *d, pid_t pid)
{
    return pid > 0 && (pid == d->root_pid || find_descendant(d, pid));
}

/* Takes off the list what has ended. */
static void drop_ended(struct descendants *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->count; i++)
        if (proc_is_process(d->list[i].pid))
            d->list[kept++] = d->list[i];
    d->count = kept;
}

static void add_known(struct descendants *d, struct proc_id id)
{
    struct proc_id *known = find_descendant(d, id.pid);

    if (known) {
        *known = id;
        return;
    }
    if (d->count == DESCENDANTS_MAX)
        drop_ended(d);
    if (d->count < DESCENDANTS_MAX && ARRAY_RESERVE(d->list, d->capacity, d->count + 1))
        d->list[d->count++] = id;
    else
        d->lost = true;
}

static void drop_known(struct descendants *d, struct proc_id *known)
{
    *known = d->list[--d->count];
}

void descendants_note(struct descendants *d, pid_t parent, pid_t child)
{
    struct proc_id *known = find_descendant(d, child);

    if (child == d->root_pid)
        d->root_pid = 0; /* it has ended, and its number is another's */
    if (is_known(d, parent))
        add_known(d, (struct proc_id){child, 0});
    else if (known)
        drop_known(d, known);
}

static void note_fork(void *ctx, pid_t parent, pid_t child)
{
    descendants_note(ctx, parent, child);
}

void descendants_update(struct descendants *d)
{
    if (d->forks_fd >= 0 && !forks_read(d->forks_fd, note_fork, d))
        d->lost = true;
}

/* True if it is still the process that was noted. */
static bool holds_known(struct descendants *d, pid_t pid, const struct proc_stat *stat)
{
    struct proc_id *known = find_descendant(d, pid);

    if (known && known->start != 0 && known->start != stat->start) {
        drop_known(d, known);
        known = NULL;
    }
    if (known)
        known->start = stat->start;
    return known != NULL;
}

/* True if that process is the root: its number may be another's by now. */
static bool is_root(const struct descendants *d, pid_t pid)
{
    struct proc_stat stat;

    return pid == d->root_pid && proc_stat_read(pid, &stat) == PROC_OK &&
           stat.start == d->root.start;
}

static bool is_child_of_known(struct descendants *d, const struct proc_stat *stat)
{
    struct proc_stat parent;

    return find_descendant(d, stat->parent) && proc_stat_read(stat->parent, &parent) == PROC_OK &&
           holds_known(d, stat->parent, &parent);
}

/*
 * True if its parent has ended, and it is in a process group of ours. The kernel gives an orphan to
 * an ancestor of its parent, init as a rule. What the root's own parent has may be that one's
 * child, as the programs of a pipeline are.
 */
static bool is_orphan_of_group(const struct descendants *d, const struct proc_stat *stat)
{
    if (stat->session != d->root.session)
        return false;
    if (stat->parent == d->root.parent)
        return stat->parent == 1 && is_known(d, stat->group);
    return (stat->group == d->root.group || is_known(d, stat->group)) &&
           (stat->parent == 1 || proc_descends(d->root_pid, stat->parent));
}

static enum descent find_by_kinship(struct descendants *d, pid_t pid, const struct proc_stat *stat)
{
    if (is_root(d, d->root_pid) && proc_descends(pid, d->root_pid))
        return DESCENT_SURE;
    if (is_child_of_known(d, stat))
        return DESCENT_SURE;
    if (stat->start < d->root.start)
        return DESCENT_NONE;
    if (stat->session != d->root.session && is_known(d, stat->session))
        return DESCENT_SURE;
    if (descendants_are_reported(d) && stat->start > d->begun)
        return DESCENT_NONE; /* or it would be on the list */
    return is_orphan_of_group(d, stat) ? DESCENT_LIKELY : DESCENT_NONE;
}

/* Notes a process if it descends from the root now, while its parents are there to tell. */
static bool note_if_below_root(void *ctx, pid_t pid, uint64_t inode)
{
    struct descendants *d = ctx;

    (void)inode;
    if (proc_descends(pid, d->root_pid))
        add_known(d, (struct proc_id){pid, 0});
    return true;
}

struct descendants *descendants_new(pid_t root)
{
    struct descendants *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->forks_fd = forks_open();
    d->root_pid = root;
    if (proc_stat_read(root, &d->root) != PROC_OK)
        d->root = (struct proc_stat){.start = UINT64_MAX};
    else /* the kernel reports what these start from here on, whether they then live on or not */
        (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), note_if_below_root, d);
    d->begun = proc_ticks_now();
    return d;
}

enum descent descendants_find(struct descendants *d, pid_t pid, const struct proc_stat *stat)
{
    enum descent descent;

    descendants_update(d);
    if (is_root(d, pid))
        return DESCENT_NONE;
    if (holds_known(d, pid, stat))
        return DESCENT_SURE;
    descent = find_by_kinship(d, pid, stat);
    if (descent != DESCENT_NONE)
        add_known(d, (struct proc_id){pid, stat->start});
    return descent;
}

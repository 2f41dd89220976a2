/* SPDX-License-Identifier: Apache-2.0 */
/* children.c - see children.h. */
#include "agent/sampling/children.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What is told in a look. */
struct told {
    uint64_t left_ns; /* that may yet be told */
    children_told *told;
    void *ctx;
};

static struct child *find_child(const struct children *c, pid_t pid)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].id.pid == pid)
            return &c->items[i];
    return NULL;
}

/* Adds a child that is not listed; NULL: there is no room. */
static struct child *add_child(struct children *c, struct proc_id id)
{
    struct child *child;

    if (c->count == CHILDREN_MAX || !ARRAY_RESERVE(c->items, c->capacity, c->count + 1))
        return NULL;
    child = &c->items[c->count++];
    *child = (struct child){.id = id};
    return child;
}

static uint64_t family_cpu_ns(const struct proc_stat *stat)
{
    return stat->cpu_ns + stat->waited_cpu_ns;
}

/* Adds those that are there now and not listed yet. `counts`: all of their CPU time does. */
static void add_present(struct children *c, bool counts)
{
    pid_t pids[CHILDREN_MAX];
    size_t count = proc_children(c->pid, c->waited_ns > 0 && c->threads > 1, pids, CHILDREN_MAX);
    struct proc_stat stat;
    struct child *child;

    for (size_t i = 0; i < count; i++) {
        if (find_child(c, pids[i]) || proc_stat_read(pids[i], &stat) != PROC_OK)
            continue;
        child = add_child(c, (struct proc_id){pids[i], stat.start});
        if (!child)
            return;
        child->cpu_ns = family_cpu_ns(&stat);
        child->counted_ns = counts ? 0 : child->cpu_ns;
        memcpy(child->name, stat.name, sizeof(child->name));
    }
}

static void read_parent(struct children *c)
{
    struct proc_stat stat;

    if (proc_stat_read(c->pid, &stat) != PROC_OK)
        return; /* it is gone: what came since the last look is its own parent's to count */
    c->parent = stat.parent;
    c->threads = stat.threads;
    c->waited_ns = stat.waited_cpu_ns;
}

void children_begin(struct children *c, pid_t pid, bool from_birth)
{
    *c = (struct children){.pid = pid};
    read_parent(c);
    c->known_ns = c->told_ns = from_birth ? 0 : c->waited_ns;
    add_present(c, from_birth);
}

/* The child of that id, added if it is not listed; NULL: there is no room. */
static struct child *get_child(struct children *c, struct proc_id id)
{
    struct child *child = find_child(c, id.pid);

    if (!child)
        return add_child(c, id);
    if (child->id.start != id.start) { /* another process has the number */
        c->known_ns += child->counted_ns;
        *child = (struct child){.id = id};
    }
    return child;
}

void children_expect(struct children *c, struct proc_id id)
{
    struct child *child = get_child(c, id);

    if (!child)
        return;
    child->is_sampled = true;
    child->name[0] = '\0'; /* what comes late is of its stacks, as far as it can be */
}

void children_note(struct children *c, struct proc_id id, uint64_t cpu_ns)
{
    struct child *child = get_child(c, id);

    if (!child) {
        c->known_ns += cpu_ns;
        return;
    }
    child->counted_ns = cpu_ns;
    child->is_sampled = false;
}

static void tell(struct told *told, const char *name, uint64_t start, uint64_t ns)
{
    ns = ns < told->left_ns ? ns : told->left_ns;
    if (ns == 0)
        return;
    told->left_ns -= ns;
    told->told(told->ctx, name, start, ns);
}

/* Reads a child's CPU time. False: it is gone. */
static bool read_child(const struct children *c, struct child *child)
{
    struct proc_stat stat;

    if (proc_stat_read(child->id.pid, &stat) != PROC_OK || stat.start != child->id.start ||
        stat.parent != c->pid)
        return false;
    child->cpu_ns = family_cpu_ns(&stat);
    return true;
}

/* Reads the CPU time of those that are not sampled. False: one of them is gone. */
static bool read_unsampled(struct children *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->items[i].is_sampled && !read_child(c, &c->items[i]))
            return false;
    return true;
}

/* Moves those that are gone behind the others; gives how many are there. */
static size_t part_gone(struct children *c)
{
    struct child child;
    size_t i = 0, there = c->count;

    while (i < there) {
        if (read_child(c, &c->items[i])) {
            i++;
            continue;
        }
        child = c->items[i];
        c->items[i] = c->items[--there];
        c->items[there] = child;
    }
    return there;
}

/* Tells what is due, and forgets those that are gone. */
static void tell_due(struct children *c, children_told *told, void *ctx)
{
    struct told telling = {.told = told, .ctx = ctx};
    size_t there = part_gone(c); /* before the number is read: so that has them */
    const struct child *child;
    uint64_t due_ns;

    for (child = c->items + there; child < c->items + c->count; child++)
        if (child->is_sampled)
            return; /* another time, when its end is noted */
    read_parent(c);
    for (size_t i = there; i < c->count; i++)
        c->known_ns += c->items[i].counted_ns;
    due_ns =
        c->waited_ns > c->known_ns + c->given_ns ? c->waited_ns - c->known_ns - c->given_ns : 0;
    telling.left_ns = due_ns;
    for (child = c->items + there; child < c->items + c->count; child++)
        if (child->cpu_ns > child->counted_ns)
            tell(&telling, child->name, child->id.start, child->cpu_ns - child->counted_ns);
    tell(&telling, NULL, 0, telling.left_ns);
    c->given_ns += due_ns;
    c->told_ns = c->waited_ns;
    c->count = there;
}

void children_look(struct children *c, children_told *told, void *ctx)
{
    read_parent(c);
    if (c->waited_ns != c->told_ns || !read_unsampled(c))
        tell_due(c, told, ctx);
    add_present(c, true);
}

void children_finish(struct children *c)
{
    free(c->items);
    *c = (struct children){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - the CPU time of children that a process has waited for and that nobody has sampled.
 *
 * When a process waits for a child that has ended, the kernel adds the child's CPU time, and that
 * of the children that this one has waited for, to a number of the parent (cutime and cstime of its
 * stat file). What that number grows by, less what is counted of children that were sampled, is the
 * time of children that were not: because they were over too soon, or run no Python. It comes late,
 * and all at once, if a child has run for long.
 *
 * Not in it are children that ended after their parent, and those of a parent that ignores SIGCHLD:
 * the kernel does not add them to any process's number that we read.
 *
 * Shape: children_begin; for each child that is sampled children_expect, and children_note when it
 * is sampled no more; children_look now and then; children_finish. Source: proc(5);
 * wait_task_zombie in the kernel's kernel/exit.c.
 */
#ifndef AGENT_SAMPLING_CHILDREN_H
#define AGENT_SAMPLING_CHILDREN_H

#include "agent/proc/proc.h"

enum { CHILDREN_MAX = 256 }; /* that are told apart; of more, no name is known */

/* A child that had not been waited for at the last look, or that is noted. */
struct child {
    struct proc_id id;
    uint64_t counted_ns; /* of its CPU time, what is not the parent's to count */
    uint64_t cpu_ns;     /* as last seen; 0: only noted */
    bool is_sampled;     /* and what is counted of it will be noted */
    char name[sizeof(((struct proc_stat *)NULL)->name)]; /* the kernel's name of it */
};

/*
 * Cache: children that are there
 * Key:   pid and start time
 * Ends:  with the look that does not find it
 * Test:  tests/unit/sampling/test_children.c: tells_what_a_child_used_by_its_name
 */
struct children {
    pid_t pid;           /* the parent */
    pid_t parent;        /* its own parent, at the last look */
    size_t threads;      /* likewise, how many it has */
    uint64_t waited_ns;  /* likewise, the kernel's number */
    uint64_t known_ns;   /* of that, what is counted elsewhere or is not to be counted */
    uint64_t given_ns;   /* of that, what was told */
    uint64_t told_ns;    /* the kernel's number, when all that was due of it was told last */
    struct child *items; /* owned */
    size_t count, capacity;
};

/* Begins to count. `from_birth`: all that it has waited for so far counts, too. */
void children_begin(struct children *children, pid_t pid, bool from_birth);

/* A child is sampled from now on: once it is gone, nothing is told until it is noted. */
void children_expect(struct children *children, struct proc_id id);

/* `cpu_ns` of a child's CPU time, with that of its own children, are counted elsewhere. */
void children_note(struct children *children, struct proc_id id, uint64_t cpu_ns);

/* Time of children that were not sampled. `name`: of the child, any bytes, NULL: not known;
 * `start`: of the child, clock ticks after boot, 0: not known. */
typedef void children_told(void *ctx, const char *name, uint64_t start, uint64_t ns);

/*
 * Tells what came since the last look: of each child whose name is known, and then the rest.
 *
 * Cost: one stat file, one list of children, and a stat file for each that is there and is not
 *       sampled; of all that are there, if it has waited for one since, or one is gone. Of a
 * process that has waited for a child before, a list for each thread.
 */
void children_look(struct children *children, children_told *told, void *ctx);

void children_finish(struct children *children);

#endif

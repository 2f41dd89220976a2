/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - the CPU time of children that a process has waited for and that nobody has sampled.
 *
 * When a process waits for an ended child, the kernel adds the child's CPU time, and that of the
 * children that the child had waited for, to a counter of the parent: cutime + cstime of its stat
 * file, here "waited CPU time". Its growth, less the time counted of sampled children, is the time
 * of children that were not sampled because they ended too soon or run no Python. The time of a
 * child that ran for long comes late, and all at once.
 *
 * The counter lacks children that ended after their parent, and children of a parent that ignores
 * SIGCHLD: the kernel adds them to no counter that we read.
 *
 * Shape:  children_begin; for each sampled child children_expect, and children_note when its
 *         sampling ends; children_look now and then; children_finish.
 * Source: proc(5); wait_task_zombie in the kernel's kernel/exit.c.
 */
#ifndef AGENT_SAMPLING_CHILDREN_H
#define AGENT_SAMPLING_CHILDREN_H

#include "agent/proc/proc.h"

enum { CHILDREN_MAX = 256 }; /* listed children; the time of others is told without a name */

/* A child that was there at the last look, or that was passed to children_expect or _note. */
struct child {
    struct proc_id id;
    uint64_t counted_ns; /* part of its CPU time that is counted elsewhere or must not count */
    uint64_t cpu_ns;     /* with that of its own ended children, as last read; 0: never read */
    bool is_sampled;     /* children_note will come for it */
    char name[sizeof(((struct proc_stat *)NULL)->name)]; /* the kernel's; "": not known */
};

/*
 * Cache: children that are there
 * Key:   pid and start time
 * Ends:  with the look that does not find it; if it is sampled, not before children_note
 * Test:  tests/unit/sampling/test_children.c: tells_what_a_child_used_by_its_name
 */
struct children {
    pid_t pid;           /* the parent */
    pid_t parent;        /* parent of `pid`, at the last look */
    size_t threads;      /* threads of `pid`, at the last look */
    uint64_t waited_ns;  /* waited CPU time of `pid`, at the last look */
    uint64_t known_ns;   /* part of waited_ns that is counted elsewhere or must not count */
    uint64_t given_ns;   /* part of waited_ns that children_look has told */
    uint64_t told_ns;    /* waited_ns at the last look that told all that was due */
    struct child *items; /* owned */
    size_t count, capacity;
};

/* Begins to count for process `pid`. `from_birth`: its waited CPU time so far counts, too. */
void children_begin(struct children *children, pid_t pid, bool from_birth);

/* A child is sampled from now on: once it is gone, nothing is told until children_note, and then
 * without its name. */
void children_expect(struct children *children, struct proc_id id);

/* Sampling of a child has ended: `cpu_ns` of its time and its children's is counted elsewhere. */
void children_note(struct children *children, struct proc_id id, uint64_t cpu_ns);

/* Gets `ns` of CPU time of children that were not sampled. `name`: of the child, any bytes; NULL or
 * "": not known. `start`: of the child, clock ticks after boot; 0: not known. */
typedef void children_told(void *ctx, const char *name, uint64_t start, uint64_t ns);

/*
 * Tells the time that came since the last look: first of each listed child that is gone, then the
 * rest, with name NULL.
 *
 * Cost: one stat file, one list of children (one for each thread if the process has waited for a
 *       child before), and a stat file for each listed child that is not sampled; for all listed
 *       children if the process has waited for one since, or one is gone.
 */
void children_look(struct children *children, children_told *told, void *ctx);

void children_finish(struct children *children);

#endif

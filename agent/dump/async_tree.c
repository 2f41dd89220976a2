/* SPDX-License-Identifier: Apache-2.0 */
/* async_tree.c - see async_tree.h. */
#include "agent/dump/async_tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/host/escape.h"

enum { LEVELS_MAX = 100 }; /* what is deeper begins at the left margin again */

/* A task on the way from the root. */
struct level {
    uint32_t task, next; /* its child to be shown next */
};

struct tree {
    struct buf *out;
    const struct async_tasks *tasks;
    bool any;            /* a tree was written already */
    bool up;             /* from a task to its waiters, not to what it awaits */
    unsigned char *done; /* owned: for each task, enum state */
    struct level levels[LEVELS_MAX];
    size_t depth;
};

enum state { NOT_SHOWN, ON_THE_WAY, SHOWN };

static uint32_t child_count(const struct tree *tree, uint32_t task)
{
    return tree->up ? tree->tasks->tasks[task].waiter_count : tree->tasks->tasks[task].awaits_count;
}

static uint32_t child_of(const struct tree *tree, uint32_t task, uint32_t i)
{
    return tree->up ? tree->tasks->tasks[task].waiters[i] : tree->tasks->tasks[task].awaits[i];
}

/* What stands before a line: a column for each level that has more to come. */
static void add_prefix(struct tree *tree, size_t levels)
{
    for (size_t i = 0; i < levels; i++)
        buf_add_str(tree->out, tree->levels[i].next < child_count(tree, tree->levels[i].task)
                                   ? "│   "
                                   : "    ");
}

static void add_tree_frame(struct tree *tree, const struct async_frame *frame)
{
    add_prefix(tree, tree->depth);
    escape_add_str(tree->out, frame->func);
    buf_add_str(tree->out, " (");
    escape_add_str(tree->out, frame->file);
    if (frame->line > 0)
        buf_add_fmt(tree->out, ":%" PRId32, frame->line);
    buf_add_str(tree->out, ")\n");
}

static void add_task_line(struct tree *tree, const struct async_task *task, const char *note)
{
    const struct level *parent;

    if (tree->depth > 0) {
        parent = &tree->levels[tree->depth - 1];
        add_prefix(tree, tree->depth - 1);
        buf_add_str(tree->out, parent->next < child_count(tree, parent->task) ? "├── " : "└── ");
        buf_add_str(tree->out, tree->up ? "awaited by " : "");
    }
    buf_add_str(tree->out, "Task \"");
    escape_add_str(tree->out, task->name ? task->name : "?");
    buf_add_fmt(tree->out, "\" 0x%" PRIx64, task->id);
    if (*note) {
        buf_add_fmt(tree->out, ": %s\n", note);
        return;
    }
    buf_add_str(tree->out, task->running ? ", running" : ", waiting");
    if (task->tid != 0) {
        buf_add_fmt(tree->out, ", thread %d \"", (int)task->tid);
        escape_add_str(tree->out, task->thread_name ? task->thread_name : "?");
        buf_add_str(tree->out, "\"");
    } else if (task->state == 0)
        buf_add_str(tree->out, ", its thread has ended");
    buf_add_str(tree->out, "\n");
}

/* Writes a task with its frames: outermost first where awaiters are above, else innermost. */
static void add_tree_task(struct tree *tree, uint32_t index)
{
    const struct async_task *task = &tree->tasks->tasks[index];

    add_task_line(tree, task, "");
    tree->done[index] = ON_THE_WAY;
    tree->levels[tree->depth] = (struct level){.task = index};
    /* The column beside the frames is that of the children. */
    tree->depth++;
    for (uint32_t i = 0; i < task->depth; i++)
        add_tree_frame(tree, &task->frames[tree->up ? i : task->depth - 1 - i]);
    if (task->cut) {
        add_prefix(tree, tree->depth);
        buf_add_str(tree->out, "... and more than is shown\n");
    }
}

/* Writes the tree whose root is `root`. */
static void add_tree(struct tree *tree, uint32_t root)
{
    struct level *level;
    uint32_t child;

    tree->depth = 0;
    buf_add_str(tree->out, tree->any ? "\n" : "");
    tree->any = true;
    add_tree_task(tree, root);
    while (tree->depth > 0) {
        level = &tree->levels[tree->depth - 1];
        if (level->next == child_count(tree, level->task)) {
            tree->done[level->task] = SHOWN;
            tree->depth--;
            continue;
        }
        child = child_of(tree, level->task, level->next++);
        if (tree->done[child] == ON_THE_WAY)
            add_task_line(tree, &tree->tasks->tasks[child], "a cycle, see above");
        else if (tree->done[child] == SHOWN)
            add_task_line(tree, &tree->tasks->tasks[child], "see above");
        else if (tree->depth == LEVELS_MAX)
            add_task_line(tree, &tree->tasks->tasks[child], "see below");
        else
            add_tree_task(tree, child);
    }
}

/* Appends the trees that begin with some of the tasks; false: out of memory. */
static bool add_trees(struct buf *out, const struct async_tasks *tasks, bool running)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    unsigned char *done = calloc(tasks->count + 1, 1);
    bool good = tree && done;

    if (good) {
        *tree = (struct tree){.out = out, .tasks = tasks, .up = running, .done = done};
        for (uint32_t i = 0; i < tasks->count; i++)
            if (running ? tasks->tasks[i].running && done[i] == NOT_SHOWN
                        : tasks->tasks[i].waiter_count == 0)
                add_tree(tree, i);
        for (uint32_t i = 0; i < tasks->count && !running; i++) /* cycles, and what is very deep */
            if (done[i] == NOT_SHOWN)
                add_tree(tree, i);
    }
    free(tree);
    free(done);
    return good;
}

bool async_tree_all(struct buf *out, const struct async_tasks *tasks)
{
    return add_trees(out, tasks, false);
}

bool async_tree_running(struct buf *out, const struct async_tasks *tasks)
{
    return add_trees(out, tasks, true);
}

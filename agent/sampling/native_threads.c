/* SPDX-License-Identifier: Apache-2.0 */
/* native_threads.c - see native_threads.h. */
#include "agent/sampling/native_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/proc_stat.h"

/* A look in progress. */
struct look {
    struct native_threads *before;
    struct native_threads now;
    size_t next; /* index in `before` that the next thread likely has: both go by number */
    bool (*is_python)(void *ctx, pid_t tid); /* NULL: nothing counts yet */
    void *ctx;
};

/* The use by threads of a name; if there is no room, by the others. NULL: out of memory. */
static struct native_use *native_use_of(struct native_threads *n, const char *name)
{
    for (size_t i = 0; i < n->use_count; i++)
        if (strcmp(n->uses[i].name, name) == 0)
            return &n->uses[i];
    if (n->use_count == NATIVE_NAMES_MAX)
        return &n->uses[0];
    if (!ARRAY_RESERVE(n->uses, n->use_capacity, n->use_count + 1))
        return NULL;
    n->uses[n->use_count] = (struct native_use){.ns = 0};
    (void)snprintf(n->uses[n->use_count].name, sizeof(n->uses->name), "%s", name);
    return &n->uses[n->use_count++];
}

/* What is known of a thread; 0: nothing, it is new. */
static uint64_t known_ns(struct look *look, pid_t tid)
{
    const struct native_threads *before = look->before;
    size_t at;

    for (size_t i = 0; i < before->count; i++) {
        at = (look->next + i) % before->count;
        if (before->items[at].tid != tid)
            continue;
        look->next = at + 1;
        return before->items[at].cpu_ns;
    }
    return 0;
}

static void note_use(struct native_threads *n, pid_t tid, uint64_t ns)
{
    char name[sizeof(n->uses->name)] = "";
    struct native_use *use;

    (void)proc_file_read(name, sizeof(name), NULL, "/proc/%d/task/%d/comm", (int)n->pid, (int)tid);
    name[strcspn(name, "\n")] = '\0';
    use = native_use_of(n, ""); /* the first */
    use = use ? native_use_of(n, name) : NULL;
    if (use)
        use->ns += ns;
}

static bool look_at_thread(void *ctx, pid_t tid, uint64_t inode)
{
    struct look *look = ctx;
    struct native_threads *now = &look->now;
    struct proc_sched times;
    uint64_t known;

    (void)inode;
    if (look->is_python && look->is_python(look->ctx, tid))
        return true;
    if (proc_sched_read(look->before->pid, tid, &times) != PROC_OK)
        return true;
    if (now->count == NATIVE_THREADS_MAX ||
        !ARRAY_RESERVE(now->items, now->capacity, now->count + 1))
        return false;
    now->items[now->count++] = (struct native_thread){tid, times.cpu_ns};
    known = look->is_python ? known_ns(look, tid) : 0;
    if (look->is_python && times.cpu_ns != known)
        note_use(look->before, tid, times.cpu_ns > known ? times.cpu_ns - known : times.cpu_ns);
    return true;
}

void native_threads_look(struct native_threads *n, bool (*is_python)(void *ctx, pid_t tid),
                         void *ctx)
{
    struct look look = {.before = n, .is_python = is_python, .ctx = ctx};

    (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc/%d/task", (int)n->pid), look_at_thread,
                            &look);
    free(n->items);
    n->items = look.now.items;
    n->count = look.now.count;
    n->capacity = look.now.capacity;
}

void native_threads_begin(struct native_threads *n, pid_t pid)
{
    *n = (struct native_threads){.pid = pid};
    native_threads_look(n, NULL, NULL);
}

void native_threads_note(struct native_threads *n, pid_t tid, uint64_t cpu_ns)
{
    if (n->pid && n->count < NATIVE_THREADS_MAX &&
        ARRAY_RESERVE(n->items, n->capacity, n->count + 1))
        n->items[n->count++] = (struct native_thread){tid, cpu_ns};
}

void native_threads_tell(struct native_threads *n,
                         void (*told)(void *ctx, const char *name, uint64_t ns), void *ctx)
{
    for (size_t i = 0; i < n->use_count; i++)
        if (n->uses[i].ns > 0)
            told(ctx, n->uses[i].name, n->uses[i].ns);
    n->use_count = 0;
}

void native_threads_finish(struct native_threads *n)
{
    free(n->items);
    free(n->uses);
    *n = (struct native_threads){0};
}

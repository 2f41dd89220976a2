/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - cpy_tasks: all asyncio tasks of a target, list by list. */
#include "unwind/task.h"
#include "unwind/thread_list.h"

enum { LIST_TRIES = 8 };

typedef void each_task(void *ctx, const struct cpy_task *task);

static enum cpy_rc give_task(struct cpy_target *t, const struct task_group *group, cpy_addr addr,
                             each_task *each, void *ctx)
{
    struct cpy_task task;
    bool gone;
    enum cpy_rc rc = task_read(t, group, addr, &task, &gone);

    if (rc == CPY_OK && !gone)
        each(ctx, &task);
    return rc;
}

/* Fills t->tasks.asyncio.list, with what it was if that is still so. */
static enum cpy_rc read_list(struct cpy_target *t, const struct task_group *group, cpy_addr head)
{
    const struct reader reader = {&group->memos->mem, &t->found.layout, true};
    const struct memo_key key = {head, head};
    struct tasklist *list = &t->tasks.asyncio.list;
    enum cpy_rc rc = CPY_RACED;
    void *nodes = memo_find(group->memos, key);

    if (nodes)
        return tasklist_take(list, nodes);
    memo_record(group->memos, 0, 0);
    for (int tries = 0; rc == CPY_RACED && tries < LIST_TRIES; tries++) {
        if (tries > 0) {
            memo_discard(group->memos);
            task_prepare_retry(t, group);
        }
        rc = tasklist_read(list, &reader, head);
    }
    t->prefetch.now = t->sets.only;
    nodes = rc == CPY_OK ? memo_store(group->memos, key, tasklist_bytes(list)) : NULL;
    if (nodes)
        tasklist_put(list, nodes);
    memo_discard(group->memos);
    return rc;
}

/* The tasks of one list; `running` (0: none) need not be in it: eager tasks are not at first. */
static enum cpy_rc give_list(struct cpy_target *t, struct task_group *group, cpy_addr head,
                             cpy_addr running, each_task *each, void *ctx)
{
    const struct tasklist *list = &t->tasks.asyncio.list;
    uint32_t node = t->found.layout.asyncio.node;
    enum cpy_rc rc = read_list(t, group, head);

    task_begin_group(t, group);
    for (size_t i = 0; i < list->count && rc == CPY_OK; i++) {
        if (list->nodes[i] - node == running)
            running = 0;
        rc = give_task(t, group, list->nodes[i] - node, each, ctx);
    }
    return rc == CPY_OK && running != 0 ? give_task(t, group, running, each, ctx) : rc;
}

/* The tasks of a thread. */
static enum cpy_rc give_thread(struct cpy_target *t, const struct listed *thread, each_task *each,
                               void *ctx)
{
    const struct thread_words *words = &thread->words;
    struct task_group group = {
        .interp = words->interp,
        .interp_id = t->list.interps[thread->interp].id,
        .thread = words->addr,
        .tid = tids_outer(&t->process.tids, thread->inner_tid),
        .memos = &t->tasks.all_memos,
    };

    return give_list(t, &group, words->addr + t->found.layout.asyncio.thread_tasks,
                     words->running_task, each, ctx);
}

/* The tasks of threads of an interpreter that have ended. */
static enum cpy_rc give_left_behind(struct cpy_target *t, const struct interp *interp,
                                    each_task *each, void *ctx)
{
    struct task_group group = {
        .interp = interp->addr, .interp_id = interp->id, .memos = &t->tasks.all_memos};

    return give_list(t, &group, interp->addr + t->found.layout.asyncio.interp_tasks, 0, each, ctx);
}

enum cpy_rc cpy_tasks(struct cpy_target *t, each_task *each, void *ctx)
{
    enum cpy_rc rc;

    target_look_for_asyncio(t, true);
    if (t->tasks.asyncio.table == 0)
        return CPY_FOREIGN;
    target_begin(t);
    t->gil_skip.ready = false; /* a new list of threads is made */
    t->sets.only = &t->tasks.all;
    prefetch_fetch(&t->prefetch, &t->sets.only, 1);
    rc = thread_list_all(t, NULL);
    t->prefetch.now = t->sets.only;
    memos_begin(&t->tasks.all_memos);
    for (size_t i = 0; i < t->list.thread_count && rc == CPY_OK; i++)
        rc = give_thread(t, &t->list.threads[i], each, ctx);
    for (size_t i = 0; i < t->list.interp_count && rc == CPY_OK; i++)
        rc = give_left_behind(t, &t->list.interps[i], each, ctx);
    memos_end(&t->tasks.all_memos);
    t->sets.only = NULL;
    target_end(t);
    return rc;
}

/* Gives a task, and puts those that wait for it at the end of the list. */
static enum cpy_rc give_and_follow(struct cpy_target *t, const struct task_group *group,
                                   cpy_addr addr, each_task *each, void *ctx)
{
    struct cpy_task task;
    bool gone;
    enum cpy_rc rc = task_read(t, group, addr, &task, &gone);

    if (rc != CPY_OK || gone)
        return rc;
    each(ctx, &task);
    for (uint32_t i = 0; i < task.awaited_by_count && rc == CPY_OK; i++)
        rc = tasklist_add(&t->tasks.asyncio.list, task.awaited_by[i], CPY_AWAITERS_MAX);
    return rc;
}

/* The task that runs in a thread, those that wait for it, and so on. */
static enum cpy_rc give_awaiters(struct cpy_target *t, const struct listed *thread, each_task *each,
                                 void *ctx)
{
    struct task_group group = {
        .interp = thread->words.interp,
        .interp_id = t->list.interps[thread->interp].id,
        .thread = thread->words.addr,
        .tid = tids_outer(&t->process.tids, thread->inner_tid),
        .memos = &t->tasks.awaiter_memos,
        .sampled = t->tasks.awaiters_fetched ? thread : NULL,
    };
    struct tasklist *list = &t->tasks.asyncio.list;
    enum cpy_rc rc;

    task_begin_group(t, &group);
    list->count = 0;
    rc = tasklist_add(list, thread->words.running_task, CPY_AWAITERS_MAX);
    for (size_t i = 0; i < list->count && rc == CPY_OK; i++)
        rc = give_and_follow(t, &group, list->nodes[i], each, ctx);
    return rc;
}

enum cpy_rc cpy_running_tasks(struct cpy_target *t, each_task *each, void *ctx)
{
    enum cpy_rc rc = CPY_OK;

    if (t->tasks.asyncio.table == 0)
        return CPY_FOREIGN;
    target_begin(t);
    t->sets.only = t->prefetch.now = &t->tasks.awaiters;
    if (!t->tasks.awaiters_fetched)
        prefetch_fetch(&t->prefetch, &t->sets.only, 1);
    memos_begin(&t->tasks.awaiter_memos);
    for (size_t i = 0; i < t->list.thread_count && rc == CPY_OK; i++)
        if (t->list.threads[i].words.running_task != 0)
            rc = give_awaiters(t, &t->list.threads[i], each, ctx);
    memos_end(&t->tasks.awaiter_memos);
    t->tasks.awaiters_fetched = false; /* nothing is given twice of one moment */
    t->tasks.awaiters_wanted = true;
    t->sets.only = NULL;
    target_end(t);
    return rc;
}

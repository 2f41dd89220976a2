/* SPDX-License-Identifier: Apache-2.0 */
/* thread_names.c - see thread_names.h. */
#include "unwind/thread_names.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKS_MAX = 16,     /* of a sample at threads that are not new */
    TURN_ROUNDS = 10,   /* between two looks at a thread that may have slept */
    WHOLE_ROUNDS = 100, /* between two looks from the interpreter on */
    WAIT_MAX = 512      /* samples between two looks for what was not found */
};

/* Fetches what looks are likely to read, if the sample has not done so. */
static void fetch_names(struct cpy_target *t)
{
    struct prefetch_set *set = &t->sets.names;
    const bool uses_bpf = t->prefetch.uses_bpf, by_bpf = t->prefetch.by_bpf;

    if (t->names.fetched)
        return;
    t->names.fetched = true;
    t->prefetch.uses_bpf = false; /* no thread need stand still for this */
    prefetch_fetch(&t->prefetch, &set, 1);
    t->prefetch.uses_bpf = uses_bpf;
    t->prefetch.by_bpf = by_bpf;
}

/* Takes the text that was read, NULL: not known. */
static void take(struct thread_name *name, const char *text, uint64_t sample)
{
    char *copy;

    name->looked = true;
    if (!text) { /* what was known before stays: it is the same thread */
        name->wait = name->wait == 0 ? 1 : name->wait * 2 < WAIT_MAX ? name->wait * 2 : WAIT_MAX;
        name->next = sample + name->wait;
        return;
    }
    name->ran = false;
    if (name->text && strcmp(name->text, text) == 0)
        return;
    copy = strdup(text);
    if (!copy)
        return;
    free(name->text);
    name->text = copy;
    name->changed = true;
}

/* True if the thread has the name that it had, as far as a short look can tell. */
static bool has_same_name(const struct cpy_target *t, const struct reader *reader,
                          const struct thread_name *name)
{
    return name->text && t->names.round - name->whole_round < WHOLE_ROUNDS &&
           names_are_same(reader, &name->seen);
}

/*
 * `again`: the same will be read in a later sample, so it is worth fetching beforehand. A whole
 * look is rare where short ones do between two of them: what it reads is not fetched for those,
 * too.
 */
static void look(struct cpy_target *t, const struct listed *thread, bool again)
{
    const struct reader reader = target_reader(t);
    const struct interp *interp = &t->list.interps[thread->interp];
    struct thread_name *name = &thread->cached->name;

    fetch_names(t);
    name->round = t->names.round;
    t->prefetch.now = &t->sets.names;
    t->prefetch.mem.once = !again;
    if (has_same_name(t, &reader, name)) {
        name->ran = false;
    } else {
        name->whole_round = t->names.round;
        t->prefetch.mem.once = !again || name->seen.span > 0;
        take(name,
             names_read(&t->cache.names, &reader, interp->addr, interp->id, thread->words.thread_id,
                        &name->seen),
             t->cache.names.sample);
    }
    t->prefetch.mem.once = false;
}

/* True if a thread is to be looked at that is not new. */
static bool is_look_due(const struct cpy_target *t, const struct thread_name *name)
{
    return (t->names.due && name->ran && name->round != t->names.round) ||
           (!name->text && t->cache.names.sample >= name->next);
}

/* Looks at one of the threads whose turn it is, whether it has run or not: another may have renamed
 * it. */
static void look_at_next(struct cpy_target *t)
{
    const struct listed *thread;

    t->names.turn = t->names.turn + 1 < t->list.thread_count ? t->names.turn + 1 : 0;
    thread = &t->list.threads[t->names.turn];
    if (thread->cached->name.text && thread->cached->name.round != t->names.round)
        look(t, thread, false);
}

/* True if there is nothing to do: no thread has come, and none is due. */
static bool can_wait(const struct cpy_target *t)
{
    if (!t->gil_skip.active)
        return false;
    return t->gil_skip.ran_count == 0 || (!t->names.due && t->cache.names.sample < t->names.next);
}

/* Looks at new threads, and at those that are due. Gives the number of looks. */
static size_t look_at_all(struct cpy_target *t)
{
    const struct listed *thread;
    struct thread_name *name;
    size_t looks = 0;

    for (size_t i = 0; i < t->list.thread_count; i++) {
        thread = &t->list.threads[i];
        name = &thread->cached->name;
        if (looks == LOOKS_MAX && !name->looked)
            t->names.fetched = false; /* many are new: what they have in common is known by now */
        t->names.came |= !name->looked;
        if (!name->looked || is_look_due(t, name)) {
            if (t->process.mem->reads >= t->process.reads_limit ||
                (name->looked && looks >= LOOKS_MAX))
                t->names.more = true;
            else {
                look(t, thread, true);
                looks++;
            }
        }
        if (!name->text && name->next < t->names.next)
            t->names.next = name->next;
    }
    return looks;
}

void thread_names_read(struct cpy_target *t)
{
    struct prefetch_set *served = t->prefetch.now;
    const bool turn = t->names.due && !t->names.more && t->names.round % TURN_ROUNDS == 0;

    t->cache.names.sample++;
    t->names.came = false;
    if (can_wait(t))
        return;
    t->names.next = UINT64_MAX;
    t->names.more = false;
    if (look_at_all(t) > LOOKS_MAX)
        prefetch_forget(&t->sets.names); /* of most of them it will not be read again soon */
    if (turn && t->list.thread_count > 1)
        look_at_next(t);
    t->names.due = t->names.more;
    t->prefetch.now = served;
}

const char *thread_names_get(struct cpy_target *t, const struct listed *thread, bool *changed)
{
    const char *text = NULL;
    struct thread_name *name;

    for (;; thread = &t->list.threads[thread->outer - 1]) {
        name = &thread->cached->name;
        *changed |= name->changed;
        name->changed = false;
        text = name->text ? name->text : text;
        if (thread->outer == 0)
            return text;
    }
}

void thread_names_note_run(struct cpy_target *t, const struct listed *thread)
{
    for (;; thread = &t->list.threads[thread->outer - 1]) {
        thread->cached->name.ran = true;
        if (thread->outer == 0)
            return;
    }
}

void cpy_look_at_names(struct cpy_target *t)
{
    t->names.round++;
    t->names.due = true;
}

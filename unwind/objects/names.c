/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - knows where the threading module keeps its threads. */
#include "unwind/objects/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { WAIT_FIRST = 1, WAIT_MAX = 512 };

void names_init(struct names *names)
{
    *names = (struct names){.wait = WAIT_FIRST};
    buf_init(&names->text, 8 * OBJECT_TEXT_MAX);
}

static void forget_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i].text);
    names->count = 0;
}

void names_finish(struct names *names)
{
    forget_names(names);
    free(names->names);
    buf_finish(&names->text);
}

void names_next_sample(struct names *names, size_t thread_count)
{
    names->sample++;
    if (thread_count == names->last_thread_count)
        return;
    names->last_thread_count = thread_count; /* a thread came: it is worth looking soon */
    names->wait = WAIT_FIRST;
    names->next_refresh = names->sample;
}

/*
 * A pthread_t is used again once its thread has ended, often by the very next one: a name
 * stays with the thread that it was told of first. Another one makes it worth looking again.
 */
static const char *find_thread_name(struct names *names, cpy_addr interp, uint64_t thread_id,
                                    uint64_t native_id)
{
    struct name *name;

    for (size_t i = 0; i < names->count; i++) {
        name = &names->names[i];
        if (name->thread_id != thread_id || name->interp != interp)
            continue;
        if (name->native_id == 0)
            name->native_id = native_id;
        if (name->native_id == native_id)
            return name->text;
        names->wait = WAIT_FIRST;
        names->next_refresh = names->sample;
    }
    return NULL;
}

static void add_thread_name(struct names *names, cpy_addr interp, uint64_t thread_id,
                            const char *text)
{
    if (names->count == NAMES_MAX ||
        !ARRAY_RESERVE(names->names, names->capacity, names->count + 1))
        return;
    names->names[names->count] = (struct name){interp, thread_id, 0, strdup(text)};
    if (names->names[names->count].text)
        names->count++;
}

/* What the walk over threading._active carries. */
struct active {
    struct names *names;
    const struct reader *reader;
    cpy_addr interp;
};

static bool add_active_thread(void *ctx, cpy_addr ident, cpy_addr thread)
{
    struct active *active = ctx;
    struct buf *text = &active->names->text;
    uint64_t thread_id;
    cpy_addr name;

    buf_reset(text);
    if (object_read_uint(active->reader, ident, &thread_id) == CPY_OK &&
        object_attribute(active->reader, thread, "_name", &name) == CPY_OK && name != 0 &&
        object_read_str(active->reader, name, text) == CPY_OK)
        add_thread_name(active->names, active->interp, thread_id, buf_text(text));
    return active->names->count < NAMES_MAX;
}

static void forget_interp(struct names *names, cpy_addr interp)
{
    size_t i, remaining = 0;

    for (i = 0; i < names->count; i++) {
        if (names->names[i].interp == interp)
            free(names->names[i].text);
        else
            names->names[remaining++] = names->names[i];
    }
    names->count = remaining;
}

/* Reads interp.modules["threading"]._active again. */
static void refresh(struct names *names, const struct reader *reader, cpy_addr interp)
{
    struct active active = {names, reader, interp};
    cpy_addr modules, threading, dict;

    names->refreshes++;
    forget_interp(names, interp);
    reader->mem->once = true;
    if (mem_read_word(reader->mem, interp + reader->layout->interp.modules, &modules) == CPY_OK &&
        modules != 0 && object_dict_find(reader, modules, "threading", &threading) == CPY_OK &&
        threading != 0 && object_attribute(reader, threading, "_active", &dict) == CPY_OK &&
        dict != 0 && object_dict_each(reader, dict, add_active_thread, &active) != CPY_OK)
        forget_interp(names, interp); /* it changed under us: next time */
    reader->mem->once = false;
}

bool names_are_due(const struct names *names)
{
    return names->sample >= names->next_refresh;
}

const char *names_of(struct names *names, const struct reader *reader, cpy_addr interp,
                     uint64_t thread_id, uint64_t native_id)
{
    const char *text = find_thread_name(names, interp, thread_id, native_id);
    /* When one interpreter is looked at again, so are the others of the same sample. */
    bool too = names->refreshed_in == names->sample && names->refreshed != interp;

    if (text || (names->sample < names->next_refresh && !too))
        return text;
    refresh(names, reader, interp);
    names->refreshed_in = names->sample;
    names->refreshed = interp;
    if (!too) {
        names->next_refresh = names->sample + names->wait;
        names->wait = names->wait * 2 < WAIT_MAX ? names->wait * 2 : WAIT_MAX;
    }
    return find_thread_name(names, interp, thread_id, native_id);
}

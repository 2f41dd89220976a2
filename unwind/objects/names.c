/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - knows where the threading module keeps its threads. */
#include "unwind/objects/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { WAIT_FIRST = 1, WAIT_MAX = 512, DICTS_MAX = CPY_INTERPRETERS_MAX };

void names_init(struct names *names)
{
    *names = (struct names){0};
    buf_init(&names->text, 8 * OBJECT_TEXT_MAX);
}

void names_finish(struct names *names)
{
    free(names->dicts);
    buf_finish(&names->text);
}

void names_forget(struct names *names)
{
    names->count = 0;
}

/* The entry of an interpreter; a new one if there was none. NULL: no memory. */
static struct names_dict *dict_of(struct names *names, cpy_addr interp, uint64_t interp_id)
{
    struct names_dict *dict;

    for (size_t i = 0; i < names->count; i++) {
        dict = &names->dicts[i];
        if (dict->interp == interp && dict->interp_id == interp_id)
            return dict;
    }
    if (names->count == DICTS_MAX)
        names_forget(names); /* most of them were of interpreters that have ended */
    if (!ARRAY_RESERVE(names->dicts, names->capacity, names->count + 1))
        return NULL;
    dict = &names->dicts[names->count++];
    *dict = (struct names_dict){.interp = interp, .interp_id = interp_id, .wait = WAIT_FIRST};
    return dict;
}

/* Looks for interp.modules["threading"]._active. */
static void find_dict(struct names *names, const struct reader *reader, struct names_dict *dict)
{
    struct object_slot threading = {0, 0}, active = {0, 0};
    cpy_addr modules = 0;
    const bool once = reader->mem->once;

    reader->mem->once = true;
    if (mem_read_word(reader->mem, dict->interp + reader->layout->interp.modules, &modules) !=
            CPY_OK ||
        modules == 0 || object_dict_find(reader, modules, "threading", &threading) != CPY_OK ||
        threading.value == 0 ||
        object_attribute(reader, threading.value, "_active", &active) != CPY_OK)
        active = (struct object_slot){0, 0};
    reader->mem->once = once;
    dict->active = active;
    if (active.value != 0) {
        dict->wait = WAIT_FIRST;
        return;
    }
    dict->next = names->sample + dict->wait;
    dict->wait = dict->wait * 2 < WAIT_MAX ? dict->wait * 2 : WAIT_MAX;
}

/* The address of threading._active; 0: not known. */
static cpy_addr active_of(struct names *names, const struct reader *reader, cpy_addr interp,
                          uint64_t interp_id)
{
    struct names_dict *dict = dict_of(names, interp, interp_id);
    cpy_addr now = 0;

    if (!dict)
        return 0;
    if (dict->active.value != 0 &&
        (mem_read_word(reader->mem, dict->active.at, &now) != CPY_OK || now != dict->active.value))
        dict->active = (struct object_slot){0, 0};
    if (dict->active.value == 0 && names->sample >= dict->next)
        find_dict(names, reader, dict);
    return dict->active.value;
}

/* True if both references are still there, after what they lead to was read. */
static bool still_there(const struct reader *reader, const struct object_slot *thread,
                        const struct object_slot *name)
{
    cpy_addr now[2] = {0, 0};
    const struct mem_range ranges[] = {{thread->at, &now[0], sizeof(now[0])},
                                       {name->at, &now[1], sizeof(now[1])}};

    return mem_read_again(reader->mem, ranges, 2) == CPY_OK && now[0] == thread->value &&
           now[1] == name->value;
}

const char *names_read(struct names *names, const struct reader *reader, cpy_addr interp,
                       uint64_t interp_id, uint64_t ident, struct names_seen *seen)
{
    const cpy_addr active = active_of(names, reader, interp, interp_id);
    struct object_slot *thread = &seen->thread, *name = &seen->name;
    uint32_t span;

    buf_reset(&names->text);
    seen->span = 0;
    if (active == 0 || object_dict_find_int(reader, active, ident, thread) != CPY_OK ||
        thread->value == 0 || object_attribute(reader, thread->value, "_name", name) != CPY_OK ||
        name->value == 0 ||
        object_read_str_span(reader, name->value, &names->text, &span) != CPY_OK)
        return NULL;
    if (span <= sizeof(seen->bytes) &&
        mem_read(reader->mem, name->value + reader->layout->unicode.length, seen->bytes, span) ==
            CPY_OK)
        seen->span = span;
    if (still_there(reader, thread, name))
        return buf_text(&names->text);
    seen->span = 0;
    return NULL;
}

bool names_are_same(const struct reader *reader, const struct names_seen *seen)
{
    cpy_addr thread = 0, name = 0;
    unsigned char bytes[NAMES_SPAN_MAX];
    const struct mem_range ranges[] = {
        {seen->thread.at, &thread, sizeof(thread)},
        {seen->name.at, &name, sizeof(name)},
        {seen->name.value + reader->layout->unicode.length, bytes, seen->span}};

    return seen->span > 0 && mem_read_ranges(reader->mem, ranges, 3) == CPY_OK &&
           thread == seen->thread.value && name == seen->name.value &&
           memcmp(bytes, seen->bytes, seen->span) == 0;
}

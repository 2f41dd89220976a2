/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - knows types by their names and flags. */
#include "unwind/objects/kinds.h"

/* PyTypeObject.tp_flags, the same from 3.6 to 3.15: Include/object.h. */
enum { FLAG_HEAP = 1 << 9, FLAG_INT = 1 << 24, FLAG_STR = 1 << 28 };

static const struct {
    const char *name;
    enum kind kind;
} names[] = {
    {"coroutine", KIND_GENERATOR},
    {"generator", KIND_GENERATOR},
    {"async_generator", KIND_GENERATOR},
    {"async_generator_asend", KIND_HELPER},  /* __anext__() and asend() */
    {"async_generator_athrow", KIND_HELPER}, /* athrow() and aclose() */
    {"coroutine_wrapper", KIND_HELPER},      /* __await__() of a coroutine */
    {"anext_awaitable", KIND_HELPER},        /* anext() with a default */
};

static enum kind find_kind_by_name(const struct reader *reader, cpy_addr type)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (object_type_is(reader, type, names[i].name))
            return names[i].kind;
    return KIND_OTHER;
}

/* Finds out the kind; *lasts: the type is static. */
static enum cpy_rc find_kind(const struct reader *reader, cpy_addr type, enum kind *out,
                             bool *lasts)
{
    uint64_t flags;
    enum cpy_rc rc = mem_read_word(reader->mem, type + reader->layout->type.tp_flags, &flags);

    if (rc != CPY_OK)
        return rc;
    *out = flags & FLAG_STR ? KIND_STR : flags & FLAG_INT ? KIND_INT : KIND_OTHER;
    *lasts = !(flags & FLAG_HEAP);
    if (*out == KIND_OTHER && *lasts)
        *out = find_kind_by_name(reader, type);
    return CPY_OK;
}

enum cpy_rc kinds_of(struct kinds *kinds, const struct reader *reader, cpy_addr type,
                     enum kind *out)
{
    bool lasts;
    enum cpy_rc rc;

    for (size_t i = 0; i < KINDS_KNOWN; i++)
        if (kinds->known[i].type == type && type != 0) {
            *out = kinds->known[i].kind;
            return CPY_OK;
        }
    /* An object keeps its type alive: while it has the same one, that is what it was. */
    reader->mem->implied = true;
    rc = find_kind(reader, type, out, &lasts);
    reader->mem->implied = false;
    if (rc != CPY_OK || !lasts)
        return rc;
    kinds->known[kinds->next].type = type;
    kinds->known[kinds->next].kind = *out;
    kinds->next = (kinds->next + 1) % KINDS_KNOWN;
    return CPY_OK;
}

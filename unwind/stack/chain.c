/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c - see chain.h. */
#include "unwind/stack/chain.h"

#include <string.h>

enum {
    GENERATOR_MAX = 512, /* bytes of a generator without its variables */
    STACK_MAX = 1 << 20, /* bytes of a generator's variables and stack */
    HELPERS_MAX = 4,     /* one in the other */
    PAGE = 4096,         /* or a part of one */
    BATCH = 64
};

static uint64_t read_object_word(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;

    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

/* Takes a generator from its bytes. A cleared one has no frame any more. */
static enum cpy_rc take_link(const struct reader *reader, cpy_addr addr, const unsigned char *bytes,
                             struct link *out)
{
    const struct layout *l = reader->layout;
    const unsigned char *frame = bytes + l->generator.iframe;
    cpy_addr lowest = addr + l->generator.iframe + l->generator.awaited;
    enum cpy_rc rc;

    *out = (struct link){.addr = addr, .state = (int8_t)bytes[l->generator.frame_state]};
    if (out->state == l->generator.cleared)
        return CPY_OK;
    rc = walk_take_frame(reader, frame, &out->frame);
    if (rc != CPY_OK)
        return rc;
    if (out->frame.code == 0 || out->frame.kind != RAW_GENERATOR)
        return CPY_RACED; /* a generator owns its frame */
    out->frame.addr = addr + l->generator.iframe;
    out->code = read_object_word(frame, l->frame.executable);
    out->instr = read_object_word(frame, l->frame.instr);
    out->stackpointer = read_object_word(frame, l->generator.stackpointer);
    if (out->state < l->generator.delegates_first || out->state > l->generator.delegates_last)
        return CPY_OK;
    if (out->stackpointer & 7 || out->stackpointer <= lowest ||
        out->stackpointer - lowest > STACK_MAX)
        return CPY_RACED;
    out->awaited_at = out->stackpointer - l->generator.awaited;
    return CPY_OK;
}

/* Adds the generator at `addr`; gives what it awaits. */
static enum cpy_rc add_link(const struct reader *reader, cpy_addr addr, const unsigned char *bytes,
                            struct chain *out, cpy_addr *awaited)
{
    struct link *link = &out->links[out->depth];
    const struct layout *l = reader->layout;
    enum cpy_rc rc = take_link(reader, addr, bytes, link);

    if (rc == CPY_OK && link->awaited_at != 0)
        rc = mem_read_word(reader->mem, link->awaited_at, &link->awaited);
    if (rc != CPY_OK)
        return rc;
    link->awaited &= l->tag_mask;
    *awaited = link->awaited;
    if (link->state == l->generator.cleared) {
        out->finished = out->depth == 0;
        return CPY_OK;
    }
    out->executing |= out->depth == 0 && link->state == l->generator.executing;
    out->depth++;
    return CPY_OK;
}

/*
 * Reads an object of unknown type, and finds out its kind: a generator whole, of anything else the
 * head. What is behind that is read along if it is surely there, on the same page.
 */
static enum cpy_rc fetch_awaited_object(const struct reader *reader, struct kinds *kinds,
                                        cpy_addr addr, unsigned char bytes[GENERATOR_MAX],
                                        enum kind *kind)
{
    const struct layout *l = reader->layout;
    const uint32_t head = l->generator.held + (uint32_t)sizeof(cpy_addr);
    const bool whole = addr / PAGE == (addr + l->generator.size - 1) / PAGE;
    enum cpy_rc rc = addr & 7 ? CPY_RACED : CPY_OK;
    cpy_addr type;

    if (rc == CPY_OK)
        rc = mem_read(reader->mem, addr, bytes, whole ? l->generator.size : head);
    if (rc != CPY_OK)
        return rc;
    mem_narrow(reader->mem, head);
    type = read_object_word(bytes, l->object.ob_type);
    rc = kinds_of(kinds, reader, type, kind);
    if (rc != CPY_OK || *kind != KIND_GENERATOR)
        return rc;
    if (whole)
        mem_narrow(reader->mem, l->generator.size);
    else
        rc = mem_read(reader->mem, addr, bytes, l->generator.size);
    return rc == CPY_OK && read_object_word(bytes, l->object.ob_type) != type ? CPY_RACED : rc;
}

/* Follows helpers to the generator that they wrap; *addr = 0: it is something else. */
static enum cpy_rc find_generator(const struct reader *reader, struct kinds *kinds, cpy_addr *addr,
                                  unsigned char bytes[GENERATOR_MAX])
{
    enum kind kind;
    enum cpy_rc rc;

    for (int helpers = 0; helpers <= HELPERS_MAX; helpers++) {
        rc = fetch_awaited_object(reader, kinds, *addr, bytes, &kind);
        if (rc != CPY_OK || kind == KIND_GENERATOR)
            return rc;
        *addr = kind == KIND_HELPER ? read_object_word(bytes, reader->layout->generator.held) : 0;
        if (*addr == 0)
            return CPY_OK;
    }
    return CPY_RACED;
}

enum cpy_rc chain_read(const struct reader *reader, struct kinds *kinds, cpy_addr coro,
                       struct chain *out)
{
    unsigned char bytes[GENERATOR_MAX];
    cpy_addr addr = coro, milestone = 0; /* met again: a loop (Brent) */
    enum cpy_rc rc;

    out->depth = 0;
    out->cut = out->finished = out->executing = false;
    while (addr != 0) {
        rc = find_generator(reader, kinds, &addr, bytes);
        if (rc != CPY_OK || addr == 0)
            return rc;
        if (addr == milestone)
            return CPY_RACED;
        if ((out->depth & (out->depth + 1)) == 0)
            milestone = addr;
        out->cut = out->depth == CPY_DEPTH_MAX;
        if (out->cut)
            return CPY_OK;
        rc = add_link(reader, addr, bytes, out, &addr);
        if (rc != CPY_OK)
            return rc;
    }
    return CPY_OK;
}

static bool is_same_link(const struct link *a, const struct link *b)
{
    return a->state == b->state && a->code == b->code && a->instr == b->instr &&
           a->stackpointer == b->stackpointer;
}

/* Compares `count` links with what is there now. */
static enum cpy_rc verify_links(const struct reader *reader, const struct link *links, size_t count)
{
    const struct layout *l = reader->layout;
    unsigned char bytes[BATCH][GENERATOR_MAX];
    struct mem_range ranges[2 * BATCH] = {{0}};
    cpy_addr awaited[BATCH] = {0};
    struct link now;
    size_t i, used = 0;
    enum cpy_rc rc;

    for (i = 0; i < count; i++) {
        ranges[used++] = (struct mem_range){links[i].addr, bytes[i], l->generator.size};
        if (links[i].awaited_at)
            ranges[used++] = (struct mem_range){links[i].awaited_at, &awaited[i], 8};
    }
    rc = mem_read_again(reader->mem, ranges, used);
    for (i = 0; i < count && rc == CPY_OK; i++) {
        rc = take_link(reader, links[i].addr, bytes[i], &now);
        if (rc == CPY_OK && (!is_same_link(&links[i], &now) ||
                             (now.awaited_at && (awaited[i] & l->tag_mask) != links[i].awaited)))
            rc = CPY_RACED;
    }
    return rc;
}

enum cpy_rc chain_verify(const struct reader *reader, const struct chain *chain)
{
    uint32_t first, left;
    enum cpy_rc rc = CPY_OK;

    for (first = 0; first < chain->depth && rc == CPY_OK; first += BATCH) {
        left = chain->depth - first;
        rc = verify_links(reader, &chain->links[first], left < BATCH ? left : BATCH);
    }
    return rc;
}

void chain_frames(const struct chain *chain, struct raw_stack *out)
{
    out->depth = chain->depth;
    out->same = 0;
    out->cut = chain->cut;
    for (uint32_t i = 0; i < chain->depth; i++)
        out->frames[chain->depth - 1 - i] = chain->links[i].frame;
}

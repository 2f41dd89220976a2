/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - see resolve.h. */
#include "unwind/resolve.h"

#include <string.h>

#include "unwind/layouts/linetable.h"
#include "unwind/objects/instr.h"

/* Code objects of frames that are no functions, named as by CPython's own profiler. */
static const struct cpy_code native_code = {UINT64_MAX, "<native>", "~", 0};
static const struct cpy_code gc_code = {UINT64_MAX - 1, "<GC>", "~", 0};

static void add_position(const struct cpy_target *t, const struct code_entry *entry, int32_t unit,
                         struct cpy_frame *frame)
{
    struct linetable_position position = linetable_position(
        t->found.layout.lines, entry->table, code_lines_size(entry), entry->code.first_line, unit);

    frame->line = position.line;
    frame->end_line = position.end_line;
    frame->column = position.column;
    frame->end_column = position.end_column;
}

/* Adds the name of the instruction as it is in the code now. False: it cannot be read. */
static bool set_frame_opcode(struct cpy_target *t, const struct code_entry *entry, int32_t unit,
                             struct cpy_frame *frame)
{
    const struct reader reader = target_reader(t);
    bool good;

    reader.mem->once = true;
    good = t->process.mem->reads < t->process.reads_limit &&
           instr_name(&reader, entry, unit, &frame->opcode) == CPY_OK;
    reader.mem->once = false;
    return good;
}

/* Adds a frame at the inner end. */
static enum cpy_rc add_resolved_frame(struct cpy_target *t, const struct raw_frame *raw,
                                      struct cached_stack *stack)
{
    const struct code_entry *entry;
    struct cpy_frame frame = {0};

    if (raw->kind == RAW_NATIVE || raw->kind == RAW_GC) {
        frame.code = raw->kind == RAW_GC ? &gc_code : &native_code;
    } else {
        entry = codes_find(&t->cache.codes, raw->code);
        if (entry && entry->co_code != 0 && raw->unit >= entry->unit_count)
            codes_distrust(&t->cache.codes, raw->code); /* its bytecode is another one */
        if (!entry || raw->unit >= entry->unit_count)
            return CPY_RACED;
        if (raw->kind == RAW_FRAME && raw->unit < entry->first_traceable)
            return CPY_OK; /* pushed, but its arguments are not in place yet */
        frame.code = &entry->code;
        if (t->options.frames & CPY_FRAME_POSITIONS)
            add_position(t, entry, raw->unit, &frame);
        if (frame.line == 0)
            frame.line =
                linetable_line_around(t->found.layout.lines, entry->table, code_lines_size(entry),
                                      entry->code.first_line, raw->unit);
        if (t->options.frames & CPY_FRAME_OPCODES && !set_frame_opcode(t, entry, raw->unit, &frame))
            return CPY_RACED;
    }
    stack->depth++;
    stack->raw[stack->room - stack->depth] = *raw;
    stack->frames[stack->room - stack->depth] = frame;
    t->stats.frames_decoded++;
    return CPY_OK;
}

/* Copies the frames that are the same from the cached stack. */
static void copy_same(struct raw_stack *raw, const struct cached_stack *stack)
{
    if (raw->same == 0)
        return;
    memcpy(raw->frames + raw->depth, stack->raw + (stack->room - raw->same),
           raw->same * sizeof(*raw->frames));
    raw->depth += raw->same;
    raw->same = 0;
}

/* Counts the frames, from the outermost on, that are as before, at whatever address. */
static uint32_t count_same(const struct raw_stack *raw, const struct cached_stack *stack)
{
    uint32_t depth = raw->depth + raw->same, same = raw->same;
    uint32_t most = depth < stack->depth ? depth : stack->depth;
    const struct raw_frame *now, *then;

    for (; same < most; same++) {
        now = &raw->frames[depth - 1 - same];
        then = &stack->raw[stack->room - 1 - same];
        if (now->code != then->code || now->unit != then->unit || now->kind != then->kind)
            break;
    }
    return same;
}

/* Updates the addresses of frames that were not compared while walking. */
static void update_same(const struct raw_stack *raw, struct cached_stack *stack)
{
    uint32_t i, depth = raw->depth + raw->same;

    for (i = raw->same; i < stack->depth; i++)
        stack->raw[stack->room - 1 - i] = raw->frames[depth - 1 - i];
}

/* How many of the `same` frames have the code objects that they had. */
static uint32_t count_current(const struct cpy_target *t, const struct cached_stack *stack,
                              uint32_t same)
{
    const struct code_entry *entry;
    uint32_t i;

    for (i = 0; i < same; i++) {
        const struct raw_frame *raw = &stack->raw[stack->room - 1 - i];

        entry = raw->code != 0 ? codes_find(&t->cache.codes, raw->code) : NULL;
        if (raw->code != 0 && (!entry || stack->frames[stack->room - 1 - i].code != &entry->code))
            break;
    }
    return i;
}

/* Checks the code objects of frames; `once`: their memory is not to be fetched in later samples. */
static enum cpy_rc check_frames(struct cpy_target *t, const struct raw_frame *frames,
                                uint32_t count, const struct codes_owner *owner, bool once)
{
    const struct reader reader = target_reader(t);
    uint32_t i, used = 0;
    enum cpy_rc rc;

    for (i = 0; i < count; i++)
        if (frames[i].code != 0)
            t->scratch->addrs[used++] = frames[i].code;
    reader.mem->once = once;
    rc = codes_check(&t->cache.codes, &reader, t->scratch->addrs, used, owner);
    reader.mem->once = false;
    return rc;
}

/* Sees to it that the code objects of the `count` innermost frames are known. */
static enum cpy_rc check_codes(struct cpy_target *t, const struct raw_stack *raw, uint32_t count,
                               const struct codes_owner *owner)
{
    /* With a generation it is done once for all samples; opcodes are rarely asked for. BPF reads
     * interrupt the target, and these reads need not: see verify_codes in sample.c. */
    const bool once = owner->generation != 0 || t->options.frames & CPY_FRAME_OPCODES ||
                      (t->prefetch.now && t->prefetch.now->bpf_count != 0);

    return check_frames(t, raw->frames, count, owner, once);
}

/* Compares the code objects of the `same` outermost frames, which are trusted. They are read later
 * than the stack: so it is read again if one of them is another one. */
static enum cpy_rc compare_trusted(struct cpy_target *t, const struct raw_stack *raw, uint32_t same,
                                   const struct codes_owner *owner)
{
    const uint64_t decoded = t->cache.codes.decoded;
    enum cpy_rc rc = check_frames(t, raw->frames + (raw->depth - same), same, owner, true);

    return rc == CPY_OK && t->cache.codes.decoded != decoded ? CPY_RACED : rc;
}

/* Bytecode is read after its code objects were checked: it is theirs if they are still there. */
static enum cpy_rc check_bytecode(struct cpy_target *t, const struct raw_stack *raw,
                                  uint64_t interp_id)
{
    const uint64_t decoded = t->cache.codes.decoded;
    enum cpy_rc rc = check_codes(t, raw, raw->depth, &(struct codes_owner){.interp_id = interp_id});

    return rc == CPY_OK && t->cache.codes.decoded != decoded ? CPY_RACED : rc;
}

/* True if frames that are as they were need not be compared where nothing counts code objects. */
static bool trusts_codes(const struct cpy_target *t)
{
    return target_uses(t, CPY_LAYER_MEMO) && codes_trusted(&t->cache.codes);
}

enum cpy_rc resolve(struct cpy_target *t, struct raw_stack *raw, const struct codes_owner *owner,
                    struct cached_stack *stack)
{
    const struct codes *codes = &t->cache.codes;
    const bool counted = owner->generation != 0, opcodes = t->options.frames & CPY_FRAME_OPCODES;
    const uint64_t stamp = counted ? owner->generation : codes_stamp(codes, owner->interp_id, 0);
    const bool known = stamp == stack->stamp && (counted || trusts_codes(t));
    uint32_t depth = raw->depth + raw->same, same, i;
    enum cpy_rc rc;

    if (!known || !counted || opcodes)
        copy_same(raw, stack);
    same = opcodes ? 0 : count_same(raw, stack); /* instructions are specialised while they run */
    raw->tear = TEAR_CODE;
    rc = check_codes(t, raw, known ? depth - same : depth, owner);
    if (rc == CPY_OK && known && !counted && codes_compared_now(codes))
        rc = compare_trusted(t, raw, same, owner);
    if (rc != CPY_OK)
        return rc;
    if (!known || !counted)
        same = count_current(t, stack, same);
    stack->depth = same;
    update_same(raw, stack);
    stack->stamp = 0;
    t->stats.frames_reused += same;
    if (!thread_cache_reserve(&t->cache.threads, stack, depth))
        return CPY_NOMEM;
    for (i = depth - same; i > 0 && rc == CPY_OK; i--)
        rc = add_resolved_frame(t, &raw->frames[i - 1], stack);
    stack->cut = raw->cut;
    if (rc == CPY_OK && opcodes)
        rc = check_bytecode(t, raw, owner->interp_id);
    stack->stamp = rc == CPY_OK ? stamp : 0;
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - see walk.h. */
#include "unwind/stack/walk.h"

#include <stdlib.h>
#include <string.h>

/* _PyStackChunk: Include/cpython/pystate.h, the same from 3.11 to 3.15. */
enum { CHUNK_PREVIOUS = 0, CHUNK_SIZE = 8, CHUNK_TOP = 16, CHUNK_HEAD = 24 };
#define NO_FRAME UINT64_MAX /* the address of none */
enum { CHUNK_SKIPPED = 8 }; /* bytes: a thread's first frame is not at the start of its chunk */
enum { CHUNK_USUAL = 16 << 10 }; /* bytes of one, unless a single frame needs more */

enum {
    CHUNKS_MAX = 256,
    COPY_MAX = 4 << 20,       /* bytes of all chunks of a thread */
    THREAD_MAX = 4096,        /* bytes of a thread state */
    CFRAME_FROM_CURRENT = 16, /* bytes of a _PyCFrame from its current_frame on */
    FRAME_MAX = 512,          /* bytes of a frame */
    FRAME_OBJECT_MAX = 512,   /* bytes of a compiled function's frame object before its frame */
    ALONE_LOOKS = 4,
    OWNED_BY_THREAD = 0,           /* `owner` of a plain frame, from 3.11 on */
    PAGE = 4096,                   /* the smallest there is */
    VISITS_MAX = 4 * CPY_DEPTH_MAX /* frames of all kinds in one chain: shims are between others */
};

/* The words of a PyFrameObject that say what it is in the stack. */
struct object_frame {
    cpy_addr addr, back, code;
    int32_t lasti;
};

struct chunk_copy {
    cpy_addr from;
    size_t size;
    const unsigned char *bytes; /* borrowed from the scratch, or from prefetched copies */
};

struct walk_scratch {
    size_t chunk_count, used;
    bool all_chunks; /* none is left out */
    struct chunk_copy chunks[CHUNKS_MAX];
    struct object_frame objects[CPY_DEPTH_MAX]; /* 3.6 to 3.10: the chain as it was walked */
    struct object_frame again[CPY_DEPTH_MAX];   /* and as it is after that */
    unsigned char copy[COPY_MAX];               /* pages are touched only as far as they are used */
};

struct walk_scratch *walk_scratch_new(void)
{
    struct walk_scratch *scratch = malloc(sizeof(*scratch));

    if (scratch)
        scratch->chunk_count = scratch->used = 0;
    return scratch;
}

void walk_scratch_free(struct walk_scratch *scratch)
{
    free(scratch);
}

static inline uint64_t load_word(const unsigned char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
    return word;
}

static uint64_t read_frame_word(const unsigned char *bytes, uint32_t offset)
{
    return offset == NO_FIELD ? 0 : load_word(bytes + offset);
}

/*
 * 3.11, 3.12: true if a record with no current frame means that no Python code runs. It is then the
 * thread state's own one, its last field, or that of a greenlet that begins or ends, which is
 * called by that one.
 */
static bool may_run_nothing(const struct layout *l, const struct thread_words *thread,
                            cpy_addr previous)
{
    const cpy_addr own =
        thread->addr + l->thread.size - l->cframe.current_frame - CFRAME_FROM_CURRENT;

    return thread->cframe == own || previous == own;
}

/*
 * 3.11, 3.12: the current frame, and that of the call into the interpreter below. The record is on
 * the C stack: while greenlet switches it is overwritten, and the next one may be nowhere.
 */
static enum cpy_rc read_cframe(const struct reader *reader, struct thread_words *out)
{
    uint32_t current = reader->layout->cframe.current_frame;
    cpy_addr words[2]; /* _PyCFrame: current_frame, previous */
    enum cpy_rc rc = mem_read_state(reader->mem, out->cframe + current, words, sizeof(words));

    out->current_frame = rc == CPY_OK ? words[0] : 0;
    out->has_outer = rc == CPY_OK && words[1] != 0;
    if (rc == CPY_OK && words[0] == 0 && !may_run_nothing(reader->layout, out, words[1]))
        out->current_frame = NO_FRAME; /* no walk is good, but the thread is there */
    if (!out->has_outer)
        return rc;
    rc = mem_read_state(reader->mem, words[1] + current, &out->outer_frame,
                        sizeof(out->outer_frame));
    if (rc != CPY_RACED)
        return rc;
    out->outer_frame = NO_FRAME;
    return CPY_OK;
}

/* How many Python frames the thread counts: it takes them from a limit. */
static int64_t recursion_in(const struct layout *l, const unsigned char *bytes)
{
    int32_t words[2];

    if (l->thread.recursion_remaining == NO_FIELD)
        return -1;
    memcpy(words, bytes + l->thread.recursion_remaining, sizeof(words));
    return (int64_t)words[1] - words[0];
}

enum cpy_rc walk_read_thread(const struct reader *reader, cpy_addr addr, struct thread_words *out)
{
    const struct layout *l = reader->layout;
    bool tasks = reader->tasks && l->asyncio.task_size != 0;
    unsigned char own[THREAD_MAX];
    int32_t requested = 0;
    enum cpy_rc rc;
    const unsigned char *bytes =
        mem_state_bytes(reader->mem, addr, tasks ? l->thread.size : l->thread.span, own, &rc);

    if (!bytes)
        return rc;
    *out = (struct thread_words){
        .addr = addr,
        .next = read_frame_word(bytes, l->thread.next),
        .interp = read_frame_word(bytes, l->thread.interp),
        .base_frame = read_frame_word(bytes, l->thread.base_frame),
        .datastack_chunk = read_frame_word(bytes, l->thread.datastack_chunk),
        .datastack_top = l->thread.datastack_chunk == NO_FIELD
                             ? 0
                             : read_frame_word(bytes, l->thread.datastack_chunk + 8),
        .cframe = read_frame_word(bytes, l->thread.cframe),
        .current_frame = read_frame_word(bytes, l->thread.current_frame),
        .thread_id = read_frame_word(bytes, l->thread.thread_id),
        .native_thread_id = read_frame_word(bytes, l->thread.native_thread_id),
        .current_exception = read_frame_word(bytes, l->thread.current_exception),
        .exc_info = read_frame_word(bytes, l->thread.exc_info),
        .exc_value =
            l->thread.exc_info == NO_FIELD ? read_frame_word(bytes, l->thread.exc_value) : 0,
    };
    if (tasks && read_frame_word(bytes, l->asyncio.running_loop) != 0)
        out->running_task = read_frame_word(bytes, l->asyncio.running_task) & l->tag_mask;
    if (l->thread.status != NO_FIELD)
        memcpy(&out->status, bytes + l->thread.status, sizeof(out->status));
    if (l->thread.gil_requested != NO_FIELD)
        memcpy(&requested, bytes + l->thread.gil_requested, sizeof(requested));
    out->gil_requested = requested != 0;
    out->recursion = recursion_in(l, bytes);
    if (l->thread.cframe == NO_FIELD)
        return CPY_OK;
    return read_cframe(reader, out);
}

struct bpf_reader_chain walk_chain_of(const struct layout *l)
{
    const bool heap = l->frames == FRAMES_OBJECT;
    const uint32_t previous = l->frame.previous, executable = l->frame.executable;
    struct bpf_reader_chain chain = {
        .datastack_chunk = heap ? BPF_READER_NO_FIELD : l->thread.datastack_chunk,
        .cframe = l->thread.cframe == NO_FIELD ? BPF_READER_NO_FIELD : l->thread.cframe,
        .current_frame =
            l->thread.cframe == NO_FIELD ? l->thread.current_frame : l->cframe.current_frame,
        .previous = previous,
        .frame_size = l->frame.size,
    };

    if (heap) { /* of a PyFrameObject only what an object_frame is made of */
        chain.frame_from = previous < executable ? previous : executable;
        chain.frame_size = l->frame.instr + 4 - chain.frame_from;
    }
    return chain;
}

/* Address of the thread's pointer to its current frame. */
static cpy_addr get_frame_pointer_addr(const struct layout *l, const struct thread_words *thread)
{
    return l->thread.cframe != NO_FIELD ? thread->cframe + l->cframe.current_frame
                                        : thread->addr + l->thread.current_frame;
}

/* How many bytes from `from` on are mapped if the first `size` are: to the end of their page. */
static size_t to_page_end(cpy_addr from, size_t size)
{
    return size + (size_t)(-(from + size) & (PAGE - 1));
}

static enum cpy_rc copy_chunk(const struct reader *reader, struct walk_scratch *scratch,
                              cpy_addr from, uint64_t size)
{
    struct chunk_copy *chunk = &scratch->chunks[scratch->chunk_count];
    enum cpy_rc rc;

    *chunk = (struct chunk_copy){from, size, NULL};
    chunk->bytes = mem_look(reader->mem, from, size, to_page_end(from, size));
    if (!chunk->bytes) {
        if (size > COPY_MAX - scratch->used)
            return CPY_RACED;
        chunk->bytes = scratch->copy + scratch->used;
        rc = mem_read(reader->mem, from, scratch->copy + scratch->used, size);
        if (rc != CPY_OK)
            return rc;
        scratch->used += (size + 15) / 16 * 16;
        if (scratch->used > COPY_MAX)
            scratch->used = COPY_MAX;
    }
    scratch->chunk_count++;
    return CPY_OK;
}

/*
 * What is used of a chunk. Of the newest one *size is how far the top of the data stack is from it.
 * When a call has just got a chunk, or a return has just given one back, the top is in another one
 * for a moment, a usual chunk's size away or more, with megabytes of something else between them.
 */
static enum cpy_rc used_size(const struct reader *reader, cpy_addr at, bool newest, uint64_t *size)
{
    uint64_t head[3];
    enum cpy_rc rc;

    if (newest && *size <= CHUNK_USUAL)
        return *size < CHUNK_HEAD ? CPY_RACED : CPY_OK;
    rc = mem_read(reader->mem, at, head, sizeof(head));
    if (rc != CPY_OK)
        return rc;
    if (!newest && head[CHUNK_TOP / 8] > COPY_MAX)
        return CPY_RACED;
    if (!newest)
        *size = CHUNK_HEAD + head[CHUNK_TOP / 8] * 8;
    return *size > head[CHUNK_SIZE / 8] || *size > COPY_MAX ? CPY_RACED : CPY_OK;
}

/* Copies the used part of each chunk, newest first. */
static enum cpy_rc copy_data_stack(const struct reader *reader, struct walk_scratch *scratch,
                                   const struct thread_words *thread)
{
    cpy_addr at = thread->datastack_chunk;
    uint64_t size = thread->datastack_top - at;
    enum cpy_rc rc = CPY_OK;

    scratch->chunk_count = scratch->used = 0;
    scratch->all_chunks = false;
    while (at != 0) {
        if (scratch->chunk_count == CHUNKS_MAX)
            return CPY_OK; /* the frames beyond are read one by one */
        rc = used_size(reader, at, scratch->chunk_count == 0, &size);
        if (rc != CPY_OK)
            return rc;
        if (size > COPY_MAX - scratch->used)
            return CPY_OK;
        rc = copy_chunk(reader, scratch, at, size);
        if (rc != CPY_OK)
            return rc;
        at = read_frame_word(scratch->chunks[scratch->chunk_count - 1].bytes, CHUNK_PREVIOUS);
    }
    scratch->all_chunks = true;
    return CPY_OK;
}

/* A walk under way. */
struct walk {
    const struct reader *reader;
    struct walk_scratch *scratch;
    const struct walk_marks *marks;
    struct raw_stack *out;
    struct raw_before before;
    uint32_t next_known;       /* of `before`: the frames that may still come */
    uint32_t run_from, run_to; /* of `before`: those that came just now, one after the other */
    cpy_addr milestone;        /* an address seen before: meeting it again is a loop (Brent) */
    uint32_t visits;
    uint32_t steps;           /* visits but for those of take_plain_frames */
    uint32_t frames;          /* of Python that were passed, and have not returned */
    cpy_addr last;            /* the frame that was visited last */
    cpy_addr lowest;          /* ... of those in the data stack */
    cpy_addr highest;         /* of the incoming greenlet's frames */
    cpy_addr second_previous; /* what called the second frame, of Python or not; 0: none */
    bool elsewhere;           /* a plain frame is not in the thread's data stack */
    bool incoming;            /* see walk_incoming */
    bool ends_well;           /* whether a chain may end at `last` */
    bool compiled;            /* it ends in a compiled function's frame */
    const struct thread_words *thread;
    bool entered;                  /* the newest call into the interpreter was passed */
    bool native;                   /* C code was passed since the last frame that was added */
    bool may_skip, skipped;        /* entry frames */
    unsigned char leaf[FRAME_MAX]; /* the current frame as it was copied */
};

static void append_raw_frame(struct walk *walk, const struct raw_frame *frame)
{
    if (walk->out->depth == CPY_DEPTH_MAX)
        walk->out->cut = true;
    else
        walk->out->frames[walk->out->depth++] = *frame;
}

/* What follows is not as it was before: the frames that were are as good as any. */
static void end_run(struct walk *walk)
{
    for (uint32_t i = walk->run_from; i < walk->run_to; i++)
        append_raw_frame(walk, &walk->before.frames[i]);
    walk->run_from = walk->run_to = 0;
}

static void end_run_and_append(struct walk *walk, const struct raw_frame *frame)
{
    end_run(walk);
    append_raw_frame(walk, frame);
}

static void begin_walk(struct walk *walk, struct raw_stack *out)
{
    walk->out = out;
    walk->milestone = walk->last = walk->lowest = walk->highest = walk->second_previous = 0;
    walk->elsewhere = walk->incoming = false;
    walk->visits = walk->steps = walk->frames = 0;
    walk->next_known = walk->run_from = walk->run_to = 0;
    walk->ends_well = walk->compiled = walk->entered = walk->native = walk->skipped = false;
    out->depth = out->same = 0;
    out->cut = false;
    out->tear = TEAR_CHAIN;
}

/* True if the state was read after all frames. */
static bool is_late(const struct walk *walk)
{
    const struct mem *mem = walk->reader->mem;

    return mem->is_late && mem->is_late(mem);
}

/* Where the bytecode is that the frame runs: free-threaded builds have copies for each thread. */
static enum cpy_rc find_frame_bytecode(const struct reader *reader, const unsigned char *bytes,
                                       cpy_addr code, cpy_addr *out)
{
    const struct layout *l = reader->layout;
    int32_t index = 0;
    int64_t count;
    cpy_addr array;
    enum cpy_rc rc;

    *out = code + l->code.bytecode;
    if (l->frame.tlbc_index != NO_FIELD)
        memcpy(&index, bytes + l->frame.tlbc_index, sizeof(index));
    if (index == 0)
        return CPY_OK;
    rc = mem_read_word(reader->mem, code + l->code.tlbc, &array);
    if (rc == CPY_OK)
        rc = mem_read(reader->mem, array, &count, sizeof(count));
    if (rc == CPY_OK && (index < 0 || index >= count || count > CPY_THREADS_MAX))
        return CPY_RACED;
    return rc == CPY_OK ? mem_read_word(reader->mem, array + 8 + (uint64_t)index * 8, out) : rc;
}

enum cpy_rc walk_take_frame(const struct reader *reader, const unsigned char *bytes,
                            struct raw_frame *out)
{
    const struct layout *l = reader->layout;
    cpy_addr code = read_frame_word(bytes, l->frame.executable) & l->tag_mask, bytecode;
    uint8_t owner = bytes[l->frame.owner];
    int64_t from_start;
    enum cpy_rc rc;

    *out = (struct raw_frame){0};
    if (owner >= l->shim_owner || code == 0)
        return CPY_OK;
    if (code & 7)
        return CPY_RACED;
    rc = find_frame_bytecode(reader, bytes, code, &bytecode);
    if (rc != CPY_OK)
        return rc;
    from_start = (int64_t)(read_frame_word(bytes, l->frame.instr) - bytecode);
    if (from_start & 1 || from_start < -2 || from_start / 2 > INT32_MAX)
        return CPY_RACED;
    *out = (struct raw_frame){
        .code = code,
        .unit = (int32_t)(from_start / 2),
        .kind = owner == l->generator_owner ? RAW_GENERATOR : RAW_FRAME,
    };
    return CPY_OK;
}

/* Adds the frame in `bytes`, unless it is of C code or being torn down. */
static enum cpy_rc add_walked_frame(struct walk *walk, const unsigned char *bytes)
{
    const struct layout *l = walk->reader->layout;
    struct raw_frame frame;
    enum cpy_rc rc = walk_take_frame(walk->reader, bytes, &frame);

    if (bytes[l->frame.owner] >= l->shim_owner)
        walk->native = walk->out->depth > 0;
    if (rc != CPY_OK || frame.code == 0)
        return rc;
    if (walk->native && walk->marks->native)
        end_run_and_append(walk, &(struct raw_frame){.kind = RAW_NATIVE});
    frame.addr = walk->last;
    frame.previous = read_frame_word(bytes, l->frame.previous);
    end_run_and_append(walk, &frame);
    /* 3.11 has no shims: the first frame of each call from C says so itself. */
    walk->native = l->chain_end == END_ENTRY && bytes[l->frame.is_entry] != 0;
    return CPY_OK;
}

/* A read failed. */
static enum cpy_rc unmapped(struct walk *walk, enum cpy_rc rc)
{
    walk->out->tear = TEAR_UNMAPPED;
    return rc;
}

/* Bounds a chain, and finds one that loops. */
static bool is_new(struct walk *walk, cpy_addr addr)
{
    if (addr & 7 || addr == walk->milestone || ++walk->visits > VISITS_MAX)
        return false;
    walk->steps++;
    if ((walk->steps & (walk->steps - 1)) == 0)
        walk->milestone = addr;
    return true;
}

/*
 * The bytes of the frame at `addr`: in the copy if it is there, else read into `own`. The frames of
 * plain functions are in the thread's data stack: one elsewhere is another greenlet's.
 */
static enum cpy_rc frame_bytes(struct walk *walk, cpy_addr addr, unsigned char *own,
                               const unsigned char **out)
{
    const struct reader *reader = walk->reader;
    const struct walk_scratch *scratch = walk->scratch;
    const struct chunk_copy *chunk;
    size_t size = reader->layout->frame.size;
    enum cpy_rc rc;

    for (chunk = scratch->chunks; chunk < scratch->chunks + scratch->chunk_count; chunk++) {
        if (addr < chunk->from || addr - chunk->from >= chunk->size)
            continue;
        if (chunk->size - (addr - chunk->from) < size)
            return CPY_RACED;
        *out = chunk->bytes + (addr - chunk->from);
        walk->lowest = addr;
        return CPY_OK;
    }
    *out = mem_bytes(reader->mem, addr, size, own, &rc);
    if (rc != CPY_OK)
        return unmapped(walk, rc);
    if ((*out)[reader->layout->frame.owner] != OWNED_BY_THREAD)
        return CPY_OK;
    walk->elsewhere = true;
    walk->lowest = addr;
    walk->highest = addr > walk->highest ? addr : walk->highest;
    return scratch->all_chunks ? CPY_RACED : CPY_OK;
}

/* True if the object of the frame at `addr`, whose bytes are here, names that frame. */
static bool has_object(const struct walk *walk, cpy_addr addr, const unsigned char *bytes)
{
    const struct layout *l = walk->reader->layout;
    cpy_addr object = read_frame_word(bytes, l->frame.frame_obj), named;

    /* PyFrameObject: f_frame is the second word after the object's head. */
    return object != 0 && !(object & 7) &&
           mem_read_word(walk->reader->mem, object + l->object.ob_type + 16, &named) == CPY_OK &&
           named == addr;
}

/*
 * 3.11, 3.12: true if the newest call into the interpreter came from `below`, see walk.h. While
 * greenlet takes entry frames out of the chain, the first one that is met is not the newest. But
 * then the current frame has an object, so has not returned, and the record that names it is
 * filled.
 */
static bool is_newest_call(const struct walk *walk, cpy_addr below)
{
    return !walk->thread->has_outer || below == walk->thread->outer_frame ||
           (walk->reader->layout->chain_end == END_SHIM &&
            has_object(walk, walk->thread->current_frame, walk->leaf));
}

/* Visits the frame at `addr`; gives the one that called it, 0 at the end. */
static enum cpy_rc visit_frame(struct walk *walk, cpy_addr addr, cpy_addr *previous)
{
    const struct layout *l = walk->reader->layout;
    unsigned char own[FRAME_MAX];
    const unsigned char *bytes;
    bool is_python, has_code;
    enum cpy_rc rc;

    if (!is_new(walk, addr))
        return CPY_RACED;
    if (walk->marks->gc && addr == walk->marks->gc_frame)
        end_run_and_append(walk, &(struct raw_frame){.kind = RAW_GC});
    rc = frame_bytes(walk, addr, own, &bytes);
    if (rc != CPY_OK)
        return rc;
    is_python = bytes[l->frame.owner] < l->shim_owner;
    has_code = (read_frame_word(bytes, l->frame.executable) & l->tag_mask) != 0;
    if (walk->visits == 1) {
        memcpy(walk->leaf, bytes, l->frame.size);
        if (l->clears_frames && is_python && !has_code) {
            walk->out->tear = TEAR_MOVED;
            return CPY_RACED; /* it has returned since */
        }
    }
    walk->last = addr;
    walk->ends_well = l->chain_end == END_ENTRY ? bytes[l->frame.is_entry] != 0
                                                : bytes[l->frame.owner] >= l->shim_owner;
    *previous = read_frame_word(bytes, l->frame.previous);
    if (walk->visits == 2)
        walk->second_previous = *previous;
    if (walk->ends_well && !walk->entered && !is_newest_call(walk, *previous))
        return CPY_RACED;
    walk->entered |= walk->ends_well;
    walk->frames += is_python && has_code;
    return add_walked_frame(walk, bytes);
}

/* The copy that the frame at `addr` is in; NULL: in none, or not whole. */
static const struct chunk_copy *chunk_of(const struct walk *walk, cpy_addr addr)
{
    const struct walk_scratch *scratch = walk->scratch;
    const struct chunk_copy *chunk;

    for (chunk = scratch->chunks; chunk < scratch->chunks + scratch->chunk_count; chunk++)
        if (addr >= chunk->from && addr - chunk->from < chunk->size)
            return chunk->size - (addr - chunk->from) >= walk->reader->layout->frame.size ? chunk
                                                                                          : NULL;
    return NULL;
}

/* Goes on to the frame of `before` that lies at `addr`, if there is one. */
static bool find_known(struct walk *walk, const struct chunk_copy *chunk, cpy_addr addr)
{
    const struct raw_frame *frames = walk->before.frames;
    uint32_t i = walk->next_known;

    while (i < walk->before.depth && (frames[i].addr < chunk->from || frames[i].addr > addr))
        i++;
    walk->next_known = i;
    return i < walk->before.depth && frames[i].addr == addr;
}

/* True if plain frames may be taken from their copies. */
static bool takes_plain(const struct walk *walk)
{
    const struct layout *l = walk->reader->layout;

    return !(walk->native && walk->marks->native) && !walk->marks->gc &&
           l->chain_end != END_ENTRY && l->frame.tlbc_index == NO_FIELD;
}

/*
 * Skips frames that are at the same instruction as before and were called by the same frames; gives
 * the first other one. Deep stacks spend their time in this loop: all its branches leave it.
 */
static cpy_addr pass_known(struct walk *walk, const struct chunk_copy *chunk, cpy_addr addr)
{
    const struct layout *l = walk->reader->layout;
    const struct raw_frame *known = &walk->before.frames[walk->next_known],
                           *end = walk->before.frames + walk->before.depth;
    const uint32_t executable = l->frame.executable, instr = l->frame.instr,
                   previous = l->frame.previous, owner = l->frame.owner;
    const uint64_t mask = l->tag_mask, bytecode = l->code.bytecode;
    const cpy_addr from = chunk->from, room = chunk->size - l->frame.size;
    const unsigned char *bytes;
    uint64_t other; /* bits that are not as they were */

    for (; known < end && known->addr == addr && addr - from <= room; known++) {
        bytes = chunk->bytes + (addr - from);
        other = (load_word(bytes + executable) & mask) ^ known->code;
        other |= load_word(bytes + previous) ^ known->previous;
        other |= load_word(bytes + instr) - known->code - bytecode -
                 (uint64_t)((int64_t)known->unit * 2);
        other |= (uint64_t)(bytes[owner] ^ OWNED_BY_THREAD) | (known->kind ^ RAW_FRAME);
        if (other != 0)
            break;
        walk->last = addr;
        addr = known->previous;
        if ((known + 1 < end && known[1].addr == addr) || !walk->may_skip)
            continue;
        walk->skipped = true;
        addr = known + 1 < end ? known[1].addr : 0;
    }
    walk->next_known = (uint32_t)(known - walk->before.frames);
    return addr;
}

/* The same, and counts them. */
static cpy_addr take_known(struct walk *walk, const struct chunk_copy *chunk, cpy_addr addr)
{
    const uint32_t from = walk->next_known;
    uint32_t passed;

    if (walk->run_to != from)
        end_run(walk);
    addr = pass_known(walk, chunk, addr);
    passed = walk->next_known - from;
    if (walk->run_to != from)
        walk->run_from = from;
    walk->run_to = walk->next_known;
    walk->visits += passed;
    walk->frames += passed;
    if (passed > 0)
        walk->ends_well = false;
    return addr;
}

/* Takes a plain frame; false: it is none. */
static bool take_one(struct walk *walk, const struct chunk_copy *chunk, cpy_addr addr,
                     cpy_addr *previous)
{
    const struct layout *l = walk->reader->layout;
    const unsigned char *bytes = chunk->bytes + (addr - chunk->from);
    cpy_addr code = read_frame_word(bytes, l->frame.executable) & l->tag_mask;
    int64_t from_start =
        (int64_t)(read_frame_word(bytes, l->frame.instr) - code - l->code.bytecode);

    *previous = read_frame_word(bytes, l->frame.previous);
    if (bytes[l->frame.owner] != OWNED_BY_THREAD || code & 7 || code == 0 || from_start & 1 ||
        from_start < -2 || from_start / 2 > INT32_MAX ||
        (*previous >= addr && *previous < chunk->from + chunk->size) ||
        walk->out->depth == CPY_DEPTH_MAX)
        return false;
    end_run_and_append(
        walk, &(struct raw_frame){code, (int32_t)(from_start / 2), RAW_FRAME, addr, *previous});
    walk->native = false;
    walk->visits++;
    walk->frames++;
    walk->last = addr;
    walk->ends_well = false;
    return true;
}

/* True if a frame at `addr` is in the chunk, or in an older one: that is taken from now on. */
static bool is_below(const struct walk *walk, const struct chunk_copy **chunk, cpy_addr addr)
{
    const struct chunk_copy *older;

    if (*chunk && addr >= (*chunk)->from &&
        addr - (*chunk)->from <= (*chunk)->size - walk->reader->layout->frame.size)
        return true;
    older = chunk_of(walk, addr);
    if (!older || (*chunk && older <= *chunk)) /* frames that go up are a loop */
        return false;
    *chunk = older;
    return true;
}

/*
 * Takes frames as long as they are plain and lie one below the other in the data stack; gives
 * the first that is not, 0 at the end. The same as visit would do, for the price of a deep
 * stack's bytes.
 */
static cpy_addr take_plain_frames(struct walk *walk, cpy_addr addr)
{
    const struct chunk_copy *chunk = NULL;
    cpy_addr previous;

    if (!takes_plain(walk))
        return addr;
    while (addr != 0 && !(addr & 7) && is_below(walk, &chunk, addr)) {
        if (walk->visits == 0)
            memcpy(walk->leaf, chunk->bytes + (addr - chunk->from),
                   walk->reader->layout->frame.size);
        previous = addr;
        if (find_known(walk, chunk, addr))
            previous = take_known(walk, chunk, addr);
        if (previous == addr && !take_one(walk, chunk, addr, &previous))
            break;
        walk->lowest = walk->last;
        addr = previous;
    }
    return addr;
}

/* If the last run of known frames reaches the outermost one, only counts it: raw_stack.same. */
static void note_same(struct walk *walk)
{
    struct raw_stack *out = walk->out;
    uint32_t run = walk->run_to - walk->run_from;

    if (walk->run_to == walk->before.depth && run <= CPY_DEPTH_MAX - out->depth)
        out->same = run;
    else
        end_run(walk);
}

/* The same of an incoming greenlet, all of whose frames are in the first chunk of a data stack. */
static bool fills_first_chunk(const struct walk *walk)
{
    const cpy_addr chunk = walk->lowest - CHUNK_SKIPPED - CHUNK_HEAD;
    uint64_t head[3];

    if (chunk & (PAGE - 1) || mem_read(walk->reader->mem, chunk, head, sizeof(head)) != CPY_OK)
        return false;
    return head[CHUNK_PREVIOUS / 8] == 0 && head[CHUNK_SIZE / 8] <= COPY_MAX &&
           walk->highest - chunk < head[CHUNK_SIZE / 8];
}

/*
 * True if the chain's frames go down to the first one in the data stack. Greenlets have data stacks
 * of their own, but share the C stack with its entry frames: one that was read while another
 * greenlet ran may be that greenlet's, and end the chain too early.
 */
static bool reaches_bottom(const struct walk *walk)
{
    const struct walk_scratch *scratch = walk->scratch;
    size_t count = scratch->chunk_count;
    cpy_addr first;

    if (walk->incoming)
        return fills_first_chunk(walk);
    if (!scratch->all_chunks)
        return true;
    while (count > 0 && scratch->chunks[count - 1].size <= CHUNK_HEAD + CHUNK_SKIPPED)
        count--;
    if (count == 0)
        return walk->lowest == 0;
    first = scratch->chunks[count - 1].from + CHUNK_HEAD;
    return walk->lowest >= first && walk->lowest - first <= CHUNK_SKIPPED;
}

/*
 * A chain that ends in a frame of Python has no entry frame in two cases. Both are known by the
 * frame's object, which a frame has only some time after it was linked, and which names the frame:
 *
 * - From 3.12 on greenlet takes the entry frames out of the chain of a greenlet before it switches
 *   to another, and puts them back afterwards. Its outermost frame is the first in the data stack.
 * - Functions that were compiled by Nuitka link their frames without entry frames. Such a frame
 *   lies in its own frame object, and says that it is a generator's.
 */
static enum cpy_rc check_end_without_entry(struct walk *walk)
{
    const struct layout *l = walk->reader->layout;
    unsigned char own[FRAME_MAX];
    const unsigned char *bytes;
    cpy_addr object;
    enum cpy_rc rc = frame_bytes(walk, walk->last, own, &bytes);

    if (rc != CPY_OK)
        return rc;
    object = read_frame_word(bytes, l->frame.frame_obj);
    if (!(walk->scratch->all_chunks || walk->incoming))
        return CPY_RACED;
    walk->compiled = bytes[l->frame.owner] == l->generator_owner;
    if (walk->compiled ? walk->last - object > FRAME_OBJECT_MAX : walk->last != walk->lowest)
        return CPY_RACED;
    return has_object(walk, walk->last, bytes) ? CPY_OK : CPY_RACED;
}

/* Whether the chain may end where it does. */
static enum cpy_rc check_end(struct walk *walk, const struct thread_words *thread)
{
    if (!reaches_bottom(walk))
        return CPY_RACED;
    if (walk->skipped)
        return walk->frames == thread->recursion && is_late(walk) ? CPY_OK : CPY_RACED;
    if (!walk->ends_well)
        return check_end_without_entry(walk);
    if (walk->reader->layout->chain_end != END_BASE_FRAME || walk->last == thread->base_frame)
        return CPY_OK;
    /* A greenlet's outermost call began without a caller, on a data stack of its own. */
    return walk->scratch->all_chunks && walk->lowest != 0 ? CPY_OK : CPY_RACED;
}

static enum cpy_rc walk_chain(struct walk *walk, const struct thread_words *thread)
{
    cpy_addr addr = take_plain_frames(walk, thread->current_frame);
    enum cpy_rc rc;

    while (addr != 0 && !walk->out->cut) {
        rc = visit_frame(walk, addr, &addr);
        if (rc != CPY_OK)
            return rc;
        addr = take_plain_frames(walk, addr);
    }
    note_same(walk);
    if (walk->visits == 0 || walk->out->cut) /* no Python code now, or more than we show */
        return CPY_OK;
    return check_end(walk, thread);
}

/*
 * 3.12: greenlet makes the incoming greenlet's record the thread's, puts the entry frames back into
 * its chain, and only then sets the thread's data stack. Until then the whole chain is in another
 * one. That takes time: 50 frames are 50 cache misses.
 */
static enum cpy_rc walk_incoming(struct walk *walk, const struct thread_words *thread)
{
    begin_walk(walk, walk->out);
    walk->scratch->chunk_count = 0;
    walk->scratch->all_chunks = false;
    walk->incoming = true;
    return walk_chain(walk, thread);
}

/* The ranges of a PyFrameObject that an object_frame is made of. */
static size_t object_ranges(const struct layout *l, struct object_frame *frame,
                            struct mem_range *out)
{
    out[0] = (struct mem_range){frame->addr + l->frame.previous, &frame->back, 8};
    out[1] = (struct mem_range){frame->addr + l->frame.executable, &frame->code, 8};
    out[2] = (struct mem_range){frame->addr + l->frame.instr, &frame->lasti, 4};
    return 3;
}

/* Adds a heap frame. */
static enum cpy_rc add_object(struct walk *walk, const struct object_frame *frame)
{
    int32_t unit = frame->lasti;

    if (frame->code & 7 || frame->code == 0 || unit < -1)
        return CPY_RACED;
    if (walk->reader->layout->lasti_in_bytes && unit > 0)
        unit /= 2;
    end_run_and_append(walk,
                       &(struct raw_frame){frame->code, unit, RAW_FRAME, frame->addr, frame->back});
    return CPY_OK;
}

/* Walks a chain of heap frames. */
static enum cpy_rc walk_objects(struct walk *walk, const struct thread_words *thread)
{
    struct object_frame *frame;
    struct mem_range ranges[3];
    cpy_addr addr = thread->current_frame;
    enum cpy_rc rc = CPY_OK;
    size_t count;

    for (; addr != 0 && rc == CPY_OK; addr = frame->back) {
        if (walk->visits == CPY_DEPTH_MAX) {
            walk->out->cut = true;
            return CPY_OK;
        }
        frame = &walk->scratch->objects[walk->visits];
        if (!is_new(walk, addr))
            return CPY_RACED;
        frame->addr = addr;
        count = object_ranges(walk->reader->layout, frame, ranges);
        rc = mem_read_ranges(walk->reader->mem, ranges, count);
        rc = rc == CPY_OK ? add_object(walk, frame) : unmapped(walk, rc);
    }
    return rc;
}

/* Reads the frames of a chain once more, many at a time, and compares. */
static enum cpy_rc check_objects(struct walk *walk)
{
    enum { EACH = 3, BATCH = MEM_RANGES_MAX / EACH };
    struct mem_range ranges[BATCH * EACH];
    struct object_frame *then, *now;
    uint32_t i, last;
    size_t count;
    enum cpy_rc rc;

    for (i = 0; i < walk->visits; i = last) {
        last = walk->visits - i > BATCH ? i + BATCH : walk->visits;
        for (count = 0, now = &walk->scratch->again[i]; now < &walk->scratch->again[last]; now++) {
            now->addr = walk->scratch->objects[now - walk->scratch->again].addr;
            count += object_ranges(walk->reader->layout, now, ranges + count);
        }
        rc = mem_read_again(walk->reader->mem, ranges, count);
        if (rc != CPY_OK)
            return unmapped(walk, rc);
        walk->out->tear = TEAR_MOVED;
        for (; i < last; i++) {
            then = &walk->scratch->objects[i];
            now = &walk->scratch->again[i];
            if (then->back != now->back || then->code != now->code || then->lasti != now->lasti)
                return CPY_RACED;
        }
    }
    return CPY_OK;
}

static enum cpy_rc walk_frames(struct walk *walk, const struct thread_words *thread)
{
    enum cpy_rc rc;

    if (walk->marks->gc && walk->marks->gc_frame == 0)
        end_run_and_append(walk, &(struct raw_frame){.kind = RAW_GC});
    if (walk->reader->layout->frames == FRAMES_OBJECT) {
        rc = walk_objects(walk, thread);
        return rc == CPY_OK ? check_objects(walk) : rc;
    }
    rc = copy_data_stack(walk->reader, walk->scratch, thread);
    if (rc != CPY_OK)
        return unmapped(walk, rc);
    rc = walk_chain(walk, thread);
    if (rc == CPY_RACED && walk->elsewhere && walk->visits == 1 &&
        walk->reader->layout->chain_end == END_SHIM && thread->cframe != 0)
        return walk_incoming(walk, thread);
    if (rc != CPY_RACED || !walk->skipped)
        return rc;
    begin_walk(walk, walk->out); /* once more, with all that is there */
    walk->may_skip = false;
    return walk_chain(walk, thread);
}

/*
 * The frame of the data stack that called the current one, perhaps through C code or a generator,
 * as it was copied; NULL: there is none, or it is not known.
 */
static const unsigned char *find_caller(const struct walk *walk, cpy_addr *addr)
{
    const struct chunk_copy *chunk;

    *addr = read_frame_word(walk->leaf, walk->reader->layout->frame.previous);
    chunk = chunk_of(walk, *addr);
    if (!chunk) {
        *addr = walk->second_previous;
        chunk = chunk_of(walk, *addr);
    }
    return chunk ? chunk->bytes + (*addr - chunk->from) : NULL;
}

/*
 * True if a compiled function's frame is alone on the stack, as a module's is. A frame may name its
 * caller only after it has become the current one, and names none before it is that no more: a
 * function that is called again and again may be on its way in at one read, and on its way out at
 * the next.
 */
static bool stays_alone(const struct walk *walk, const struct thread_words *thread)
{
    const struct layout *l = walk->reader->layout;
    struct mem *mem = walk->reader->mem;
    const bool once = mem->once;
    cpy_addr current = 0, previous = 0;
    const struct mem_range now[] = {{get_frame_pointer_addr(l, thread), &current, 8},
                                    {walk->last + l->frame.previous, &previous, 8}};
    bool alone = true;

    mem->once = true; /* from the thread itself, and not from copies */
    for (int i = 0; i < ALONE_LOOKS && alone; i++)
        alone = mem_read_ranges(mem, now, 2) == CPY_OK && current == thread->current_frame &&
                previous == 0;
    mem->once = once;
    return alone;
}

/*
 * CPY_RACED: the thread has moved on. Reads the generation, too.
 *
 * If the state was read after the frames ("late") it is newer than they are. Then, if the version
 * marks frames that have returned, a current frame that has code was live when it was copied, and
 * so were all its callers. In other versions it could be left from an earlier call: it must be the
 * same when it is read again, and so must its caller, which is at the instruction of this call now,
 * and was not then if it had returned, too.
 */
static enum cpy_rc check_still(struct walk *walk, const struct thread_words *thread,
                               cpy_addr generation_at, uint64_t *generation)
{
    const struct layout *l = walk->reader->layout;
    /* 3.11, 3.12: that there is no frame was read from the C stack after the thread state. */
    bool empty_record = walk->visits == 0 && l->thread.cframe != NO_FIELD;
    bool late = is_late(walk) && !empty_record;
    unsigned char leaf[FRAME_MAX], caller[FRAME_MAX];
    const unsigned char *copied_caller = NULL;
    cpy_addr current = thread->current_frame, cframe = thread->cframe;
    cpy_addr outermost_previous = 0, caller_addr;
    struct mem_range now[6];
    size_t count = 0;
    bool leaf_too =
        l->frames == FRAMES_INTERPRETER && walk->visits > 0 && !(late && l->clears_frames);
    enum cpy_rc rc;

    if (!late)
        now[count++] = (struct mem_range){get_frame_pointer_addr(l, thread), &current, 8};
    if (!late && l->thread.cframe != NO_FIELD)
        now[count++] = (struct mem_range){thread->addr + l->thread.cframe, &cframe, 8};
    if (leaf_too)
        now[count++] = (struct mem_range){thread->current_frame, leaf, l->frame.size};
    if (leaf_too)
        copied_caller = find_caller(walk, &caller_addr);
    if (copied_caller)
        now[count++] = (struct mem_range){caller_addr, caller, l->frame.size};
    if (walk->compiled) /* these frames are used again at the same place */
        now[count++] = (struct mem_range){walk->last + l->frame.previous, &outermost_previous, 8};
    if (generation_at != 0)
        now[count++] = (struct mem_range){generation_at, generation, 8};
    rc = mem_read_again(walk->reader->mem, now, count);
    if (rc != CPY_OK)
        return unmapped(walk, rc);
    walk->out->tear = TEAR_MOVED;
    if (current != thread->current_frame || cframe != thread->cframe || outermost_previous != 0)
        return CPY_RACED;
    if (leaf_too && memcmp(leaf, walk->leaf, l->frame.size) != 0)
        return CPY_RACED;
    if (walk->compiled && walk->visits == 1 && !stays_alone(walk, thread))
        return CPY_RACED;
    return copied_caller && memcmp(caller, copied_caller, l->frame.size) != 0 ? CPY_RACED : CPY_OK;
}

enum cpy_rc walk_stack(const struct reader *reader, struct walk_scratch *scratch,
                       const struct thread_words *thread, const struct walk_marks *marks,
                       const struct raw_before *before, cpy_addr generation_at,
                       struct raw_stack *out, uint64_t *generation)
{
    struct walk walk;
    enum cpy_rc rc;

    walk.reader = reader;
    walk.scratch = scratch;
    walk.marks = marks;
    walk.thread = thread;
    walk.before = *before;
    if (marks->native || marks->gc)
        walk.before.depth = 0;
    begin_walk(&walk, out);
    walk.may_skip = thread->recursion > 0 && reader->layout->clears_frames && is_late(&walk);
    rc = walk_frames(&walk, thread);
    return rc == CPY_OK ? check_still(&walk, thread, generation_at, generation) : rc;
}

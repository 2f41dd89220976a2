/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - takes a sample: the stack and status of every thread. */
#include "unwind/instr.h"
#include "unwind/linetable.h"
#include "unwind/list.h"
#include "unwind/taskstat.h"

enum {
    WALK_TRIES = 16,
    SEATED_SAMPLES = 256, /* after a torn one: see seat.h */
    READS_MAX = 1 << 19   /* system calls of one sample: a hostile target must not hold us up */
};

/* What stands for something that is no function; named as CPython's own profiler does. */
static const struct cpy_code native_code = {UINT64_MAX, "<native>", "~", 0};
static const struct cpy_code gc_code = {UINT64_MAX - 1, "<GC>", "~", 0};

static void add_position(const struct cpy_target *t, const struct code_entry *entry, int32_t unit,
                         struct cpy_frame *frame)
{
    struct linetable_position position = linetable_position(
        t->found.layout.lines, entry->table, entry->table_size, entry->code.first_line, unit);

    frame->line = position.line;
    frame->end_line = position.end_line;
    frame->column = position.column;
    frame->end_column = position.end_column;
}

/* Adds a frame to the stack that is being made. */
static enum cpy_rc add_frame(struct cpy_target *t, struct cpy_thread *out,
                             const struct raw_frame *raw)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const struct code_entry *entry;
    struct cpy_frame *frame = &t->frames[out->depth];

    *frame = (struct cpy_frame){0};
    if (raw->kind == RAW_NATIVE || raw->kind == RAW_GC) {
        frame->code = raw->kind == RAW_GC ? &gc_code : &native_code;
        out->depth++;
        return CPY_OK;
    }
    entry = codes_find(&t->codes, raw->code);
    if (!entry || raw->unit >= entry->unit_count)
        return CPY_RACED;
    if (raw->kind == RAW_FRAME && raw->unit < entry->first_traceable)
        return CPY_OK; /* pushed, but its arguments are not in place yet */
    frame->code = &entry->code;
    if (t->options.frames & CPY_FRAME_POSITIONS)
        add_position(t, entry, raw->unit, frame);
    else
        frame->line = linetable_line(t->found.layout.lines, entry->table, entry->table_size,
                                     entry->code.first_line, raw->unit);
    out->depth++;
    if (!(t->options.frames & CPY_FRAME_OPCODES))
        return CPY_OK;
    if (t->mem->reads >= t->reads_end)
        return CPY_RACED;
    return instr_name(&reader, entry, raw->unit, &frame->opcode);
}

/* Bytecode is read after its code objects were checked: it is theirs if they are still there. */
static enum cpy_rc check_again(struct cpy_target *t, uint32_t count)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const uint64_t decoded = t->codes.decoded;
    enum cpy_rc rc = codes_check(&t->codes, &reader, t->addrs, count, 0);

    return rc == CPY_OK && t->codes.decoded != decoded ? CPY_RACED : rc;
}

/* Names and lines for the frames in t->raw, below those that the stack has already. */
static enum cpy_rc resolve(struct cpy_target *t, uint64_t generation, struct cpy_thread *out)
{
    const struct reader reader = {t->mem, &t->found.layout};
    uint32_t i, count = 0;
    enum cpy_rc rc;

    for (i = 0; i < t->raw->depth; i++)
        if (t->raw->frames[i].code != 0)
            t->addrs[count++] = t->raw->frames[i].code;
    rc = codes_check(&t->codes, &reader, t->addrs, count, generation);
    for (i = 0; i < t->raw->depth && rc == CPY_OK && out->depth < CPY_DEPTH_MAX; i++)
        rc = add_frame(t, out, &t->raw->frames[i]);
    out->cut |= t->raw->cut || i < t->raw->depth;
    return rc == CPY_OK && t->options.frames & CPY_FRAME_OPCODES ? check_again(t, count) : rc;
}

/* One try at the part of a stack that one thread state has. */
static enum cpy_rc try_stack(struct cpy_target *t, const struct interp *interp,
                             const struct thread_words *words, struct cpy_thread *out)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const struct walk_marks marks = {
        .native = t->options.frames & CPY_FRAME_NATIVE,
        .gc = t->options.frames & CPY_FRAME_GC && interp->collecting != 0 &&
              interp->holder == words->addr,
        .gc_frame = interp->gc_frame,
    };
    uint32_t field = t->found.layout.interp.code_generation;
    cpy_addr at = field == NO_FIELD ? 0 : interp->addr + field;
    uint64_t generation = 0;
    enum cpy_rc rc = walk_stack(&reader, t->scratch, words, &marks, at, t->raw, &generation);

    /* Interpreters count apart; the address keeps their counts from being mixed up. */
    return rc == CPY_OK ? resolve(t, at ? generation + interp->addr : 0, out) : rc;
}

/* Reads one state's part until it is whole; *gone: the thread ended meanwhile. */
static enum cpy_rc read_part(struct cpy_target *t, struct listed *thread, struct cpy_thread *out,
                             bool *gone)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const struct interp *interp = &t->interps[thread->interp];
    struct thread_words *words = &thread->words;
    const uint32_t depth = out->depth;
    enum cpy_rc rc = try_stack(t, interp, words, out);
    int tries;

    for (tries = 1; rc == CPY_RACED && tries < WALK_TRIES && t->mem->reads < t->reads_end;
         tries++) {
        out->depth = depth;
        out->cut = false;
        t->stats.retries++;
        t->seated = SEATED_SAMPLES;
        (void)seat_take(&t->seat, tids_outer(&t->tids, thread->inner_tid));
        if (walk_read_thread(&reader, words->addr, words) != CPY_OK)
            continue;
        *gone = words->interp != interp->addr || !list_is_alive(&t->found.layout, words);
        if (*gone)
            return CPY_OK;
        rc = try_stack(t, interp, words, out);
    }
    return rc;
}

/* Reads the stack of a thread: of its innermost state, then of those below. */
static enum cpy_rc read_stack(struct cpy_target *t, struct listed *thread, struct cpy_thread *out,
                              bool *gone)
{
    enum cpy_rc rc = CPY_OK;
    struct listed *part = thread;

    for (;;) {
        rc = read_part(t, part, out, gone);
        if (rc != CPY_OK || *gone || part->outer == 0)
            break;
        part = &t->threads[part->outer - 1];
    }
    t->stats.torn += rc == CPY_RACED;
    t->stats.threads += rc == CPY_OK;
    out->torn = rc == CPY_RACED;
    if (out->torn) {
        out->depth = 0;
        out->cut = false;
    }
    return out->torn ? CPY_OK : rc;
}

/* True if `value` is an exception; in some versions None stands for none. */
static bool is_exception(struct cpy_target *t, cpy_addr value)
{
    const struct reader reader = {t->mem, &t->found.layout};
    cpy_addr type;

    if (value == 0 || value == t->none)
        return false;
    if (mem_read_word(t->mem, value + t->found.layout.object.ob_type, &type) != CPY_OK)
        return false;
    if (!object_type_is(&reader, type, "NoneType"))
        return true;
    t->none = value;
    return false;
}

/*
 * True if the thread handles or propagates an exception. What it handles is in a stack of
 * items: one of the thread, and one of each generator that runs, which is empty while only
 * the generator's caller handles one. sys.exc_info looks through them in the same way.
 */
static bool has_exception(struct cpy_target *t, const struct thread_words *words)
{
    enum { ITEMS_MAX = 256 };
    const struct layout *l = &t->found.layout;
    cpy_addr value, item = words->exc_info;
    int items;

    if (words->current_exception != 0)
        return true;
    if (l->thread.exc_info == NO_FIELD)
        return is_exception(t, words->exc_value);
    for (items = 0; item != 0 && items < ITEMS_MAX; items++) {
        struct mem_range ranges[2] = {{item + l->thread.exc_value, &value, 8},
                                      {item + l->thread.exc_previous, &item, 8}};

        if (mem_read_ranges(t->mem, ranges, 2) != CPY_OK)
            return false;
        if (is_exception(t, value))
            return true;
    }
    return false;
}

/*
 * True if the thread is on a CPU, not only ready to be. The kernel does not say, but it
 * counts: we move to the thread's CPU, which takes it from there, and rest for a moment.
 * If it had exactly one turn in that time, took CPU time, and is still ready, then it was
 * running when we took the CPU back. Without this the profile of a busy host shows where
 * threads wait for a CPU, mostly after system calls, as where they use it.
 */
static bool is_on_cpu(struct cpy_target *t, pid_t tid)
{
    struct taskstat_sched before, after;
    struct taskstat stat;

    if (t->proc_fd < 0 || tid == 0 || !taskstat_read(t->proc_fd, tid, &stat) || stat.state != 'R')
        return false;
    if (!seat_move(&t->seat, tid) || !taskstat_read_sched(t->proc_fd, tid, &before))
        return true;
    seat_rest();
    return taskstat_read_sched(t->proc_fd, tid, &after) && after.turns == before.turns + 1 &&
           after.cpu_ns > before.cpu_ns && taskstat_read(t->proc_fd, tid, &stat) &&
           stat.state == 'R';
}

/* True for the main thread, and for the one that runs another interpreter's main module. */
static bool is_main(const struct cpy_target *t, const struct listed *thread)
{
    const struct interp *interp = &t->interps[thread->interp];

    if (t->found.layout.interp.threads_main == NO_FIELD)
        return thread->words.thread_id == t->main_thread_id;
    if (interp->threads_main == 0 && interp->id == 0) /* embedded: no main module runs */
        return thread->inner_tid != 0 && thread->inner_tid == (uint64_t)t->tids.inner_pid;
    return thread->words.addr == interp->threads_main;
}

static uint32_t status_of(struct cpy_target *t, const struct listed *thread)
{
    const struct interp *interp = &t->interps[thread->interp];
    const struct thread_words *words = &thread->words;
    uint32_t status = 0, asked = t->options.status | t->options.only;

    if (is_main(t, thread))
        status |= CPY_STATUS_MAIN;
    if (words->addr == interp->holder)
        status |= CPY_STATUS_GIL;
    else if (words->gil_requested)
        status |= CPY_STATUS_GIL_WAIT;
    if (interp->collecting != 0 && status & CPY_STATUS_GIL)
        status |= CPY_STATUS_GC;
    if (asked & CPY_STATUS_EXCEPTION && has_exception(t, words))
        status |= CPY_STATUS_EXCEPTION;
    return status;
}

/*
 * Python's name of a thread: that of the outermost interpreter which knows one. To those
 * within, the thread that came to import threading first is "MainThread".
 */
static const char *name_of(struct cpy_target *t, const struct listed *thread)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const char *name = NULL, *outer;

    for (;; thread = &t->threads[thread->outer - 1]) {
        outer = names_of(&t->names, &reader, t->interps[thread->interp].addr,
                         thread->words.thread_id, thread->words.native_thread_id);
        name = outer ? outer : name;
        if (thread->outer == 0)
            return name;
    }
}

enum cpy_rc target_resolve(struct cpy_target *t, uint64_t generation, uint32_t *depth)
{
    struct cpy_thread out = {.depth = 0};
    enum cpy_rc rc = resolve(t, generation, &out);

    *depth = out.depth;
    return rc;
}

typedef void each_thread(void *ctx, const struct cpy_thread *thread);

static enum cpy_rc sample_thread(struct cpy_target *t, struct listed *thread, each_thread *each,
                                 void *ctx)
{
    const struct reader reader = {t->mem, &t->found.layout};
    const struct interp *interp = &t->interps[thread->interp];
    struct cpy_thread out = {.interpreter = (int64_t)interp->id, .state = thread->words.addr};
    bool gone = false;
    enum cpy_rc rc;

    out.tid = tids_outer(&t->tids, thread->inner_tid);
    if ((t->options.status | t->options.only) & CPY_STATUS_CPU && is_on_cpu(t, out.tid))
        out.status |= CPY_STATUS_CPU;
    /* While the target tears, whoever holds the GIL is read from its own CPU at once. */
    else if (t->seated > 0 && thread->words.addr == interp->holder)
        (void)seat_take(&t->seat, out.tid);
    if (t->seat.moved && walk_read_thread(&reader, thread->words.addr, &thread->words) == CPY_GONE)
        return CPY_GONE;
    out.status |= status_of(t, thread);
    if ((out.status & t->options.only) != t->options.only)
        return CPY_OK;
    rc = read_stack(t, thread, &out, &gone);
    if (rc != CPY_OK || gone)
        return rc;
    out.name = name_of(t, thread);
    out.frames = t->frames;
    out.task = thread->words.running_task;
    each(ctx, &out);
    return CPY_OK;
}

enum cpy_rc target_begin(struct cpy_target *t)
{
    codes_sweep(&t->codes);
    t->reads_end = t->mem->reads + READS_MAX;
    return list_all(t);
}

void target_end(struct cpy_target *t)
{
    seat_leave(&t->seat);
    t->stats.reads = t->mem->reads;
    t->stats.bytes = t->mem->bytes;
    t->stats.codes_read = t->codes.decoded;
}

enum cpy_rc cpy_sample(struct cpy_target *t, each_thread *each, void *ctx)
{
    enum cpy_rc rc;
    size_t i;

    target_look_for_asyncio(t, false);
    rc = target_begin(t);
    names_next_sample(&t->names, t->thread_count);
    for (i = 0; rc == CPY_OK && i < t->thread_count; i++) {
        if (t->mem->reads >= t->reads_end)
            rc = CPY_RACED;
        else if (!t->threads[i].joined)
            rc = sample_thread(t, &t->threads[i], each, ctx);
    }
    t->seated -= t->seated > 0;
    target_end(t);
    return rc;
}

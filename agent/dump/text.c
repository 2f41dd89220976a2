/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - a dump for people; all foreign text goes through escape.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dump/dump.h"
#include "agent/host/escape.h"

#define BOLD    "\033[1m"
#define DIM     "\033[2m"
#define RED     "\033[31m"
#define YELLOW  "\033[33m"
#define MAGENTA "\033[35m"
#define PLAIN   "\033[0m"

enum { REPEATS_SHOWN = 3 }; /* of one call that calls itself; as Python's traceback has it */
enum { NAMED_MAX = 3 };     /* threads of one stack whose ids and names are shown */

static const struct {
    uint32_t status;
    const char *text;
} statuses[] = {
    {CPY_STATUS_MAIN, "main"},
    {CPY_STATUS_GIL, "holds the GIL"},
    {CPY_STATUS_GIL_WAIT, "waits for the GIL"},
    {CPY_STATUS_CPU, "on CPU"},
    {CPY_STATUS_EXCEPTION, "handles an exception"},
    {CPY_STATUS_GC, "collects garbage"},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

/* A thread that has one of these is not idle. */
enum { WORKS = CPY_STATUS_GIL | CPY_STATUS_GIL_WAIT | CPY_STATUS_CPU | CPY_STATUS_GC };

/* Begins or ends (PLAIN) a colour, if there are any. */
static void paint(const struct dump *dump, struct buf *out, const char *colour)
{
    if (dump->colour)
        buf_add_str(out, colour);
}

static void add_process_line(const struct dump *dump, struct buf *out)
{
    if (!dump->command)
        return;
    buf_add_fmt(out, "Process %d: ", (int)dump->pid);
    escape_add_str(out, dump->command);
    buf_add_str(out, "\nPython ");
    escape_add_str(out, dump->python);
    buf_add_str(out, dump->free_threaded ? ", free-threaded\n" : "\n");
    if (!dump->warning)
        return;
    paint(dump, out, YELLOW);
    buf_add_str(out, "Warning: ");
    escape_add_str(out, dump->warning);
    paint(dump, out, PLAIN);
    buf_add_str(out, "\n");
}

/* What stands in brackets behind a thread's name. */
static void add_text_statuses(const struct cpy_thread *thread, struct buf *out)
{
    const char *before = " (";

    if (thread->interpreter != 0) {
        buf_add_fmt(out, "%sinterpreter %" PRId64, before, thread->interpreter);
        before = ", ";
    }
    for (size_t i = 0; i < STATUSES; i++)
        if (thread->status & statuses[i].status) {
            buf_add_fmt(out, "%s%s", before, statuses[i].text);
            before = ", ";
        }
    if (thread->tid != 0 && !(thread->status & WORKS)) {
        buf_add_fmt(out, "%sidle", before);
        before = ", ";
    }
    buf_add_str(out, before[0] == ',' ? ")" : "");
}

static void add_thread_name(const struct cpy_thread *thread, struct buf *out)
{
    if (thread->tid != 0)
        buf_add_fmt(out, "%d", (int)thread->tid);
    else
        buf_add_str(out, "?");
    if (!thread->name)
        return;
    buf_add_str(out, " \"");
    escape_add_str(out, thread->name);
    buf_add_str(out, "\"");
}

static bool is_same_call(const struct cpy_frame *one, const struct cpy_frame *other)
{
    return one->code == other->code && one->line == other->line && one->column == other->column &&
           one->end_column == other->end_column && one->opcode == other->opcode;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A number that is the same for threads that are together. */
static uint64_t hash_thread(const struct cpy_thread *thread)
{
    uint64_t sum = mix(mix((uint64_t)thread->interpreter, thread->status), thread->depth);

    for (uint32_t i = 0; i < thread->depth; i++)
        sum = mix(mix(sum, (uintptr_t)thread->frames[i].code), (uint32_t)thread->frames[i].line);
    return sum;
}

/* True if the threads share one stack in the text. */
static bool is_together(const struct cpy_thread *one, const struct cpy_thread *other)
{
    if (one->interpreter != other->interpreter || one->status != other->status ||
        one->torn != other->torn || one->cut != other->cut || one->depth != other->depth ||
        (one->tid == 0) != (other->tid == 0))
        return false;
    for (uint32_t i = 0; i < one->depth; i++)
        if (!is_same_call(&one->frames[i], &other->frames[i]))
            return false;
    return true;
}

/*
 * Gives for each thread the index of the first one with its stack, in an array that the caller
 * frees; NULL: each is shown by itself. Many threads that differ in their last call only are told
 * apart by their numbers.
 */
static uint32_t *group_threads(const struct dump *dump)
{
    const size_t count = dump->each_thread ? 0 : dump->thread_count;
    uint32_t *firsts = malloc((count + 1) * sizeof(*firsts));
    uint64_t *hashes = malloc((count + 1) * sizeof(*hashes));
    size_t i, first;

    for (i = 0; firsts && hashes && i < count; i++) {
        hashes[i] = hash_thread(&dump->threads[i]);
        first = 0;
        while (first < i && (hashes[first] != hashes[i] ||
                             !is_together(&dump->threads[first], &dump->threads[i])))
            first++;
        firsts[i] = (uint32_t)first;
    }
    free(hashes);
    if (i > 0)
        return firsts;
    free(firsts);
    return NULL;
}

static bool is_in_group(const uint32_t *firsts, size_t thread, size_t index)
{
    return firsts ? firsts[index] == firsts[thread] : index == thread;
}

/* The threads that share this one's stack: how many, and the first few by id and name. */
static void add_thread_line(const struct dump *dump, const uint32_t *firsts, size_t thread,
                            struct buf *out)
{
    size_t i, count = 0, named = 0;

    for (i = 0; i < dump->thread_count; i++)
        count += is_in_group(firsts, thread, i);
    buf_add_str(out, "\n");
    paint(dump, out, BOLD);
    if (count > NAMED_MAX)
        buf_add_fmt(out, "%zu threads: ", count);
    else
        buf_add_str(out, count == 1 ? "Thread " : "Threads ");
    for (i = 0; i < dump->thread_count && named < NAMED_MAX; i++)
        if (is_in_group(firsts, thread, i)) {
            buf_add_str(out, named++ > 0 ? ", " : "");
            add_thread_name(&dump->threads[i], out);
        }
    buf_add_str(out, count > NAMED_MAX ? ", ..." : "");
    paint(dump, out, PLAIN);
    add_text_statuses(&dump->threads[thread], out);
    buf_add_str(out, "\n");
}

/* A marker below the part of the line that runs. `skipped`: bytes that are not shown. */
static void add_marker(const struct dump *dump, const struct cpy_frame *frame,
                       const struct source_line *line, size_t skipped, struct buf *out)
{
    size_t from, to = line->size, i, width;

    if (frame->column <= 0 || frame->end_line < frame->line)
        return;
    from = (size_t)frame->column - 1;
    if (frame->end_line == frame->line) {
        if (frame->end_column <= frame->column)
            return;
        to = (size_t)frame->end_column - 1;
    }
    if (from < skipped || to > line->size || from >= to)
        return; /* the file is another one by now, or the line was cut */
    buf_add_str(out, "        ");
    width = escape_width(line->text + skipped, from - skipped);
    for (i = 0; i < width; i++)
        buf_add_str(out, " ");
    paint(dump, out, RED);
    width = escape_width(line->text + from, to - from);
    for (i = 0; i < width; i++)
        buf_add_str(out, "^");
    paint(dump, out, PLAIN);
    buf_add_str(out, "\n");
}

/* The source line of a frame, if it can be read and is not blank. */
static void add_source_line(const struct dump *dump, const struct cpy_frame *frame, struct buf *out)
{
    struct source_line line;
    size_t skipped = 0;

    if (!dump->source)
        return;
    if (!source_line(dump->source, frame->code->file, frame->line, &line)) {
        if (source_is_newer(dump->source, frame->code->file))
            buf_add_str(out, "        (no line: the file is newer than the process)\n");
        return;
    }
    while (skipped < line.size && line.text[skipped] == ' ')
        skipped++;
    while (line.size > skipped && line.text[line.size - 1] == ' ')
        line.size--;
    if (skipped == line.size)
        return;
    buf_add_str(out, "        ");
    paint(dump, out, DIM);
    escape_add(out, line.text + skipped, line.size - skipped);
    paint(dump, out, PLAIN);
    buf_add_str(out, "\n");
    add_marker(dump, frame, &line, skipped, out);
}

/* <native> and <GC> are no functions and have no file. */
static bool has_file(const struct cpy_code *code)
{
    return code->file[0] != '\0' && strcmp(code->file, "~") != 0;
}

/* "file:line in func"; what has no file stands alone. */
static void add_text_frame(const struct dump *dump, const struct cpy_frame *frame, struct buf *out)
{
    buf_add_str(out, "    ");
    if (has_file(frame->code)) {
        escape_add_str(out, frame->code->file);
        if (frame->line > 0)
            buf_add_fmt(out, ":%" PRId32, frame->line);
        if (frame->line > 0 && frame->column > 0)
            buf_add_fmt(out, ":%" PRId32, frame->column);
        buf_add_str(out, " in ");
    }
    paint(dump, out, MAGENTA);
    escape_add_str(out, frame->code->func);
    paint(dump, out, PLAIN);
    if (frame->opcode) {
        paint(dump, out, DIM);
        buf_add_fmt(out, "  [%s]", frame->opcode);
        paint(dump, out, PLAIN);
    }
    buf_add_str(out, "\n");
    add_source_line(dump, frame, out);
}

static void add_repeats(uint32_t repeats, struct buf *out)
{
    if (repeats > REPEATS_SHOWN)
        buf_add_fmt(out, "    ... the same call %" PRIu32 " more times\n", repeats - REPEATS_SHOWN);
}

/* All frames; of a call that repeats itself only the first few, and how many more. */
static void add_text_frames(const struct dump *dump, const struct cpy_thread *thread,
                            struct buf *out)
{
    uint32_t i, repeats = 0; /* so many frames like the last one stand there */

    for (i = 0; i < thread->depth; i++) {
        if (i > 0 && !is_same_call(&thread->frames[i - 1], &thread->frames[i])) {
            add_repeats(repeats, out);
            repeats = 0;
        }
        if (++repeats <= REPEATS_SHOWN)
            add_text_frame(dump, &thread->frames[i], out);
    }
    add_repeats(repeats, out);
}

static void add_text_thread(const struct dump *dump, const uint32_t *firsts, size_t index,
                            struct buf *out)
{
    const struct cpy_thread *thread = &dump->threads[index];

    add_thread_line(dump, firsts, index, out);
    if (thread->torn)
        buf_add_str(out, "    its stack did not hold still\n");
    else if (thread->depth == 0)
        buf_add_str(out, "    runs no Python code\n");
    else
        add_text_frames(dump, thread, out);
    if (thread->cut)
        buf_add_fmt(out, "    ... deeper than %d frames: the oldest calls are not shown\n",
                    CPY_DEPTH_MAX);
}

/* True if the thread goes before those that stand before it. */
static bool goes_first(const struct dump *dump, size_t index)
{
    return !dump->each_thread && (dump->threads[index].status & CPY_STATUS_MAIN);
}

void dump_text(const struct dump *dump, struct buf *out)
{
    uint32_t *firsts = group_threads(dump);

    add_process_line(dump, out);
    if (dump->thread_count == 0)
        buf_add_str(out, "\nNo thread is like that now.\n");
    for (size_t i = 0; i < dump->thread_count; i++)
        if (goes_first(dump, i))
            add_text_thread(dump, firsts, i, out);
    for (size_t i = 0; i < dump->thread_count; i++)
        if (!goes_first(dump, i) && (!firsts || firsts[i] == i))
            add_text_thread(dump, firsts, i, out);
    free(firsts);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - a dump for programs; pystrobe(8) has the description. */
#include <inttypes.h>

#include "agent/dump/dump.h"
#include "base/json.h"

static const struct {
    uint32_t status;
    const char *name;
} statuses[] = {
    {CPY_STATUS_GIL, "gil"},
    {CPY_STATUS_CPU, "cpu"},
    {CPY_STATUS_GIL_WAIT, "gil_wait"},
    {CPY_STATUS_EXCEPTION, "exception"},
    {CPY_STATUS_GC, "gc"},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

static void add_json_frame(struct buf *out, const struct cpy_frame *frame, uint32_t options)
{
    json_member(out, "{\"func\": ", frame->code->func);
    json_member(out, ", \"file\": ", frame->code->file);
    json_count(out, ", \"line\": ", frame->line);
    json_count(out, ", \"first_line\": ", frame->code->first_line);
    if (options & CPY_FRAME_POSITIONS) {
        json_count(out, ", \"end_line\": ", frame->end_line);
        json_count(out, ", \"column\": ", frame->column);
        json_count(out, ", \"end_column\": ", frame->end_column);
    }
    if (options & CPY_FRAME_OPCODES) {
        json_member(out, ", \"opcode\": ", frame->opcode);
    }
    buf_add_str(out, "}");
}

static void add_json_statuses(struct buf *out, uint32_t status)
{
    const char *between = "";

    for (size_t i = 0; i < STATUSES; i++)
        if (status & statuses[i].status) {
            buf_add_fmt(out, "%s\"%s\"", between, statuses[i].name);
            between = ", ";
        }
}

static void add_json_thread(struct buf *out, const struct cpy_thread *thread, uint32_t options)
{
    json_count(out, "{\"tid\": ", (int32_t)thread->tid);
    json_member(out, ", \"name\": ", thread->name);
    buf_add_fmt(out, ", \"main\": %s, \"status\": [",
                json_bool((thread->status & CPY_STATUS_MAIN) != 0));
    add_json_statuses(out, thread->status);
    buf_add_fmt(out, "], \"torn\": %s, \"cut\": %s, \"frames\": ", json_bool(thread->torn),
                json_bool(thread->cut));
    if (thread->torn) {
        buf_add_str(out, "null}");
        return;
    }
    buf_add_str(out, "[");
    for (uint32_t i = 0; i < thread->depth; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_json_frame(out, &thread->frames[i], options);
    }
    buf_add_str(out, "]}");
}

void dump_json(const struct dump *dump, struct buf *out)
{
    const struct cpy_thread *thread;
    bool opens;

    buf_add_fmt(out, "{\"pid\": %d, \"python\": ", (int)dump->pid);
    json_string(out, dump->python);
    buf_add_fmt(out, ", \"free_threaded\": %s, \"taken_unix_ns\": %" PRId64,
                json_bool(dump->free_threaded), dump->taken_unix_ns);
    if (dump->warning) {
        json_member(out, ", \"warning\": ", dump->warning);
    }
    buf_add_str(out, ", \"interpreters\": [");
    for (size_t i = 0; i < dump->thread_count; i++) {
        thread = &dump->threads[i];
        opens = i == 0 || thread->interpreter != thread[-1].interpreter;
        if (opens)
            buf_add_fmt(out, "%s{\"id\": %" PRId64 ", \"threads\": [", i > 0 ? "]}, " : "",
                        thread->interpreter);
        buf_add_str(out, opens ? "" : ", ");
        add_json_thread(out, thread, dump->frames);
    }
    buf_add_str(out, dump->thread_count > 0 ? "]}]}\n" : "]}\n");
}

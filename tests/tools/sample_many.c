/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_many.c - samples a process many times: PID COUNT PAUSE_US [native] [opcodes] [waiters]
 * [plain] [stepped]. It asks for what the agent asks for, with `waiters` also for who waits for the
 * GIL, without which most threads need not be read. `plain` is without the layers that save time.
 * Each pause is another one, PAUSE_US in the mean, lest it keeps step with what the process does.
 * `stepped` takes a sample for each line on standard input instead, and prints it at once.
 *
 * Prints each different sample once: a line "seen TIMES BYTES" and that many bytes of text,
 * which has a line "thread TID INTERPRETER STATUS torn|cut|whole NAME" for each thread and
 * "frame LINE FIRST_LINE OPCODE FUNC <tab> FILE" for each of its frames, innermost first. STATUS
 * is enum cpy_status in decimal, OPCODE "-" if not known. A sample that failed is the line
 * "failed LABEL".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "unwind/cpy.h"

enum { TEXT_MAX = 64 << 20 };

/* A sample as text. */
struct seen {
    struct seen *next; /* owned */
    unsigned char *text;
    size_t size;
    unsigned long times;
};

static void add_thread(void *ctx, const struct cpy_thread *thread)
{
    struct buf *out = ctx;
    const struct cpy_frame *frame;

    buf_add_fmt(out, "thread %d %" PRId64 " %" PRIu32 " %s %s\n", (int)thread->tid,
                thread->interpreter, thread->status,
                thread->torn  ? "torn"
                : thread->cut ? "cut"
                              : "whole",
                thread->name ? thread->name : "");
    for (frame = thread->frames; frame < thread->frames + thread->depth; frame++)
        buf_add_fmt(out, "frame %" PRId32 " %" PRId32 " %s %s\t%s\n", frame->line,
                    frame->code->first_line, frame->opcode ? frame->opcode : "-", frame->code->func,
                    frame->code->file);
}

/* Counts the sample; its text is taken over if it is new. False: out of memory. */
static bool count(struct seen **all, struct buf *text)
{
    struct seen *seen;

    for (seen = *all; seen; seen = seen->next)
        if (seen->size == text->size && memcmp(seen->text, text->data, seen->size) == 0)
            break;
    if (!seen) {
        seen = malloc(sizeof(*seen));
        if (!seen)
            return false;
        *seen = (struct seen){.next = *all, .text = text->data, .size = text->size};
        *all = seen;
        buf_init(text, TEXT_MAX);
    }
    seen->times++;
    buf_reset(text);
    return true;
}

/* A pause from half to one and a half times as long. */
static void rest(unsigned pause_us)
{
    static uint32_t state = 1;

    state = state * 1664525U + 1013904223U;
    if (pause_us > 0)
        (void)usleep(pause_us / 2 + (unsigned)((uint64_t)pause_us * (state >> 8) >> 24));
}

static void take_sample(struct cpy_target *target, struct buf *text)
{
    enum cpy_rc rc = cpy_sample(target, add_thread, text);

    if (rc == CPY_OK)
        return;
    buf_reset(text);
    buf_add_fmt(text, "failed %s\n", cpy_rc_label(rc));
}

static bool sample(struct cpy_target *target, unsigned long times, unsigned pause_us,
                   struct seen **all)
{
    struct buf text;
    bool ok = true;

    buf_init(&text, TEXT_MAX);
    for (; times > 0 && ok; times--) {
        take_sample(target, &text);
        ok = !buf_failed(&text) && count(all, &text);
        rest(pause_us);
    }
    buf_finish(&text);
    return ok;
}

static bool sample_in_steps(struct cpy_target *target, unsigned long times)
{
    struct buf text;
    char line[16];
    bool ok = true;

    buf_init(&text, TEXT_MAX);
    for (; times > 0 && ok && fgets(line, sizeof(line), stdin); times--) {
        buf_reset(&text);
        take_sample(target, &text);
        ok = !buf_failed(&text) && printf("seen 1 %zu\n", text.size) > 0 &&
             fwrite(text.data, 1, text.size, stdout) == text.size && fflush(stdout) == 0;
    }
    buf_finish(&text);
    return ok;
}

/* Prints and frees them. */
static void print(struct seen *all)
{
    struct seen *next;

    for (; all; all = next) {
        next = all->next;
        (void)printf("seen %lu %zu\n", all->times, all->size);
        (void)fwrite(all->text, 1, all->size, stdout);
        free(all->text);
        free(all);
    }
}

static bool has_word(char **words, int count, const char *word)
{
    for (; count > 0; count--, words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct cpy_options options = {.status = CPY_STATUS_CPU};
    struct cpy_target *target = NULL;
    struct seen *all = NULL;
    struct err err = {""};
    bool ok;

    if (argc < 4) {
        (void)fputs("usage: sample_many PID COUNT PAUSE_US [native] [opcodes] [waiters] [plain] "
                    "[stepped]\n",
                    stderr);
        return 2;
    }
    if (cpy_open((pid_t)strtol(argv[1], NULL, 10), &target, &err) != CPY_OK) {
        (void)fprintf(stderr, "sample_many: %s\n", err.text);
        return 1;
    }
    options.frames = (has_word(argv + 4, argc - 4, "native") ? CPY_FRAME_NATIVE : 0U) |
                     (has_word(argv + 4, argc - 4, "opcodes") ? CPY_FRAME_OPCODES : 0U);
    if (has_word(argv + 4, argc - 4, "waiters"))
        options.status |= CPY_STATUS_GIL_WAIT;
    options.plain = has_word(argv + 4, argc - 4, "plain") ? CPY_LAYER_ALL : 0;
    cpy_set_options(target, &options);
    if (strcmp(argv[argc - 1], "stepped") == 0)
        ok = sample_in_steps(target, strtoul(argv[2], NULL, 10));
    else
        ok = sample(target, strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10), &all);
    print(all);
    cpy_close(target);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}

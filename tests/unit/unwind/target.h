/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - a target of CPython 3.12 made by hand, and what its last sample gave.
 */
#ifndef TESTS_UNIT_UNWIND_TARGET_H
#define TESTS_UNIT_UNWIND_TARGET_H

#include "tests/unit/unwind/chain.h"

enum { UNITS = 50, FIRST_TRACEABLE = 2, SEEN_MAX = 4096 };

/* A target of CPython 3.12 with one interpreter and no threads yet. */
struct fixture {
    struct fake *fake;
    struct cpy_target *target;
    cpy_addr runtime, interp, gil, type;
    uint64_t threads;  /* made so far */
    uint64_t switches; /* of the GIL */
    /* What the last sample gave. */
    size_t count;
    struct cpy_thread seen[SEEN_MAX];
    const struct cpy_code *innermost[SEEN_MAX];
    const char *opcode; /* of the last thread's innermost frame */
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const struct layout *l = layout_of_version(0x030c0000);

    assert_non_null(f);
    f->fake = fake_new(l);
    f->target = target_new();
    assert_non_null(f->target);
    f->runtime = fake_room(f->fake, 1024);
    f->interp = fake_room(f->fake, l->interp.size);
    f->gil = fake_room(f->fake, 64);
    f->type = fake_type(f->fake, "code");
    fake_put64(f->fake, f->runtime + l->runtime.interpreters_head, f->interp);
    fake_put64(f->fake, f->interp + l->interp.gil, f->gil);
    f->target->process.mem = &f->fake->mem;
    f->target->found =
        (struct found){.runtime = f->runtime, .hexversion = 0x030c01f0, .layout = *l};
    target_choose_readers(f->target);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    cpy_close(f->target); /* ends the fake, too */
    free(f);
    return 0;
}

static inline cpy_addr new_code(struct fixture *f, const char *func)
{
    const struct layout *l = &f->fake->layout;
    cpy_addr at = fake_room(f->fake, l->code.size);

    fake_put64(f->fake, at + l->object.ob_type, f->type);
    fake_put64(f->fake, at + l->object.ob_size, UNITS);
    fake_put64(f->fake, at + l->code.qualname, fake_str(f->fake, func));
    fake_put64(f->fake, at + l->code.filename, fake_str(f->fake, "/srv/app.py"));
    fake_put64(f->fake, at + l->code.linetable, fake_bytes(f->fake, "\xd7\x01\x02", 3));
    fake_put32(f->fake, at + l->code.firstlineno, 10);
    fake_put32(f->fake, at + l->code.firsttraceable, FIRST_TRACEABLE);
    return at;
}

/* Puts a thread with this current frame at the head of the interpreter's list. */
static inline cpy_addr add_thread(struct fixture *f, cpy_addr current_frame)
{
    const struct layout *l = &f->fake->layout;
    cpy_addr thread = chain_thread(f->fake, current_frame), head;

    memcpy(&head, f->fake->bytes + (f->interp + l->interp.threads_head - FAKE_BASE), 8);
    fake_put64(f->fake, thread + l->thread.next, head);
    fake_put64(f->fake, thread + l->thread.interp, f->interp);
    fake_put64(f->fake, thread + l->thread.thread_id, 500 + f->threads);
    fake_put64(f->fake, thread + l->thread.native_thread_id, 100 + f->threads++);
    fake_put64(f->fake, f->interp + l->interp.threads_head, thread);
    return thread;
}

/* A stack of one function at a unit. */
static inline cpy_addr stack_of(struct fixture *f, const char *func, int64_t unit)
{
    return chain_frame(f->fake, new_code(f, func), unit, chain_shim(f->fake, 0));
}

/* Gives a thread that stack. */
static inline void put_stack(struct fixture *f, cpy_addr thread, cpy_addr current_frame)
{
    const struct layout *l = &f->fake->layout;
    cpy_addr cframe;

    memcpy(&cframe, f->fake->bytes + (thread + l->thread.cframe - FAKE_BASE), 8);
    fake_put64(f->fake, cframe + l->cframe.current_frame, current_frame);
}

/* A thread takes the GIL; 0: whoever has it gives it up. */
static inline void hold_gil(struct fixture *f, cpy_addr thread)
{
    const struct layout *l = &f->fake->layout;
    cpy_addr last;

    memcpy(&last, f->fake->bytes + (f->gil + l->gil.last_holder - FAKE_BASE), 8);
    fake_put32(f->fake, f->gil + l->gil.locked, thread != 0);
    if (thread == 0 || thread == last)
        return;
    fake_put64(f->fake, f->gil + l->gil.last_holder, thread);
    fake_put64(f->fake, f->gil + l->gil.switch_number, ++f->switches);
}

static inline void see(void *ctx, const struct cpy_thread *thread)
{
    struct fixture *f = ctx;

    assert_true(f->count < SEEN_MAX);
    f->innermost[f->count] = thread->depth ? thread->frames[0].code : NULL;
    f->opcode = thread->depth ? thread->frames[0].opcode : NULL;
    f->seen[f->count++] = *thread;
}

static inline enum cpy_rc sample(struct fixture *f)
{
    f->count = 0;
    return cpy_sample(f->target, see, f);
}

#endif
